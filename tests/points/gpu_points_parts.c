/* Trees on several devices, of which one at least is a GPU, beside one tree on the CPU: the same
   card may be several parts. */
#include "tests/gpu.h"
#include "tests/points/own_cases.h"
#include "tests/points/parts_cases.h"

static const char *const device_lists[] = {"cuda:0,cuda:0", "cuda:0,cpu", "cpu,cuda:0,cuda:0"};

static void answers_are_those_of_one_tree(void **state) {
    (void)state;
    const uint32_t sizes[] = {gpu_size(700, 60), 0, 3};
    for (uint32_t variant = 0; variant < CASE_POINT_SETS * 3; ++variant) {
        if (gpu_leaves_out(variant, 4)) continue;
        const parts_case of = {(case_points)(variant % CASE_POINT_SETS),
                               sizes[variant / CASE_POINT_SETS],
                               variant % 2 ? 3 : 1 + variant % 8,
                               variant % 3 ? KD_FLOAT : KD_DOUBLE,
                               device_lists[variant % 3],
                               variant % 4 ? KD_POINTS_SPREAD_PARTS : KD_POINTS_SPREAD_COPIES,
                               variant % 5 ? KD_POINTS_SPLIT_WIDEST : KD_POINTS_SPLIT_ROUND_ROBIN,
                               variant % 6 == 1,
                               variant % 12 == 2 ? 1ull << 35 : 0};
        check_all(&of);
    }
}

static void all_points_ask(void **state) {
    (void)state;
    static const uint32_t ks[] = {8, 1, 0};
    for (uint32_t which = 0; which < CASE_POINT_SETS; ++which) {
        if (gpu_leaves_out(which, 3)) continue;
        const own_case of = {device_lists[which % 3],
                             gpu_size(600, 50),
                             which % 2 ? 3 : 4,
                             KD_FLOAT,
                             (case_points)which,
                             KD_POINTS_SPLIT_WIDEST,
                             which % 4 == 1,
                             which % 5 > 1,
                             "auto"};
        own_spread = which % 4 ? KD_POINTS_SPREAD_PARTS : KD_POINTS_SPREAD_COPIES;
        own_check(&of, ks);
    }
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_those_of_one_tree),
                                       cmocka_unit_test(all_points_ask)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
