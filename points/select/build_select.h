/* What can be tuned of our builder on a CUDA device: the tree is the same for all of it. */
#ifndef KD_POINTS_SELECT_BUILD_KANDELA_H
#define KD_POINTS_SELECT_BUILD_KANDELA_H
#include "core/device/absent.h"
#include "points/tree/build_device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct select_parameters {
    uint32_t large;   /* points from which on levels go in groups, in pairs by the widest side */
    uint32_t group;   /* levels of a group: 1 to 3; 0: pairs by either rule */
    uint32_t refined; /* points of a group's root from which on its lists get second brackets */
    float sigmas;     /* half a bracket in standard deviations of its sample, in groups */
} select_parameters;

select_parameters select_parameters_default(void);
KD_DEVICE_CALL(build_select_cuda_with,
               (const point_build_cuda *arguments, const select_parameters *parameters));

#ifdef __cplusplus
}
#endif
#endif
