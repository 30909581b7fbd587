/* The tables of triangle tree builders, and the owner of a tree that one of them made. A new
   builder is a file that ends with its row, tritree_builder_NAME (accel/tree/build.h), and its NAME
   in the list here; on a device tritree_builder_cuda_NAME (accel/tree/build.h), in the other
   list. */
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

/* The default first; each ends with NULL. */
extern const tritree_builder *const *tritree_builders;
extern const tritree_builder_cuda *const *tritree_builders_cuda;
/* "auto": the first that makes exact trees, on all cores if there are several. NULL: there is none.
 */
const tritree_builder *tritree_builder_find(const char *name);
/* As tritree_builder_find, with an error in place of NULL: KD_ERROR_DEVICE for a builder that runs
   on CUDA devices only, KD_ERROR_USAGE for an unknown name. */
kd_status tritree_builder_choose(const tritree_builder **out, const char *name);
/* "auto": the first. NULL: there is none.
   The order is that of the rays: on an H200 (79eb18b) those through binned's trees were 1 to 5 %
   faster in most scenes, up to 1.3 x (a kitchen's primary rays, 6748 against 5184 M/s), 2 to 9 %
   slower in a room of a million triangles. Builds by zhou took 0.80 to 0.96 of the time up to a
   million triangles (bunny 0.76 and 0.82 ms, a kitchen 5.38 and 6.76), 1.19 x from 20 million on. A
   build takes 4.6 kB a triangle by binned, 1 kB by zhou: on a card of 141 GB binned serves up to 30
   million triangles, zhou up to 100 million. So binned, unless its memory does not fit into what is
   free: tritree_build_by_turns (accel/build_memory.h) knows. */
const tritree_builder_cuda *tritree_builder_cuda_find(const char *name);

/* Builds by the builder named (as tritree_builder_find), fills statistics. NaN, infinity and
   indices out of range are KD_ERROR_INPUT with the triangle named. The input must outlive the tree.
 */
kd_status tritree_open(tritree *out, const tritree_input *input, const tritree_options *options,
                       const char *builder, job *watched);
/* Completes a tree that was read from somewhere: nodes, references, their counts, input, options
   and statistics are set and need not be right. Checks all invariants. On failure it is still to be
   closed. */
kd_status tritree_adopt(tritree *read);
void tritree_close(tritree *owned); /* takes a zeroed one */

/* Gives the tree its wide form, which rays on a CPU walk; once. tritree_open and tritree_adopt have
   done it. */
kd_status tritree_widen(tritree *tree);
/* What that takes, while it is made and after, of as many references as are planned for. */
uint64_t tritree_widen_bytes_most(const tritree_builder *builder, uint64_t triangles);

#ifdef __cplusplus
}
#endif
#endif
