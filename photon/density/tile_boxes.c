/* Idea: a k-d tree over six coordinates, the centre and the normal of a tile, split at the median
         of the widest coordinate. A component of the normal is split at the middle of its range
         instead, if both sides get enough tiles, since the normals of plane faces are clustered.
   Invariants: a leaf has at most TILE_LEAF tiles; there are at most 8/7 as many boxes as tiles plus
               four, since 7 tiles make at most 4 leaves. The result does not depend on the number
               of threads: if another thread builds the second child, it does so at a position that
               the first child cannot reach, and the boxes are moved afterwards. */
#include "core/math/geometry.h"
#include "core/memory.h"
#include "core/parallel/tasks.h"
#include "photon/density/tile_set.h"

enum { COORDINATES = 6, APART_SHARE = 8, BRANCH_TILES = 2048 /* minimum for another thread */ };
/* The tiles of a box are read by several threads if there are at least SCAN_TILES. */
enum { SCAN_TILES = 1 << 14, SCAN_PARTS = TASK_EACH_MAX };

typedef struct box_builder {
    tile *tiles;
    tile_box *boxes;
    float per_scale;
    task_pool *pool;
} box_builder;

/* Range of some tiles in each coordinate. */
typedef struct tile_spread {
    float minimum[COORDINATES], maximum[COORDINATES];
} tile_spread;

/* Coordinates 0 to 2: the centre, divided by the scale; 3 to 5: the normal. */
static float coordinate_of(const box_builder *builder, uint32_t which, int coordinate) {
    const tile *tile = &builder->tiles[which];
    if (coordinate >= 3) return vec3_axis(tile->normal, coordinate - 3);
    return builder->per_scale / 3 *
           (vec3_axis(tile->corner[0], coordinate) + vec3_axis(tile->corner[1], coordinate) +
            vec3_axis(tile->corner[2], coordinate));
}

/* Finds the widest coordinate of some tiles, and the middle of its range. */
static int find_widest(const tile_spread *spread, float *middle) {
    int widest = 0;
    for (int c = 1; c < COORDINATES; ++c)
        if (spread->maximum[c] - spread->minimum[c] >
            spread->maximum[widest] - spread->minimum[widest])
            widest = c;
    *middle = 0.5f * (spread->minimum[widest] + spread->maximum[widest]);
    return widest;
}

static void swap_tiles(const box_builder *builder, uint32_t a, uint32_t b) {
    const tile moved = builder->tiles[a];
    builder->tiles[a] = builder->tiles[b];
    builder->tiles[b] = moved;
}

/* Partitions the tiles; returns how many are below `at`. */
static uint32_t part_at(const box_builder *builder, uint32_t begin, uint32_t count, int coordinate,
                        float at) {
    uint32_t below = 0;
    for (uint32_t i = 0; i < count; ++i)
        if (coordinate_of(builder, begin + i, coordinate) < at)
            swap_tiles(builder, begin + i, begin + below++);
    return below;
}

/* Hoare's selection: partitions so that nothing before `middle` is larger than anything from
   there on. */
static void select_middle(const box_builder *builder, uint32_t begin, uint32_t count,
                          uint32_t middle, int coordinate) {
    int64_t low = begin, high = (int64_t)begin + count - 1;
    while (low < high) {
        const float pivot = coordinate_of(builder, (uint32_t)(low + (high - low) / 2), coordinate);
        int64_t i = low, j = high;
        while (i <= j) {
            while (coordinate_of(builder, (uint32_t)i, coordinate) < pivot) ++i;
            while (coordinate_of(builder, (uint32_t)j, coordinate) > pivot) --j;
            if (i > j) break;
            swap_tiles(builder, (uint32_t)i++, (uint32_t)j--);
        }
        if ((int64_t)middle <= j)
            high = j;
        else if ((int64_t)middle >= i)
            low = i;
        else
            return;
    }
}

/* Splits some tiles in two; returns the size of the first part. */
static uint32_t cut_tiles(const box_builder *builder, uint32_t begin, uint32_t count,
                          const tile_spread *spread) {
    float middle = 0;
    const int coordinate = find_widest(spread, &middle);
    if (coordinate >= 3) {
        const uint32_t below = part_at(builder, begin, count, coordinate, middle);
        if (below > count / APART_SHARE && count - below > count / APART_SHARE) return below;
    }
    select_middle(builder, begin, count, begin + count / 2, coordinate);
    return count / 2;
}

/* Sums of a box in double precision: centre and axis weighted by area; the others as in
   tile_box. */
typedef struct box_sums {
    double area, middle[3], axis[3];
    double weight[2], dark[2], odd[3], square[3], across[3];
} box_sums;

static void add_tile(box_sums *sums, const tile *tile) {
    const double area = (double)tile->area;
    double total = 0, difference = 0, n[3];
    sums->area += area;
    for (int side = 0; side < 2; ++side) {
        const double weight = area * (double)tile->weight[side];
        if (weight < 0) {
            sums->dark[side] -= weight;
            continue;
        }
        sums->weight[side] += weight;
        total += weight;
        difference += side ? -weight : weight;
    }
    for (int a = 0; a < 3; ++a) {
        n[a] = (double)vec3_axis(tile->normal, a);
        sums->axis[a] += area * n[a];
        for (int k = 0; k < 3; ++k)
            sums->middle[a] += area / 3 * (double)vec3_axis(tile->corner[k], a);
        sums->odd[a] += difference * n[a];
        sums->square[a] += total * n[a] * n[a];
    }
    for (int a = 0; a < 3; ++a) sums->across[a] += total * n[a] * n[a < 2 ? a + 1 : 0];
}

static vec3 vec3_of(const double from[3], double factor) {
    return vec3_make((float)(from[0] * factor), (float)(from[1] * factor),
                     (float)(from[2] * factor));
}

static void add_sums(box_sums *to, const box_sums *from) {
    double *sums = (double *)to;
    for (uint32_t i = 0; i < sizeof *to / sizeof *sums; ++i) sums[i] += ((const double *)from)[i];
}

/* Work on the tiles of a box, by several threads if there are many. */
typedef struct box_scan {
    const box_builder *builder;
    const tile_box *box;
    uint32_t parts;
    tile_spread spread[SCAN_PARTS];
    float cosine[SCAN_PARTS];
} box_scan;

static uint32_t part_begin(const box_scan *scan, uint32_t part) {
    return scan->box->begin + (uint32_t)((uint64_t)scan->box->count * part / scan->parts);
}

static void spread_part(void *context, int part) {
    box_scan *scan = (box_scan *)context;
    const uint32_t end = part_begin(scan, (uint32_t)part + 1);
    tile_spread spread;
    for (int c = 0; c < COORDINATES; ++c) {
        spread.minimum[c] = INFINITY;
        spread.maximum[c] = -INFINITY;
    }
    for (uint32_t i = part_begin(scan, (uint32_t)part); i < end; ++i)
        for (int c = 0; c < COORDINATES; ++c) {
            const float x = coordinate_of(scan->builder, i, c);
            spread.minimum[c] = float_min(spread.minimum[c], x);
            spread.maximum[c] = float_max(spread.maximum[c], x);
        }
    scan->spread[part] = spread;
}

/* Finds the least cosine between a normal and the box's axis. */
static void turn_part(void *context, int part) {
    box_scan *scan = (box_scan *)context;
    const uint32_t end = part_begin(scan, (uint32_t)part + 1);
    float cosine = 1;
    for (uint32_t i = part_begin(scan, (uint32_t)part); i < end; ++i)
        cosine = float_min(cosine, vec3_dot(scan->box->axis, scan->builder->tiles[i].normal));
    scan->cosine[part] = cosine;
}

static void scan_begin(box_scan *scan, const box_builder *builder, const tile_box *box) {
    scan->builder = builder;
    scan->box = box;
    scan->parts = box->count < SCAN_TILES ? 1 : SCAN_PARTS;
}

/* Range of a box's tiles. */
static tile_spread spread_of(const box_builder *builder, const tile_box *box) {
    box_scan scan;
    scan_begin(&scan, builder, box);
    task_each(builder->pool, (int)scan.parts, spread_part, &scan);
    tile_spread all = scan.spread[0];
    for (uint32_t part = 1; part < scan.parts; ++part)
        for (int c = 0; c < COORDINATES; ++c) {
            all.minimum[c] = float_min(all.minimum[c], scan.spread[part].minimum[c]);
            all.maximum[c] = float_max(all.maximum[c], scan.spread[part].maximum[c]);
        }
    return all;
}

/* Computes what a leaf takes from its tiles. */
static void fill_leaf(const box_builder *builder, tile_box *box, box_sums *sums) {
    box3 bounds = box3_empty();
    memset(sums, 0, sizeof *sums);
    box->modelled = false;
    for (uint32_t i = box->begin; i < box->begin + box->count; ++i) {
        const tile *tile = &builder->tiles[i];
        add_tile(sums, tile);
        for (int k = 0; k < 3; ++k) box3_include(&bounds, tile->corner[k]);
        box->modelled |= (tile->triangle & TILE_MODELLED) != 0u;
    }
    box->lo = bounds.lo;
    box->hi = bounds.hi;
}

/* The same from the children. */
static void fill_from_children(tile_box *box, const tile_box *first, const tile_box *second) {
    box->lo = vec3_min(first->lo, second->lo);
    box->hi = vec3_max(first->hi, second->hi);
    box->modelled = first->modelled | second->modelled;
}

/* Computes what depends on the sums, and the cone of the normals. */
static void fill_box(const box_builder *builder, tile_box *box, const box_sums *sums) {
    box_scan scan;
    box->middle = vec3_of(sums->middle, 1 / sums->area);
    box->axis = vec3_normalize(vec3_of(sums->axis, 1 / sums->area));
    box->odd = vec3_of(sums->odd, 1);
    box->square = vec3_of(sums->square, 1);
    box->across = vec3_of(sums->across, 1);
    for (int side = 0; side < 2; ++side) {
        box->weight[side] = (float)sums->weight[side];
        box->dark[side] = (float)sums->dark[side];
    }
    scan_begin(&scan, builder, box);
    task_each(builder->pool, (int)scan.parts, turn_part, &scan);
    box->cosine = vec3_is_zero(box->axis) ? -1 : 1;
    for (uint32_t part = 0; part < scan.parts; ++part)
        box->cosine = float_min(box->cosine, scan.cosine[part]);
    box->sine = sqrtf(float_max(0, 1 - box->cosine * box->cosine));
}

static bool tile_is_large(const box_builder *builder, const tile *tile) {
    float side2 = 0;
    for (int k = 0; k < 3; ++k)
        side2 =
            float_max(side2, vec3_length2(vec3_sub(tile->corner[(k + 1) % 3], tile->corner[k])));
    return sqrtf(side2) * builder->per_scale > TILE_LARGE;
}

/* Moves the large tiles to the front; returns their number. */
static uint32_t part_large(const box_builder *builder, uint32_t count) {
    uint32_t large = 0;
    for (uint32_t i = 0; i < count; ++i)
        if (tile_is_large(builder, &builder->tiles[i])) swap_tiles(builder, i, large++);
    return large;
}

/* Upper bound on the boxes of some tiles; additive if both parts have at least BRANCH_TILES. */
static uint32_t boxes_max(uint32_t tiles) {
    return tiles + tiles / 4 - 1;
}

/* A subtree that another thread may build. */
typedef struct box_branch {
    task base;
    const box_builder *builder;
    uint32_t index, begin, count, end;
    box_sums sums;
} box_branch;

static uint32_t build_box(const box_builder *builder, uint32_t index, uint32_t begin,
                          uint32_t count, box_sums *sums);

static void build_branch(task *self) {
    box_branch *branch = (box_branch *)(void *)self;
    branch->end =
        build_box(branch->builder, branch->index, branch->begin, branch->count, &branch->sums);
}

/* Moves a subtree's boxes to their final position; returns the index after the last. */
static uint32_t move_branch(const box_branch *branch, uint32_t to) {
    const uint32_t count = branch->end - branch->index, by = branch->index - to;
    tile_box *boxes = branch->builder->boxes + to;
    memmove(boxes, branch->builder->boxes + branch->index, count * sizeof *boxes);
    for (uint32_t i = 0; i < count && by; ++i) {
        if (boxes[i].count > TILE_LEAF) boxes[i].second -= by;
        boxes[i].skip -= by;
    }
    return to + count;
}

/* Builds the two children of box `index`, and their sums; returns the index after the last. */
static uint32_t build_parts(const box_builder *builder, uint32_t index, uint32_t begin,
                            uint32_t first, uint32_t second, box_sums *sums) {
    box_branch other;
    const bool parallel = builder->pool && first >= BRANCH_TILES && second >= BRANCH_TILES;
    if (parallel) {
        memset(&other, 0, sizeof other);
        other.base.run = build_branch;
        other.base.kind = TASK_BRANCH;
        other.builder = builder;
        other.index = index + 1 + boxes_max(first);
        other.begin = begin + first;
        other.count = second;
        task_offer(builder->pool, &other.base);
    }
    const uint32_t next = build_box(builder, index + 1, begin, first, sums);
    builder->boxes[index].second = next;
    uint32_t end;
    if (parallel && task_join(builder->pool, &other.base))
        end = move_branch(&other, next);
    else
        end = build_box(builder, next, begin + first, second, &other.sums);
    add_sums(sums, &other.sums);
    return end;
}

/* Builds box `index` and its subtree, and the box's sums; returns the index after the last.
   Ranges are found on the way down, sums on the way up. */
static uint32_t build_box(const box_builder *builder, uint32_t index, uint32_t begin,
                          uint32_t count, box_sums *sums) {
    tile_box *box = &builder->boxes[index];
    box->begin = begin;
    box->count = count;
    box->second = count;
    box->skip = index + 1;
    if (count > TILE_LEAF) {
        const tile_spread spread = spread_of(builder, box);
        const uint32_t large = index == 0 ? part_large(builder, count) : 0;
        const bool by_size = large && large < count;
        const uint32_t first = by_size ? large : cut_tiles(builder, begin, count, &spread);
        box->skip = build_parts(builder, index, begin, first, count - first, sums);
        fill_from_children(box, box + 1, &builder->boxes[box->second]);
    } else {
        fill_leaf(builder, box, sums);
    }
    fill_box(builder, box, sums);
    return box->skip;
}

typedef struct whole_build {
    box_builder builder;
    uint32_t tiles, boxes;
} whole_build;

static void build_all(task_pool *pool, void *context) {
    whole_build *build = (whole_build *)context;
    build->builder.pool = pool;
    box_sums sums;
    build->boxes = build_box(&build->builder, 0, 0, build->tiles, &sums);
}

kd_status tile_boxes_open(tile_box **out, uint32_t *box_count, tile *tiles, uint32_t count,
                          float scale) {
    *out = NULL;
    *box_count = 0;
    if (count == 0) return KD_OK;
    whole_build build = {{tiles, NULL, 1 / scale, NULL}, count, 0};
    const uint64_t boxes = (uint64_t)count + count / 4 + 4;
    KD_TRY(KD_RESERVE(build.builder.boxes, boxes));
    large_pages_prefer(build.builder.boxes, boxes * sizeof *build.builder.boxes);
    task_pool_run(build_all, &build);
    *out = build.builder.boxes;
    *box_count = build.boxes;
    return KD_OK;
}
