/* A point tree over several processes: each brings points of its own and holds a part of the tree,
   and all of them ask it together. What carries the bytes between them is the caller's: a table of
   three functions. <kandela/mpi/points.h> fills it for MPI. C99-clean.

   Every call on such a tree is made by all processes, in the same order, with the same k, norm and
   period, and each with queries of its own (none is fine); a process gets the answers to its own.
   Answers are those of one tree of all points, ordered by (dist2, id): the id of a point is its
   place in the input of process 0, 1, 2, ... one after another, from first_id on.
   A failure of one process, bad input too, is every process's, with the words of the first that
   failed. What points to nothing (NULL) where something is needed fails at that process alone. */
#ifndef KANDELA_EXCHANGE_H
#define KANDELA_EXCHANGE_H
#include <kandela/points.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each answers 0, or another number for a failure. Counts are bytes and may pass 2^31. */
typedef struct kd_exchange {
    size_t struct_size; /* sizeof(kd_exchange) */
    void *with;         /* handed to each function */
    int32_t rank, size; /* this process's number, 0 to size - 1 */
    /* `bytes` has every process's part, r's from begins[r] to begins[r + 1]; one's own is there. */
    int (*all_gather)(void *with, void *bytes, const uint64_t *begins);
    int (*all_sum)(void *with, int64_t *values, uint64_t count); /* sums wrap */
    /* To process r from bytes + begins[r] to begins[r + 1]; what r sends goes to
       into + into_begins[r], and is as long as both say. */
    int (*all_to_all)(void *with, const void *bytes, const uint64_t *begins, void *into,
                      const uint64_t *into_begins);
    void (*close)(void *with); /* or NULL: when the tree is closed, or could not be opened */
} kd_exchange;

/* As kd_points_open, of this process's points, without ids; options->device is where its part
   lies. kd_points_count and kd_points_describe tell of all points (bytes: of this process's, the
   hash is 0); the calls that give the tree as a whole, change it, or where all points ask are
   KD_ERROR_USAGE. */
KD_API kd_status kd_points_open_shared(kd_points **out, const kd_point_array *points,
                                       const kd_points_options *options,
                                       const kd_exchange *exchange);

#ifdef __cplusplus
}
#endif
#endif
