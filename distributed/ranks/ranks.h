/* Collective and point-to-point communication between ranks: processes on one or several machines,
   or threads of one process, that work on one task. The transport is a table of functions, which
   return 0 on success; other values mean that the connection has failed or another rank has given
   up. The MPI plug-in (ranks_mpi.c) exports one table, threads of one process use another
   (ranks_threads.c).
   All ranks must call the collective functions in the same order, from one thread each. Counts are
   in bytes unless stated otherwise and may exceed 2^31. */
#ifndef KD_DISTRIBUTED_RANKS_RANKS_H
#define KD_DISTRIBUTED_RANKS_RANKS_H
#include "core/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RANKS_VERSION = 2, RANKS_ANY = -1 };

typedef struct ranks_calls {
    uint64_t version; /* RANKS_VERSION */
    const char *name; /* "Open MPI v4.1.4, ..." */
    /* Opens a connection, owned by the caller and released by close, and returns the caller's rank
       and the number of ranks. */
    int (*open)(void **user_data, int32_t *rank, int32_t *size);
    void (*close)(void *user_data);
    int (*broadcast)(void *user_data, void *bytes, uint64_t count, int32_t from);
    /* In place: `bytes` holds the parts of all ranks, rank r's in [begins[r], begins[r + 1]). On
       entry the caller's part is filled in. */
    int (*all_gather)(void *user_data, void *bytes, const uint64_t *begins);
    int (*all_sum)(void *user_data, int64_t *values,
                   uint64_t count); /* `count` elements; sums wrap */
    /* Sends bytes [begins[r], begins[r + 1]) to rank r and receives its part at into +
       into_begins[r]; both arrays have size + 1 entries, and the sizes on both sides must agree. */
    int (*all_to_all)(void *user_data, const void *bytes, const uint64_t *begins, void *into,
                      const uint64_t *into_begins);
    /* Sends to one rank. Messages with the same sender and tag arrive in order. A small message is
       sent without waiting for the receiver. */
    int (*send)(void *user_data, int32_t to, int32_t tag, const void *bytes, uint64_t count);
    /* Receives exactly `count` bytes from a rank or from RANKS_ANY; `sender` may be NULL. */
    int (*receive)(void *user_data, int32_t from, int32_t tag, void *bytes, uint64_t count,
                   int32_t *sender);
    /* Terminates all ranks, or makes their calls fail. */
    void (*abort)(void *user_data, int32_t code);
} ranks_calls;

/* The only symbol that the plug-in exports, a ranks_calls. */
#define RANKS_SYMBOL "kd_ranks_mpi"

enum { RANKS_MAX = 65536 };

typedef struct ranks {
    int32_t rank, size;    /* 0 and 1 without other ranks */
    int32_t local, locals; /* the same on this machine; 0 and 1 if unknown */
    const ranks_calls *calls;
    void *user_data;
    void *library;           /* handle of the plug-in */
    struct ranks_nccl *nccl; /* NCCL communicator for device memory (nccl.c); NULL: data pass
                                through host memory */
    /* For threads: copies between the memories of two ranks and returns 0 on success; NULL:
       memcpy. */
    int (*copy)(void *to, const void *from, uint64_t bytes);
    uint64_t sent; /* bytes that this rank has sent; a broadcast counts once */
    double waited; /* seconds spent in communication calls, waiting and transferring */
} ranks;

/* Joins the other ranks if mpirun, srun or another MPI launcher has started this process (the
   environment has OMPI_COMM_WORLD_SIZE, PMI_RANK or PMIX_RANK); otherwise the process is rank 0 of
   1. Joining needs the plug-in kandela-mpi.so, which is searched for next to this code unless
   KANDELA_MPI names it. Returns KD_ERROR_DEVICE if there are other ranks but no plug-in. The caller
   releases `out` with ranks_close. */
kd_status ranks_open(ranks *out);
/* Collective. Accepts a zeroed struct. */
void ranks_close(ranks *owned);
/* Reports that this rank has failed: terminates the others, under MPI also this process. */
void ranks_abort(const ranks *comm, int32_t code);

/* Copies from the memory of one rank to that of another; returns 0 on success. */
int ranks_copy(const ranks *comm, void *to, const void *from, uint64_t bytes);

/* Returns true if there is more than one rank; false for NULL. */
static inline bool ranks_shared(const ranks *comm) {
    return comm && comm->size > 1;
}

/* Wrappers of ranks_calls that return a status and account for bytes and time. With one rank (or
   NULL) they do nothing. */
kd_status ranks_broadcast(ranks *comm, void *bytes, uint64_t count);
kd_status ranks_all_gather(ranks *comm, void *bytes, const uint64_t *begins);
/* All-gather of `count` bytes from each rank; `bytes` holds size * count. */
kd_status ranks_all_gather_even(ranks *comm, void *bytes, uint64_t count);
kd_status ranks_all_sum(ranks *comm, int64_t *values, uint64_t count);
/* With one rank this copies. */
kd_status ranks_all_to_all(ranks *comm, const void *bytes, const uint64_t *begins, void *into,
                           const uint64_t *into_begins);
kd_status ranks_send(ranks *comm, int32_t to, int32_t tag, const void *bytes, uint64_t count);
kd_status ranks_receive(ranks *comm, int32_t from, int32_t tag, void *bytes, uint64_t count,
                        int32_t *sender);
/* Measures the bandwidth at which a rank sends while all ranks all-gather 1 MiB each: bytes per
   second, the best of several runs, the same value on all ranks. 0 with one rank. */
kd_status ranks_measure(ranks *comm, double *bandwidth);
/* Sets *any to true on all ranks if `value` is true on at least one. */
kd_status ranks_any(ranks *comm, bool value, bool *any);

/* Computes the share [*begin, *end) of a rank in `count` items; shares differ by at most one. */
void ranks_part(const ranks *comm, int32_t rank, uint64_t count, uint64_t *begin, uint64_t *end);

/* Runs `body` as ranks 0 to size - 1, each in a thread, rank 0 in the calling thread, and waits for
   all. If a rank fails, the calls of the others fail; the status and message of the first one to
   fail are returned. */
typedef kd_status (*ranks_body)(void *context, ranks *comm);
kd_status ranks_threads_run(int32_t size, ranks_body body, void *context);

/* Error handling before ranks exchange data: each reports its status, so that no rank waits for one
   that has failed. Collective. Returns KD_OK if `status` is KD_OK on all ranks; otherwise all ranks
   return the status of the first failed rank, with its error message. */
kd_status ranks_agree(ranks *comm, kd_status status);
/* As ranks_agree; also gathers `width` numbers from each rank to `all`, in rank order. */
kd_status ranks_agree_on(ranks *comm, kd_status local_status, const uint64_t *numbers,
                         uint32_t width, uint64_t *all);

/* --- data in device memory (nccl.c) -------------------------------------------------------------
   NCCL between ranks that each have a CUDA device: data move directly between devices. The library
   is loaded at run time (libnccl.so.2; KANDELA_NCCL gives another name, or "off"). If it is missing
   or refuses to initialise, for example because two ranks share a device, the ranks communicate
   through host memory. NCCL's own environment variables apply; none is set here. */

/* Collective. Initialises NCCL if every rank is `on_device`, each with the current device that it
   will use. Rank 0 logs success, or why NCCL refused; nothing is logged if a rank has no device or
   no NCCL. Returns KD_OK without a link as well. */
kd_status ranks_nccl_open(ranks *comm, bool on_device);
/* Collective, with the same current device. If `failed`, does not wait for the other ranks. Does
   nothing without a link. */
void ranks_nccl_close(ranks *comm, bool failed);

/* ranks_all_gather for device memory of the current device, through NCCL or the host. Blocks. */
kd_status ranks_device_gather(ranks *comm, void *bytes, const uint64_t *begins);
/* ranks_all_sum for device memory, likewise. */
kd_status ranks_device_sum(ranks *comm, int64_t *values, uint64_t count);

#ifdef __cplusplus
}
#endif

#endif
