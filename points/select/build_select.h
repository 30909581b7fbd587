/* Tuning parameters of the CUDA builder `select`; they do not affect the tree. */
#ifndef KD_POINTS_SELECT_BUILD_SELECT_H
#define KD_POINTS_SELECT_BUILD_SELECT_H
#include "core/device/cuda_stubs.h"
#include "points/tree/build_device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct select_parameters {
    uint32_t large; /* from this many points on, levels go in groups (widest side: in pairs) */
    uint32_t group; /* levels per group, 1 to 3; 0: pairs with either split rule */
    /* groups whose root has at least this many points use second brackets */
    uint32_t refined;
    float sigmas; /* half width of a group's brackets in standard deviations of the sample */
} select_parameters;

select_parameters select_parameters_default(void);
KD_DEVICE_CALL(build_select_cuda_with,
               (const point_build_cuda *arguments, const select_parameters *parameters));

#ifdef __cplusplus
}
#endif
#endif
