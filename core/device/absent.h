/* The one answer of a build without CUDA. What drives a device is declared by KD_DEVICE_CALL, or by
   KD_DEVICE_ANSWER if it returns no status; with CUDA that is a declaration of what a .cu file
   defines, without it the function itself, which fails or gives `answer`. A row or a table of
   functions names those of a device by KD_IF_CUDA. */
#ifndef KD_CORE_DEVICE_ABSENT_H
#define KD_CORE_DEVICE_ABSENT_H
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
/* NULL: device_find fails before anybody would call it. */
#define KD_IF_CUDA(name) NULL
#endif
#define KD_DEVICE_CALL(name, arguments)                                                            \
    KD_DEVICE_ANSWER(kd_status, name, arguments, device_absent(__FILE__, __LINE__))

/* There is no CUDA in this build. (The compiler sees that nobody goes on behind it.) */
static inline kd_status device_absent(const char *file, int line) {
    (void)status_fail(KD_ERROR_DEVICE, file, line, "this build has no CUDA");
    return KD_ERROR_DEVICE;
}

#endif
