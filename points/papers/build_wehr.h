/* What can be tuned of the chunk-sorting builder: the tree is the same for all of it. */
#ifndef KD_POINTS_PAPERS_BUILD_WEHR_H
#define KD_POINTS_PAPERS_BUILD_WEHR_H
#include "core/device/absent.h"
#include "points/tree/build.h"
#include "points/tree/build_device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wehr_parameters {
    uint32_t block;        /* points that one histogram counts (the paper's TPB); at least 16 */
    uint32_t digit_bits;   /* log2 of the radix (the paper's base is 32: 5 bits); 1 to 11 */
    uint32_t cutoff;       /* chunks of fewer points are sorted by one core each, ... */
    uint32_t insertion;    /* ... of fewer than this by insertion; 0: 16. Not on a device */
    double *level_seconds; /* out, not on a device: 32 of them, a level each; NULL: not told */
} wehr_parameters;

wehr_parameters wehr_parameters_default(void);
/* On a CUDA device: blocks of 1024, 2048 or 4096 points, digits of 2 to 5 bits, a cutoff of 512,
   1024 or 2048 points, below which a block takes a chunk to the end. */
wehr_parameters wehr_parameters_cuda_default(void);

kd_status build_wehr_with(pointtree *out, const point_array *points,
                          const wehr_parameters *parameters, job *watched);

/* The fastest parameters for such points, by trying: a search like the paper's for its block size.
 */
kd_status wehr_tune(wehr_parameters *best, const point_array *points,
                    const pointtree_options *options);

KD_DEVICE_CALL(build_wehr_cuda_with,
               (const point_build_cuda *arguments, const wehr_parameters *parameters));
/* Waits for every try. */
KD_DEVICE_CALL(wehr_tune_cuda, (wehr_parameters * best, const point_build_cuda *arguments));

#ifdef __cplusplus
}
#endif
#endif
