/* The table of builders on a CUDA device; empty in a build without CUDA. */
#include "photon/build_cuda.h"

const point_builder_cuda point_builders_cuda[] = {
#ifdef KD_HAVE_CUDA
    {"kandela", build_kandela_cuda_scratch_bytes, build_kandela_cuda},
    {"wald", build_wald_cuda_scratch_bytes, build_wald_cuda},
#endif
    {NULL, NULL, NULL}};
