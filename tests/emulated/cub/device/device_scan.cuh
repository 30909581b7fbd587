/* The part of CUB's interface that Kandela uses, implemented by loops on the host. */
#ifndef KD_TESTS_EMULATED_CUB_SCAN_CUH
#define KD_TESTS_EMULATED_CUB_SCAN_CUH
#include "cuda_runtime.h"

namespace cub {
struct DeviceScan {
    template <class IN, class OUT, class COUNT>
    static cudaError_t scan(void *scratch, size_t &bytes, const IN *in, OUT *out, COUNT count,
                            bool inclusive) {
        if (!scratch) {
            bytes = 256;
            return cudaSuccess;
        }
        IN sum = 0;
        for (size_t i = 0; i < (size_t)count; ++i) {
            const IN value = in[i];
            out[i] = (OUT)(inclusive ? sum + value : sum);
            sum = (IN)(sum + value);
        }
        return cudaSuccess;
    }
    template <class IN, class OUT, class COUNT>
    static cudaError_t InclusiveSum(void *scratch, size_t &bytes, const IN *in, OUT *out,
                                    COUNT count, cudaStream_t = NULL) {
        return scan(scratch, bytes, in, out, count, true);
    }
    template <class IN, class OUT, class COUNT>
    static cudaError_t ExclusiveSum(void *scratch, size_t &bytes, const IN *in, OUT *out,
                                    COUNT count, cudaStream_t = NULL) {
        return scan(scratch, bytes, in, out, count, false);
    }
};
} // namespace cub
#endif
