/* What can be tuned of our builder on a CUDA device: the tree is the same for all of it. */
#ifndef KD_POINTS_KANDELA_BUILD_KANDELA_H
#define KD_POINTS_KANDELA_BUILD_KANDELA_H
#include "core/device/absent.h"
#include "points/tree/build_device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kandela_parameters {
    uint32_t large;   /* points from which on levels go in groups, in pairs by the widest side */
    uint32_t group;   /* levels of a group: 1 to 3; 0: pairs by either rule */
    uint32_t refined; /* points of a group's root from which on its lists get second brackets */
    float sigmas;     /* half a bracket in standard deviations of its sample, in groups */
} kandela_parameters;

kandela_parameters kandela_parameters_default(void);
KD_DEVICE_CALL(build_kandela_cuda_with,
               (const point_build_cuda *arguments, const kandela_parameters *parameters));

#ifdef __cplusplus
}
#endif
#endif
