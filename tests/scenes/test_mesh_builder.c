/* scenes/mesh/mesh_builder.h: unique names of materials, and the time to join thousands of
   meshes. */
#include "scenes/assembly/scene.h"
#include "scenes/mesh/mesh_builder.h"
#include "tests/scenes/files.h"

static mesh part_of(const char *const *names, int count) {
    mesh_builder builder;
    mesh part;
    memset(&builder, 0, sizeof builder);
    for (int i = 0; i < count; ++i) {
        const material plain = material_default();
        mesh_builder_material(&builder, names[i], &plain);
        mesh_builder_flat_triangle(&builder, vec3_all(0), vec3_make(1, 0, 0), vec3_make(0, 1, 0));
    }
    assert_int_equal(mesh_builder_finish(&builder, &part), KD_OK);
    return part;
}

/* Each name is the first unused one of name, name#2, name#3, ... */
static void test_duplicate_names_get_the_first_free_suffix(void **state) {
    (void)state;
    static const char *const names[] = {"a", "a#3", "b"};
    static const char *const expected[] = {"a",   "a#3", "b",     "a#2", "a#3#2",
                                           "b#2", "a#4", "a#3#3", "b#3"};
    mesh part = part_of(names, 3), whole;
    mesh_builder builder;
    const transform unmoved = transform_identity();
    memset(&builder, 0, sizeof builder);
    for (int i = 0; i < 3; ++i) mesh_builder_append(&builder, &part, &unmoved);
    const material plain = material_default();
    assert_int_equal(mesh_builder_material(&builder, "a#4", &plain), 6);
    assert_int_equal(mesh_builder_finish(&builder, &whole), KD_OK);
    assert_int_equal(whole.material_count, 9);
    for (int i = 0; i < 9; ++i) assert_string_equal(whole.materials[i].name, expected[i]);
    mesh_close(&whole);
    mesh_close(&part);
}

/* If the time to compare names grew with the third power, this would take five hours, and the
   watchdog would end it. */
static void test_joining_thousands_of_meshes_is_fast(void **state) {
    (void)state;
    enum { BOXES = 20000 };
    FILE *file = fopen(file_in("boxes.json"), "w");
    assert_non_null(file);
    fprintf(file, "{\"kandela\":1,\"meshes\":[");
    for (int i = 0; i < BOXES; ++i)
        fprintf(file, "%s{\"box\":{\"lo\":[%d,0,0],\"hi\":[%d,1,1]}}", i ? "," : "", 2 * i,
                2 * i + 1);
    fprintf(file, "]}");
    assert_int_equal(fclose(file), 0);
    scene *made = NULL;
    kd_render_options options;
    memset(&options, 0, sizeof options);
    options.width = options.height = 16;
    alarm(60);
    assert_int_equal(scene_open(&made, file_in("boxes.json"), &options, NULL), KD_OK);
    alarm(0);
    assert_int_equal(scene_get_view(made).mesh.triangle_count, 12 * BOXES);
    assert_int_equal(scene_get_view(made).material_count, BOXES);
    scene_close(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_duplicate_names_get_the_first_free_suffix),
        cmocka_unit_test(test_joining_thousands_of_meshes_is_fast),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
