/* Where work can run: the CPU, and each CUDA device that this build and this machine have. Also the
   choice of a device for a call of the public interface and checks of the arrays that its caller
   passes, and contexts of CUDA that start or end while the program does something else. */
#ifndef KD_CORE_DEVICE_DEVICE_H
#define KD_CORE_DEVICE_DEVICE_H
#include "core/device/absent.h"
#include "core/job.h"
#include "core/status.h"
#include <pthread.h>
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

enum {
    DEVICE_ITEMS_LEAST = 100000 /* from which on "auto" takes a device for memory of the host */
};

/* The CUDA device to take, or -1: the CPU. "auto": the one that `memory` (of the host, of a device
   or NULL) belongs to, else the first for DEVICE_ITEMS_LEAST items and more; -1 unless it is
   `able`. */
kd_status device_choose(int32_t *out, const char *name, const void *memory, uint64_t items,
                        bool able);
/* Whether "auto" may go on on the CPU after this failure on a device. */
bool device_retreats(const char *name, kd_status failure, const void *memory);

/* An array that a caller of the public interface passes: a check refuses it before it is read where
   that would end the process. */
typedef struct caller_array {
    const void *pointer; /* NULL is fine */
    const char *name;    /* for the message */
    uint32_t alignment;  /* bytes, a power of two */
} caller_array;

/* KD_ERROR_USAGE names the first array that is not aligned or, if the call works on the `host`, is
   memory of a CUDA device. */
kd_status caller_memory_check(const caller_array *arrays, int count, bool host);

/* KD_ERROR_USAGE if `count` items (`name`: "points") of `item` elements cannot lie stride_bytes
   from each other (0: packed): that is not whole elements, or one would lie over the next, or they
   are more bytes than any memory has. Otherwise no product of them leaves 64 bits. */
kd_status caller_stride_check(uint64_t count, uint64_t stride_bytes, uint64_t item,
                              uint64_t element_bytes, const char *name);

/* CUDA contexts are created by a thread while the program reads files, because a driver takes as
   long to start as a scene of some size to load; and destroyed by a thread while it writes the
   picture, which the driver would otherwise do at the end of the process with nothing beside it.
 */
typedef struct waking {
    pthread_t thread;
    bool has_thread;
    const char *names; /* "cuda:0,cuda:1" */
    kd_status found;
} waking;

/* Starts the thread if one can be had. The caller owns `names` and keeps it until the end. */
void waking_begin(waking *out, const char *names);
/* Waits for the contexts, as the stage "context"; fails if a device is absent. May be called for
   one that has ended or never begun (all zero). */
kd_status waking_end(waking *ended, job *watched);

typedef struct retiring {
    pthread_t thread;
    bool has_thread;
    const char *names;
} retiring;

/* Destroys the contexts of these devices, if a thread can be had: their memory is lost, and this
   process may not use them again. The caller owns `names` and keeps it until the end. A second call
   does nothing. */
void retiring_begin(retiring *out, const char *names);
/* Waits for the end. May be called for one that has ended or never begun (all zero). */
void retiring_end(retiring *ended);

/* Ends the context of a device. */
KD_DEVICE_ANSWER(void, device_retire, (int index), );

#ifdef __cplusplus
}
#endif

#endif
