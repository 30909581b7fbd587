/* The first step of build_select.c: conversion of points to columns of keys.
   Idea: each step has the number of dimensions as its first parameter; SELECT_BY_DIMS instantiates
         it for two to four as a constant, so that the compiler unrolls the loops over axes and
         columns, and once more for any number. */
#ifndef KD_POINTS_SELECT_FILL_H
#define KD_POINTS_SELECT_FILL_H

#define SELECT_BY_DIMS(dims, step, ...)                                                            \
    switch (dims) {                                                                                \
    case 2: step(2, __VA_ARGS__); break;                                                           \
    case 3: step(3, __VA_ARGS__); break;                                                           \
    case 4: step(4, __VA_ARGS__); break;                                                           \
    default: step(dims, __VA_ARGS__); break;                                                       \
    }

/* Converts four points at a time; *missed counts the keys that do not represent their coordinate
   exactly. */
COLUMN_FN int64_t fill_places_loop(uint32_t dims, bool count_missed, const select_work *work,
                                   int64_t begin, int64_t end, double *missed) {
    enum { ROWS = 4 };
    const point_places *places = &work->places;
    double lo[ROWS * POINT_DIMS_MAX], scale[ROWS * POINT_DIMS_MAX], step[ROWS * POINT_DIMS_MAX];
    int32_t keys[ROWS * POINT_DIMS_MAX], *to = work->columns[0];
    for (uint32_t j = 0; j < ROWS * dims; ++j) {
        lo[j] = places->lo[j % dims];
        scale[j] = places->scale[j % dims];
        step[j] = places->step[j % dims];
    }
    for (; begin + ROWS <= end; begin += ROWS) {
        const double *from = (const double *)work->points->coordinates + (uint64_t)begin * dims;
        for (uint32_t j = 0; j < ROWS * dims; ++j) { /* as point_places_key and
                                                        point_places_holds */
            keys[j] = (int32_t)((from[j] - lo[j]) * scale[j] - 0x1p31);
            if (count_missed)
                missed[j] += lo[j] + ((double)keys[j] + 0x1p31) * step[j] != from[j] ? 1.0 : 0.0;
        }
        for (uint32_t j = 0; j < ROWS * dims; ++j)
            to[j % dims * work->stride + (uint64_t)begin + j / dims] = keys[j];
        for (uint32_t row = 0; row < ROWS; ++row)
            to[dims * work->stride + (uint64_t)begin + row] = (int32_t)(begin + row);
    }
    return begin;
}

COLUMN_FN void fill_places(uint32_t dims, select_work *work, int64_t begin, int64_t end) {
    enum { FIRST = 256, ROWS = 4 };
    double missed[ROWS * POINT_DIMS_MAX] = {0};
    const int64_t first = end - begin < FIRST ? end : begin + FIRST;
    int64_t i = fill_places_loop(dims, true, work, begin, first, missed);
    bool all = true;
    for (uint32_t axis = 0; axis < dims; ++axis) all &= missed[axis] > 0;
    if (all) /* all axes are known to be inexact */
        i = fill_places_loop(dims, false, work, i, end, missed);
    else
        i = fill_places_loop(dims, true, work, i, end, missed);
    for (; i < end; ++i)
        for (uint32_t axis = 0; axis < dims; ++axis) {
            const double x = point_places_coordinate(&work->places, (int32_t)i, axis);
            const int32_t key = point_places_key(&work->places, x, axis);
            missed[axis] += point_places_holds(&work->places, key, x, axis) ? 0 : 1;
            work->columns[0][axis * work->stride + (uint64_t)i] = key;
            work->columns[0][dims * work->stride + (uint64_t)i] = (int32_t)i;
        }
    for (uint32_t j = 0; j < ROWS * dims; ++j)
        if (missed[j] > 0) __atomic_store_n(&work->places.rough[j % dims], 1, __ATOMIC_RELAXED);
}

/* Converts eight points at a time. */
COLUMN_FN int64_t fill_floats(uint32_t dims, const select_work *work, int64_t begin, int64_t end) {
    enum { ROWS = 8 };
    int32_t keys[ROWS * POINT_DIMS_MAX];
    for (; begin + ROWS <= end; begin += ROWS) {
        const float *from = work->keys.floats + (uint64_t)begin * dims;
        int32_t *to = work->columns[0] + begin;
        for (uint32_t j = 0; j < ROWS * dims; ++j) { /* select_key of pointtree_order_bits */
            const int32_t bits = (int32_t)float_bits(from[j] + 0.0f);
            keys[j] = bits ^ ((bits >> 31) & INT32_MAX);
        }
        for (uint32_t axis = 0; axis < dims; ++axis, to += work->stride)
            for (uint32_t row = 0; row < ROWS; ++row) to[row] = keys[row * dims + axis];
        for (uint32_t row = 0; row < ROWS; ++row) to[row] = (int32_t)(begin + row);
    }
    return begin;
}

COLUMN_FN void fill(uint32_t dims, select_work *work, int64_t begin, int64_t end) {
    int32_t *to = work->columns[0];
    if (work->places.points) {
        fill_places(dims, work, begin, end);
        return;
    }
    int64_t i = work->keys.floats ? fill_floats(dims, work, begin, end) : begin;
    for (; i < end; ++i) {
        for (uint32_t axis = 0; axis < dims; ++axis)
            to[axis * work->stride + (uint64_t)i] =
                select_key(point_key(&work->keys, (uint64_t)i, axis));
        to[dims * work->stride + (uint64_t)i] = (int32_t)i;
    }
}

/* Dispatches on the number of dimensions, so that short loops are compiled for each. */
static void fill_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    select_work *work = (select_work *)context;
    switch (work->out->dims) {
    case 5: fill(5, work, begin, end); break;
    case 6: fill(6, work, begin, end); break;
    case 7: fill(7, work, begin, end); break;
    case 8: fill(8, work, begin, end); break;
    default: SELECT_BY_DIMS(work->out->dims, fill, work, begin, end)
    }
}

#endif
