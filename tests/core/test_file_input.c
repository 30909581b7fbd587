/* core/files/file.h: if another process changes an input file while it is read, the result is an
   error, neither a signal nor a mixture of both versions. */
#include "core/files/file.h"
#include "core/parallel/parallel.h"
#include "tests/scenes/files.h"
#include <errno.h>
#include <fcntl.h>
#include <kandela/photons.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { BYTES = 5 << 20 };

/* Opens a file, changes it, then reads the rest.  */
static mapping_end read_after(void (*change)(const char *path)) {
    char *bytes = (char *)malloc(BYTES);
    memset(bytes, 'a', BYTES);
    file_put("in.bin", bytes, BYTES);
    free(bytes);
    mapping_source from;
    file_view view;
    memset(&view, 0, sizeof view);
    assert_int_equal(mapping_find(&from, file_in("in.bin")), MAPPING_MADE);
    change(file_in("in.bin"));
    const mapping_end end = file_source_read(&view, &from);
    mapping_drop(&from);
    if (end != MAPPING_MADE) {
        assert_null(view.mapping);
        return end;
    }
    assert_int_equal(view.count, BYTES);
    for (size_t i = 0; i < view.count; i += 997) assert_int_equal(view.bytes[i], 'a');
    file_close(&view);
    return end;
}

static void nothing(const char *path) {
    (void)path;
}

static void shorten(const char *path) {
    assert_int_equal(truncate(path, BYTES / 2), 0);
}

static void empty(const char *path) {
    assert_int_equal(truncate(path, 0), 0);
}

static void lengthen(const char *path) {
    assert_int_equal(truncate(path, BYTES + 1), 0);
}

/* Replaces the contents by as many other bytes. */
static void overwrite(const char *path) {
    const struct timespec times[2] = {{0, UTIME_OMIT}, {1, 0}};
    const int file = open(path, O_WRONLY);
    assert_int_equal(pwrite(file, "b", 1, 0), 1);
    assert_int_equal(futimens(file, times),
                     0); /* so that the clock's granularity does not matter */
    close(file);
}

static void rename_over(const char *path) {
    file_put_text("other.bin", "other");
    assert_int_equal(rename(file_in("other.bin"), path), 0);
}

static void unlink_it(const char *path) {
    assert_int_equal(unlink(path), 0);
}

static void test_file_changes_are_detected(void **state) {
    (void)state;
    assert_int_equal(read_after(nothing), MAPPING_MADE);
    assert_int_equal(read_after(shorten), MAPPING_CHANGED);
    assert_int_equal(read_after(empty), MAPPING_CHANGED);
    assert_int_equal(read_after(lengthen), MAPPING_CHANGED);
    assert_int_equal(read_after(overwrite), MAPPING_CHANGED);
    assert_int_equal(read_after(unlink_it), MAPPING_MADE);
    assert_int_equal(read_after(rename_over), MAPPING_MADE); /* the mapped old file is complete */
}

/* Data that have been read remain valid, whatever happens to the file. */
static void test_bytes_outlive_the_file(void **state) {
    (void)state;
    char *bytes = (char *)malloc(BYTES);
    file_view view;
    for (size_t i = 0; i < BYTES; ++i) bytes[i] = (char)(i * 2654435761u >> 24);
    file_put("in.bin", bytes, BYTES);
    assert_int_equal(file_open(&view, file_in("in.bin")), KD_OK);
    assert_int_equal(truncate(file_in("in.bin"), 0), 0);
    assert_int_equal(view.count, BYTES);
    assert_memory_equal(view.bytes, bytes, BYTES);
    file_close(&view);
    assert_int_equal(file_open(&view, file_in("in.bin")), KD_OK);
    assert_int_equal(view.count, 0);
    file_close(&view);
    free(bytes);
}

/* --- at random moments ------------------------------------------------------------------------ */

static atomic_bool ended;

static void *truncate_again_and_again(void *context) {
    const char *path = (const char *)context;
    uint32_t random = 1;
    while (!atomic_load(&ended)) {
        random = random * 1664525u + 1013904223u;
        if (truncate(path, random % BYTES) != 0) break;
        if (truncate(path, BYTES) != 0) break;
        usleep(random >> 22); /* up to a millisecond */
    }
    return NULL;
}

/* Runs in a separate process, so that the test can tell a signal from an error. */
static int read_again_and_again(char *path) {
    pthread_t thread;
    int whole = 0, changed = 0;
    if (pthread_create(&thread, NULL, truncate_again_and_again, path) != 0) return 2;
    for (int i = 0; i < 3000 && (i < 300 || !whole || !changed); ++i) {
        file_view view;
        const kd_status status = file_open(&view, path);
        unsigned sum = 0;
        for (size_t k = 0; status == KD_OK && k < view.count; k += 512)
            sum += (unsigned char)view.bytes[k];
        if (status == KD_OK && sum == 0) /* all bytes are 0 at all times */
            ++whole;
        else if (status == KD_ERROR_INPUT && strstr(kd_last_error(), "changed while it was read"))
            ++changed;
        else
            return 3;
        file_close(&view);
    }
    atomic_store(&ended, true);
    pthread_join(thread, NULL);
    return changed ? 0 : 4;
}

static void test_truncation_at_any_time_is_survived(void **state) {
    (void)state;
    file_put_text("in.bin", "");
    assert_int_equal(truncate(file_in("in.bin"), BYTES), 0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(120);
        parallel_set_threads(2);
        _exit(read_again_and_again(file_in("in.bin")));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- every reader ----------------------------------------------------------------------------- */

static const char *shrinking; /* the file that loses its last byte once it is open */

static void shrink(const char *path, file_identity which) {
    (void)which;
    struct stat info;
    if (strcmp(file_suffix(path), shrinking) != 0 || stat(path, &info) != 0) return;
    if (truncate(path, info.st_size - 1) != 0) shrinking = "none";
}

static void write_inputs(void) {
    static const float corner[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    static const char *const pictures[] = {"e.exr", "e.png", "e.hdr"};
    file_put_text("m.obj", "mtllib m.mtl\nusemtl a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    file_put_text("m.mtl", "newmtl a\nKd 1 1 1\n");
    file_put_text("m.ply", "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty "
                           "float y\nproperty float z\nelement face 1\nproperty list uchar int "
                           "vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n");
    file_put_text("m.stl", "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 "
                           "0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n");
    file_put_text(
        "m.gltf",
        "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{\"mesh\":0}],\"scenes\":[{\"nodes\":"
        "[0]}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}],"
        "\"buffers\":[{\"byteLength\":36,\"uri\":\"m.bin\"}],\"bufferViews\":[{\"buffer\":0,"
        "\"byteLength\":36}],\"accessors\":[{\"bufferView\":0,\"componentType\":5126,"
        "\"count\":3,\"type\":\"VEC3\"}]}");
    file_put("m.bin", (const char *)corner, sizeof corner);
    file_put_text("s.json", "{\"kandela\": 1, \"meshes\": [{\"file\": \"m.obj\"}]}");
    kd_scene *scene = NULL;
    kd_image *image = NULL;
    kd_photons *photons = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    assert_int_equal(kd_scene_load(&scene, file_in("s.json"), &options), KD_OK);
    options.width = options.height = 8;
    options.spp = 1;
    options.photons = 10;
    assert_int_equal(kd_render(&image, scene, &options, NULL, NULL), KD_OK);
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; ++i) {
        char name[16], text[160];
        const kd_status status = kd_image_write(image, file_in(pictures[i]), 0, KD_TONEMAP_LINEAR);
        assert_true(status == KD_OK || (i == 0 && status == KD_ERROR_USAGE)); /* without OpenEXR */
        snprintf(name, sizeof name, "%s.json", pictures[i]);
        snprintf(text, sizeof text,
                 "{\"kandela\": 1, \"meshes\": [{\"file\": \"m.stl\"}], \"environment\": "
                 "{\"image\": \"%s\"}}",
                 pictures[i]);
        file_put_text(name, text);
    }
    assert_int_equal(kd_photons_emit(&photons, scene, &options, NULL, NULL), KD_OK);
    assert_int_equal(kd_photons_write(photons, file_in("a.kdp")), KD_OK);
    kd_photons_close(photons);
    kd_image_close(image);
    kd_scene_close(scene);
}

static kd_status load_and_render(const char *name) {
    kd_scene *scene = NULL;
    kd_image *image = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    const bool maps = strcmp(name, "a.kdp") == 0;
    kd_status status = kd_scene_load(&scene, file_in(maps ? "s.json" : name), &options);
    options.width = options.height = 8;
    options.spp = 1;
    if (maps) {
        strcpy(options.integrator, "photon");
        options.photon_map = file_in(name);
    }
    if (status == KD_OK) status = kd_render(&image, scene, &options, NULL, NULL);
    kd_image_close(image);
    kd_scene_close(scene);
    return status;
}

static void test_every_reader_reports_changes(void **state) {
    (void)state;
    static const struct {
        const char *loaded, *shrinks;
    } rows[] = {{"m.obj", ".obj"},      {"m.obj", ".mtl"},      {"m.ply", ".ply"},
                {"m.stl", ".stl"},      {"m.gltf", ".gltf"},    {"m.gltf", ".bin"},
                {"s.json", ".json"},    {"s.json", ".obj"},     {"a.kdp", ".kdp"},
                {"e.png.json", ".png"}, {"e.hdr.json", ".hdr"}, {"e.exr.json", ".exr"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        write_inputs();
        if (!file_exists(file_in("e.exr")) && strcmp(rows[i].shrinks, ".exr") == 0) continue;
        if (load_and_render(rows[i].loaded) != KD_OK)
            fail_msg("%s: %s", rows[i].loaded, kd_last_error());
        shrinking = rows[i].shrinks;
        file_set_witness(shrink);
        const kd_status status = load_and_render(rows[i].loaded);
        file_set_witness(NULL);
        if (status != KD_ERROR_INPUT || !strstr(kd_last_error(), "changed while it was read"))
            fail_msg("%s, of which %s shrinks: %s: %s", rows[i].loaded, rows[i].shrinks,
                     kd_status_name(status), kd_last_error());
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_changes_are_detected),
        cmocka_unit_test(test_bytes_outlive_the_file),
        cmocka_unit_test(test_truncation_at_any_time_is_survived),
        cmocka_unit_test(test_every_reader_reports_changes),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
