/* Mean nearest-neighbour distance of a point cloud that is distributed over MPI processes.
       mpicc mpi_neighbours.c $(pkg-config --cflags --libs kandela) -lm -o mpi_neighbours
       mpirun -n 4 ./mpi_neighbours POINTS_OF_EACH [DEVICE]
   In a DEVICE of "cuda:%d", %d stands for the rank. */
#include <kandela/mpi/points.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void check(kd_status status) {
    if (status == KD_OK) return;
    fprintf(stderr, "mpi_neighbours: %s\n", kd_last_error());
    MPI_Abort(MPI_COMM_WORLD, (int)status);
}

int main(int argc, char **argv) {
    const uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
    int rank, size;
    double start, built, queries, sum = 0, all = 0, seconds[2], maximum[2];
    uint64_t i, state, *ids;
    float *xyz, *dist2;
    kd_points *tree = NULL;
    kd_points_options options;
    kd_points_query query;
    kd_points_rows rows;
    kd_points_info info;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    xyz = malloc(3 * count * sizeof *xyz + 1);
    ids = malloc(2 * count * sizeof *ids + 1);
    dist2 = malloc(2 * count * sizeof *dist2 + 1);
    if (!xyz || !ids || !dist2) MPI_Abort(MPI_COMM_WORLD, 4);
    for (i = 0, state = 99 + (uint64_t)rank; i < 3 * count; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        xyz[i] = (float)(state >> 40) / 16777216;
    }
    kd_points_options_default(&options);
    if (argc > 2 && strncmp(argv[2], "cuda:%d", 8) == 0)
        snprintf(options.device, sizeof options.device, "cuda:%d", rank);
    else if (argc > 2)
        snprintf(options.device, sizeof options.device, "%s", argv[2]);
    kd_points_query_default(&query);
    query.points = kd_point_array_make(xyz, count, 3, KD_FLOAT);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    check(kd_points_open_distributed(&tree, &query.points, &options, MPI_COMM_WORLD));
    built = MPI_Wtime();
    kd_points_rows_default(&rows);
    rows.ids64 = ids;
    rows.dist2 = dist2;
    check(kd_points_search_nearest(tree, &query, 2, &rows)); /* itself and the nearest */
    queries = MPI_Wtime();
    for (i = 0; i < count; ++i) sum += sqrt((double)dist2[2 * i + 1]);
    seconds[0] = built - start;
    seconds[1] = queries - built;
    MPI_Reduce(seconds, maximum, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    kd_points_describe_sized(tree, &info, sizeof info);
    if (rank == 0)
        printf("%llu points at %d ranks: build %.3f s, all ask %.3f s, rank 0 sent %.1f MB, mean "
               "distance %.6g\n",
               (unsigned long long)info.count, size, maximum[0], maximum[1],
               1e-6 * (double)info.sent, all / (double)info.count);
    kd_points_close(tree);
    MPI_Finalize();
    return 0;
}
