/* The tables of triangle tree builders, and the owner of a triangle tree. To add a builder, write a
   file that ends with its table entry tritree_builder_NAME (on a device tritree_builder_cuda_NAME;
   both in accel/tree/build.h) and add NAME to the list here. */
#ifndef KD_ACCEL_BUILDERS_H
#define KD_ACCEL_BUILDERS_H
#include "accel/tree/build.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TRITREE_BUILDER_ROWS(ROW) ROW(sweep) ROW(parallel) ROW(zhou) ROW(exact) ROW(median)
#ifdef KD_HAVE_CUDA
#define TRITREE_BUILDER_CUDA_ROWS(ROW) ROW(binned) ROW(zhou)
#else
#define TRITREE_BUILDER_CUDA_ROWS(ROW)
#endif

/* NULL-terminated; the default comes first. */
extern const tritree_builder *const *tritree_builders;
extern const tritree_builder_cuda *const *tritree_builders_cuda;
/* Returns the builder of that name, or NULL. "auto" is the first builder of exact trees; if there
   are several cores, the first that is also multithreaded. */
const tritree_builder *tritree_builder_find(const char *name);
/* As tritree_builder_find, but returns an error instead of NULL: KD_ERROR_DEVICE for a builder that
   runs on CUDA devices only, KD_ERROR_USAGE for an unknown name. */
kd_status tritree_builder_choose(const tritree_builder **out, const char *name);
/* Returns the CUDA builder of that name, or NULL. "auto" is the first.
   Why `binned` comes first: on an H200 (79eb18b) rays through its trees were 1 to 5 % faster in
   most scenes, up to 1.3 x (primary rays in a kitchen, 6748 against 5184 M/s), and 2 to 9 % slower
   in a room of a million triangles. Builds by `zhou` took 0.80 to 0.96 of the time up to a million
   triangles (bunny 0.76 and 0.82 ms, kitchen 5.38 and 6.76 ms), and 1.19 x from 20 million on. A
   build takes 4.6 kB per triangle with `binned` and 0.85 kB with `zhou`, 0.38 kB at first from 8
   million triangles on, where `binned` may take an eighth of the free memory: a device with 141 GB
   builds less than 8 million triangles with `binned`, up to 200 million with `zhou`. If memory does
   not suffice, tritree_build_by_turns (accel/build_memory.h) tries the next builder. */
const tritree_builder_cuda *tritree_builder_cuda_find(const char *name);

/* Builds a tree with the named builder (as tritree_builder_find) and fills its statistics. Returns
   KD_ERROR_INPUT, with the number of the triangle, for a NaN, an infinity or an index out of range.
   `input` must outlive the tree. */
kd_status tritree_open(tritree *out, const tritree_input *input, const tritree_options *options,
                       const char *builder, job_control *job);
/* Completes a tree that was read from a file. The caller has set nodes, references, their counts,
   input, options and statistics, which need not be valid: all invariants are checked. The caller
   must close the tree even on failure. */
kd_status tritree_adopt(tritree *read);
void tritree_close(tritree *owned); /* accepts a zeroed tree */

/* Builds the wide form of the tree, which CPU rays traverse, unless it exists. tritree_open and
   tritree_adopt do this. */
kd_status tritree_widen(tritree *tree);
/* Returns an upper bound of the bytes of the wide form, including scratch, for the number of
   references that the builder expects. */
uint64_t tritree_widen_bytes_max(const tritree_builder *builder, uint64_t triangles);

#ifdef __cplusplus
}
#endif
#endif
