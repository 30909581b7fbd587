/* <kandela/device.cuh> on the host gives the library's results, bit for bit: float and double, one
   to five axes, both kinds of splits, nearest points and visits, sets with many equal distances;
   hits of rays on meshes with shared edges, needles, large and small coordinates. Compiled by nvcc,
   it compares the hits that a kernel finds, too. */
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

enum { RAYS = 400, STEPS = 8 };

/* A coordinate of one of `steps` values, so that many triangles and rays share coordinates. */
static float coordinate(int steps, float scale) {
    return scale * (float)(rand() % steps - steps / 2) / (float)steps;
}

static kd_ray some_ray(int i, int steps, float scale) {
    kd_ray ray;
    for (int axis = 0; axis < 3; ++axis) {
        ray.origin[axis] = coordinate(steps, 2 * scale);
        ray.direction[axis] = coordinate(i % 2 ? 3 : 1000, 1); /* often parallel to planes */
    }
    ray.tmin = i % 3 ? 0 : coordinate(steps, scale);
    ray.tmax = i % 5 ? INFINITY : ray.tmin + scale;
    if (i == 0) ray.origin[1] = NAN;
    if (i == 1) ray.direction[0] = ray.direction[1] = ray.direction[2] = 0;
    if (i == 2) ray.origin[2] = INFINITY;
    return ray;
}

#ifdef __CUDACC__
__global__ void first_hits(kandela::triangle_tree tree, const kd_ray *rays, uint32_t count,
                           kd_ray_hit *hits, uint8_t *blocked) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    hits[i] = kandela::closest_hit(tree, rays[i]);
    blocked[i] = kandela::occluded(tree, rays[i]);
}

template <typename type> static type *upload(const type *from, size_t count) {
    type *to = NULL;
    require(cudaMallocManaged(&to, (count + 1) * sizeof(type)) == cudaSuccess, "device memory");
    if (count) memcpy(to, from, count * sizeof(type));
    return to;
}

/* hits, blocked: of the library. The memory stays allocated until the process ends. */
static void compare_on_device(const kd_triangles_info &info, const kd_triangle_mesh &mesh,
                              kandela::triangle_tree tree, const kd_ray *rays,
                              const kd_ray_hit *hits, const uint8_t *blocked) {
    tree.nodes = upload(tree.nodes, info.nodes);
    tree.references = upload(tree.references, info.references);
    tree.vertices = upload(tree.vertices, 3 * (size_t)mesh.vertex_count);
    tree.indices = upload(tree.indices, 3 * (size_t)mesh.triangle_count);
    const kd_ray *device_rays = upload(rays, RAYS);
    kd_ray_hit *found = upload(hits, RAYS);
    uint8_t *stopped = upload(blocked, RAYS);
    memset(found, 0xff, RAYS * sizeof *found);
    memset(stopped, 0xff, RAYS);
    first_hits<<<(RAYS + 127) / 128, 128>>>(tree, device_rays, RAYS, found, stopped);
    require(cudaDeviceSynchronize() == cudaSuccess, "the kernel runs");
    require(!memcmp(found, hits, RAYS * sizeof *found), "closest hits of a kernel");
    for (int i = 0; i < RAYS; ++i)
        require((stopped[i] != 0) == (blocked[i] != 0), "rays are blocked in a kernel");
}
#endif

/* `flat`: triangles of a height field, which share edges; else each has corners of its own, and
   every third is a needle. */
static void compare_rays(uint32_t count, bool flat, int steps, float scale) {
    std::vector<float> xyz;
    std::vector<uint32_t> at;
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t corner = 0; corner < 3; ++corner) {
            const uint32_t x = i / 2 % STEPS + (corner == 1 || (i % 2 && corner == 2));
            const uint32_t y = i / 2 / STEPS + (i % 2 ? corner > 0 : corner == 2);
            if (flat) {
                at.push_back(y * (STEPS + 1) + x);
                continue;
            }
            at.push_back(3 * i + corner);
            for (int axis = 0; axis < 3; ++axis)
                xyz.push_back(i % 3 == 0 && corner == 2 && axis < 2 ? xyz[xyz.size() - 3]
                                                                    : coordinate(steps, scale));
        }
    for (uint32_t i = 0; flat && i < (count / STEPS + 2) * (STEPS + 1); ++i) {
        xyz.push_back(scale * ((float)(i % (STEPS + 1)) / (float)STEPS - 0.5f));
        xyz.push_back(scale * ((float)(i / (STEPS + 1)) / (float)STEPS - 0.5f));
        xyz.push_back(coordinate(steps, scale / 4));
    }
    kd_triangles *tree = NULL;
    const kd_triangle_mesh mesh =
        kd_triangle_mesh_make(xyz.data(), xyz.size() / 3, at.data(), count);
    kd_triangles_info info;
    info.struct_size = sizeof info;
    require(kd_triangles_open(&tree, &mesh, NULL) == KD_OK, "open");
    kd_triangles_describe(tree, &info);
    std::vector<kd_triangle_node> nodes(info.nodes);
    std::vector<uint32_t> references(info.references);
    require(kd_triangles_download_nodes(tree, nodes.data(), references.data()) == KD_OK, "nodes");
    kandela::triangle_tree own = {nodes.data(), references.data(), xyz.data(), at.data(), {}, {}};
    memcpy(own.lo, info.lo, sizeof own.lo);
    memcpy(own.hi, info.hi, sizeof own.hi);

    kd_ray rays[RAYS];
    kd_ray_hit hits[RAYS];
    uint8_t blocked[RAYS];
    for (int i = 0; i < RAYS; ++i) rays[i] = some_ray(i, steps, scale);
    require(kd_triangles_intersect(tree, rays, RAYS, hits, NULL) == KD_OK, "intersect");
    require(kd_triangles_occluded(tree, rays, RAYS, blocked, NULL) == KD_OK, "occluded");
    for (int i = 0; i < RAYS; ++i) {
        const kd_ray_hit hit = kandela::closest_hit(own, rays[i]);
        require(!memcmp(&hit, &hits[i], sizeof hit), "closest hits are the library's");
        require(kandela::occluded(own, rays[i]) == (blocked[i] != 0),
                "rays are blocked as in the library");
        std::vector<uint32_t> visited(count);
        kandela::visit_hits(own, rays[i], [&](const kd_ray_hit &one) {
            visited[one.triangle] = 1;
            return rays[i].tmax;
        });
        require(hit.triangle == KD_NO_TRIANGLE || visited[hit.triangle], "visits have all hits");
    }
#ifdef __CUDACC__
    compare_on_device(info, mesh, own, rays, hits, blocked);
#endif
    kd_triangles_close(tree);
}

int main(void) {
    for (float scale : {1.0f, 1e30f, 1e-30f})
        for (int steps = 3; steps < 1000000; steps *= 30)
            for (uint32_t triangles : {0u, 1u, 2u, 128u}) {
                compare_rays(triangles, true, steps, scale);
                compare_rays(triangles, false, steps, scale);
            }
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
