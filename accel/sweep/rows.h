/* The parts of a node's triangles as rows of numbers, and the stack that holds those of all nodes
   on the way.
   Idea: a node's right child is written over the node itself, its left one above; a child is no
         larger than its parent, so that twice the root's rows are enough for most trees. */
#ifndef KD_ACCEL_SWEEP_ROWS_H
#define KD_ACCEL_SWEEP_ROWS_H
#include "accel/geometry/vector8.h"
#include "core/status.h"

/* By ascending triangle id; whole vectors may be read and written behind the last one. */
typedef struct sweep_rows {
    uint32_t *id;
    float *lo[3], *hi[3]; /* of the triangle's part in the node */
} sweep_rows;

typedef struct rows_block { /* a stack that outgrows its block goes on in another */
    struct rows_block *below;
    float *numbers;
    uint64_t room, stride; /* triangles; from a row to the next */
} rows_block;

/* Its value at any time is what rows_release takes it back to. */
typedef struct rows_stack {
    rows_block *block; /* NULL: there is none */
    uint64_t top;
} rows_stack;

/* Room for `count` triangles. */
kd_status rows_push(rows_stack *stack, uint64_t count, sweep_rows *out);
/* The same, with a new block if need be of room for `expected` triangles. */
kd_status rows_push_first(rows_stack *stack, uint64_t count, uint64_t expected, sweep_rows *out);
/* Gives back what was pushed since the stack was as `before`: {NULL, 0} for all of it. */
void rows_release(rows_stack *stack, rows_stack before);

static inline sweep_rows rows_from(const sweep_rows *rows, uint64_t first) {
    sweep_rows from;
    from.id = rows->id + first;
    for (int axis = 0; axis < 3; ++axis) {
        from.lo[axis] = rows->lo[axis] + first;
        from.hi[axis] = rows->hi[axis] + first;
    }
    return from;
}

/* Writes those of `mask` among the eight from `k` on, the first of them as number `to`, and eight
   in all. `rows` may be those that are written if `to` is not above `k`. */
VECTOR8_FN void rows_give(const sweep_rows *child, uint64_t to, const sweep_rows *rows, uint64_t k,
                          uint32_t mask) {
#if defined(__AVX2__) && defined(__BMI2__)
    const uint64_t bytes = _pdep_u64(mask, 0x0101010101010101u) * 0xff;
    const uint64_t places = _pext_u64(0x0706050403020100u, bytes);
    const __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)places));
#define GIVE(row)                                                                                  \
    _mm256_storeu_ps(                                                                              \
        (float *)(child->row + to),                                                                \
        _mm256_permutevar8x32_ps(_mm256_loadu_ps((const float *)(rows->row + k)), order))
    GIVE(id);
    for (int axis = 0; axis < 3; ++axis) {
        GIVE(lo[axis]);
        GIVE(hi[axis]);
    }
#undef GIVE
#else
    for (; mask; mask &= mask - 1, ++to) {
        const uint64_t i = k + (uint64_t)__builtin_ctz(mask);
        child->id[to] = rows->id[i];
        for (int axis = 0; axis < 3; ++axis) {
            child->lo[axis][to] = rows->lo[axis][i];
            child->hi[axis][to] = rows->hi[axis][i];
        }
    }
#endif
}

#endif
