/* Helpers of tests on a CUDA device. In a build with -DKD_CUDA=EMULATED (tests/emulated) the device
   is emulated by CPU threads, so tests run fewer and smaller cases. */
#ifndef KD_TESTS_GPU_H
#define KD_TESTS_GPU_H
#include "core/device/device.h"
#include "tests/test.h"

/* Returns true, with a message, if there is no device; main then returns TEST_SKIPPED. */
static inline bool gpu_is_missing(void) {
    if (device_cuda_count() > 0) return false;
    puts("skipped: no CUDA device");
    return true;
}

static inline bool gpu_is_emulated(void) {
    device device;
    return device_cuda_describe(&device, 0) == KD_OK && strncmp(device.name, "emulated", 8) == 0;
}

/* Returns the size of a test case: `on_card` on a real device, else `emulated`. */
static inline uint32_t gpu_size(uint32_t on_card, uint32_t emulated) {
    return gpu_is_emulated() ? emulated : on_card;
}

/* Returns true if test case `number` is to be skipped, because the device is emulated and runs only
   one case in `one_in`. */
static inline bool gpu_leaves_out(uint32_t number, uint32_t one_in) {
    return gpu_is_emulated() && number % one_in != 0;
}

#endif
