/* A point tree over the processes of an MPI communicator. This header alone includes mpi.h, and all
   that needs it is compiled into the program that includes it: the library stays without MPI, and
   any MPI from 2.2 on will do. How such a tree is asked says <kandela/exchange.h>.

       MPI_Init(...);
       kd_points *tree = NULL;
       kd_point_array mine = kd_point_array_make(xyz, count, 3, KD_FLOAT);
       kd_status status = kd_points_open_distributed(&tree, &mine, NULL, MPI_COMM_WORLD);
       ... status = kd_points_nearest64(tree, &my_queries, 8, ids, dist2, NULL); ...
       kd_points_close(tree);
       MPI_Finalize();

   MPI has to be initialised, with MPI_THREAD_SERIALIZED if more than one thread calls it, and trees
   are closed before it ends. Errors of MPI itself end in its own error handler, or as
   KD_ERROR_RUNTIME where the communicator's handler returns. */
#ifndef KANDELA_MPI_POINTS_H
#define KANDELA_MPI_POINTS_H
#include <kandela/exchange.h>
#include <mpi.h>
#include <stdlib.h>

#define KD_MPI_PIECE 1073741824u /* MPI counts by int */

static inline int kd_mpi_piece(uint64_t left) {
    return left < KD_MPI_PIECE ? (int)left : (int)KD_MPI_PIECE;
}

static inline int kd_mpi_all_gather(void *with, void *bytes, const uint64_t *begins) {
    const MPI_Comm comm = *(MPI_Comm *)with;
    int size = 0;
    if (MPI_Comm_size(comm, &size) != MPI_SUCCESS) return 1;
    for (int r = 0; r < size; ++r)
        for (uint64_t at = begins[r]; at < begins[r + 1]; at += KD_MPI_PIECE)
            if (MPI_Bcast((char *)bytes + at, kd_mpi_piece(begins[r + 1] - at), MPI_BYTE, r,
                          comm) != MPI_SUCCESS)
                return 1;
    return 0;
}

static inline int kd_mpi_all_sum(void *with, int64_t *values, uint64_t count) {
    for (uint64_t at = 0; at < count; at += KD_MPI_PIECE / 8) {
        const uint64_t left = count - at;
        const int piece = left < KD_MPI_PIECE / 8 ? (int)left : (int)(KD_MPI_PIECE / 8);
        if (MPI_Allreduce(MPI_IN_PLACE, values + at, piece, MPI_INT64_T, MPI_SUM,
                          *(MPI_Comm *)with) != MPI_SUCCESS)
            return 1;
    }
    return 0;
}

/* In step s each process gives to the one s places behind it and takes from the one s before. */
static inline int kd_mpi_all_to_all(void *with, const void *bytes, const uint64_t *begins,
                                    void *into, const uint64_t *into_begins) {
    const MPI_Comm comm = *(MPI_Comm *)with;
    int rank = 0, size = 0;
    if (MPI_Comm_rank(comm, &rank) != MPI_SUCCESS || MPI_Comm_size(comm, &size) != MPI_SUCCESS)
        return 1;
    for (int step = 0; step < size; ++step) {
        const int to = (rank + step) % size, from = (rank + size - step) % size;
        uint64_t out = begins[to], in = into_begins[from];
        while (out < begins[to + 1] || in < into_begins[from + 1]) {
            const int give = kd_mpi_piece(begins[to + 1] - out);
            const int take = kd_mpi_piece(into_begins[from + 1] - in);
            /* a piece of nothing is not sent: the other side does not wait for it */
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

static inline void kd_mpi_close(void *with) {
    MPI_Comm_free((MPI_Comm *)with);
    free(with);
}

/* Collective over the communicator, which is duplicated. */
static inline kd_status kd_points_open_distributed(kd_points **out, const kd_point_array *points,
                                                   const kd_points_options *options,
                                                   MPI_Comm comm) {
    kd_exchange exchange;
    MPI_Comm *own = (MPI_Comm *)malloc(sizeof *own);
    int rank = 0, size = 0;
    if (out) *out = NULL;
    if (!own) return KD_ERROR_MEMORY;
    if (MPI_Comm_dup(comm, own) != MPI_SUCCESS) {
        free(own);
        return KD_ERROR_RUNTIME;
    }
    if (MPI_Comm_rank(*own, &rank) != MPI_SUCCESS || MPI_Comm_size(*own, &size) != MPI_SUCCESS) {
        kd_mpi_close(own);
        return KD_ERROR_RUNTIME;
    }
    exchange.struct_size = sizeof exchange;
    exchange.with = own;
    exchange.rank = (int32_t)rank;
    exchange.size = (int32_t)size;
    exchange.all_gather = kd_mpi_all_gather;
    exchange.all_sum = kd_mpi_all_sum;
    exchange.all_to_all = kd_mpi_all_to_all;
    exchange.close = kd_mpi_close;
    return kd_points_open_shared(out, points, options, &exchange);
}

#endif
