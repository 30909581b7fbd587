/* Tuning parameters of the chunk-sorting builder; they do not affect the tree. */
#ifndef KD_POINTS_PAPERS_BUILD_WEHR_H
#define KD_POINTS_PAPERS_BUILD_WEHR_H
#include "core/device/cuda_stubs.h"
#include "points/tree/build.h"
#include "points/tree/build_device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wehr_parameters {
    uint32_t block;      /* points per histogram (the paper's TPB); at least 16 */
    uint32_t digit_bits; /* log2 of the radix (the paper's base is 32: 5 bits); 1 to 11 */
    uint32_t cutoff;     /* smaller chunks are sorted by one core each */
    /* smaller chunks are sorted by insertion; 0: 16. Ignored on a device */
    uint32_t insertion;
    /* out: time of each level, an array of 32; may be NULL. Ignored on a device */
    double *level_seconds;
} wehr_parameters;

wehr_parameters wehr_parameters_default(void);
/* Defaults for a CUDA device, which supports blocks of 1024, 2048 or 4096 points, digits of 2 to 5
   bits, and cutoffs of 512, 1024 or 2048 points, below which one block finishes a chunk. */
wehr_parameters wehr_parameters_cuda_default(void);

kd_status build_wehr_with(pointtree *out, const point_array *points,
                          const wehr_parameters *parameters, job_control *job);

/* Finds the fastest parameters for such points by trial, like the paper's search for its block
   size. */
kd_status wehr_tune(wehr_parameters *best, const point_array *points,
                    const pointtree_options *options);

KD_DEVICE_CALL(build_wehr_cuda_with,
               (const point_build_cuda *arguments, const wehr_parameters *parameters));
/* As wehr_tune, on a device; synchronises after each trial. */
KD_DEVICE_CALL(wehr_tune_cuda, (wehr_parameters * best, const point_build_cuda *arguments));

#ifdef __cplusplus
}
#endif
#endif
