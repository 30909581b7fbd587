/* Skies: from EXR files. */
#include "core/image/image.h"
#include "core/memory.h"
#include "scenes/assembly/scene_textures.h"
#include "tests/scenes/files.h"
#include <math.h>

static texture_view load_one(texture_store *store, const char *path, texture_role role) {
    const texture_request asked = {
        .path = path, .role = role, .scale = vec2_make(1, 1), .wraps = TEXTURE_REPEAT};
    uint32_t index = KD_NONE;
    memset(store, 0, sizeof *store);
    assert_int_equal(texture_store_add(store, &asked, &index), KD_OK);
    assert_int_equal(texture_store_load(store), KD_OK);
    return store->views[index];
}

#ifdef KD_HAVE_OPENEXR
/* Radiance for skies and colours, without what is no light; of no use as data. */
static void exr_files_are_light(void **state) {
    (void)state;
    image made;
    static const float values[3][2] = {{0.25f, 3e38f}, {-1, 400}, {NAN, 1e-6f}};
    static const float shine[] = {0.25f, 0, 0, 1e30f, 400, 1e-6f};
    static const char *const names[] = {"R", "G", "B"};
    assert_int_equal(image_open(&made, 2, 1), KD_OK);
    for (int c = 0; c < 3; ++c) {
        float *plane;
        assert_int_equal(image_add(&made, names[c], &plane), KD_OK);
        memcpy(plane, values[c], sizeof values[c]);
    }
    assert_int_equal(image_write(&made, file_in("bright.exr"), NULL), KD_OK);
    image_close(&made);
    static const texture_role roles[] = {TEXTURE_SKY, TEXTURE_COLOUR};
    for (int r = 0; r < 2; ++r) {
        texture_store store;
        const texture_view view = load_one(&store, file_in("bright.exr"), roles[r]);
        assert_non_null(view.floats);
        assert_int_equal(view.width, 2);
        for (int i = 0; i < 6; ++i) assert_true(view.floats[i] == shine[i]);
        texture_store_close(&store);
    }
    texture_store store;
    const texture_request asked = {
        .path = file_in("bright.exr"), .role = TEXTURE_NORMAL, .scale = vec2_make(1, 1)};
    uint32_t index;
    memset(&store, 0, sizeof store);
    assert_int_equal(texture_store_add(&store, &asked, &index), KD_OK);
    assert_int_equal(texture_store_load(&store), KD_OK);
    assert_false(store.images[0].loaded);
    assert_non_null(strstr(store.images[0].trouble, "bright.exr: EXR, expected an image of 8"));
    texture_store_close(&store);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
#ifdef KD_HAVE_OPENEXR
        cmocka_unit_test(exr_files_are_light),
#endif
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
