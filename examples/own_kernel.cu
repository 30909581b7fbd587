/* The 8 nearest points of each query, in a kernel of one's own (<kandela/device.cuh>), compared
   with the library's. By nvcc it runs on a CUDA device, by a C++ compiler on the host:

       nvcc own_kernel.cu -lkandela
       g++ -x c++ -ffp-contract=off own_kernel.cu -lkandela
       ./a.out [POINTS] [QUERIES]

   Data flow: each thread reads one query and writes its rows of ids and dist2. */
#include <kandela/device.cuh>
#include <kandela/points.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

enum { K = 8 };

typedef kandela::point_tree<float, 3> tree3;

static KD_DEVICE_FN void answer(const tree3 &tree, const float *queries, uint32_t i, uint32_t *ids,
                                float *dist2) {
    kandela::nearest<K>(tree, queries + 3 * i, INFINITY, ids + K * i, dist2 + K * i);
}

#ifdef __CUDACC__
__global__ void answer_all(tree3 tree, const float *queries, uint32_t count, uint32_t *ids,
                           float *dist2) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) answer(tree, queries, i, ids, dist2);
}

template <typename type> static type *upload(const std::vector<type> &from) {
    type *to = NULL;
    if (cudaMalloc((void **)&to, from.size() * sizeof(type)) != cudaSuccess ||
        cudaMemcpy(to, from.data(), from.size() * sizeof(type), cudaMemcpyHostToDevice) !=
            cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
        exit(1);
    }
    return to;
}
#endif

static void check(kd_status status) {
    if (status == KD_OK) return;
    fprintf(stderr, "%s\n", kd_last_error());
    exit(status);
}

int main(int argc, char **argv) {
    const uint32_t count = argc > 1 ? (uint32_t)atoi(argv[1]) : 100000;
    const uint32_t query_count = argc > 2 ? (uint32_t)atoi(argv[2]) : 10000;
    std::vector<float> cloud(3 * (size_t)count), queries(3 * (size_t)query_count);
    for (float &x : cloud) x = (float)(rand() % 4096) / 4096; /* many equal distances */
    for (float &x : queries) x = (float)(rand() % 4096) / 4096;

    kd_points *tree = NULL;
    const kd_point_array points = kd_point_array_make(cloud.data(), count, 3, KD_FLOAT);
    check(kd_points_open(&tree, &points, NULL));
    std::vector<float> coordinates(3 * (size_t)count);
    std::vector<uint32_t> node_ids(count);
    std::vector<uint8_t> axes(count);
    check(kd_points_download(tree, coordinates.data(), node_ids.data(), axes.data()));

    std::vector<uint32_t> ids((size_t)K * query_count), expected_ids(ids.size());
    std::vector<float> dist2(ids.size()), expected_dist2(ids.size());
#ifdef __CUDACC__
    const tree3 device_tree = {upload(coordinates), upload(node_ids), upload(axes), count};
    const float *device_queries = upload(queries);
    uint32_t *device_ids = upload(ids);
    float *device_dist2 = upload(dist2);
    answer_all<<<(query_count + 127) / 128, 128>>>(device_tree, device_queries, query_count,
                                                   device_ids, device_dist2);
    cudaMemcpy(ids.data(), device_ids, ids.size() * sizeof(uint32_t), cudaMemcpyDeviceToHost);
    cudaMemcpy(dist2.data(), device_dist2, dist2.size() * sizeof(float), cudaMemcpyDeviceToHost);
#else
    const tree3 host_tree = {coordinates.data(), node_ids.data(), axes.data(), count};
    for (uint32_t i = 0; i < query_count; ++i)
        answer(host_tree, queries.data(), i, ids.data(), dist2.data());
#endif

    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(queries.data(), query_count, 3, KD_FLOAT);
    check(kd_points_nearest(tree, &query, K, expected_ids.data(), expected_dist2.data(), NULL));
    kd_points_close(tree);
    const bool same = memcmp(ids.data(), expected_ids.data(), ids.size() * sizeof(uint32_t)) == 0 &&
                      memcmp(dist2.data(), expected_dist2.data(), ids.size() * sizeof(float)) == 0;
    printf("%u queries of %u points: %s\n", query_count, count,
           same ? "the library's answers, bit for bit" : "other answers than the library's");
    return !same;
}
