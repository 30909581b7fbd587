/* Compute devices: the CPU, and each CUDA device that the build supports and the machine has. Also
   selects the device for a call of the public interface, validates the arrays that its caller
   passes, and creates and destroys CUDA contexts in the background. */
#ifndef KD_CORE_DEVICE_DEVICE_H
#define KD_CORE_DEVICE_DEVICE_H
#include "core/device/cuda_stubs.h"
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
    int32_t index;         /* CUDA device index; 0 for the CPU */
    char name[256];        /* "NVIDIA H200", "CPU, 16 threads" */
    uint64_t memory_bytes; /* total memory */
    int32_t processors;    /* multiprocessors, or CPU threads */
    int32_t major, minor;  /* compute capability; 0 for the CPU */
    double bandwidth; /* peak bandwidth of the CUDA device's memory in bytes per second as computed
                         from its attributes; 0 if unknown */
} device;

/* Finds a device by name. "auto" selects the first usable CUDA device, else the CPU; if an NVIDIA
   card is present but unusable, the reason is logged once. "cpu" does not initialise CUDA. "cuda"
   is "cuda:0"; "cuda:N" selects a device. Returns KD_ERROR_DEVICE, with the available devices in
   the message, for an absent device or an unknown name. */
kd_status device_find(device *out, const char *name);

/* Parse a list of names such as "cuda:0,cuda:1"; "cuda:all" stands for all CUDA devices, at least
   one. device_list_count returns the number of names, device_list_name writes one of them. */
int device_list_count(const char *names);
void device_list_name(char out[64], const char *names, int index);

KD_DEVICE_ANSWER(int, device_cuda_count, (void), 0); /* 0 without CUDA, driver or device */
/* Returns CUDA's reason for the absence of devices; "" if there is a device. */
KD_DEVICE_ANSWER(const char *, device_cuda_fault, (void), "this build has no CUDA");
void device_cpu_describe(device *out);
/* Returns KD_ERROR_DEVICE if the device is absent, too old, or the build has no code for it. */
KD_DEVICE_CALL(device_cuda_describe, (device * out, int index));
KD_DEVICE_ANSWER(bool, device_cuda_compiled, (void), false);

/* Returns the compute capabilities, times ten, that this build's kernels were compiled for. A plus
   sign marks PTX, which later devices can compile: in "75 80 90 90+", "90+" is PTX for 9.0 and
   later. "" if unknown. */
KD_DEVICE_ANSWER(const char *, device_cuda_code, (void), "");
/* Returns why a device of this compute capability (times ten) cannot run such code, or NULL if it
   can. Binary code runs on later devices of the same major version, PTX on all later devices. */
const char *device_code_lacks(const char *code, int capability);
/* Returns true if the system has an NVIDIA card, whether or not this build has CUDA. `root` is "";
   tests pass a directory to prepend to /proc and /dev. */
bool device_card_exists(const char *root);

enum {
    DEVICE_ITEMS_MIN = 100000 /* minimum number of items for which "auto" selects a device for
                                   data in host memory */
};

/* Selects a CUDA device, or -1 for the CPU. "auto" selects the CPU if `able` is false, else the
   device that owns `memory` (a host or device pointer or NULL), else the first device if there are
   at least DEVICE_ITEMS_MIN items. */
kd_status device_choose(int32_t *out, const char *name, const void *memory, uint64_t items,
                        bool able);
/* Returns true if a call with "auto" may fall back to the CPU after this failure on a device: the
   failure is KD_ERROR_MEMORY or KD_ERROR_DEVICE, and `memory` is not device memory. */
bool device_retreats(const char *name, kd_status failure, const void *memory);

/* An array passed by a caller of the public interface. The checks below reject pointers whose use
   would crash the process. */
typedef struct caller_array {
    const void *pointer; /* may be NULL */
    const char *name;    /* name of the argument in messages */
    uint32_t alignment;  /* in bytes, a power of two */
} caller_array;

/* Returns KD_ERROR_USAGE, naming the first array that is misaligned or, if the call runs on the
   `host`, is memory of a CUDA device. */
kd_status caller_memory_check(const caller_array *arrays, int count, bool host);

/* Returns KD_ERROR_USAGE unless `count` items (called `name` in messages, such as "points") of
   `item` elements can be stored stride_bytes apart (0: packed): the stride must be a multiple of
   element_bytes, items must not overlap, and their total size must be at most INT64_MAX. On success
   no product of these numbers overflows 64 bits. */
kd_status caller_stride_check(uint64_t count, uint64_t stride_bytes, uint64_t item,
                              uint64_t element_bytes, const char *name);

/* Background creation and destruction of CUDA contexts. A driver takes about as long to initialise
   as a scene of moderate size takes to load, so a thread creates the contexts while the program
   reads files. Another thread destroys them while the program writes the picture, work that the
   driver would otherwise do at process exit with nothing to overlap it. */
typedef struct context_init {
    pthread_t thread;
    bool has_thread;
    const char *names; /* such as "cuda:0,cuda:1" */
    kd_status found;
} context_init;

/* Starts a thread that creates the contexts; does nothing if no thread can be started. `names` is
   borrowed until context_init_end. */
void context_init_begin(context_init *out, const char *names);
/* Waits for the contexts, in the stage "context" of the job; fails if a device is absent. Accepts a
   struct that is zeroed or already ended. */
kd_status context_init_end(context_init *ended, job_control *job);

typedef struct retiring {
    pthread_t thread;
    bool has_thread;
    const char *names;
} retiring;

/* Starts a thread that destroys the contexts of these devices: their memory is lost, and the
   process must not use them again. Does nothing if no thread can be started or one is already
   running. `names` is borrowed until retiring_end. */
void retiring_begin(retiring *out, const char *names);
/* Waits for the thread. Accepts a struct that is zeroed or already ended. */
void retiring_end(retiring *ended);

/* Destroys the device's context (cudaDeviceReset). */
KD_DEVICE_ANSWER(void, device_retire, (int index), );

#ifdef __cplusplus
}
#endif

#endif
