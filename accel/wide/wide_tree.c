#include "accel/wide/wide_tree.h"
#include "accel/geometry/triangle_clip.h"
#include "accel/wide/wide_cells.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

enum { MOST = 1 << (32 - WIDE_COUNT_BITS), OPENED = 2 * WIDE_CELLS - 1, GRAIN = 64, NOWHERE = -1 };

/* A part of the k-d tree that is one cell of a wide node. */
typedef struct cell_part {
    box3 cell; /* of the k-d tree */
    uint32_t node;
    uint32_t first, count; /* count > 0: of a large leaf only these references */
} cell_part;

/* The same while a wide node is made of it. */
typedef struct opened_part {
    cell_part part;
    box3 box;
    uint32_t triangles;  /* as one leaf; WIDE_OPEN: it is to be opened, here or below */
    int axis, low, high; /* the parts it was opened into, or NOWHERE */
    int lane;
} opened_part;

typedef struct wide_maker {
    wide_cells cells;
    wide_tree *out;
    cell_part *level, *next_level; /* of the nodes made now, those below */
    cell_part *found;              /* WIDE_CELLS a node of this level */
    uint32_t base, level_count, next_count;
} wide_maker;

/* A subtree without its empty ends. */
static opened_part part_of_node(const wide_cells *cells, uint32_t node, box3 cell) {
    const tritree_node *nodes = cells->tree->nodes;
    opened_part made;
    memset(&made, 0, sizeof made);
    while (cells->kinds[node] == WIDE_OPEN && !tritree_is_leaf(nodes[node])) {
        const uint32_t left = tritree_left(nodes[node]);
        const bool low = cells->kinds[left] != WIDE_EMPTY,
                   high = cells->kinds[left + 1] != WIDE_EMPTY;
        if (low && high) break;
        vec3_set_axis(low ? &cell.hi : &cell.lo, tritree_axis(nodes[node]), nodes[node].split);
        node = low ? left : left + 1;
    }
    made.part.cell = cell;
    made.part.node = node;
    made.box = cells->boxes[node];
    made.triangles = cells->kinds[node];
    made.low = made.high = made.lane = NOWHERE;
    if (made.triangles == WIDE_OPEN && tritree_is_leaf(nodes[node])) {
        made.part.first = tritree_first(nodes[node]);
        made.part.count = tritree_count(nodes[node]);
    }
    return made;
}

/* Some references of a large leaf. */
static opened_part part_of_leaf(const wide_cells *cells, const cell_part *of, uint32_t first,
                                uint32_t count) {
    opened_part made;
    memset(&made, 0, sizeof made);
    made.part = *of;
    made.part.first = first;
    made.part.count = count;
    made.box = box3_empty();
    for (uint32_t i = first; i < first + count; ++i)
        box3_join(&made.box, wide_cell_of(cells->tree, cells->tree->references[i], of->cell));
    made.triangles = count <= WIDE_CELLS ? count : WIDE_OPEN;
    made.low = made.high = made.lane = NOWHERE;
    return made;
}

static opened_part part_again(const wide_cells *cells, const cell_part *part) {
    return part->count ? part_of_leaf(cells, part, part->first, part->count)
                       : part_of_node(cells, part->node, part->cell);
}

/* Opens parts[at] into two more. */
static void open_part(const wide_cells *cells, opened_part *parts, int at, int used) {
    opened_part *p = parts + at;
    p->low = used;
    p->high = used + 1;
    if (p->part.count) {
        const uint32_t blocks = (p->part.count + WIDE_CELLS - 1) / WIDE_CELLS;
        const uint32_t half = blocks / 2 * WIDE_CELLS;
        p->axis = 3;
        parts[used] = part_of_leaf(cells, &p->part, p->part.first, half);
        parts[used + 1] = part_of_leaf(cells, &p->part, p->part.first + half, p->part.count - half);
        return;
    }
    const tritree_node node = cells->tree->nodes[p->part.node];
    box3 low = p->part.cell, high = p->part.cell;
    p->axis = tritree_axis(node);
    vec3_set_axis(&low.hi, p->axis, node.split);
    vec3_set_axis(&high.lo, p->axis, node.split);
    parts[used] = part_of_node(cells, tritree_left(node), low);
    parts[used + 1] = part_of_node(cells, tritree_left(node) + 1, high);
}

/* Opens the largest part as long as there is room for its two; how many parts there are. */
static int open_parts(const wide_cells *cells, opened_part parts[OPENED]) {
    int used = 1;
    while (used < OPENED) {
        double largest = -1;
        int at = NOWHERE;
        for (int i = 0; i < used; ++i) {
            const opened_part *p = parts + i;
            if (p->triangles != WIDE_OPEN || p->low != NOWHERE) continue;
            const double area = wide_area(p->box);
            if (area > largest) {
                largest = area;
                at = i;
            }
        }
        if (at == NOWHERE) break;
        open_part(cells, parts, at, used);
        used += 2;
    }
    return used;
}

/* Lanes of parts[at] in the order of rays of this octant, from order[count] on. */
static int order_lanes(const opened_part *parts, int at, int octant, uint8_t *order, int count) {
    const opened_part *p = parts + at;
    if (p->low == NOWHERE) {
        order[count] = (uint8_t)p->lane;
        return count + 1;
    }
    const bool backwards = octant >> p->axis & 1;
    count = order_lanes(parts, backwards ? p->high : p->low, octant, order, count);
    return order_lanes(parts, backwards ? p->low : p->high, octant, order, count);
}

static void set_bounds(wide_node *node, int lane, box3 box, vec3 centre) {
    for (int axis = 0; axis < 3; ++axis) {
        const double from = (double)vec3_axis(centre, axis);
        node->bound[2 * axis][lane] = float_not_above((double)vec3_axis(box.lo, axis) - from);
        node->bound[2 * axis + 1][lane] = float_not_below((double)vec3_axis(box.hi, axis) - from);
    }
}

/* Makes the nodes of this level, but for their words: those tell the triangles of each cell, 0
   where there is none. */
static void make_nodes(void *context, int64_t begin, int64_t end, int thread) {
    const wide_maker *m = (const wide_maker *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        opened_part parts[OPENED];
        wide_node *node = m->out->nodes + m->base + i;
        int lanes = 0;
        parts[0] = part_again(&m->cells, m->level + i);
        const int used = open_parts(&m->cells, parts);
        memset(node, 0, sizeof *node);
        for (int k = 0; k < used; ++k) {
            if (parts[k].low != NOWHERE) continue;
            parts[k].lane = lanes;
            set_bounds(node, lanes, parts[k].box, m->out->centre);
            m->found[WIDE_CELLS * i + lanes] = parts[k].part;
            node->word[lanes++] = parts[k].triangles;
        }
        for (int octant = 0; octant < 4; ++octant) {
            const int ordered = order_lanes(parts, 0, octant, node->order[octant], 0);
            for (int k = ordered; k < WIDE_CELLS; ++k) node->order[octant][k] = (uint8_t)k;
        }
        for (int lane = lanes; lane < WIDE_CELLS; ++lane)
            for (int row = 0; row < 6; ++row)
                node->bound[row][lane] = row % 2 ? -INFINITY : INFINITY;
    }
}

/* Gives the cells of this level their words, and the next level its nodes. */
static kd_status number_cells(wide_maker *m) {
    wide_tree *out = m->out;
    uint64_t count = 0;
    for (uint32_t i = 0; i < m->level_count; ++i)
        for (int lane = 0; lane < WIDE_CELLS; ++lane)
            count += out->nodes[m->base + i].word[lane] == WIDE_OPEN;
    KD_TRY(KD_RESERVE(m->next_level, count));
    m->next_count = 0;
    for (uint32_t i = 0; i < m->level_count; ++i)
        for (int lane = 0; lane < WIDE_CELLS; ++lane) {
            uint32_t *word = &out->nodes[m->base + i].word[lane];
            const uint32_t triangles = *word;
            if (triangles == WIDE_OPEN) {
                *word = (m->base + m->level_count + m->next_count) << WIDE_COUNT_BITS;
                m->next_level[m->next_count++] =
                    m->found[WIDE_CELLS * (uint64_t)i + (uint32_t)lane];
            } else if (triangles) {
                *word = out->leaf_triangles << WIDE_COUNT_BITS | triangles;
                out->leaf_triangles += triangles;
            }
        }
    return KD_OK;
}

static void fill_leaf(const wide_maker *m, const cell_part *part, uint32_t word) {
    const tritree_view *tree = m->cells.tree;
    const uint32_t count = word & ((1u << WIDE_COUNT_BITS) - 1);
    float *leaf = m->out->leaves + (uint64_t)(word >> WIDE_COUNT_BITS) * WIDE_LEAF_FLOATS;
    wide_ids held;
    held.count = 0;
    if (part->count)
        for (uint32_t i = 0; i < part->count; ++i)
            wide_ids_add(&held, tree->references[part->first + i]);
    else
        wide_ids_collect(&held, tree, part->node);
    for (uint32_t i = 0; i < count; ++i) {
        const triangle_rows *rows = tree->rows + held.ids[i];
        for (uint32_t k = 0; k < 9; ++k) leaf[k * count + i] = rows->axis[k / 3][k % 3];
        leaf[9 * count + i] = float_from_bits(held.ids[i]);
    }
}

static void fill_leaves(void *context, int64_t begin, int64_t end, int thread) {
    const wide_maker *m = (const wide_maker *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i)
        for (int lane = 0; lane < WIDE_CELLS; ++lane) {
            const uint32_t word = m->out->nodes[m->base + i].word[lane];
            if (word & ((1u << WIDE_COUNT_BITS) - 1))
                fill_leaf(m, m->found + WIDE_CELLS * i + lane, word);
        }
}

static kd_status make_level(wide_maker *m) {
    wide_tree *out = m->out;
    KD_TRY(KD_GROW(out->nodes, m->base, (uint64_t)m->base + m->level_count));
    KD_TRY(KD_RESERVE(m->found, WIDE_CELLS * (uint64_t)m->level_count));
    parallel_for(m->level_count, GRAIN, make_nodes, m);
    KD_TRY(number_cells(m));
    parallel_for(m->level_count, GRAIN, fill_leaves, m);
    out->node_count += m->level_count;
    ++out->depth;
    return KD_OK;
}

static void fill_compress(wide_tree *out) {
    for (int backwards = 0; backwards < 2; ++backwards)
        for (int cells = 0; cells < 1 << WIDE_CELLS; ++cells) {
            int count = 0;
            for (int i = 0; i < WIDE_CELLS; ++i) {
                const int cell = backwards ? i : WIDE_CELLS - 1 - i;
                if (cells >> cell & 1) out->compress[backwards][cells][count++] = (uint8_t)cell;
            }
        }
}

static kd_status make_levels(wide_maker *m) {
    kd_status status = KD_OK;
    wide_tree *out = m->out;
    const tritree_view *tree = m->cells.tree;
    out->centre = box3_centre(tree->box);
    /* a vector reads up to seven numbers beyond the last leaf */
    const uint64_t floats = m->cells.leaf_triangles * WIDE_LEAF_FLOATS;
    KD_TRY(KD_RESERVE(out->leaves, floats + WIDE_CELLS));
    memset(out->leaves + floats, 0, WIDE_CELLS * sizeof *out->leaves);
    KD_TRY(KD_RESERVE(m->level, 1));
    m->level[0] = part_of_node(&m->cells, 0, tree->box).part;
    m->level_count = 1;
    while (m->level_count) {
        KD_REQUIRE(out->depth < WIDE_MAX_DEPTH, KD_ERROR_CHECK,
                   "a wide tree of more than %d levels", WIDE_MAX_DEPTH);
        KD_TRY_GOTO(make_level(m));
        m->base += m->level_count;
        memory_free(m->level);
        memory_free(m->found);
        m->level = m->next_level;
        m->level_count = m->next_count;
        m->next_level = m->found = NULL;
    }
done:
    return status;
}

kd_status wide_tree_open(wide_tree **out, const tritree_view *from) {
    kd_status status = KD_OK;
    wide_maker m;
    *out = NULL;
    memset(&m, 0, sizeof m);
    if (from->reference_count == 0) return KD_OK;
    KD_TRY_GOTO(wide_cells_open(&m.cells, from));
    if (m.cells.leaf_triangles == 0 || m.cells.leaf_triangles >= MOST) goto done;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(m.out, 1));
    fill_compress(m.out);
    KD_TRY_GOTO(make_levels(&m));
    *out = m.out;
done:
    if (status != KD_OK) wide_tree_close(m.out);
    wide_cells_close(&m.cells);
    memory_free(m.level);
    memory_free(m.next_level);
    memory_free(m.found);
    return status;
}

void wide_tree_close(wide_tree *owned) {
    if (!owned) return;
    memory_free(owned->nodes);
    memory_free(owned->leaves);
    memory_free(owned);
}

uint64_t wide_tree_bytes(const wide_tree *of) {
    return of ? sizeof *of + of->node_count * sizeof(wide_node) +
                    ((uint64_t)of->leaf_triangles * WIDE_LEAF_FLOATS + WIDE_CELLS) * sizeof(float)
              : 0;
}
