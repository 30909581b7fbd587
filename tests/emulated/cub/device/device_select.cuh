/* The part of CUB's interface that Kandela uses, implemented by loops on the host. */
#ifndef KD_TESTS_EMULATED_CUB_SELECT_CUH
#define KD_TESTS_EMULATED_CUB_SELECT_CUH
#include "cuda_runtime.h"

namespace cub {
struct DeviceSelect {
    template <class ITEM, class FLAG, class TOTAL, class COUNT>
    static cudaError_t Flagged(void *scratch, size_t &bytes, const ITEM *in, const FLAG *flags,
                               ITEM *out, TOTAL *selected, COUNT count, cudaStream_t = NULL) {
        if (!scratch) {
            bytes = 256;
            return cudaSuccess;
        }
        TOTAL kept = 0;
        for (size_t i = 0; i < (size_t)count; ++i)
            if (flags[i]) out[kept++] = in[i];
        *selected = kept;
        return cudaSuccess;
    }
};
} // namespace cub
#endif
