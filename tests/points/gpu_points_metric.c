/* Norms 1 and infinity, periodic space and boxes on a CUDA device: results equal those of brute
   force. */
#include "tests/gpu.h"
#include "tests/points/metric_cases.h"

static void answers_equal_brute_force(void **state) {
    (void)state;
    static const uint32_t counts[] = {700, 33, 260, 1}, few[] = {150, 33, 60, 1};
    metric_check_all("cuda:0", gpu_size(3, 31), gpu_is_emulated() ? few : counts);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_equal_brute_force)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
