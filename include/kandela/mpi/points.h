/* A point tree over the processes of an MPI communicator. This is the only header that includes
   mpi.h; its functions are inline, so that the library itself does not depend on MPI, and any MPI
   from 2.2 on works. <kandela/exchange.h> describes how to query such a tree.

       #include <kandela/mpi/points.h>

       // The 8 nearest of the points of all processes to each point of this process.
       kd_status nearest8(const float *xyz, uint64_t count, uint64_t *ids, float *dist2) {
           kd_points *tree = NULL;
           kd_points_query query;
           kd_points_rows rows;
           kd_points_query_default(&query);
           kd_points_rows_default(&rows);
           rows.ids64 = ids;
           rows.dist2 = dist2;
           query.points = kd_point_array_make(xyz, count, 3, KD_FLOAT);
           kd_status status =
               kd_points_open_distributed(&tree, &query.points, NULL, MPI_COMM_WORLD);
           if (status == KD_OK) status = kd_points_search_nearest(tree, &query, 8, &rows);
           kd_points_close(tree);
           return status;
       }

   MPI must be initialised, with MPI_THREAD_SERIALIZED if more than one thread makes MPI calls, and
   the tree must be closed before MPI_Finalize. MPI errors go to the error handler of the
   communicator; if that returns, the call returns KD_ERROR_RUNTIME. */
#ifndef KANDELA_MPI_POINTS_H
#define KANDELA_MPI_POINTS_H
#include <kandela/exchange.h>
#include <mpi.h>
#include <stdlib.h>

/******************************** Internal: kd_exchange by MPI ********************************/

#define KD_MPI_PIECE 1073741824u /* bytes per MPI call, whose counts are int */

static inline int kd_mpi_piece(uint64_t left) {
    return left < KD_MPI_PIECE ? (int)left : (int)KD_MPI_PIECE;
}

static inline int kd_mpi_all_gather(void *user_data, void *bytes, const uint64_t *begins) {
    const MPI_Comm comm = *(MPI_Comm *)user_data;
    int size = 0;
    if (MPI_Comm_size(comm, &size) != MPI_SUCCESS) return 1;
    for (int r = 0; r < size; ++r)
        for (uint64_t at = begins[r]; at < begins[r + 1]; at += KD_MPI_PIECE)
            if (MPI_Bcast((char *)bytes + at, kd_mpi_piece(begins[r + 1] - at), MPI_BYTE, r,
                          comm) != MPI_SUCCESS)
                return 1;
    return 0;
}

static inline int kd_mpi_all_sum(void *user_data, int64_t *values, uint64_t count) {
    for (uint64_t at = 0; at < count; at += KD_MPI_PIECE / 8) {
        const uint64_t left = count - at;
        const int piece = left < KD_MPI_PIECE / 8 ? (int)left : (int)(KD_MPI_PIECE / 8);
        if (MPI_Allreduce(MPI_IN_PLACE, values + at, piece, MPI_INT64_T, MPI_SUM,
                          *(MPI_Comm *)user_data) != MPI_SUCCESS)
            return 1;
    }
    return 0;
}

/* In step s, process r sends to r + s and receives from r - s, modulo size. */
static inline int kd_mpi_all_to_all(void *user_data, const void *bytes, const uint64_t *begins,
                                    void *into, const uint64_t *into_begins) {
    const MPI_Comm comm = *(MPI_Comm *)user_data;
    int rank = 0, size = 0;
    if (MPI_Comm_rank(comm, &rank) != MPI_SUCCESS || MPI_Comm_size(comm, &size) != MPI_SUCCESS)
        return 1;
    for (int step = 0; step < size; ++step) {
        const int to = (rank + step) % size, from = (rank + size - step) % size;
        uint64_t out = begins[to], in = into_begins[from];
        while (out < begins[to + 1] || in < into_begins[from + 1]) {
            const int give = kd_mpi_piece(begins[to + 1] - out);
            const int take = kd_mpi_piece(into_begins[from + 1] - in);
            /* no message is sent for an empty piece, as the other process receives none */
            if (MPI_Sendrecv((char *)(uintptr_t)bytes + out, give, MPI_BYTE,
                             give ? to : MPI_PROC_NULL, 0, (char *)into + in, take, MPI_BYTE,
                             take ? from : MPI_PROC_NULL, 0, comm,
                             MPI_STATUS_IGNORE) != MPI_SUCCESS)
                return 1;
            out += (uint64_t)give;
            in += (uint64_t)take;
        }
    }
    return 0;
}

static inline void kd_mpi_close(void *user_data) {
    MPI_Comm_free((MPI_Comm *)user_data);
    free(user_data);
}

/***************************** Advanced: open a distributed tree ******************************/

/* Collective: opens a tree of the points of all processes of `comm`; arguments and errors are those
   of kd_points_open_shared. The tree uses a duplicate of `comm`, which kd_points_close frees. */
static inline kd_status kd_points_open_distributed(kd_points **out, const kd_point_array *points,
                                                   const kd_points_options *options,
                                                   MPI_Comm comm) {
    kd_exchange exchange;
    MPI_Comm *communicator = (MPI_Comm *)malloc(sizeof *communicator);
    int rank = 0, size = 0;
    if (out) *out = NULL;
    if (!communicator) return KD_ERROR_MEMORY;
    if (MPI_Comm_dup(comm, communicator) != MPI_SUCCESS) {
        free(communicator);
        return KD_ERROR_RUNTIME;
    }
    if (MPI_Comm_rank(*communicator, &rank) != MPI_SUCCESS ||
        MPI_Comm_size(*communicator, &size) != MPI_SUCCESS) {
        kd_mpi_close(communicator);
        return KD_ERROR_RUNTIME;
    }
    exchange.struct_size = sizeof exchange;
    exchange.user_data = communicator;
    exchange.rank = (int32_t)rank;
    exchange.size = (int32_t)size;
    exchange.all_gather = kd_mpi_all_gather;
    exchange.all_sum = kd_mpi_all_sum;
    exchange.all_to_all = kd_mpi_all_to_all;
    exchange.close = kd_mpi_close;
    return kd_points_open_shared(out, points, options, &exchange);
}

#endif
