/* A tree on a CUDA device returns the same results as one on the CPU for every call of
   <kandela/triangles.h>, bit for bit, from host and device memory, and rejects the same
   requests. */
#include "accel/rays/tree_device.h"
#include "accel/wide/compressed_form.h"
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "tests/gpu.h"
#include "triangle_sets.h"
#include <kandela/triangles.h>
#include <unistd.h>

enum { RAYS = 3000 };

typedef struct answers {
    kd_ray_hit hits[RAYS];
    uint8_t blocked[RAYS];
    kd_ray_counts counts[RAYS];
} answers;

static kd_ray rays[RAYS];
static answers of_cpu, of_gpu;

static void *to_device(const void *host, uint64_t bytes) {
    void *pointer = NULL;
    assert_int_equal(device_memory_reserve(&pointer, bytes), KD_OK);
    if (host) assert_int_equal(device_memory_upload(pointer, host, bytes), KD_OK);
    return pointer;
}

static kd_triangle_mesh mesh_of(const triangle_set *set) {
    return kd_triangle_mesh_make(&set->positions[0].x, set->input.position_count, set->triangles,
                                 set->input.triangle_count);
}

static kd_triangles *open_mesh(const kd_triangle_mesh *mesh, const char *device,
                               const char *builder) {
    kd_triangles_options options;
    kd_triangles_options_default(&options);
    snprintf(options.device, sizeof options.device, "%s", device);
    snprintf(options.builder, sizeof options.builder, "%s", builder);
    kd_triangles *tree = NULL;
    if (kd_triangles_open(&tree, mesh, &options) != KD_OK)
        fail_msg("%s %s: %s", device, builder, kd_last_error());
    return tree;
}

/* Makes rays for the set, some of them invalid. */
static void make_rays(const triangle_set *set) {
    for (uint32_t i = 0; i < RAYS; ++i) {
        const ray ray = triangle_set_ray(set, i);
        memcpy(&rays[i], &ray, sizeof ray);
    }
    rays[1].origin[1] = NAN;
    rays[2].origin[0] = INFINITY;
    rays[3].direction[2] = NAN;
    rays[4].direction[2] = INFINITY;
    memset(rays[5].direction, 0, sizeof rays[5].direction);
    rays[6].tmin = NAN;
    rays[7].tmin = rays[7].tmax;
    rays[8].tmax = NAN;
}

static void query_cuda_row(answers *out, const kd_triangles *tree, bool counted) {
    memset(out, 7, sizeof *out);
    kd_ray_counts *counts = counted ? out->counts : NULL;
    if (kd_triangles_intersect(tree, rays, RAYS, out->hits, counts) != KD_OK)
        fail_msg("intersect: %s", kd_last_error());
    if (kd_triangles_occluded(tree, rays, RAYS, out->blocked, NULL) != KD_OK)
        fail_msg("occluded: %s", kd_last_error());
}

static void expect_same_answers(const char *label) {
    for (uint32_t i = 0; i < RAYS; ++i) {
        if (memcmp(&of_cpu.hits[i], &of_gpu.hits[i], sizeof of_cpu.hits[i]) != 0)
            fail_msg("%s, ray %u: triangle %u at %.9g, expected %u at %.9g", label, i,
                     of_gpu.hits[i].triangle, (double)of_gpu.hits[i].t, of_cpu.hits[i].triangle,
                     (double)of_cpu.hits[i].t);
        assert_int_equal(of_cpu.blocked[i], of_gpu.blocked[i]);
    }
}

static void test_results_equal_cpu_results(void **state) {
    (void)state;
    static const uint32_t counts[] = {0, 1, 300};
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k) {
            if (test_leaves_out((uint32_t)which + (uint32_t)k, 2)) continue;
            triangle_set set = triangle_set_make((case_triangles)which, counts[k]);
            const kd_triangle_mesh mesh = mesh_of(&set);
            kd_triangles *cpu = open_mesh(&mesh, "cpu", "auto");
            kd_triangles *gpu = open_mesh(&mesh, "cuda:0", "auto");
            make_rays(&set);
            query_cuda_row(&of_cpu, cpu, false);
            query_cuda_row(&of_gpu, gpu, false);
            expect_same_answers(case_triangles_name((case_triangles)which));
            kd_triangles_close(cpu);
            kd_triangles_close(gpu);
            triangle_set_close(&set);
        }
}

/* A tree that frees its nodes on the device builds them again for statistics, for work per ray and
   for a copy on the host, and answers as before. */
static void test_freed_nodes_are_built_again(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 300);
    const kd_triangle_mesh mesh = mesh_of(&set);
    kd_triangles_info whole, lean;
    make_rays(&set);
    kd_triangles *gpu = open_mesh(&mesh, "cuda:0", "zhou");
    kd_triangles_describe(gpu, &whole);
    query_cuda_row(&of_cpu, gpu, true);
    kd_triangles_close(gpu);
    tritree_cuda_lean_from(0);
    gpu = open_mesh(&mesh, "cuda:0", "zhou");
    kd_triangles_describe(gpu, &lean);
    assert_true(lean.bytes < whole.bytes);
    assert_int_equal(lean.hash, whole.hash);
    assert_int_equal(lean.leaves, whole.leaves);
    query_cuda_row(&of_gpu, gpu, false);
    expect_same_answers("without nodes");
    query_cuda_row(&of_gpu, gpu, true);
    expect_same_answers("with nodes again");
    assert_memory_equal(of_gpu.counts, of_cpu.counts, sizeof of_gpu.counts);
    kd_triangles_close(gpu);
    tritree_cuda_lean_from(COMPRESSED_MANY);
    triangle_set_close(&set);
}

/* A tree built on the CPU has the same statistics on both devices, and rays do the same work. */
static void test_cpu_tree_on_device(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 2000);
    const kd_triangle_mesh mesh = mesh_of(&set);
    kd_triangles *cpu = open_mesh(&mesh, "cpu", "sweep"),
                 *gpu = open_mesh(&mesh, "cuda:0", "sweep");
    kd_triangles_info a, b;
    kd_triangles_describe(cpu, &a);
    kd_triangles_describe(gpu, &b);
    assert_true(a.hash == b.hash && a.leaves == b.leaves && a.empty_leaves == b.empty_leaves);
    assert_true(a.depth == b.depth && a.references == b.references && a.nodes == b.nodes);
    assert_true(a.sah_cost == b.sah_cost && a.triangles == b.triangles);
    assert_string_equal(a.builder, b.builder);
    assert_string_equal(a.form, "wide");
    assert_string_equal(b.form, "packed");
    assert_true(strcmp(a.device, b.device) != 0 && b.device[0]);
    assert_memory_equal(a.lo, b.lo, sizeof a.lo);
    assert_memory_equal(a.hi, b.hi, sizeof a.hi);
    make_rays(&set);
    query_cuda_row(&of_gpu, gpu, true);
    for (uint32_t i = 0; i < RAYS; ++i) assert_true(of_gpu.counts[i].nodes <= b.nodes);
    query_cuda_row(&of_cpu, cpu, true);
    expect_same_answers("counted");
    for (uint32_t i = 16; i < RAYS;
         ++i) /* the CPU's traversal uses packed leaves, but visits the same nodes */
        assert_memory_equal(&of_cpu.counts[i], &of_gpu.counts[i], sizeof of_cpu.counts[i]);
    kd_triangles_close(cpu);
    kd_triangles_close(gpu);
    triangle_set_close(&set);
}

/* Copies the set's triangles to device memory, strided and without indices. */
static kd_triangle_mesh strided_on_device(const triangle_set *set) {
    static float strided[1500][5];
    for (int i = 0; i < 1500; ++i) {
        memcpy(strided[i], &set->positions[set->triangles[i]], sizeof(vec3));
        strided[i][3] = strided[i][4] = NAN;
    }
    kd_triangle_mesh mesh =
        kd_triangle_mesh_make((float *)to_device(strided, sizeof strided), 1500, NULL, 500);
    mesh.stride_bytes = sizeof strided[0];
    return mesh;
}

static void test_mesh_on_the_device(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 500);
    const kd_triangle_mesh mesh = mesh_of(&set), triangle_mesh = strided_on_device(&set);
    kd_triangles *cpu = open_mesh(&mesh, "cpu", "auto"),
                 *gpu = open_mesh(&triangle_mesh, "auto", "auto"),
                 *moved = open_mesh(&triangle_mesh, "auto", "median");
    device_memory_free((void *)(uintptr_t)triangle_mesh.vertices);
    make_rays(&set);
    query_cuda_row(&of_cpu, cpu, false);
    query_cuda_row(&of_gpu, gpu, false);
    expect_same_answers("mesh on the device");
    query_cuda_row(&of_gpu, moved, false);
    expect_same_answers("mesh on the device, built on the CPU");
    kd_triangles_close(cpu);
    kd_triangles_close(gpu);
    kd_triangles_close(moved);
    triangle_set_close(&set);
}

/* Casts rays given as arrays on the device, except tmax and the triangle ids, which are on the
   host. */
static void query_by_arrays(const kd_triangles *gpu, kd_ray_batch batch) {
    static float number[8][RAYS], t[RAYS];
    static uint32_t ids[RAYS];
    for (uint32_t i = 0; i < RAYS; ++i)
        for (int k = 0; k < 8; ++k) memcpy(&number[k][i], (float *)&rays[i] + k, sizeof(float));
    float *numbers = (float *)to_device(number, sizeof number);
    batch.t = (float *)to_device(NULL, sizeof t);
    batch.triangles = ids;
    for (int k = 0; k < 3; ++k) {
        batch.origin[k] = numbers + k * RAYS;
        batch.direction[k] = numbers + (4 + k) * RAYS;
    }
    batch.tmin = numbers + 3 * RAYS;
    batch.tmax = number[7];
    if (kd_triangles_cast(gpu, &batch) != KD_OK) fail_msg("%s", kd_last_error());
    assert_int_equal(device_memory_download(t, batch.t, sizeof t), KD_OK);
    for (uint32_t i = 0; i < RAYS; ++i) {
        assert_int_equal(ids[i], of_cpu.hits[i].triangle);
        assert_memory_equal(&t[i], &of_cpu.hits[i].t, sizeof t[i]);
    }
    device_memory_free(numbers);
    device_memory_free(batch.t);
}

static void query_by_structs(const kd_triangles *gpu, kd_ray_batch batch) {
    void *device_rays = to_device(rays, sizeof rays);
    void *device_hits = to_device(NULL, sizeof of_gpu.hits);
    batch.rays = (const kd_ray *)device_rays;
    batch.hits = (kd_ray_hit *)device_hits;
    if (kd_triangles_cast(gpu, &batch) != KD_OK) fail_msg("%s", kd_last_error());
    assert_int_equal(device_wait(), KD_OK);
    assert_int_equal(device_memory_download(of_gpu.hits, device_hits, sizeof of_gpu.hits), KD_OK);
    memcpy(of_gpu.blocked, of_cpu.blocked, sizeof of_gpu.blocked);
    expect_same_answers("rays on the device");
    device_memory_free(device_rays);
    device_memory_free(device_hits);
}

/* Rays and results in device memory, in any order, on the caller's stream. */
static void test_rays_on_the_device(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 500);
    const kd_triangle_mesh mesh = mesh_of(&set);
    kd_triangles *cpu = open_mesh(&mesh, "cpu", "auto"), *gpu = open_mesh(&mesh, "cuda:0", "auto");
    make_rays(&set);
    query_cuda_row(&of_cpu, cpu, false);
    kd_ray_batch batch;
    kd_ray_batch_default(&batch);
    batch.count = RAYS;
    batch.stream = (void *)(uintptr_t)2; /* cudaStreamPerThread */
    for (int order = 0; order < 3; ++order) {
        batch.order = (kd_ray_order)order;
        batch.asynchronous = order == 1;
        query_by_arrays(gpu, batch);
        query_by_structs(gpu, batch);
    }
    kd_triangles_close(cpu);
    kd_triangles_close(gpu);
    triangle_set_close(&set);
}

static void test_save_and_load(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 700);
    const kd_triangle_mesh mesh = mesh_of(&set);
    kd_triangles *gpu = open_mesh(&mesh, "cuda:0", "auto");
    char path[64];
    snprintf(path, sizeof path, "/tmp/gpu_triangles_api.%d", (int)getpid());
    assert_int_equal(kd_triangles_save(gpu, path), KD_OK);
    make_rays(&set);
    query_cuda_row(&of_cpu, gpu, false);
    kd_triangles_info a, b;
    kd_triangles_describe(gpu, &a);
    static const char *const places[] = {"cpu", "cuda:0", "auto"};
    for (int i = 0; i < 3; ++i) {
        kd_triangles_options options;
        kd_triangles_options_default(&options);
        snprintf(options.device, sizeof options.device, "%s", places[i]);
        kd_triangles *loaded = NULL;
        if (kd_triangles_load(&loaded, path, &options) != KD_OK) fail_msg("%s", kd_last_error());
        kd_triangles_describe(loaded, &b);
        assert_true(a.hash == b.hash && a.sah_cost == b.sah_cost && a.depth == b.depth);
        assert_int_equal(strncmp(b.device, "CPU", 3) == 0, i != 1);
        query_cuda_row(&of_gpu, loaded, false);
        expect_same_answers(places[i]);
        kd_triangles_close(loaded);
    }
    unlink(path);
    kd_triangles_close(gpu);
    triangle_set_close(&set);
}

static void test_automatic_device_depends_on_size(void **state) {
    (void)state;
    if (gpu_is_emulated()) skip(); /* needs a million threads */
    for (uint32_t count = 50000; count <= 100000; count *= 2) {
        triangle_set set = triangle_set_make(CASE_SOUP, count);
        const kd_triangle_mesh mesh = mesh_of(&set);
        kd_triangles *chosen = open_mesh(&mesh, "auto", "auto");
        kd_triangles_info info;
        kd_triangles_describe(chosen, &info);
        assert_int_equal(strncmp(info.device, "CPU", 3) == 0, count < 100000);
        assert_true(info.sah_cost > 0 && info.leaves > 1000);
        kd_triangles_close(chosen);
        triangle_set_close(&set);
    }
}

static void expect_refused(const kd_triangle_mesh *mesh, const char *device, const char *builder,
                           kd_status expected, const char *says) {
    kd_triangles_options options;
    kd_triangles_options_default(&options);
    snprintf(options.device, sizeof options.device, "%s", device);
    snprintf(options.builder, sizeof options.builder, "%s", builder);
    kd_triangles *tree = (kd_triangles *)1;
    assert_int_equal(kd_triangles_open(&tree, mesh, &options), expected);
    assert_null(tree);
    if (!strstr(kd_last_error(), says)) fail_msg("\"%s\" lacks \"%s\"", kd_last_error(), says);
}

static void test_invalid_requests(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 20);
    const kd_triangle_mesh good = mesh_of(&set);
    kd_triangle_mesh mesh = good;
    mesh.vertex_count = 59;
    expect_refused(&mesh, "cuda:0", "auto", KD_ERROR_INPUT, "triangle 19 has vertex index 59");
    set.positions[31].y = NAN;
    expect_refused(&good, "cuda:0", "auto", KD_ERROR_INPUT, "triangle 10 has the vertex");
    set.positions[31].y = 0;
    expect_refused(&good, "cuda:99", "auto", KD_ERROR_DEVICE, "cuda:99");
    expect_refused(&good, "cpu", "binned", KD_ERROR_DEVICE, "binned");
    expect_refused(&good, "cuda:0", "swap", KD_ERROR_USAGE, "swap");
    kd_triangles_options options;
    kd_triangles_options_default(&options);
    snprintf(options.device, sizeof options.device, "cuda:0");
    options.empty_factor = 2;
    kd_triangles *gpu = NULL;
    assert_int_equal(kd_triangles_open(&gpu, &good, &options), KD_ERROR_USAGE);
    gpu = open_mesh(&good, "cuda:0", "auto");
    kd_ray_batch batch;
    kd_ray_batch_default(&batch);
    batch.count = 1;
    assert_int_equal(kd_triangles_cast(gpu, &batch), KD_ERROR_USAGE);
    batch.rays = rays;
    assert_int_equal(kd_triangles_cast(gpu, &batch), KD_ERROR_USAGE);
    char *odd = (char *)to_device(NULL, 256);
    batch.rays = (const kd_ray *)(void *)(odd + 4);
    batch.blocked = of_gpu.blocked;
    assert_int_equal(kd_triangles_cast(gpu, &batch), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "aligned to 16 bytes"));
    device_memory_free(odd);
    kd_triangles_close(gpu);
    triangle_set_close(&set);
}

/* A tree on the CPU cannot read device pointers: each is rejected by name before it is
   dereferenced. */
static void test_device_pointers_on_cpu_are_rejected(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 50);
    kd_triangle_mesh mesh = mesh_of(&set);
    kd_triangles *tree = open_mesh(&mesh, "cpu", "auto"), *none = NULL;
    kd_triangles_options options;
    kd_triangles_options_default(&options);
    snprintf(options.device, sizeof options.device, "cpu");
    void *device_data = to_device(NULL, 1 << 16);
    make_rays(&set);
#define REFUSED(call, says)                                                                        \
    do {                                                                                           \
        assert_int_equal(call, KD_ERROR_USAGE);                                                    \
        if (!strstr(kd_last_error(), says) || !strstr(kd_last_error(), "is memory of cuda:0"))     \
            fail_msg("%s", kd_last_error());                                                       \
    } while (0)
    mesh.vertices = (const float *)device_data;
    REFUSED(kd_triangles_open(&none, &mesh, &options), "vertices");
    mesh = mesh_of(&set);
    mesh.indices = (const uint32_t *)device_data;
    REFUSED(kd_triangles_open(&none, &mesh, &options), "indices");
    REFUSED(kd_triangles_intersect(tree, (const kd_ray *)device_data, 4, of_cpu.hits, NULL),
            "rays");
    REFUSED(kd_triangles_intersect(tree, rays, 4, (kd_ray_hit *)device_data, NULL), "`hits`");
    REFUSED(kd_triangles_occluded(tree, rays, 4, (uint8_t *)device_data, NULL), "`blocked`");
    REFUSED(kd_triangles_occluded(tree, rays, 4, of_cpu.blocked, (kd_ray_counts *)device_data),
            "`counts`");
#undef REFUSED
    kd_triangles_close(tree);
    device_memory_free(device_data);
    triangle_set_close(&set);
}

/* Structs must be aligned, because kernels access them 16 bytes at a time. */
static void test_misaligned_structs_are_rejected(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 50);
    kd_triangle_mesh mesh = mesh_of(&set);
    kd_triangles *tree = open_mesh(&mesh, "cuda:0", "auto");
    char *device_data = (char *)to_device(NULL, 1 << 16);
    make_rays(&set);
    assert_int_equal(kd_triangles_intersect(tree, (const kd_ray *)(void *)(device_data + 4), 4,
                                            of_gpu.hits, NULL),
                     KD_ERROR_USAGE);
    assert_int_equal(
        kd_triangles_intersect(tree, rays, 4, (kd_ray_hit *)(void *)(device_data + 8), NULL),
        KD_ERROR_USAGE);
    kd_triangles_close(tree);
    device_memory_free(device_data);
    triangle_set_close(&set);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_equal_cpu_results),
        cmocka_unit_test(test_freed_nodes_are_built_again),
        cmocka_unit_test(test_cpu_tree_on_device),
        cmocka_unit_test(test_mesh_on_the_device),
        cmocka_unit_test(test_rays_on_the_device),
        cmocka_unit_test(test_save_and_load),
        cmocka_unit_test(test_automatic_device_depends_on_size),
        cmocka_unit_test(test_invalid_requests),
        cmocka_unit_test(test_device_pointers_on_cpu_are_rejected),
        cmocka_unit_test(test_misaligned_structs_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
