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

/* "auto": the first CUDA device that can be used, else the CPU (why, if a card is there, is logged
   once); "cpu" starts no CUDA; "cuda" or "cuda:N". A device that is absent, or an unknown name, is
   KD_ERROR_DEVICE with what there is. */
kd_status device_find(device *out, const char *name);

/* A list of names, "cuda:0,cuda:1" or "cuda:all" (all CUDA devices there are; one at least): how
   many they are, and one of them. */
int device_list_count(const char *names);
void device_list_name(char out[64], const char *names, int index);

KD_DEVICE_ANSWER(int, device_cuda_count, (void), 0); /* 0 without CUDA, a driver or a device */
/* Why there is none, in CUDA's words; "" where there is one. */
KD_DEVICE_ANSWER(const char *, device_cuda_fault, (void), "this build has no CUDA");
void device_cpu_describe(device *out);
/* KD_ERROR_DEVICE if it is absent, too old, or this build has no code for it. */
KD_DEVICE_CALL(device_cuda_describe, (device * out, int index));
KD_DEVICE_ANSWER(bool, device_cuda_compiled, (void), false);

/* What this build's kernels were compiled for, times ten; "90+" is PTX for 9.0 and all later ones:
   "75 80 90 90+". "" is not known. */
KD_DEVICE_ANSWER(const char *, device_cuda_code, (void), "");
/* Why a device of this compute capability (times ten) cannot run such code; NULL: it can. Code of a
   version runs on later ones of the same major number, PTX on all later ones. */
const char *device_code_lacks(const char *code, int capability);
/* Whether the system knows an NVIDIA card, with or without CUDA in this build; `root` is "" but in
   tests, or a folder in front of /proc and /dev. */
bool device_card_is_there(const char *root);

#ifdef __cplusplus
}
#endif
#endif
