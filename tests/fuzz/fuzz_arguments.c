/* Public calls with arbitrary counts, strides, dimensions, k, radii and enums: invalid arguments
   are rejected with a message, valid calls succeed, and nothing outside the caller's arrays is
   accessed (AddressSanitizer detects it). Not passed are lengths that exceed the arrays here but
   could be valid for another caller, because no library can detect those. */
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/fuzz.h"
#include "tests/neighbours/searches.h"
#include <kandela/points.h>
#include <kandela/render.h>
#include <kandela/triangles.h>
#include <stdbool.h>
#include <string.h>

enum { CAPACITY = 64, CAPACITY_BYTES = CAPACITY * 8 * 8, ANSWERS = 4096 };

static double numbers[CAPACITY * 8 + 1]; /* floats or doubles */
static uint32_t ids32[CAPACITY];

/* Returns a small count, or one whose product with a stride overflows 64 bits. */
static uint64_t any_count(fuzz_bytes *bytes) {
    const uint8_t kind = fuzz_byte(bytes);
    if (kind < 160) return kind % (CAPACITY + 1);
    const uint64_t power = (uint64_t)1 << (32 + kind % 32);
    return power + fuzz_byte(bytes) % 5 - 2;
}

static uint64_t any_stride(fuzz_bytes *bytes, uint64_t minimum) {
    const uint8_t kind = fuzz_byte(bytes);
    if (kind < 90) return 0;
    if (kind < 130) return minimum;
    if (kind < 170) return fuzz_byte(bytes);
    return ((uint64_t)1 << (31 + kind % 33)) + fuzz_byte(bytes) % 9 - 4;
}

/* Computes the bytes that an array of `count` items of `each` bytes spans; returns false on
   overflow. */
static bool bytes_of(uint64_t count, uint64_t stride, uint64_t each, uint64_t *bytes) {
    *bytes = 0;
    return count == 0 || (!__builtin_mul_overflow(count - 1, stride, bytes) &&
                          !__builtin_add_overflow(*bytes, each, bytes));
}
static bool fits(uint64_t count, uint64_t stride, uint64_t each) {
    uint64_t bytes;
    return bytes_of(count, stride, each, &bytes) && bytes <= CAPACITY_BYTES;
}
static bool cannot_be(uint64_t count, uint64_t stride, uint64_t each) {
    uint64_t bytes;
    return !bytes_of(count, stride, each, &bytes) || bytes > INT64_MAX;
}

static kd_point_array any_points(fuzz_bytes *bytes, bool *honest) {
    kd_point_array made;
    const uint8_t kind = fuzz_byte(bytes);
    made.dims = kind < 200 ? 1u + kind % 8u : fuzz_byte(bytes) * 0x01010101u;
    made.scalar = (kd_scalar)(kind & 16 ? kind % 5 : kind % 2);
    made.ids = NULL;
    const uint64_t scalar = made.scalar == KD_DOUBLE ? 8 : 4;
    const uint64_t each = made.dims * scalar;
    made.count = any_count(bytes);
    made.stride_bytes = any_stride(bytes, each);
    made.coordinates = fuzz_byte(bytes) % 16 ? numbers : NULL;
    const uint64_t stride = made.stride_bytes ? made.stride_bytes : each;
    *honest = fits(made.count, stride, each);
    if (!*honest && !cannot_be(made.count, stride, each)) {
        made.count = made.count ? 1 : 0;
        *honest = fits(made.count, stride, each);
    }
    return made;
}

/* Expects a message with every failure, and a failure unless the call `may` succeed. */
static void judge(kd_status status, bool may) {
    FUZZ_REQUIRE(status == KD_OK || kd_last_error()[0] != '\0');
    FUZZ_REQUIRE(may || status != KD_OK);
}

static void query_tree(const kd_points *tree, fuzz_bytes *bytes) {
    static uint64_t ids[ANSWERS], offsets[CAPACITY + 1];
    static double dist2[ANSWERS];
    bool honest;
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = any_points(bytes, &honest);
    const uint8_t kind = fuzz_byte(bytes);
    query.max_radius = (double)fuzz_number(bytes);
    if (kind & 1) query.norm = (double)fuzz_number(bytes);
    if (kind & 2) query.period[kind % 8] = (double)fuzz_number(bytes);
    if (kind & 8) strcpy(query.method, kind & 16 ? "walk" : "leaves");
    (void)kd_points_scratch_bytes(tree, &query);
    const uint64_t count = query.points.count;
    if (honest && count > CAPACITY) return; /* items of zero bytes */
    const uint32_t k = kind & 32 ? fuzz_byte(bytes) % 40u : fuzz_byte(bytes) * 0x01010101u;
    if (!honest || (uint64_t)k * count <= ANSWERS) {
        judge(kd_points_nearest(tree, &query, k, (uint32_t *)(void *)ids, dist2, NULL), honest);
        judge(nearest64(tree, &query, k, ids, dist2, NULL), honest);
    }
    judge(kd_points_closest(tree, &query, (uint32_t *)(void *)ids, dist2), honest);
    const kd_status counted = kd_points_within_count(tree, &query, offsets);
    judge(counted, honest);
    if (counted == KD_OK && offsets[count] <= ANSWERS)
        judge(within64(tree, &query, offsets, ids, dist2), honest);
    judge(in_box_count(tree, &query.points, &query.points, offsets), honest);
}

static void fuzz_points(fuzz_bytes *bytes) {
    bool honest;
    kd_points *tree = NULL;
    kd_points_options options;
    kd_points_options_default(&options);
    const kd_point_array points = any_points(bytes, &honest);
    const uint8_t kind = fuzz_byte(bytes);
    options.split = (kd_points_split)(kind % 4);
    options.spread = (kd_points_spread)(kind / 4 % 4);
    strcpy(options.device, kind & 64 ? "cpu,cpu" : "cpu");
    if (kind & 128) options.first_id = any_count(bytes);
    judge(kd_points_open(&tree, &points, &options), honest);
    if (!tree) return;
    for (int turn = 0; turn < 3 && bytes->left; ++turn) query_tree(tree, bytes);
    const kd_point_array more = any_points(bytes, &honest);
    judge(kd_points_insert(tree, &more, NULL), honest);
    uint64_t gone = any_count(bytes);
    if (gone > CAPACITY) gone = CAPACITY;
    judge(kd_points_remove(tree, ids32, gone), true);
    const kd_point_array other = any_points(bytes, &honest);
    judge(kd_points_update(tree, &other), honest);
    query_tree(tree, bytes);
    kd_points_close(tree);
}

static void fuzz_triangles(fuzz_bytes *bytes) {
    static const uint32_t indices[3 * CAPACITY] = {0};
    static kd_ray_hit hits[CAPACITY];
    static kd_near_triangle nearest[CAPACITY];
    static double winding[CAPACITY];
    static int32_t crossings[CAPACITY];
    kd_triangles *tree = NULL;
    kd_triangles_options options;
    kd_triangles_options_default(&options);
    strcpy(options.device, "cpu");
    kd_triangle_mesh mesh = {(const float *)(void *)numbers, any_count(bytes),
                             any_stride(bytes, 12), fuzz_byte(bytes) % 2 ? indices : NULL,
                             any_count(bytes)};
    const uint64_t stride = mesh.stride_bytes ? mesh.stride_bytes : 12;
    bool honest = fits(mesh.vertex_count, stride, 12);
    if (!honest && !cannot_be(mesh.vertex_count, stride, 12)) {
        mesh.vertex_count = 1;
        honest = true;
    }
    if (mesh.triangle_count > CAPACITY && mesh.triangle_count < (uint64_t)1 << 61)
        mesh.triangle_count = CAPACITY;
    honest = honest && mesh.triangle_count <= CAPACITY;
    const uint8_t kind = fuzz_byte(bytes);
    if (kind & 1) options.traversal_cost = fuzz_number(bytes);
    if (kind & 2) options.max_depth = (int32_t)(fuzz_byte(bytes) * 0x01010101u);
    if (kind & 4) options.struct_size = fuzz_byte(bytes);
    judge(kd_triangles_open(&tree, &mesh, &options), honest);
    if (!tree) return;
    kd_ray_batch batch;
    kd_ray_batch_default(&batch);
    batch.rays = (const kd_ray *)(const void *)numbers;
    batch.hits = hits;
    batch.count = any_count(bytes) % CAPACITY;
    batch.order = (kd_ray_order)(fuzz_byte(bytes) % 5);
    batch.width = fuzz_byte(bytes) * 0x01010101u;
    judge(kd_triangles_cast(tree, &batch), true);
    judge(kd_triangles_closest_point(tree, (const float *)(void *)numbers,
                                     any_count(bytes) % CAPACITY, fuzz_number(bytes), nearest),
          true);
    judge(kd_triangles_winding_number(tree, (const float *)(void *)numbers,
                                      any_count(bytes) % CAPACITY, (double)fuzz_number(bytes),
                                      winding),
          true);
    judge(kd_triangles_crossings(tree, (const float *)(void *)numbers, any_count(bytes) % CAPACITY,
                                 NULL, crossings),
          true);
    kd_triangles_close(tree);
}

static void fuzz_scene(fuzz_bytes *bytes) {
    static const char text[] = "{\"kandela\": 1, \"meshes\": [{\"file\": \"mesh:a\"}]}";
    static const uint32_t indices[3 * CAPACITY] = {0};
    kd_scene *scene = NULL;
    kd_image *image = NULL;
    kd_render_options options;
    kd_scene_mesh mesh = {
        "a", (const float *)(void *)numbers, any_count(bytes), indices, any_count(bytes), NULL,
        NULL};
    const bool can = mesh.vertex_count <= CAPACITY && mesh.triangle_count <= CAPACITY;
    if (!can && !cannot_be(mesh.vertex_count, 12, 12) && mesh.vertex_count > CAPACITY) return;
    if (!can && !cannot_be(mesh.triangle_count, 12, 12) && mesh.triangle_count > CAPACITY) return;
    kd_render_options_default(&options);
    judge(kd_scene_parse(&scene, text, sizeof text - 1, NULL, &mesh, 1, &options), can);
    if (!scene) return;
    const uint8_t kind = fuzz_byte(bytes);
    options.width = kind & 1 ? (int32_t)(fuzz_byte(bytes) * 0x01010101u) : 3;
    options.height = kind & 2 ? (int32_t)(fuzz_byte(bytes) * 0x01010101u) : 2;
    const bool large = options.width > 64 || options.height > 64;
    for (int i = 0; i < 4 && kind & 4; ++i)
        options.crop[i] = (int32_t)((uint32_t)fuzz_byte(bytes) * 0x01010101u);
    if (kind & 8) options.filter = (int32_t)fuzz_byte(bytes);
    if (kind & 16) options.max_depth = (int32_t)(int8_t)fuzz_byte(bytes);
    options.tonemap = (kd_tonemap)(kind / 32);
    options.spp = 1;
    strcpy(options.integrator, "debug");
    if (!large) judge(kd_render(&image, scene, &options, NULL, NULL), true);
    kd_image_close(image);
    kd_scene_close(scene);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    fuzz_bytes from = {bytes, count, 0};
    const uint8_t which = fuzz_byte(&from);
    from.kind = fuzz_byte(&from);
    for (int i = 0; i < CAPACITY * 8; ++i) numbers[i] = (double)(i * 37 % 101) / 7;
    if (which % 4 < 2)
        fuzz_points(&from);
    else if (which % 4 == 2)
        fuzz_triangles(&from);
    else
        fuzz_scene(&from);
    return 0;
}
