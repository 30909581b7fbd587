/* Where work can run: the CPU, and each CUDA device that this build and this machine have. */
#ifndef KD_CORE_DEVICE_DEVICE_H
#define KD_CORE_DEVICE_DEVICE_H
#include "core/device/absent.h"
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum device_kind { DEVICE_CPU = 0, DEVICE_CUDA = 1 } device_kind;

typedef struct device {
    device_kind kind;
    int32_t index;         /* of the CUDA device; 0 for the CPU */
    char name[256];        /* "NVIDIA H200", "CPU, 16 threads" */
    uint64_t memory_bytes; /* total */
    int32_t processors;    /* multiprocessors, or threads */
    int32_t major, minor;  /* compute capability; 0 for the CPU */
    double bandwidth;      /* of a CUDA device's memory, bytes a second, as it says itself; or 0 */
} device;

/* "auto": the first CUDA device, else the CPU; "cpu"; "cuda" or "cuda:N". A device that is absent,
   or an unknown name, is KD_ERROR_DEVICE with what there is. */
kd_status device_find(device *out, const char *name);

KD_DEVICE_ANSWER(int, device_cuda_count, (void), 0); /* 0 without CUDA, a driver or a device */
void device_cpu_describe(device *out);
KD_DEVICE_CALL(device_cuda_describe, (device * out, int index));
KD_DEVICE_ANSWER(bool, device_cuda_compiled, (void), false);

#ifdef __cplusplus
}
#endif
#endif
