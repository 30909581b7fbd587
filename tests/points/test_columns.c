/* points/select/columns.h against sorting, and AVX2 versions against scalar ones. */
#include "core/math/rng.h"
#include "points/select/columns.h"
#include "tests/test.h"
#include <stdlib.h>

enum { COUNT_MAX = 3000, GUARD = 16, COLUMNS = 4, STRIDE = COUNT_MAX + GUARD };
static int32_t values[COUNT_MAX], sorted[COUNT_MAX], buffers[3][COUNT_MAX + GUARD];
static int32_t from[COLUMNS * STRIDE], to[COLUMNS * STRIDE];
static const uint32_t counts[] = {1,  2,  7,  8,  9,   15,  16,  17,  31,  32,   33,
                                  40, 63, 64, 65, 100, 255, 511, 512, 513, 1000, 3000};
enum { COUNTS = sizeof counts / sizeof *counts, SHAPES = 6 };

/* Values of all kinds: many, few or equal distinct values, in ascending or descending order, with
   the ends of the range. */
static int32_t value_of(uint32_t shape, uint32_t i, uint32_t count) {
    const rng_block r = rng_draw(rng_key_make(77, shape, i), 0, 0);
    const int32_t wild = (int32_t)((double)r.value[0] * 4e9 - 2e9);
    switch (shape) {
    case 0: return wild;
    case 1: return wild % 3;
    case 2: return -5;
    case 3: return (int32_t)i;
    case 4: return (int32_t)(count - i) / 2;
    default: return i % 3 == 0 ? INT32_MIN : i % 3 == 1 ? INT32_MAX - 1 : wild;
    }
}

static int by_value(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void fill(uint32_t shape, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) values[i] = sorted[i] = value_of(shape, i, count);
    qsort(sorted, count, sizeof *sorted, by_value);
}

static void selected_is_what_sorting_finds(void **state) {
    (void)state;
    int32_t *scratch[2] = {buffers[0], buffers[1]};
    for (uint32_t shape = 0; shape < SHAPES; ++shape)
        for (int c = 0; c < COUNTS; ++c) {
            const uint32_t count = counts[c], step = count / 40 + 1;
            fill(shape, count);
            for (uint32_t rank = 0; rank < count; rank += step) {
                const column_value value = column_select(values, count, rank, scratch);
                assert_int_equal(value.value, sorted[rank]);
                assert_true(value.less <= rank && rank < value.less + value.equal);
                assert_true(value.less == 0 || sorted[value.less - 1] < value.value);
                const uint32_t end = value.less + value.equal;
                assert_int_equal(sorted[value.less], value.value);
                assert_true(end == count || sorted[end] > value.value);
            }
        }
}

static void narrowing_keeps_what_is_between(void **state) {
    (void)state;
    for (uint32_t shape = 0; shape < SHAPES; ++shape)
        for (int c = 0; c < COUNTS; ++c) {
            const uint32_t count = counts[c];
            fill(shape, count);
            const int32_t lo = sorted[count / 3], hi = sorted[count / 2];
            uint32_t below, below_plain;
            for (int i = 0; i < GUARD; ++i) buffers[0][count + (uint32_t)i] = 12345;
            const uint32_t kept = column_narrow(values, count, lo, hi, buffers[0], &below);
            for (int i = 0; i < GUARD; ++i)
                assert_int_equal(buffers[0][count + (uint32_t)i], 12345);
            assert_int_equal(column_narrow_plain(values, count, lo, hi, buffers[1], &below_plain),
                             kept);
            assert_int_equal(below, below_plain);
            assert_memory_equal(buffers[0], buffers[1], kept * sizeof(int32_t));
            memcpy(buffers[2], values, count * sizeof *values); /* in place */
            assert_int_equal(column_narrow(buffers[2], count, lo, hi, buffers[2], &below), kept);
            assert_memory_equal(buffers[2], buffers[1], kept * sizeof(int32_t));
        }
}

/* Expects each record on the correct side, complete and once, and nothing else written. */
static void expect_sides(uint32_t count, uint32_t left, uint32_t lefts, uint32_t right,
                         column_pivot pivot) {
    static uint8_t seen[COUNT_MAX];
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < STRIDE; ++i) {
        const bool at_left = i >= left && i < left + lefts;
        const bool at_right = i >= right && i < right + count - lefts;
        if (!at_left && !at_right) {
            for (uint32_t c = 0; c < COLUMNS; ++c) assert_int_equal(to[c * STRIDE + i], -777);
            continue;
        }
        const int32_t id = to[(COLUMNS - 1) * STRIDE + i], key = to[STRIDE + i];
        assert_true(id >= 0 && id < (int32_t)count && !seen[id]++);
        for (uint32_t c = 0; c < COLUMNS; ++c)
            assert_int_equal(to[c * STRIDE + i], from[c * STRIDE + (uint32_t)id]);
        assert_int_equal(key < pivot.key || (key == pivot.key && id < pivot.id), at_left);
    }
}

typedef void (*partition_fn)(columns_source, columns_target, column_pivot);
static void partition(columns_source source, columns_target target, column_pivot pivot) {
    columns_partition(source, target, pivot, COLUMNS);
}
static void partition_plain(columns_source source, columns_target target, column_pivot pivot) {
    columns_partition_plain(source, target, pivot, COLUMNS);
}

static void partitions_put_each_record_on_its_side(void **state) {
    (void)state;
    static const partition_fn strategies[] = {partition, partition_plain};
    int32_t *scratch[3] = {buffers[0], buffers[1], buffers[2]};
    for (uint32_t shape = 0; shape < SHAPES; ++shape)
        for (int c = 0; c < COUNTS; ++c)
            for (int strategy = 0; strategy < 2; ++strategy) {
                const uint32_t count = counts[c], left = 3;
                fill(shape, count);
                for (uint32_t i = 0; i < count; ++i) {
                    from[i] = (int32_t)(7 * i);
                    from[STRIDE + i] = values[i];
                    from[2 * STRIDE + i] = ~values[i];
                    from[3 * STRIDE + i] = (int32_t)i;
                }
                for (int i = 0; i < COLUMNS * STRIDE; ++i) to[i] = -777;
                const uint32_t rank = count / 2;
                const column_pivot pivot =
                    column_pivot_select(from + STRIDE, from + 3 * STRIDE, count, rank, scratch);
                const uint32_t at = column_find(from + STRIDE, from + 3 * STRIDE, count, pivot);
                assert_true(at < count && from[STRIDE + at] == pivot.key);
                if (pivot.tied) assert_int_equal(at, pivot.id);
                const columns_source source = {from, STRIDE, count, 1};
                const columns_target target = {to, left, left + rank, left + rank + 2,
                                               left + count + 2};
                strategies[strategy](source, target, pivot);
                const column_pivot exact = {pivot.key, (int32_t)at, true};
                expect_sides(count, left, rank, left + rank + 2, exact);
            }
}

static void rows_become_columns(void **state) {
    (void)state;
    int32_t square[64];
    int32x8 lanes[8];
    for (int i = 0; i < 64; ++i) square[i] = i;
    int32x8_transpose(lanes, square);
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j) assert_int_equal(lanes[j][i], 8 * i + j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selected_is_what_sorting_finds),
        cmocka_unit_test(narrowing_keeps_what_is_between),
        cmocka_unit_test(partitions_put_each_record_on_its_side),
        cmocka_unit_test(rows_become_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
