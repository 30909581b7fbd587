#include "points/select/places.h"
#include <stdlib.h>

enum {
    SAMPLE = 1024, /* coordinates per axis in the trial sample */
    /* at most one in this many coordinates may share its place with another */
    SAMPLE_SPARE = 128
};

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns whether few coordinates of an axis share a place, judged by a sample. */
static bool serve(const point_places *places, uint32_t axis) {
    double sample[SAMPLE];
    const uint64_t count = places->points->count;
    const uint32_t size = count / 8 < SAMPLE ? (uint32_t)(count / 8) : SAMPLE;
    uint32_t shared = 0, random = (uint32_t)count;
    for (uint32_t i = 0; i < size; ++i) {
        const uint64_t at = count / size * i + keys_random(&random, (uint32_t)(count / size));
        sample[i] = point_places_coordinate(places, (int32_t)at, axis);
    }
    qsort(sample, size, sizeof *sample, ascending);
    for (uint32_t i = 1; i < size; ++i)
        shared += sample[i] > sample[i - 1] && point_places_key(places, sample[i], axis) ==
                                                   point_places_key(places, sample[i - 1], axis);
    return shared <= size / SAMPLE_SPARE;
}

/* Finds the largest power of two for which all places of the axis are below 2^32 - 4; returns false
   if there is none. */
static bool find_scale(point_places *out, uint32_t axis, double lo, double hi) {
    const double size = hi - lo;
    int exponent = 0;
    out->lo[axis] = lo;
    out->scale[axis] = out->step[axis] = 0;
    out->rough[axis] = 0;
    if (!(size > 0)) return size <= 0; /* one coordinate: all in place 0 */
    if (size > DBL_MAX) return false;
    frexp(size, &exponent); /* size < 2^exponent */
    if (ldexp(size, 32 - exponent) >= 0x1p32 - 4) ++exponent;
    if (exponent > 900 || exponent < -900) return false;
    out->scale[axis] = ldexp(1, 32 - exponent);
    out->step[axis] = ldexp(1, exponent - 32);
    return true;
}

void point_places_choose(point_places *out, const point_array *points, const point_box *box) {
    bool taken = points->scalar == POINT_DOUBLE;
    out->points = points;
    for (uint32_t axis = 0; axis < points->dims && taken; ++axis)
        taken = find_scale(out, axis, box->lo[axis], box->hi[axis]) && serve(out, axis);
    if (!taken) out->points = NULL;
}

static bool comes_before(const point_places *places, int32_t a, int32_t b, uint32_t axis) {
    const double x = point_places_coordinate(places, a, axis);
    const double y = point_places_coordinate(places, b, axis);
    return x < y || (x == y && a < b);
}

/* Selects the id of `rank` in the order (coordinate, id) by Hoare's "find". */
static int32_t select_id(const point_places *places, int32_t *ids, uint32_t count, uint32_t rank,
                         uint32_t axis) {
    uint32_t begin = 0, end = count, random = count;
    while (end - begin > 1) {
        const int32_t pivot = ids[begin + keys_random(&random, end - begin)];
        uint32_t left = begin;
        for (uint32_t i = begin; i < end; ++i) {
            const int32_t id = ids[i];
            if (!comes_before(places, id, pivot, axis)) continue;
            ids[i] = ids[left];
            ids[left++] = id;
        }
        if (rank < left) {
            end = left;
            continue;
        }
        if (rank == left) return pivot;
        for (uint32_t i = left; i < end; ++i) /* the pivot is the least of these */
            if (ids[i] == pivot) {
                ids[i] = ids[left];
                break;
            }
        begin = left + 1;
    }
    return ids[begin];
}

column_pivot point_places_select(const point_places *places, const int32_t *keys,
                                 const int32_t *ids, uint32_t count, uint32_t rank, uint32_t axis,
                                 int32_t *scratch[3], bool *differ) {
    const column_value value = column_select(keys, count, rank, scratch);
    column_pivot pivot = {value.value, 0, value.equal > 1};
    *differ = false;
    if (!pivot.tied) return pivot;
    column_ties(keys, ids, count, value.value, value.equal, scratch[2]);
    const double first = point_places_coordinate(places, scratch[2][0], axis);
    for (uint32_t i = 1; i < value.equal && !*differ; ++i)
        *differ = point_places_coordinate(places, scratch[2][i], axis) != first;
    rank -= value.less;
    pivot.id = *differ ? select_id(places, scratch[2], value.equal, rank, axis)
                       : column_select(scratch[2], value.equal, rank, scratch).value;
    return pivot;
}

void point_places_partition(const point_places *places, columns_source from, columns_target to,
                            column_pivot pivot, uint32_t columns) {
    const int32_t *keys = from.at + from.axis * from.stride;
    const int32_t *ids = from.at + (columns - 1) * from.stride;
    for (uint32_t i = 0; i < from.count; ++i) {
        const bool before =
            keys[i] < pivot.key ||
            (keys[i] == pivot.key && comes_before(places, ids[i], pivot.id, from.axis));
        const uint32_t place = before ? to.left++ : --to.right_end;
        for (uint32_t c = 0; c < columns; ++c)
            to.at[c * from.stride + place] = from.at[c * from.stride + i];
    }
}

void point_places_compare(const point_places *places, const int32x8 *equal, int32x8 *wrong,
                          const int32x8 *a_ids, const int32x8 *b_ids, const int32x8 *axes) {
    int32_t same[COLUMN_LANES], a[COLUMN_LANES], b[COLUMN_LANES], axis[COLUMN_LANES];
    int32_t after[COLUMN_LANES];
    memcpy(same, equal, sizeof same);
    memcpy(a, a_ids, sizeof a);
    memcpy(b, b_ids, sizeof b);
    memcpy(axis, axes, sizeof axis);
    memcpy(after, wrong, sizeof after);
    for (uint32_t lane = 0; lane < COLUMN_LANES; ++lane)
        if (same[lane] && places->rough[axis[lane]])
            after[lane] = comes_before(places, b[lane], a[lane], (uint32_t)axis[lane]) ? -1 : 0;
    memcpy(wrong, after, sizeof after);
}
