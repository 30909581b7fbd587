/* All points ask, on a CUDA device: the CPU's rows bit for bit, by packets, groups, leaves and
   walks, at sizes around the chunks of the index, from a tree of any points. */
#include "tests/gpu.h"
#include "tests/points/own_cases.h"

static void three_floats(void **state) {
    (void)state;
    static const uint32_t ks[] = {8, 1, 2, 4, 16, 17, 23, 24, 50, 56, 111, 112, 130, 0};
    static const uint32_t few[] = {8, 1, 23, 0};
    static const uint32_t counts[] = {1, 2, 33, 600, 1023, 1024, 1500, 3000, 4096, 10000, 70000};
    uint32_t number = 0;
    for (int which = 0; which < CASE_POINT_SETS; ++which)
        for (uint32_t c = 0; c < 11; ++c)
            for (int skips = 0; skips < 2; ++skips, ++number) {
                if (gpu_leaves_out(number, 23) || counts[c] > gpu_size(70000, 1500)) continue;
                if (counts[c] > 10000 && which != CASE_UNIFORM) continue;
                const own_case of = {"cuda:0",
                                     counts[c],
                                     3,
                                     KD_FLOAT,
                                     (case_points)which,
                                     number % 3 ? KD_POINTS_SPLIT_WIDEST
                                                : KD_POINTS_SPLIT_ROUND_ROBIN,
                                     number % 4 > 1,
                                     skips != 0,
                                     number % 5 ? "auto" : "leaves"};
                own_check(&of, gpu_is_emulated() ? few : ks);
            }
}

static void other_points(void **state) {
    (void)state;
    static const uint32_t ks[] = {2, 9, 40, 0};
    for (uint32_t variant = 0; variant < 8 * 2 * 2; ++variant) {
        const own_case of = {"cuda:0",
                             gpu_size(2000, 200) + variant,
                             1 + variant % 8,
                             variant / 8 % 2 ? KD_DOUBLE : KD_FLOAT,
                             variant % 3 ? CASE_UNIFORM : CASE_DUPLICATES,
                             KD_POINTS_SPLIT_WIDEST,
                             variant % 2 == 1,
                             variant / 16 != 0,
                             variant % 5 ? "auto" : "walk"};
        own_check(&of, ks);
    }
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(three_floats),
                                       cmocka_unit_test(other_points)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
