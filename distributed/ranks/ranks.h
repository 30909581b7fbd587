/* Ranks: processes on one or many machines, or threads of one process, that work at one task
   together. A table of functions carries the bytes between them: the plug-in for MPI (ranks_mpi.c)
   exports one, threads of one process have one (ranks_threads.c). An answer other than 0 of such a
   function is a failure: of the connection, or because another rank has given up. All ranks call
   the collective functions in the same order, one thread of each. Counts are of bytes and may
   exceed 2^31. */
#ifndef KD_DISTRIBUTED_RANKS_RANKS_H
#define KD_DISTRIBUTED_RANKS_RANKS_H
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RANKS_VERSION = 2, RANKS_ANY = -1 };

typedef struct ranks_calls {
    uint64_t version; /* RANKS_VERSION */
    const char *name; /* "Open MPI v4.1.4, ..." */
    /* Owner; who calls is rank `rank` of `size`. */
    int (*open)(void **with, int32_t *rank, int32_t *size);
    void (*close)(void *with);
    int (*broadcast)(void *with, void *bytes, uint64_t count, int32_t from);
    /* `bytes` holds all ranks' parts, rank r's from begins[r] to begins[r + 1]; one's own is there
       before. */
    int (*all_gather)(void *with, void *bytes, const uint64_t *begins);
    int (*all_sum)(void *with, int64_t *values, uint64_t count); /* sums wrap */
    /* To rank r from bytes + begins[r] to begins[r + 1], size + 1 of them; what comes from r goes
       to into + into_begins[r] and is as long as both say. */
    int (*all_to_all)(void *with, const void *bytes, const uint64_t *begins, void *into,
                      const uint64_t *into_begins);
    /* To one rank; messages of one sender and tag come in their order. Sending does not wait for
       the receiver to ask, if it is small. */
    int (*send)(void *with, int32_t to, int32_t tag, const void *bytes, uint64_t count);
    /* Exactly `count` bytes from a rank or RANKS_ANY; *sender may be NULL. */
    int (*receive)(void *with, int32_t from, int32_t tag, void *bytes, uint64_t count,
                   int32_t *sender);
    /* Ends all ranks, or makes their calls fail. */
    void (*abort)(void *with, int32_t code);
} ranks_calls;

/* The name of the plug-in's one symbol, a ranks_calls. */
#define RANKS_SYMBOL "kd_ranks_mpi"

enum { RANKS_MOST = 65536 };

typedef struct ranks {
    int32_t rank, size;    /* 0 of 1: alone */
    int32_t local, locals; /* the same among those on this machine, if the launcher says so */
    const ranks_calls *calls;
    void *with;
    void *library;           /* the plug-in */
    struct ranks_link *link; /* from device to device (nccl.h); NULL: bytes go through the host */
    /* Of threads: how bytes go from one's memory to another's, 0 if they did; NULL: by memcpy. */
    int (*copy)(void *to, const void *from, uint64_t bytes);
    uint64_t sent; /* bytes that this rank has given away: a broadcast's count once */
    double waited; /* seconds in the calls below: for others, and for the bytes */
} ranks;

/* Alone, or where mpirun, srun or another launcher of MPI has started this process (the
   environment has OMPI_COMM_WORLD_SIZE, PMI_RANK or PMIX_RANK) its place among the others, by the
   plug-in kandela-mpi.so: KANDELA_MPI names it, else it is looked for beside this code.
   KD_ERROR_DEVICE if there are others and no plug-in. Owner. */
kd_status ranks_open(ranks *out);
/* All ranks call it, or none; takes a zeroed one. */
void ranks_close(ranks *owned);
/* This rank has failed: ends the others, and under MPI this process, too. */
void ranks_abort(const ranks *of, int32_t code);

/* From one rank's memory to another's. */
int ranks_copy(const ranks *of, void *to, const void *from, uint64_t bytes);

/* Whether the ranks are more than one; false for NULL. */
static inline bool ranks_shared(const ranks *of) {
    return of && of->size > 1;
}

/* The calls of ranks_calls as statuses, counted and timed. Alone (or NULL) they do nothing. */
kd_status ranks_broadcast(ranks *of, void *bytes, uint64_t count);
kd_status ranks_all_gather(ranks *of, void *bytes, const uint64_t *begins);
/* Of equally many bytes each: `bytes` has room for size * count. */
kd_status ranks_all_gather_even(ranks *of, void *bytes, uint64_t count);
kd_status ranks_all_sum(ranks *of, int64_t *values, uint64_t count);
/* Alone it copies. */
kd_status ranks_all_to_all(ranks *of, const void *bytes, const uint64_t *begins, void *into,
                           const uint64_t *into_begins);
kd_status ranks_send(ranks *of, int32_t to, int32_t tag, const void *bytes, uint64_t count);
kd_status ranks_receive(ranks *of, int32_t from, int32_t tag, void *bytes, uint64_t count,
                        int32_t *sender);
/* What leaves a rank while all tell all a MiB: bytes a second, the best of some times; the same on
   all. 0 alone. */
kd_status ranks_measure(ranks *of, double *bandwidth);
/* Whether a rank says so. */
kd_status ranks_any(ranks *of, bool mine, bool *any);

/* The share of a rank in `count` items: [*begin, *end), as even as can be. */
void ranks_part(const ranks *of, int32_t rank, uint64_t count, uint64_t *begin, uint64_t *end);

/* Runs `body` as ranks 0 .. size - 1, rank 0 in the caller's thread, and waits for all. The status
   is that of the first rank to fail (its message becomes the caller's), which makes the others'
   calls fail. */
typedef kd_status (*ranks_body)(void *context, ranks *among);
kd_status ranks_threads_run(int32_t size, ranks_body body, void *context);

#ifdef __cplusplus
}
#endif

#endif
