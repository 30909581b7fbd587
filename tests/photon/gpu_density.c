/* Density estimates of batches of surfaces on the device equal brute force, bit for bit: for
   photons of every set in cases.h, packets of surfaces that are close together, far apart and in
   between, every k, and all photons within a radius. */
#include "core/device/device_memory.h"
#include "photon/maps/maps_device.h"
#include "render/photon_mapping/eye_path.h"
#include "tests/cases.h"
#include "tests/gpu.h"

enum { PACKETS = 6, REQUESTS = 32 + 32 + 32 + 9 + 1 + 20 };
static const uint32_t packet_sizes[PACKETS] = {32, 32, 32, 9, 1, 20};

typedef struct stage {
    photon_list lists[PHOTON_LISTS];
    photon_maps_cuda maps;
    eye_request requests[REQUESTS];
    eye_packet packets[PACKETS];
    device_buffer device_requests, device_packets, device_alone, device_sums, device_radii;
    float size; /* extent of the set */
} stage;

static uint32_t photon_position(uint32_t i, uint32_t count) {
    return (uint32_t)((uint64_t)i * 7919 % count);
}

static void make_photons(stage *out, case_points set, uint32_t count) {
    photon *photons = (photon *)calloc(count, sizeof *photons);
    assert_non_null(photons);
    box3 box = box3_empty();
    for (uint32_t i = 0; i < count; ++i) {
        const rng_block r = rng_draw(rng_key_make(3, 5, i), 0, 0);
        photons[i].position = case_point(set, i, count);
        photons[i].power = vec3_make(r.value[0], r.value[1], 0.5f);
        photons[i].direction = vec3_normalize(vec3_make(r.value[2] - 0.5f, r.value[3] - 0.5f, -1));
        photons[i].normal = vec3_make(0, 0, r.value[1] < 0.9f ? 1 : -1);
        box3_include(&box, photons[i].position);
    }
    const vec3 sides = box3_size(box);
    out->size = float_max(sides.x, float_max(sides.y, sides.z));
    out->lists[PHOTON_LIST_GLOBAL].photons = photons;
    out->lists[PHOTON_LIST_GLOBAL].count = count;
}

/* Position of surface i of packet p: 0: close together; 1: far apart; 2: in two groups; others:
   nearly at one point. */
static vec3 add_request(const stage *stage, uint32_t p, uint32_t i) {
    const uint32_t count = (uint32_t)stage->lists[PHOTON_LIST_GLOBAL].count;
    const photon *photons = stage->lists[PHOTON_LIST_GLOBAL].photons;
    const rng_block r = rng_draw(rng_key_make(9, p, i), 0, 0);
    const vec3 off = vec3_scale(vec3_make(r.value[0], r.value[1], 0), 0.02f * stage->size);
    if (p == 1) return photons[photon_position(i, count)].position;
    if (p == 2) return vec3_add(photons[photon_position(i % 2, count)].position, off);
    return vec3_add(photons[photon_position(p, count)].position,
                    p == 0 ? off : vec3_scale(off, 0.1f));
}

static void make_requests(stage *out) {
    uint32_t made = 0;
    for (uint32_t p = 0; p < PACKETS; ++p) {
        out->packets[p].first = made;
        out->packets[p].count = packet_sizes[p];
        for (uint32_t i = 0; i < packet_sizes[p]; ++i) {
            eye_request *request = &out->requests[made++];
            memset(request, 0, sizeof *request);
            request->at.position = add_request(out, p, i);
            request->at.geometric = request->at.normal = vec3_make(0, 0, 1);
            request->at.front = true;
            request->at.kind = MATERIAL_DIFFUSE;
            request->at.diffuse = vec3_make(0.5f, 0.25f, 0.75f);
            request->wo = vec3_normalize(vec3_make(0.1f, 0.2f, 1));
        }
    }
    assert_int_equal(made, REQUESTS);
}

static void upload(device_buffer *buffer, const void *from, uint64_t bytes) {
    assert_int_equal(device_buffer_reserve(buffer, bytes), KD_OK);
    if (from) assert_int_equal(device_memory_upload(buffer->memory, from, bytes), KD_OK);
}

/* Uploads the photons and builds their index. */
static stage *stage_open(case_points set, uint32_t count, bool ordered) {
    stage *made = (stage *)calloc(1, sizeof *made);
    assert_non_null(made);
    make_photons(made, set, count);
    make_requests(made);
    photon_options options = photon_options_default();
    options.radius = 1;
    assert_int_equal(photon_maps_cuda_take(&made->maps, made->lists), KD_OK);
    assert_int_equal(photon_maps_cuda_build_trees(&made->maps, &options, ordered, NULL), KD_OK);
    upload(&made->device_requests, made->requests, sizeof made->requests);
    upload(&made->device_packets, made->packets, sizeof made->packets);
    upload(&made->device_alone, NULL, (REQUESTS + 2) * sizeof(uint32_t));
    upload(&made->device_sums, NULL, REQUESTS * sizeof(flux_sum));
    upload(&made->device_radii, NULL, REQUESTS * sizeof(float));
    return made;
}

static void stage_close(stage *owned) {
    photon_maps_cuda_close(&owned->maps);
    device_buffer_free(&owned->device_requests);
    device_buffer_free(&owned->device_packets);
    device_buffer_free(&owned->device_alone);
    device_buffer_free(&owned->device_sums);
    device_buffer_free(&owned->device_radii);
    free(owned->lists[PHOTON_LIST_GLOBAL].photons);
    free(owned);
}

static int by_dist2(const void *a, const void *b) {
    const neighbour *x = (const neighbour *)a, *y = (const neighbour *)b;
    if (x->dist2 != y->dist2) return x->dist2 < y->dist2 ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* The estimate by definition: a sum over all photons. */
static flux_sum brute_force(const stage *stage, const eye_request *request, uint32_t k,
                            float radius, float *found_radius) {
    const uint32_t count = (uint32_t)stage->lists[PHOTON_LIST_GLOBAL].count;
    const float bound2 = pointtree_bound2(radius);
    const estimate_point point = estimate_point_of(&request->at);
    neighbour *neighbours = (neighbour *)malloc(count * sizeof *neighbours);
    assert_non_null(neighbours);
    uint32_t within = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const float dist2 =
            pointtree_dist2(point.position, stage->lists[PHOTON_LIST_GLOBAL].photons[i].position);
        if (!(dist2 <= bound2)) continue;
        neighbours[within].dist2 = dist2;
        neighbours[within++].id = i;
    }
    qsort(neighbours, within, sizeof *neighbours, by_dist2);
    *found_radius = radius;
    if (k > 0 && within >= k) *found_radius = sqrtf(neighbours[(within = k - 1)].dist2);
    const float per_radius2 = 1 / (*found_radius * *found_radius);
    flux_sum sum = flux_sum_none();
    for (uint32_t i = 0; i<within && * found_radius> 0; ++i) {
        const photon *landed = &stage->lists[PHOTON_LIST_GLOBAL].photons[neighbours[i].id];
        if (!estimate_accepts(landed, &point)) continue;
        const float s2 =
            k > 0 ? neighbours[i].dist2 * per_radius2 : neighbours[i].dist2 * (1 / bound2);
        flux_sum_add(&sum, photon_kernel_at((photon_kernel)stage->maps.kernel, s2),
                     photon_scattered(&request->at, request->wo, landed),
                     stage->maps.map[PHOTON_LIST_GLOBAL].scale);
    }
    free(neighbours);
    return sum;
}

static void expect_estimates(const stage *stage, const char *name, uint32_t k, float radius) {
    flux_sum sums[REQUESTS];
    float radii[REQUESTS];
    const photon_gather_cuda gather = {
        .requests = (const eye_request *)stage->device_requests.memory,
        .count = REQUESTS,
        .packets = (const eye_packet *)stage->device_packets.memory,
        .packet_count = PACKETS,
        .alone = (uint32_t *)stage->device_alone.memory,
        .sums = (flux_sum *)stage->device_sums.memory,
        .radii = (float *)stage->device_radii.memory,
    };
    assert_int_equal(photon_maps_cuda_gather(&stage->maps, 0, k, radius, &gather), KD_OK);
    assert_int_equal(device_memory_download(sums, gather.sums, sizeof sums), KD_OK);
    assert_int_equal(device_memory_download(radii, gather.radii, sizeof radii), KD_OK);
    for (uint32_t i = 0; i < REQUESTS; ++i) {
        float right_radius;
        const flux_sum right = brute_force(stage, &stage->requests[i], k, radius, &right_radius);
        const bool nothing = !(right_radius > 0) && !(radii[i] > 0);
        if (!nothing && (radii[i] != right_radius || memcmp(&sums[i], &right, sizeof right) != 0))
            fail_msg("%s, %llu photons, k %u, radius %g, surface %u: radius %g and %lld, expected "
                     "%g and %lld",
                     name, (unsigned long long)stage->lists[PHOTON_LIST_GLOBAL].count, k,
                     (double)radius, i, (double)radii[i], (long long)sums[i].x,
                     (double)right_radius, (long long)right.x);
    }
}

static void test_results_match_brute_force(void **state) {
    (void)state;
    static const uint32_t counts[] = {1, 40, 65, 3000};
    static const uint32_t several[] = {1, 2, 10, 33, 50, 72, 100};
    for (int set = 0; set < CASE_POINT_SETS; ++set)
        for (uint32_t c = 0; c < 2 * sizeof counts / sizeof *counts; ++c) {
            if (gpu_leaves_out((uint32_t)set + c, 8)) continue;
            const uint32_t count = gpu_size(counts[c / 2], counts[c / 2] % 1900);
            stage *stage = stage_open((case_points)set, count, c % 2);
            const char *name = case_points_name((case_points)set);
            const float radii[] = {INFINITY, 0.3f * stage->size, 0.02f * stage->size};
            for (int r = 0; r < 3; ++r) {
                if (!(radii[r] > 0) || !(pointtree_bound2(radii[r]) > 0)) continue;
                for (uint32_t k = 0; k < sizeof several / sizeof *several; ++k)
                    expect_estimates(stage, name, several[k], radii[r]);
                if (radii[r] < INFINITY) expect_estimates(stage, name, 0, radii[r]);
            }
            stage_close(stage);
        }
}

/* A dense cluster inside the ball of a packet has more photons than shared memory can hold. */
static void test_dense_clusters(void **state) {
    (void)state;
    stage *stage = stage_open(CASE_CLUSTERED, gpu_size(100000, 4000), false);
    for (uint32_t k = 5; k <= 70; k += 65) {
        expect_estimates(stage, "clustered", k, INFINITY);
        expect_estimates(stage, "clustered", k, 1);
    }
    expect_estimates(stage, "clustered", 0, 0.05f);
    stage_close(stage);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_match_brute_force),
        cmocka_unit_test(test_dense_clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
