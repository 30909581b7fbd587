/* The compressed form that a device makes of a tree has the same bytes as the one made on the
   CPU. */
#include "accel/builders.h"
#include "accel/rays/tree_device.h"
#include "accel/wide/compressed_form.h"
#include "compressed_reference.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/hash.h"
#include "core/status.h"
#include "nasty_rays.h"
#include "tests/gpu.h"

/* Compares the leaves that list their triangles. */
static void expect_same_indexed(const tritree_view *host, const tritree_cuda *device_tree) {
    compressed_copy expected;
    void *units = NULL;
    uint64_t bytes = 0;
    assert_int_equal(compressed_copy_open(&expected, host, true), KD_OK);
    assert_int_equal(compressed_device_open(&units, &bytes, &device_tree->view, 0, true, NULL),
                     KD_OK);
    assert_int_equal(bytes, COMPRESSED_UNIT * expected.unit_count);
    assert_true(bytes <= device_tree->compressed_bytes);
    uint8_t *made = (uint8_t *)malloc(bytes + 1);
    assert_non_null(made);
    if (bytes) assert_int_equal(device_memory_download(made, units, bytes), KD_OK);
    if (bytes) assert_memory_equal(made, expected.units, bytes);
    free(made);
    device_memory_free(units);
    compressed_copy_close(&expected);
}

/* The planes of an indexed leaf's cell lie inside the cell, by two steps of the grid at most. */
static void test_cells_are_rounded_inwards(void **state) {
    (void)state;
    compressed_source source;
    compressed_item item;
    memset(&source, 0, sizeof source);
    memset(&item, 0, sizeof item);
    for (uint32_t i = 0; i < 3000; ++i) {
        float random[9];
        for (uint32_t k = 0; k < 9; ++k)
            random[k] = (float)(hash_scatter(9 * i + k) >> 40) * 0x1p-24f;
        const vec3 from = vec3_make(i % 3 ? random[0] : 1e4f, -random[1], random[2]);
        source.tree.box.lo = from;
        source.tree.box.hi = vec3_add(from, vec3_make(1, random[3] * 0.1f, random[4]));
        item.cell.lo = vec3_make(from.x + 0.5f * random[5], -INFINITY, from.z);
        item.cell.hi = vec3_make(from.x + 0.5f + 0.5f * random[6], source.tree.box.hi.y, INFINITY);
        const compressed_grid grid = compressed_grid_make(source.tree.box);
        const compressed_indexed_leaf leaf = compressed_indexed_leaf_make(&source, &item);
        assert_int_equal(leaf.planes[3] & COMPRESSED_LAST, 0);
        for (int axis = 0; axis < 3; ++axis) {
            const uint32_t high = leaf.planes[axis] >> 21 | (leaf.planes[3] >> (10 * axis) & 1023)
                                                                << 11;
            const float lo = vec3_axis(item.cell.lo, axis), hi = vec3_axis(item.cell.hi, axis),
                        low_plane = compressed_plane_at(
                            grid, axis, leaf.planes[axis] & (uint32_t)COMPRESSED_PLANE_MAX),
                        high_plane = compressed_plane_at(grid, axis, high);
            const float off = 2 * grid.step + fabsf(low_plane) * 0x1p-22f;
            assert_true(low_plane >= lo && (low_plane <= lo + off || lo == -INFINITY));
            assert_true(high_plane <= hi && (high_plane >= hi - off || hi == INFINITY));
            if (lo == -INFINITY) assert_true(low_plane < vec3_axis(source.tree.box.lo, axis));
            if (hi == INFINITY) assert_true(high_plane > vec3_axis(source.tree.box.hi, axis));
        }
    }
}

static void expect_same_bytes(const tritree *tree, const char *name, uint32_t count,
                              const char *builder) {
    const tritree_view view = tritree_get_view(tree);
    compressed_copy expected;
    tritree_cuda device_tree;
    assert_int_equal(compressed_copy_open(&expected, &view, false), KD_OK);
    assert_int_equal(tritree_cuda_open(&device_tree, tree), KD_OK);
    const uint64_t before = device_tree.bytes;
    assert_int_equal(tritree_cuda_pack(&device_tree, NULL), KD_OK);
    assert_int_equal(device_tree.bytes, before + device_tree.compressed_bytes);
    assert_int_equal(tritree_cuda_pack(&device_tree, NULL), KD_OK); /* a second call does nothing */
    assert_int_equal(device_tree.bytes, before + device_tree.compressed_bytes);
    const uint64_t bytes = COMPRESSED_UNIT * expected.unit_count;
    assert_int_equal(device_tree.compressed_bytes, bytes);
    assert_true((device_tree.compressed != NULL) == (expected.units != NULL));
    uint8_t *made = (uint8_t *)malloc(bytes + 1);
    assert_non_null(made);
    if (bytes) assert_int_equal(device_memory_download(made, device_tree.compressed, bytes), KD_OK);
    for (uint64_t i = 0; i < bytes; ++i)
        if (made[i] != expected.units[i])
            fail_msg("%s %u by %s: byte %llu of unit %llu is %u, expected %u", name, count, builder,
                     (unsigned long long)(i % COMPRESSED_UNIT),
                     (unsigned long long)(i / COMPRESSED_UNIT), made[i], expected.units[i]);
    free(made);
    expect_same_indexed(&view, &device_tree);
    tritree_cuda_close(&device_tree);
    compressed_copy_close(&expected);
}

static void expect_bytes_match(triangle_set *set, const char *name, const char *builder,
                               float traversal_cost) {
    tritree_options options = tritree_options_default();
    options.traversal_cost = traversal_cost;
    tritree tree;
    assert_int_equal(tritree_open(&tree, &set->input, &options, builder, NULL), KD_OK);
    expect_same_bytes(&tree, name, set->input.triangle_count, builder);
    tritree_close(&tree);
}

static void test_device_bytes_equal_cpu_bytes(void **state) {
    (void)state;
    static const uint32_t counts[] = {0, 1, 2, 3, 17, 127, 1025, 20000};
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
            if (counts[i] > gpu_size(20000, 1025)) continue;
            triangle_set set = triangle_set_make((case_triangles)which, counts[i]);
            const char *name = case_triangles_name((case_triangles)which);
            expect_bytes_match(&set, name, "sweep", 1.5f);
            if (counts[i] <= 1025) expect_bytes_match(&set, name, "median", 1.5f);
            if (counts[i] <= 1025) expect_bytes_match(&set, name, "zhou", 0.3f);
            /* leaves so large that they are split into more parts than were planned */
            if (counts[i] <= 1025) expect_bytes_match(&set, name, "sweep", 12);
            /* one leaf with all triangles, which becomes several nodes */
            if (counts[i] <= 1025) expect_bytes_match(&set, name, "sweep", 1e9f);
            triangle_set_close(&set);
        }
    triangle_set needles = triangle_set_needles(300);
    expect_bytes_match(&needles, "needles", "sweep", 0.3f);
    triangle_set_close(&needles);
}

static int warnings;
static char warned[512];

static void note_warning(void *context, log_level level, const char *message) {
    (void)context;
    if (level != LOG_WARNING) return;
    ++warnings;
    snprintf(warned, sizeof warned, "%s", message);
}

/* Allows `capacity` bytes of device memory beyond those that are held. */
static void limit_memory(uint64_t capacity) {
    const uint64_t gigabyte = (uint64_t)1 << 30;
    uint64_t available = 0;
    char text[32];
    assert_int_equal(setenv("KANDELA_DEVICE_MEMORY", "1G", 1), 0);
    assert_int_equal(device_memory_free_bytes(&available), KD_OK);
    snprintf(text, sizeof text, "%llu", (unsigned long long)(gigabyte - available + capacity));
    assert_int_equal(setenv("KANDELA_DEVICE_MEMORY", text, 1), 0);
}

/* Packs a tree of 3000 triangles with `capacity` bytes of device memory left. Returns true if its
   leaves are then indexed; otherwise there is no compressed tree, which is logged once. */
static bool pack_with(uint64_t capacity) {
    triangle_set set = triangle_set_make(CASE_SOUP, 3000);
    const tritree_options options = tritree_options_default();
    tritree tree;
    tritree_cuda device_tree;
    assert_int_equal(tritree_open(&tree, &set.input, &options, "sweep", NULL), KD_OK);
    assert_int_equal(tritree_cuda_open(&device_tree, &tree), KD_OK);
    limit_memory(capacity);
    log_set_sink(note_warning, NULL);
    warnings = 0;
    assert_int_equal(tritree_cuda_pack(&device_tree, NULL), KD_OK);
    assert_int_equal(tritree_cuda_pack(&device_tree, NULL), KD_OK);
    const bool packed = device_tree.compressed != NULL;
    assert_int_equal(warnings, packed ? 0 : 1);
    if (!packed) assert_non_null(strstr(warned, "no compressed tree"));
    assert_string_equal(tritree_cuda_form(&device_tree), packed ? "indexed" : "nodes");
    assert_int_equal(device_tree.unpacked, !packed);
    log_set_sink(NULL, NULL);
    assert_int_equal(unsetenv("KANDELA_DEVICE_MEMORY"), 0);
    tritree_cuda_close(&device_tree);
    tritree_close(&tree);
    triangle_set_close(&set);
    return packed;
}

static void test_short_memory(void **state) {
    uint64_t capacity = 1 << 18;
    (void)state;
    assert_false(pack_with(capacity));
    while (!pack_with(capacity)) capacity += 1 << 18;
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_short_memory),
                                       cmocka_unit_test(test_cells_are_rounded_inwards),
                                       cmocka_unit_test(test_device_bytes_equal_cpu_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
