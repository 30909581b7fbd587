/* The plug-in kandela-mpi.so, the only file that uses MPI.
   Idea: all operations are non-blocking and are polled with MPI_Test until they complete:
         continuously at first, then with pauses, so that waiting ranks leave their cores to working
         ones. MPI makes progress only inside its calls, so pauses begin only after the time in
         which the data could have arrived.
   Invariants: MPI counts are of type int, so longer transfers are split into pieces of PIECE
               bytes. */
#include "distributed/ranks/ranks.h"
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

enum { SWAP_TAG = 32000, PIECE = 1 << 30, PAUSE_MIN_NS = 20000, PAUSE_MAX_NS = 500000 };

typedef struct connection {
    MPI_Comm world;
    int rank, size;
    bool opened; /* this plug-in has initialised MPI */
} connection;

/* Polling without pauses lasts for at_once plus byte_seconds per byte, in seconds: enough for a
   small message, and for a large one over slow memory or a slow network. */
static const double at_once = 1e-3, byte_seconds = 1e-8;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int wait_for(MPI_Request *request, MPI_Status *status, uint64_t bytes) {
    const double pausing = now() + at_once + byte_seconds * (double)bytes;
    long nanoseconds = PAUSE_MIN_NS;
    for (int done = 0;;) {
        if (MPI_Test(request, &done, status) != MPI_SUCCESS) return 1;
        if (done) return 0;
        if (now() < pausing) {
            sched_yield();
            continue;
        }
        const struct timespec pause = {0, nanoseconds};
        nanosleep(&pause, NULL);
        if (nanoseconds < PAUSE_MAX_NS) nanoseconds *= 2;
    }
}

static int mpi_open(void **user_data, int32_t *rank, int32_t *size) {
    int level = 0, begun = 0;
    connection *made = (connection *)calloc(1, sizeof *made);
    if (!made || MPI_Initialized(&begun) != MPI_SUCCESS) goto failed;
    if (begun ? MPI_Query_thread(&level) != MPI_SUCCESS
              : MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS)
        goto failed;
    made->opened = !begun;
    if (level < MPI_THREAD_SERIALIZED ||
        MPI_Comm_dup(MPI_COMM_WORLD, &made->world) != MPI_SUCCESS ||
        MPI_Comm_rank(made->world, &made->rank) != MPI_SUCCESS ||
        MPI_Comm_size(made->world, &made->size) != MPI_SUCCESS)
        goto failed;
    MPI_Comm_set_errhandler(made->world, MPI_ERRORS_RETURN);
    *rank = made->rank;
    *size = made->size;
    *user_data = made;
    return 0;
failed:
    free(made);
    return 1;
}

static void mpi_close(void *user_data) {
    connection *self = (connection *)user_data;
    MPI_Request request;
    if (MPI_Ibarrier(self->world, &request) == MPI_SUCCESS)
        wait_for(&request, MPI_STATUS_IGNORE, 0);
    MPI_Comm_free(&self->world);
    if (self->opened) MPI_Finalize();
    free(self);
}

static int piece_of(uint64_t left) {
    return left < PIECE ? (int)left : PIECE;
}

static int mpi_broadcast(void *user_data, void *bytes, uint64_t count, int32_t from) {
    connection *self = (connection *)user_data;
    for (uint64_t at = 0; at < count;) {
        const int piece = piece_of(count - at);
        MPI_Request request;
        if (MPI_Ibcast((char *)bytes + at, piece, MPI_BYTE, from, self->world, &request) !=
                MPI_SUCCESS ||
            wait_for(&request, MPI_STATUS_IGNORE, (uint64_t)piece))
            return 1;
        at += (uint64_t)piece;
    }
    return 0;
}

/* Uses one call if the total fits an MPI count, else a broadcast from each rank. */
static int mpi_all_gather(void *user_data, void *bytes, const uint64_t *begins) {
    connection *self = (connection *)user_data;
    const uint64_t all = begins[self->size] - begins[0];
    int failed = 0;
    if (all > PIECE) {
        for (int r = 0; r < self->size && !failed; ++r)
            failed =
                mpi_broadcast(user_data, (char *)bytes + begins[r], begins[r + 1] - begins[r], r);
        return failed;
    }
    int *counts = (int *)malloc(2 * (size_t)self->size * sizeof *counts);
    if (!counts) return 1;
    int *places = counts + self->size;
    for (int r = 0; r < self->size; ++r) {
        counts[r] = (int)(begins[r + 1] - begins[r]);
        places[r] = (int)(begins[r] - begins[0]);
    }
    MPI_Request request;
    failed = MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, (char *)bytes + begins[0], counts,
                             places, MPI_BYTE, self->world, &request) != MPI_SUCCESS ||
             wait_for(&request, MPI_STATUS_IGNORE, all);
    free(counts);
    return failed;
}

static int mpi_all_sum(void *user_data, int64_t *values, uint64_t count) {
    connection *self = (connection *)user_data;
    for (uint64_t at = 0; at < count;) {
        const int piece = piece_of(8 * (count - at)) / 8;
        MPI_Request request;
        if (MPI_Iallreduce(MPI_IN_PLACE, values + at, piece, MPI_INT64_T, MPI_SUM, self->world,
                           &request) != MPI_SUCCESS ||
            wait_for(&request, MPI_STATUS_IGNORE, 8 * (uint64_t)piece))
            return 1;
        at += (uint64_t)piece;
    }
    return 0;
}

/* Exchanges one piece with two ranks: sends to `to` and receives from `from`; either may be
   empty. */
static int swap_piece(connection *connection, const char *out, int out_count, int to, char *in,
                      int in_count, int from) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int failed = 0;
    if (in_count)
        failed |= MPI_Irecv(in, in_count, MPI_BYTE, from, SWAP_TAG, connection->world,
                            &requests[0]) != MPI_SUCCESS;
    if (out_count)
        failed |= MPI_Isend(out, out_count, MPI_BYTE, to, SWAP_TAG, connection->world,
                            &requests[1]) != MPI_SUCCESS;
    for (int i = 0; i < 2 && !failed; ++i)
        failed |=
            requests[i] != MPI_REQUEST_NULL &&
            wait_for(&requests[i], MPI_STATUS_IGNORE, (uint64_t)in_count + (uint64_t)out_count);
    return failed;
}

/* In step s each rank sends to rank + s and receives from rank - s, modulo size. */
static int mpi_all_to_all(void *user_data, const void *bytes, const uint64_t *begins, void *into,
                          const uint64_t *into_begins) {
    connection *self = (connection *)user_data;
    for (int step = 0; step < self->size; ++step) {
        const int to = (self->rank + step) % self->size;
        const int from = (self->rank + self->size - step) % self->size;
        uint64_t out = begins[to], in = into_begins[from];
        while (out < begins[to + 1] || in < into_begins[from + 1]) {
            const int give = piece_of(begins[to + 1] - out);
            const int take = piece_of(into_begins[from + 1] - in);
            if (swap_piece(self, (const char *)bytes + out, give, to, (char *)into + in, take,
                           from))
                return 1;
            out += (uint64_t)give;
            in += (uint64_t)take;
        }
    }
    return 0;
}

static int mpi_send(void *user_data, int32_t to, int32_t tag, const void *bytes, uint64_t count) {
    connection *self = (connection *)user_data;
    uint64_t at = 0;
    do {
        const int piece = piece_of(count - at);
        MPI_Request request;
        if (MPI_Isend((const char *)bytes + at, piece, MPI_BYTE, to, tag, self->world, &request) !=
                MPI_SUCCESS ||
            wait_for(&request, MPI_STATUS_IGNORE, (uint64_t)piece))
            return 1;
        at += (uint64_t)piece;
    } while (at < count);
    return 0;
}

static int mpi_receive(void *user_data, int32_t from, int32_t tag, void *bytes, uint64_t count,
                       int32_t *sender) {
    connection *self = (connection *)user_data;
    int source = from == RANKS_ANY ? MPI_ANY_SOURCE : from;
    uint64_t at = 0;
    do {
        const int piece = piece_of(count - at);
        MPI_Request request;
        MPI_Status status;
        int received = 0;
        if (MPI_Irecv((char *)bytes + at, piece, MPI_BYTE, source, tag, self->world, &request) !=
                MPI_SUCCESS ||
            wait_for(&request, &status, (uint64_t)piece) ||
            MPI_Get_count(&status, MPI_BYTE, &received) != MPI_SUCCESS || received != piece)
            return 1;
        source = status.MPI_SOURCE; /* the remaining pieces come from the same rank */
        at += (uint64_t)piece;
    } while (at < count);
    if (sender) *sender = source;
    return 0;
}

static void mpi_abort(void *user_data, int32_t code) {
    MPI_Abort(((connection *)user_data)->world, code);
}

__attribute__((visibility("default"))) extern const ranks_calls kd_ranks_mpi;
const ranks_calls kd_ranks_mpi = {.version = RANKS_VERSION,
                                  .name = "MPI",
                                  .open = mpi_open,
                                  .close = mpi_close,
                                  .broadcast = mpi_broadcast,
                                  .all_gather = mpi_all_gather,
                                  .all_sum = mpi_all_sum,
                                  .all_to_all = mpi_all_to_all,
                                  .send = mpi_send,
                                  .receive = mpi_receive,
                                  .abort = mpi_abort};
