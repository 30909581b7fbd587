/* <kandela/device.cuh> on the host gives the library's results, bit for bit: float and double, one
   to five axes, both kinds of splits, nearest points and visits, sets with many equal distances. */
#include <kandela/device.cuh>
#include <kandela/points.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

static void require(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "failed: %s %s\n", what, kd_last_error());
    exit(1);
}

template <typename scalar, int dims>
static void compare(uint32_t count, int steps, kd_points_split split) {
    enum { QUERIES = 200, K = 7 };
    std::vector<scalar> cloud(dims * (size_t)count), queries(dims * QUERIES), nodes(cloud.size());
    for (scalar &x : cloud) x = (scalar)(rand() % steps) / 7;
    for (scalar &x : queries) x = (scalar)(rand() % steps) / 7;
    kd_points *tree = NULL;
    kd_points_options options;
    const kd_scalar kind = sizeof(scalar) == 4 ? KD_FLOAT : KD_DOUBLE;
    const kd_point_array points = kd_point_array_make(cloud.data(), count, dims, kind);
    kd_points_options_default(&options);
    options.split = split;
    require(kd_points_open(&tree, &points, &options) == KD_OK, "open");
    std::vector<uint32_t> ids(count);
    std::vector<uint8_t> axes(count);
    const bool widest = split == KD_POINTS_SPLIT_WIDEST;
    require(kd_points_download(tree, nodes.data(), ids.data(), axes.data()) == KD_OK, "download");
    const kandela::point_tree<scalar, dims> own = {nodes.data(), ids.data(),
                                                   widest ? axes.data() : NULL, count};

    uint32_t want_ids[QUERIES * K];
    scalar want_dist2[QUERIES * K];
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(queries.data(), QUERIES, dims, kind);
    for (int limited = 0; limited < 2; ++limited) {
        query.max_radius = limited ? 2 : (double)INFINITY;
        require(kd_points_nearest(tree, &query, K, want_ids, want_dist2, NULL) == KD_OK, "nearest");
        for (int i = 0; i < QUERIES; ++i) {
            uint32_t near_ids[K];
            scalar dist2[K];
            const scalar bound2 = limited ? (scalar)4 : (scalar)INFINITY;
            kandela::nearest<K>(own, &queries[dims * (size_t)i], bound2, near_ids, dist2);
            require(!memcmp(near_ids, want_ids + K * i, sizeof near_ids) &&
                        !memcmp(dist2, want_dist2 + K * i, sizeof dist2),
                    "the nearest points are the library's");
        }
    }
    uint64_t offsets[QUERIES + 1];
    require(kd_points_within_count(tree, &query, offsets) == KD_OK, "count");
    for (int i = 0; i < QUERIES; ++i) {
        uint64_t visits = 0;
        kandela::visit(own, &queries[dims * (size_t)i], (scalar)4, [&](uint32_t, scalar) {
            ++visits;
            return (scalar)4;
        });
        require(visits == offsets[i + 1] - offsets[i],
                "each point within the radius is visited once");
        visits = 0;
        kandela::visit(own, &queries[dims * (size_t)i], (scalar)INFINITY, [&](uint32_t, scalar) {
            ++visits;
            return (scalar)-1;
        });
        require(visits == (count ? 1 : 0), "a negative bound ends the search");
    }
    kd_points_close(tree);
}

int main(void) {
    const uint32_t counts[] = {0, 1, 2, 3, 30, 1000};
    for (uint32_t count : counts)
        for (int steps = 3; steps < 3000; steps *= 30) {
            compare<float, 3>(count, steps, KD_POINTS_SPLIT_WIDEST);
            compare<float, 2>(count, steps, KD_POINTS_SPLIT_ROUND_ROBIN);
            compare<double, 1>(count, steps, KD_POINTS_SPLIT_WIDEST);
            compare<double, 5>(count, steps, KD_POINTS_SPLIT_WIDEST);
        }
    return 0;
}
