/* Memory planned before allocation: the bytes that parts of a rendering predict, against those they
   allocate. The linker redirects the library's calls of core/memory.h to this file (--wrap,
   tests/CMakeLists.txt), which records the peak. */
#include "accel/builders.h"
#include "accel/wide/wide_tree.h"
#include "core/memory.h"
#include "photon/density/tile_set.h"
#include "photon/maps/photon_map.h"
#include "photon_scenes.h"
#include "scenes/mesh/generate.h"
#include "tests/accel/compressed_reference.h"
#include "tests/accel/triangle_sets.h"
#include <malloc.h>
#include <pthread.h>

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static uint64_t held, max_held;

static void count(uint64_t taken, uint64_t released) {
    pthread_mutex_lock(&counting);
    held += taken;
    held -= released;
    if (held > max_held) max_held = held;
    pthread_mutex_unlock(&counting);
}

static uint64_t size_of(void *block) {
    return block ? malloc_usable_size(block) : 0;
}

/* The names that the linker's --wrap requires. */
kd_status __real_memory_reserve(void **pointer, uint64_t count, size_t item_bytes);
kd_status __real_memory_reserve_zeroed(void **pointer, uint64_t count, size_t item_bytes);
kd_status __real_memory_grow(void **pointer, uint64_t kept, uint64_t count, size_t item_bytes);
void *__real_memory_try_allocate(uint64_t bytes);
void __real_memory_free(void *pointer);
kd_status __wrap_memory_reserve(void **pointer, uint64_t count, size_t item_bytes);
kd_status __wrap_memory_reserve_zeroed(void **pointer, uint64_t count, size_t item_bytes);
kd_status __wrap_memory_grow(void **pointer, uint64_t kept, uint64_t count, size_t item_bytes);
void *__wrap_memory_try_allocate(uint64_t bytes);
void __wrap_memory_free(void *pointer);

kd_status __wrap_memory_reserve(void **pointer, uint64_t items, size_t item_bytes) {
    const kd_status status = __real_memory_reserve(pointer, items, item_bytes);
    count(size_of(*pointer), 0);
    return status;
}

kd_status __wrap_memory_reserve_zeroed(void **pointer, uint64_t items, size_t item_bytes) {
    const kd_status status = __real_memory_reserve_zeroed(pointer, items, item_bytes);
    count(size_of(*pointer), 0);
    return status;
}

/* During growth the old and the new block exist at the same time. */
kd_status __wrap_memory_grow(void **pointer, uint64_t kept, uint64_t items, size_t item_bytes) {
    const uint64_t before = size_of(*pointer);
    const kd_status status = __real_memory_grow(pointer, kept, items, item_bytes);
    if (status != KD_OK) return status;
    count(size_of(*pointer), 0);
    count(0, before);
    return status;
}

void *__wrap_memory_try_allocate(uint64_t bytes) {
    void *const taken = __real_memory_try_allocate(bytes);
    count(size_of(taken), 0);
    return taken;
}

void __wrap_memory_free(void *pointer) {
    count(0, size_of(pointer));
    __real_memory_free(pointer);
}

static uint64_t begin(void) {
    max_held = held;
    return held;
}

/* Expects `taken` to be at most `planned`, and at least planned / part. */
static void expect_planned(const char *label, uint64_t taken, uint64_t planned, uint64_t part) {
    if (taken > planned || part * taken < planned)
        fail_msg("%s: took %llu bytes, planned %llu", label, (unsigned long long)taken,
                 (unsigned long long)planned);
}

static void test_photons(void **state) {
    (void)state;
    photon_scene *scene = photon_scene_balls();
    for (uint64_t photons = 1000; photons <= 256000; photons *= 16) {
        photon_options options = photon_options_default();
        photon_list lists[PHOTON_LISTS];
        photon_maps maps;
        memset(lists, 0, sizeof lists);
        memset(&maps, 0, sizeof maps);
        options.photons = options.caustics = photons;
        options.tiles = false; /* test_tiles.c tests them */
        uint64_t before = begin();
        assert_int_equal(photon_lists_open(lists, &scene->view, &options, NULL), KD_OK);
        expect_planned("lists", max_held - before,
                       2 * photon_list_bytes(photons) + photon_batch_bytes(photons), 6);
        uint64_t planned = 0, small = 1 << 20;
        for (int l = 0; l < PHOTON_LISTS; ++l) planned += photon_map_bytes_max(lists[l].count);
        before = begin();
        assert_int_equal(photon_maps_build_trees(&maps, &scene->view, lists, &options, NULL),
                         KD_OK);
        expect_planned("maps", max_held - before, planned + small, photons > 100000 ? 3 : 1000);
        photon_maps_close(&maps);
    }
    photon_scene_free(scene);
    assert_true(held == 0);
}

static void test_tiles(void **state) {
    (void)state;
    photon_scene *scene = photon_scene_balls();
    for (int i = 0; i < 2; ++i) {
        tile_set tiles;
        const uint64_t before = begin();
        assert_int_equal(tile_set_open(&tiles, &scene->view, NULL, i ? 0.1f : 0.01f, i != 0, NULL),
                         KD_OK);
        expect_planned("tiles", max_held - before,
                       tile_set_bytes_max(scene->view.mesh.triangle_count, UINT64_MAX),
                       i ? 10000 : 100);
        tile_set_close(&tiles);
    }
    photon_scene_free(scene);
    assert_true(held == 0);
}

static void expect_wide(const tritree *tree, const char *name, uint32_t cells) {
    const tritree_view view = tritree_get_view(tree);
    wide_tree *wide = NULL;
    const uint64_t before = begin();
    assert_int_equal(wide_tree_make(&wide, &view, cells), KD_OK);
    const uint64_t planned = wide_tree_bytes_max(tree->node_count, tree->reference_count, cells);
    if (wide) expect_planned(name, max_held - before, planned, 3);
    wide_tree_close(wide);
}

static void test_wide(void **state) {
    (void)state;
    const tritree_options options = tritree_options_default();
    for (uint32_t triangles = 100; triangles <= 40000; triangles *= 20)
        for (int which = 0; which < CASE_TRIANGLE_SETS; ++which) {
            if (triangles > 2000 && test_leaves_out((uint32_t)which, 4)) continue;
            triangle_set set = triangle_set_make((case_triangles)which, triangles);
            tritree tree;
            assert_int_equal(tritree_open(&tree, &set.input, &options, "auto", NULL), KD_OK);
            for (uint32_t cells = 8; cells <= WIDE_CHILDREN_MAX; cells *= 2)
                expect_wide(&tree, case_triangles_name((case_triangles)which), cells);
            tritree_close(&tree);
            triangle_set_close(&set);
        }
    assert_true(held == 0);
}

/* Real meshes need fewer references than their builders plan for. */
static void expect_mesh(const mesh *shape) {
    const tritree_input input = {shape->positions, shape->triangles, shape->position_count,
                                 shape->triangle_count};
    for (const tritree_builder *const *row = tritree_builders; *row; ++row) {
        const tritree_options options = tritree_options_default();
        const uint64_t planned = tritree_widen_bytes_max(*row, input.triangle_count);
        tritree tree;
        assert_int_equal(tritree_open(&tree, &input, &options, (*row)->name, NULL), KD_OK);
        assert_true(tree.reference_count <= (*row)->references * (uint64_t)input.triangle_count);
        wide_tree_close(tree.wide);
        tree.wide = NULL;
        const uint64_t before = begin();
        assert_int_equal(tritree_widen(&tree), KD_OK);
        expect_planned((*row)->name, max_held - before, planned, 4);
        tritree_close(&tree);
    }
}

/* The compressed form has the same size on a device as on a CPU (gpu_compressed.c). */
static void expect_compressed(const mesh *shape) {
    const tritree_input input = {shape->positions, shape->triangles, shape->position_count,
                                 shape->triangle_count};
    const tritree_options options = tritree_options_default();
    tritree tree;
    compressed_copy compressed;
    assert_int_equal(tritree_open(&tree, &input, &options, "auto", NULL), KD_OK);
    const tritree_view view = tritree_get_view(&tree);
    for (int indexed = 0; indexed < 2; ++indexed) {
        assert_int_equal(compressed_copy_open(&compressed, &view, indexed != 0), KD_OK);
        expect_planned(indexed ? "indexed" : "packed", compressed.unit_count * COMPRESSED_UNIT,
                       compressed_bytes_max(input.triangle_count, indexed != 0), 3);
        compressed_copy_close(&compressed);
    }
    tritree_close(&tree);
}

static void test_meshes(void **state) {
    (void)state;
    static const char *const names[] = {"gen:blob:3000", "gen:room:3000", "gen:hall:3000"};
    for (int i = 0; i < 3; ++i) {
        mesh shape;
        assert_int_equal(procedural_load(&shape, names[i]), KD_OK);
        expect_mesh(&shape);
        expect_compressed(&shape);
        mesh_close(&shape);
    }
    assert_true(held == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_photons), cmocka_unit_test(test_tiles),
                                       cmocka_unit_test(test_wide), cmocka_unit_test(test_meshes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
