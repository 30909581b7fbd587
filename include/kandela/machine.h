/* The machine: the number of threads of the process, and the devices that trees can be on. C99.

       #include <kandela/machine.h>
       #include <stdio.h>

       void print_devices(void) {
           for (uint32_t i = 0; i < kd_device_count(); ++i)
               printf("%s: %s, %.1f GB\n", kd_device_id(i), kd_device_name(i),
                      1e-9 * (double)kd_device_bytes(i));
       }

   Threads: every function may be called by any number of threads at once. Strings are valid until
   the thread's next call of the same function. */
#ifndef KANDELA_MACHINE_H
#define KANDELA_MACHINE_H
#include <kandela/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the number of threads that calls of the whole process use from then on; results do not
   depend on it. 0 or less: the default, the first number in OMP_NUM_THREADS, else the number of
   cores that the process may use. At most 8 per core; a larger number is reduced, with a warning.
 */
KD_API void kd_threads_set(int32_t threads);
/* Returns that number of threads, at least 1. */
KD_API int32_t kd_threads(void);

/* Returns the number of devices, at least 1: device 0 is the CPU, the others are CUDA devices. The
   first call initialises CUDA. */
KD_API uint32_t kd_device_count(void);
/* Return the id that options take, such as "cpu" or "cuda:0"; the name, such as "NVIDIA H200"; and
   the memory in bytes. For an index out of range: "" and 0. */
KD_API const char *kd_device_id(uint32_t index);
KD_API const char *kd_device_name(uint32_t index);
KD_API uint64_t kd_device_bytes(uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
