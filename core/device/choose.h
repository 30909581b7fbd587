/* Where the public interfaces of points and triangles do their work. */
#ifndef KD_CORE_DEVICE_CHOOSE_H
#define KD_CORE_DEVICE_CHOOSE_H
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>

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

#endif
