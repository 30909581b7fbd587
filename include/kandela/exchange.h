/* A point tree distributed over several processes: each contributes points, holds one part of the
   tree, and all query it together. The caller supplies the communication, as a table of three
   collective operations; <kandela/mpi/points.h> does so for MPI. C99.

       #include <kandela/exchange.h>

       // Opens a tree over the processes of `comm`; each passes its own points.
       kd_status open_shared(kd_points **tree, const float *xyz, uint64_t count,
                             const kd_exchange *comm) {
           const kd_point_array points = kd_point_array_make(xyz, count, 3, KD_FLOAT);
           return kd_points_open_shared(tree, &points, NULL, comm);
       }

   Calls are collective: all processes make each call on the tree, in the same order and with the
   same k, norm and period. Each passes its own queries, possibly none, and receives their results.

   Results are those of one tree of all points, ordered by (dist2, id). Ids number the points of
   process 0, then those of process 1, and so on, from first_id.

   Errors: a failure of one process, including invalid input, is returned by all, with the message
   of the first that failed. The exception is a required argument that is NULL: the call then fails
   in that process alone.

   Threads: the collective calls of a process must not run concurrently. */
#ifndef KANDELA_EXCHANGE_H
#define KANDELA_EXCHANGE_H
#include <kandela/points.h>

#ifdef __cplusplus
extern "C" {
#endif

/********************************** Advanced: communication ***********************************/

/* Collective operations over the processes. Each function returns 0, or non-zero on failure.
   Offsets and sizes are in bytes and may exceed 2^31. */
typedef struct kd_exchange {
    size_t struct_size; /* sizeof(kd_exchange) */
    void *user_data;    /* passed to each function as its first argument */
    int32_t rank, size; /* number of this process, 0 to size - 1; number of processes */
    /* All-gather in place: the part of process r is bytes[begins[r]] up to bytes[begins[r + 1]]; on
       entry each process has filled its own part, on return all parts are complete. */
    int (*all_gather)(void *user_data, void *bytes, const uint64_t *begins);
    /* All-reduce in place: each value becomes its sum over the processes, modulo 2^64. */
    int (*all_sum)(void *user_data, int64_t *values, uint64_t count);
    /* All-to-all: sends bytes[begins[r]] up to bytes[begins[r + 1]] to process r, and receives from
       it into[into_begins[r]] up to into[into_begins[r + 1]]. Sender and receiver agree on the
       sizes. */
    int (*all_to_all)(void *user_data, const void *bytes, const uint64_t *begins, void *into,
                      const uint64_t *into_begins);
    /* Called when the tree is closed, or could not be opened; or NULL. */
    void (*close)(void *user_data);
} kd_exchange;

/***************************** Advanced: open a distributed tree ******************************/

/* Collective: opens a tree of the points of all processes, as kd_points_open does. `points` are
   those of this process, without ids, and options->device names the device that stores its part.
   kd_points_count and kd_points_describe refer to the points of all processes, except `bytes` (this
   process only) and `hash` (0). Functions that download, save or change the tree, and self-queries,
   return KD_ERROR_USAGE. */
KD_API kd_status kd_points_open_shared(kd_points **out, const kd_point_array *points,
                                       const kd_points_options *options,
                                       const kd_exchange *exchange);

#ifdef __cplusplus
}
#endif
#endif
