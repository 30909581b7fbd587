/* core/parallel/primitives.h against straightforward versions, for many sizes and numbers of
   threads. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"
#include "tests/cases.h"
#include "tests/test.h"

enum { ITEMS_MAX = 200000 };
static const uint64_t counts[] = {0, 1, 2, 100, 8191, 8192, 8193, 16385, 65537, ITEMS_MAX};
static uint64_t keys[ITEMS_MAX], keys_before[ITEMS_MAX], sums[ITEMS_MAX];
static uint32_t values[ITEMS_MAX], narrow[ITEMS_MAX];

static uint64_t random_bits(uint64_t i) {
    const rng_block r = rng_draw(rng_key_make(7, 0, i), 0, 0);
    return (uint64_t)(r.value[0] * 0x1p24f) << 40 ^ (uint64_t)(r.value[1] * 0x1p24f) << 20 ^
           (uint64_t)(r.value[2] * 0x1p24f);
}

static void test_exclusive_scan(void **state) {
    (void)state;
    for (int threads = 1; threads <= 8; threads *= 2)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
            parallel_set_threads(threads);
            const uint64_t count = counts[c];
            for (uint64_t i = 0; i < count; ++i) {
                keys[i] = random_bits(i) >> 20;
                values[i] = (uint32_t)(keys[i] & 1023);
            }
            const uint64_t total = scan_exclusive_u64(keys, sums, count);
            const uint64_t total32 = scan_exclusive_u32(values, narrow, count);
            uint64_t expected = 0, expected32 = 0;
            for (uint64_t i = 0; i < count; ++i) {
                assert_true(sums[i] == expected);
                assert_true(narrow[i] == expected32);
                expected += keys[i];
                expected32 += values[i];
            }
            assert_true(total == expected);
            assert_true(total32 == expected32);
            assert_true(scan_exclusive_u64(keys, keys, count) == expected); /* in place */
            assert_memory_equal(keys, sums, count * sizeof *keys);
        }
    parallel_set_threads(0);
    narrow[0] = narrow[1] = UINT32_MAX; /* the total does not wrap */
    assert_true(scan_exclusive_u32(narrow, narrow, 2) == 2ull * UINT32_MAX);
}

static uint64_t digits(uint64_t key, int begin_bit, int end_bit) {
    return end_bit - begin_bit == 64 ? key
                                     : key >> begin_bit & ((1ull << (end_bit - begin_bit)) - 1);
}

/* The values are the positions before sorting. Expects sorted keys, and values that form a stable
   permutation. */
static void expect_sorted(uint64_t count, int begin_bit, int end_bit) {
    memset(narrow, 0, sizeof narrow);
    for (uint64_t i = 0; i < count; ++i) {
        assert_true(values[i] < count);
        assert_int_equal(narrow[values[i]]++, 0);
        assert_true(keys[i] == keys_before[values[i]]);
        if (i == 0) continue;
        const uint64_t before = digits(keys[i - 1], begin_bit, end_bit);
        const uint64_t key = digits(keys[i], begin_bit, end_bit);
        assert_true(before < key || (before == key && values[i - 1] < values[i]));
    }
}

static void test_radix_sort_is_stable(void **state) {
    (void)state;
    static const int bits[][2] = {{0, 64}, {0, 8}, {3, 14}, {32, 64}, {5, 5}, {63, 64}, {0, 37}};
    static const uint64_t masks[] = {UINT64_MAX, 0xff, 0x00ff00ff00ff00ffull, 0};
    void *scratch = NULL;
    assert_int_equal(memory_reserve(&scratch, radix_sort_pairs_scratch_bytes(ITEMS_MAX), 1), KD_OK);
    for (int threads = 1; threads <= 8; threads *= 2)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
            for (size_t b = 0; b < sizeof bits / sizeof *bits; ++b) {
                parallel_set_threads(threads);
                const uint64_t count = counts[c];
                for (uint64_t i = 0; i < count; ++i) {
                    keys_before[i] = keys[i] = random_bits(i) & masks[(b + c) % 4];
                    values[i] = (uint32_t)i;
                }
                radix_sort_pairs(keys, values, count, bits[b][0], bits[b][1], scratch);
                expect_sorted(count, bits[b][0], bits[b][1]);
            }
    parallel_set_threads(0);
    memory_free(scratch);
}

/* A 32-bit key and its value as one item. */
static void test_items_are_sorted_by_key(void **state) {
    (void)state;
    void *scratch = NULL;
    assert_int_equal(memory_reserve(&scratch, radix_sort_scratch_bytes(ITEMS_MAX), 1), KD_OK);
    for (uint64_t i = 0; i < ITEMS_MAX; ++i) {
        keys[i] = (random_bits(i) & 0xfff) << 32 | i;
        keys_before[i] = keys[i] & ~0xffffffffull;
    }
    radix_sort(keys, ITEMS_MAX, 32, 64, scratch);
    for (uint64_t i = 0; i < ITEMS_MAX; ++i) {
        values[i] = (uint32_t)keys[i];
        keys[i] &= ~0xffffffffull;
    }
    expect_sorted(ITEMS_MAX, 32, 64);
    memory_free(scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exclusive_scan),
        cmocka_unit_test(test_radix_sort_is_stable),
        cmocka_unit_test(test_items_are_sorted_by_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
