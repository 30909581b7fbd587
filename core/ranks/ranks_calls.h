/* What carries bytes between ranks: a table of functions that the plug-in for MPI exports
   (core/mpi) and that threads of one process have, too (ranks_threads.h). An answer other than 0 is
   a failure: of the connection, or because another rank has given up. All ranks call the collective
   ones in the same order, one thread of each. Counts are of bytes and may pass 2^31. */
#ifndef KD_CORE_RANKS_RANKS_CALLS_H
#define KD_CORE_RANKS_RANKS_CALLS_H
#include <stdint.h>

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

#endif
