/* scenes/import/gltf.h: buffers compressed by meshoptimizer and primitives compressed by Draco give
   the same mesh as the uncompressed file; corrupt ones give one line of error. */
#include "core/memory.h"
#include "scenes/import/gltf.h"
#include "tests/gltf/gltf_files.h"
#include <math.h>
#if KD_HAVE_MESHOPT
#include <meshoptimizer.h>
#endif

static void expect_rejected(const char *name, const char *said) {
    mesh read;
    assert_int_equal(gltf_load(&read, file_in(name), NULL, NULL), KD_ERROR_INPUT);
    if (!strstr(kd_last_error(), said)) fail_msg("%s\ndoes not say: %s", kd_last_error(), said);
    assert_null(strchr(kd_last_error(), '\n'));
}

/* Returns six times the volume: 6 for a box of side 1 whose faces point outward. */
static double volume6(const mesh *mesh) {
    double sum = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; ++t) {
        const uint32_t *i = &mesh->triangles[3 * (size_t)t];
        sum += (double)vec3_dot(mesh->positions[i[0]],
                                vec3_cross(mesh->positions[i[1]], mesh->positions[i[2]]));
    }
    return sum;
}

/* --- meshoptimizer ---------------------------------------------------------------------------- */

#define PACKED(text)                                                                               \
    "{\"asset\":{\"version\":\"2.0\"},\"extensionsRequired\":[\"EXT_meshopt_compression\"]"        \
    "," ONE_NODE "\"buffers\":[{\"byteLength\":%zu},{\"byteLength\":1000000,\"extensions\":{"      \
    "\"EXT_meshopt_compression\":{\"fallback\":true}}}],\"bufferViews\":[" text                    \
    "],\"accessors\":["                                                                            \
    "{\"bufferView\":0,\"componentType\":5126,\"count\":8,\"type\":\"VEC3\"},{\"bufferView\":1,"   \
    "\"componentType\":5123,\"count\":36,\"type\":\"SCALAR\"}]," PRIMITIVE(                        \
        "\"attributes\":{\"POSITION\":0},\"indices\":1") "}"

#if KD_HAVE_MESHOPT
static size_t packed_bytes(unsigned char *to, size_t *first) {
    uint32_t wide[36];
    for (int i = 0; i < 36; ++i) wide[i] = box_indices[i];
    *first = meshopt_encodeVertexBuffer(to, 1000, corner_places, 8, 12);
    return *first + meshopt_encodeIndexBuffer(to + *first, 1000, wide, 36);
}

static void write_packed(const char *name, const unsigned char *bytes, size_t first, size_t count,
                         const char *mode, int elements) {
    static unsigned char whole[1 << 14];
    char text[4096];
    char views[1024];
    snprintf(views, sizeof views,
             "{\"buffer\":1,\"byteLength\":96,\"byteStride\":12,\"extensions\":{"
             "\"EXT_meshopt_compression\":{\"buffer\":0,\"byteLength\":%zu,\"byteStride\":12,"
             "\"mode\":\"%s\",\"count\":%d}}},{\"buffer\":1,\"byteOffset\":96,\"byteLength\":72,"
             "\"extensions\":{\"EXT_meshopt_compression\":{\"buffer\":0,\"byteOffset\":%zu,"
             "\"byteLength\":%zu,\"byteStride\":2,\"mode\":\"TRIANGLES\",\"count\":36}}}",
             first, mode, elements, first, count - first);
    snprintf(text, sizeof text, PACKED("%s"), count, views);
    file_put(name, (const char *)whole, glb_make(whole, text, bytes, count));
}

static void test_meshoptimizer_compression(void **state) {
    (void)state;
    unsigned char bytes[2000];
    size_t first = 0;
    const size_t count = packed_bytes(bytes, &first);
    write_packed("packed.glb", bytes, first, count, "ATTRIBUTES", 8);
    mesh read = load("packed.glb");
    assert_int_equal(read.triangle_count, 12);
    assert_int_equal(read.position_count, 8);
    assert_true(fabs(volume6(&read) - 6) < 1e-6);
    mesh_close(&read);
    write_packed("bad.glb", bytes, first, count, "WORDS", 8);
    expect_rejected("bad.glb", "found the mode \"WORDS\"");
    write_packed("bad.glb", bytes, first, count, "ATTRIBUTES", 7);
    expect_rejected("bad.glb", "found");
    write_packed("bad.glb", bytes, first, count, "ATTRIBUTES", 400000000);
    expect_rejected("bad.glb", "expected fewer");
    for (size_t at = 0; at < count; ++at) { /* with any byte changed: a mesh or an error */
        bytes[at] ^= 0x55;
        write_packed("bad.glb", bytes, first, count, "ATTRIBUTES", 8);
        if (gltf_load(&read, file_in("bad.glb"), NULL, NULL) != KD_OK) assert_null(read.positions);
        mesh_close(&read);
        bytes[at] ^= 0x55;
    }
}
#else
static void test_missing_meshoptimizer_is_reported(void **state) {
    (void)state;
    static unsigned char whole[1 << 14];
    char text[4096];
    snprintf(
        text, sizeof text,
        PACKED("{\"buffer\":1,\"byteLength\":96,\"extensions\":{"
               "\"EXT_meshopt_compression\":{\"buffer\":0}}},{\"buffer\":0,\"byteLength\":72}"),
        (size_t)96);
    file_put("packed.glb", (const char *)whole,
             glb_make(whole, text, (const unsigned char *)corner_places, 96));
    expect_rejected("packed.glb", "this build does not have that library");
}
#endif

/* --- Draco ------------------------------------------------------------------------------------ */

/* The box, encoded by Draco 1.5.5 with positions of 11 bits and texture coordinates of 8. */
static const unsigned char draco_box[] = {
    68,  82,  65,  67,  79,  2,   2,   1,   1,   0,   0,  0,   8,  12, 1, 11, 0,  0,  3,   111, 171,
    20,  1,   1,   16,  100, 4,   244, 198, 145, 87,  2,  255, 0,  0,  0, 1,  0,  1,  0,   9,   3,
    0,   0,   2,   1,   3,   9,   2,   0,   1,   2,   1,  1,   1,  0,  3, 3,  1,  48, 1,   16,  3,
    0,   152, 150, 20,  24,  0,   4,   0,   0,   0,   0,  255, 7,  0,  0, 0,  0,  0,  0,   0,   0,
    0,   0,   0,   0,   0,   0,   0,   0,   128, 63,  11, 5,   1,  1,  1, 2,  3,  45, 42,  49,  10,
    165, 11,  9,   104, 32,  141, 153, 85,  58,  250, 92, 174, 12, 0,  0, 0,  64, 3,  64,  236, 100,
    0,   0,   0,   0,   255, 0,   0,   0,   0,   0,   0,  0,   0,  0,  0, 0,  0,  0,  128, 63,  8};

static void write_draco(const char *name, const unsigned char *bytes, size_t count, int points) {
    static unsigned char whole[1 << 14];
    char text[2048];
    snprintf(
        text, sizeof text,
        "{\"asset\":{\"version\":\"2.0\"},\"extensionsRequired\":["
        "\"KHR_draco_mesh_compression\"]," ONE_NODE
        "\"buffers\":[{\"byteLength\":%zu}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":%zu}],"
        "\"accessors\":[{\"componentType\":5126,\"count\":%d,\"type\":\"VEC3\"},"
        "{\"componentType\":5126,\"count\":%d,\"type\":\"VEC2\"},"
        "{\"componentType\":5123,\"count\":36,\"type\":\"SCALAR\"}]," PRIMITIVE(
            "\"attributes\":{\"POSITION\":0,\"TEXCOORD_0\":1},\"indices\":2,\"extensions\":{"
            "\"KHR_draco_mesh_compression\":{\"bufferView\":0,\"attributes\":{"
            "\"POSITION\":0,\"TEXCOORD_0\":1}}}") "}",
        count, count, points, points);
    file_put(name, (const char *)whole, glb_make(whole, text, bytes, count));
}

static void test_draco_compression(void **state) {
    (void)state;
    enum { POINTS = 22 };
    mesh read;
    unsigned char bad[sizeof draco_box];
    write_draco("draco.glb", draco_box, sizeof draco_box, POINTS);
    if (gltf_load(&read, file_in("draco.glb"), NULL, NULL) != KD_OK) {
        if (strstr(kd_last_error(), "this build does not have") ||
            strstr(kd_last_error(), "needs kandela-import"))
            return;
        fail_msg("%s", kd_last_error());
    }
    assert_int_equal(read.triangle_count, 12);
    assert_true(fabs(volume6(&read) - 6) < 0.02);
    assert_non_null(read.texcoord_indices);
    mesh_close(&read);
    write_draco("draco.glb", draco_box, sizeof draco_box, POINTS + 1);
    expect_rejected("draco.glb", "compressed points and 12 triangles");
    for (size_t at = 0; at < sizeof bad; at += 29) {
        memcpy(bad, draco_box, sizeof bad);
        bad[at] ^= 0x55;
        write_draco("draco.glb", bad, sizeof bad, POINTS);
        if (gltf_load(&read, file_in("draco.glb"), NULL, NULL) != KD_OK) {
            assert_null(read.positions);
            assert_null(strchr(kd_last_error(), '\n'));
        }
        mesh_close(&read);
    }
    write_draco("draco.glb", draco_box, 20, POINTS);
    expect_rejected("draco.glb", "Draco");
}

int main(void) {
    const struct CMUnitTest tests[] = {
#if KD_HAVE_MESHOPT
        cmocka_unit_test(test_meshoptimizer_compression),
#else
        cmocka_unit_test(test_missing_meshoptimizer_is_reported),
#endif
        cmocka_unit_test(test_draco_compression),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
