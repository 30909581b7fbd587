/* T-junctions: vertices in the interior of another triangle's open edge. They are invisible in a
   modeller but cause cracks in images.
   Idea: only edges of a single triangle, and their vertices, can form a T-junction. The vertices
     are stored in a k-d tree, which each edge traverses like a ray. An edge with vertices on it is
     split there; coincident pieces then close each other, and the remaining pieces are the
     boundary.
   Work: O(n log n), except for edges close to many vertices, limited by CHECK_WORK and
     CHECK_TESTS_EACH. Beyond the limit the report says so, and T-junctions may be reported as
     holes. */
#include "core/growth.h"
#include "core/memory.h"
#include "scenes/check/check_parts.h"
#include <stdlib.h>

/* Tolerance of the distance from the edge: the rounding error of text with six digits. */
static const double share_of_place = 0x1p-20, share_of_length = 1e-5;

typedef struct junction {
    uint64_t edge; /* index in `open` */
    double t;      /* parameter along it */
    uint32_t place;
} junction;

typedef struct junctions {
    examination *check;
    check_half *open; /* edges with one triangle */
    uint64_t open_count;
    uint32_t *places; /* their vertices, as a k-d tree; the median of each range splits it */
    uint8_t *axes;    /* split axis of each median */
    uint64_t place_count;
    junction *items;
    uint64_t found_count, found_capacity;
    uint64_t found_max, tests_max; /* limits, for many edges in one place */
    uint64_t tests;
    kd_status status;
    /* The edge of the current query. */
    uint64_t edge;
    double from[3], along[3], length2, near;
} junctions;

static double coordinate(const junctions *j, uint64_t i, int axis) {
    return (double)vec3_axis(j->check->body.positions[j->places[i]], axis);
}

/* --- the tree of vertices --------------------------------------------------------------------- */

static int widest_axis(const junctions *j, uint64_t begin, uint64_t end) {
    box3 box = box3_empty();
    for (uint64_t i = begin; i < end; ++i)
        box3_include(&box, j->check->body.positions[j->places[i]]);
    return box3_longest_axis(box);
}

/* Hoare's quickselect: moves the median into place. */
static void middle_select(junctions *j, uint64_t begin, uint64_t end, uint64_t middle, int axis) {
    int64_t low = (int64_t)begin, high = (int64_t)end - 1;
    while (low < high) {
        const double pivot = coordinate(j, (uint64_t)(low + (high - low) / 2), axis);
        int64_t a = low, b = high;
        while (a <= b) {
            while (coordinate(j, (uint64_t)a, axis) < pivot) ++a;
            while (coordinate(j, (uint64_t)b, axis) > pivot) --b;
            if (a > b) break;
            const uint32_t moved = j->places[a];
            j->places[a++] = j->places[b];
            j->places[b--] = moved;
        }
        if ((int64_t)middle <= b)
            high = b;
        else if ((int64_t)middle >= a)
            low = a;
        else
            return;
    }
}

static void tree_make(junctions *j, uint64_t begin, uint64_t end) {
    while (end - begin > 1) {
        const uint64_t middle = begin + (end - begin) / 2;
        const int axis = widest_axis(j, begin, end);
        middle_select(j, begin, end, middle, axis);
        j->axes[middle] = (uint8_t)axis;
        tree_make(j, begin, middle);
        begin = middle + 1;
    }
}

/* --- edges through the tree ------------------------------------------------------------------- */

static void junction_keep(junctions *j, uint32_t place, double t) {
    if (KD_RESERVE_NEXT(j->items, j->found_count, j->found_capacity, 64) != KD_OK) {
        j->status = KD_ERROR_MEMORY;
        return;
    }
    const junction made = {j->edge, t, place};
    j->items[j->found_count++] = made;
}

static void place_examine(junctions *j, uint32_t place) {
    const check_half *edge = &j->open[j->edge];
    const vec3 at = j->check->body.positions[place];
    const double m[3] = {(double)at.x - j->from[0], (double)at.y - j->from[1],
                         (double)at.z - j->from[2]};
    double t = 0, distance2 = 0;
    for (int k = 0; k < 3; ++k) t += m[k] * j->along[k];
    t /= j->length2;
    const double end = 4 * j->near / sqrt(j->length2);
    if (!(t > end && t < 1 - end)) return;
    for (int k = 0; k < 3; ++k) {
        const double off = m[k] - t * j->along[k];
        distance2 += off * off;
    }
    if (distance2 > j->near * j->near) return;
    /* a vertex of the edge's own triangle (a sliver) is not a T-junction */
    for (int k = 0; k < 3; ++k)
        if (check_place(j->check, edge->triangle, k) == place) return;
    junction_keep(j, place, t);
}

static bool is_within_bounds(const junctions *j) {
    return j->tests < j->tests_max && j->found_count < j->found_max;
}

/* Searches the k-d tree along the edge from t0 to t1. */
static void edge_walk(junctions *j, uint64_t begin, uint64_t end, double t0, double t1) {
    while (begin < end && t0 <= t1 && is_within_bounds(j)) {
        ++j->tests;
        const uint64_t middle = begin + (end - begin) / 2;
        place_examine(j, j->places[middle]);
        if (end - begin == 1) return;
        const int axis = j->axes[middle];
        const double split = coordinate(j, middle, axis), along = j->along[axis];
        const double a = j->from[axis] + t0 * along, b = j->from[axis] + t1 * along;
        const bool below = fmin(a, b) <= split + j->near, above = fmax(a, b) >= split - j->near;
        double low0 = t0, low1 = t1, high0 = t0, high1 = t1;
        const double at = (split - j->from[axis]) / along, slack = j->near / fabs(along);
        if (below && above && isfinite(at) && isfinite(slack)) {
            if (along > 0) {
                low1 = fmin(t1, at + slack);
                high0 = fmax(t0, at - slack);
            } else {
                low0 = fmax(t0, at - slack);
                high1 = fmin(t1, at + slack);
            }
        }
        if (below && above) edge_walk(j, begin, middle, low0, low1);
        if (!above) {
            end = middle;
            continue;
        }
        begin = middle + 1;
        t0 = high0;
        t1 = high1;
    }
}

static void edge_examine(junctions *j, uint64_t edge) {
    const vec3 a = j->check->body.positions[j->open[edge].from];
    const vec3 b = j->check->body.positions[j->open[edge].to];
    double largest = 0;
    j->edge = edge;
    j->length2 = 0;
    for (int k = 0; k < 3; ++k) {
        const double from = (double)vec3_axis(a, k), to = (double)vec3_axis(b, k);
        j->from[k] = from;
        j->along[k] = to - from;
        j->length2 += (to - from) * (to - from);
        largest = fmax(largest, fmax(fabs(from), fabs(to)));
    }
    j->near = share_of_place * largest + share_of_length * sqrt(j->length2);
    if (64 * j->near * j->near >= j->length2) return; /* too short to contain a vertex */
    edge_walk(j, 0, j->place_count, 0, 1);
}

static kd_status edges_examine(junctions *j) {
    for (uint64_t i = 0; i < j->open_count && is_within_bounds(j); ++i) {
        KD_TRY(check_interruption(j->check));
        edge_examine(j, i);
        if (j->status != KD_OK) break;
    }
    j->check->report->tests = j->tests;
    return j->status;
}

static void junction_report(junctions *j, const junction *junction) {
    const vec3 at = j->check->body.positions[junction->place];
    check_triangle_note(j->check, j->open[junction->edge].triangle, "t-junction", CHECK_WARNING,
                        "found the vertex (%g, %g, %g) on an edge, expected the edge to end there",
                        (double)at.x, (double)at.y, (double)at.z);
}

static void junctions_report(junctions *j) {
    for (uint64_t i = 0; i < j->found_count; ++i) junction_report(j, &j->items[i]);
    if (!is_within_bounds(j))
        check_note(j->check, j->check->path, 0, "t-junctions-unfinished", CHECK_NOTE,
                   "found too many vertices along open edges to check all of them for T-junctions; "
                   "some reported holes may be T-junctions");
}

static int junction_order(const void *a, const void *b) {
    const junction *left = (const junction *)a, *right = (const junction *)b;
    if (left->edge != right->edge) return left->edge < right->edge ? -1 : 1;
    if (left->t < right->t || left->t > right->t) return left->t < right->t ? -1 : 1;
    return left->place < right->place ? -1 : left->place > right->place;
}

/* --- the boundary ----------------------------------------------------------------------------- */

/* Splits the open edges at the vertices on them. */
static void edges_cut(junctions *j, check_half *pieces) {
    uint64_t next = 0, made = 0;
    for (uint64_t i = 0; i < j->open_count; ++i) {
        check_half piece = j->open[i];
        for (; next < j->found_count && j->items[next].edge == i; ++next) {
            piece.to = j->items[next].place;
            pieces[made++] = piece;
            piece.from = piece.to;
        }
        piece.to = j->open[i].to;
        pieces[made++] = piece;
    }
}

/* Removes pairs of coincident pieces, which close each other. */
static kd_status rim_make(junctions *j) {
    examination *check = j->check;
    const uint64_t count = j->open_count + j->found_count;
    check_half *pieces = NULL;
    uint64_t *keys = NULL;
    uint32_t *order = NULL;
    kd_status status;
    KD_TRY_GOTO(KD_RESERVE(pieces, count));
    KD_TRY_GOTO(KD_RESERVE(keys, count));
    KD_TRY_GOTO(KD_RESERVE(order, count));
    KD_TRY_GOTO(KD_RESERVE(check->rim, count));
    edges_cut(j, pieces);
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t a = pieces[i].from, b = pieces[i].to;
        keys[i] = a < b ? a << 32 | b : b << 32 | a;
        order[i] = (uint32_t)i;
    }
    KD_TRY_GOTO(check_sort(keys, order, count, (uint64_t)check->body.position_count << 32));
    for (uint64_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && keys[end] == keys[begin];) ++end;
        if ((end - begin) % 2 == 1) check->rim[check->rim_count++] = pieces[order[begin]];
    }
done:
    memory_free(pieces);
    memory_free(keys);
    memory_free(order);
    return status;
}

static kd_status open_gather(junctions *j) {
    const examination *check = j->check;
    uint8_t *seen = NULL;
    KD_TRY(KD_RESERVE_ZEROED(seen, check->body.position_count));
    for (uint64_t begin = 0, end; begin < check->half_count; begin = end) {
        end = check_edge_end(check, begin);
        if (end - begin != 1) continue;
        const check_half half = check_half_of(check, check->edge_halves[begin]);
        j->open[j->open_count++] = half;
        const uint32_t ends[2] = {half.from, half.to};
        for (int k = 0; k < 2; ++k) {
            if (!seen[ends[k]]) j->places[j->place_count++] = ends[k];
            seen[ends[k]] = 1;
        }
    }
    memory_free(seen);
    return KD_OK;
}

static uint64_t open_edges(const examination *check) {
    uint64_t count = 0;
    for (uint64_t begin = 0, end; begin < check->half_count; begin = end) {
        end = check_edge_end(check, begin);
        count += end - begin == 1;
    }
    return count;
}

kd_status check_tjunctions(examination *check) {
    junctions j;
    kd_status status;
    memset(&j, 0, sizeof j);
    j.check = check;
    const uint64_t count = open_edges(check);
    KD_TRY_GOTO(KD_RESERVE(j.open, count));
    KD_TRY_GOTO(KD_RESERVE(j.places, 2 * count));
    KD_TRY_GOTO(KD_RESERVE(j.axes, 2 * count));
    KD_TRY_GOTO(open_gather(&j));
    j.found_max = 4 * count + 1000000;
    j.tests_max = CHECK_TESTS_EACH * count + CHECK_WORK;
    tree_make(&j, 0, j.place_count);
    KD_TRY_GOTO(edges_examine(&j));
    if (j.items) qsort(j.items, j.found_count, sizeof *j.items, junction_order);
    junctions_report(&j);
    KD_TRY_GOTO(rim_make(&j));
done:
    memory_free(j.open);
    memory_free(j.places);
    memory_free(j.axes);
    memory_free(j.items);
    return status;
}
