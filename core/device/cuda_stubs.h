/* Declarations of device functions for builds with and without CUDA. KD_DEVICE_CALL declares a
   function that returns a status, KD_DEVICE_ANSWER one that returns another type. With CUDA both
   declare a function that a .cu file defines. Without CUDA both define an inline stub, which fails
   with KD_ERROR_DEVICE or returns `answer`. Tables of functions refer to device functions through
   KD_IF_CUDA. */
#ifndef KD_CORE_DEVICE_CUDA_STUBS_H
#define KD_CORE_DEVICE_CUDA_STUBS_H
#include "core/status.h"

#ifdef KD_HAVE_CUDA
#define KD_DEVICE_ANSWER(type, name, arguments, answer) type name arguments
#define KD_IF_CUDA(name) name
#else
#define KD_DEVICE_ANSWER(type, name, arguments, answer)                                            \
    _Pragma("GCC diagnostic push") _Pragma(                                                        \
        "GCC diagnostic ignored \"-Wunused-parameter\"") static inline type name arguments {       \
        return answer;                                                                             \
    }                                                                                              \
    _Pragma("GCC diagnostic pop") static inline type name arguments
/* NULL is never called, because device_find fails first. */
#define KD_IF_CUDA(name) NULL
#endif
#define KD_DEVICE_CALL(name, arguments)                                                            \
    KD_DEVICE_ANSWER(kd_status, name, arguments, cuda_stub(__FILE__, __LINE__))

/* Records that this build has no CUDA. (Returning a constant lets the compiler see that the code
   after a failed call is unreachable.) */
static inline kd_status cuda_stub(const char *file, int line) {
    (void)status_fail(KD_ERROR_DEVICE, file, line,
                      "this build has no CUDA; configure with -DKD_CUDA=ON for CUDA devices");
    return KD_ERROR_DEVICE;
}

#endif
