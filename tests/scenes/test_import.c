/* scenes/import/import_program.h: glTF, node transforms and materials by assimp; and that the
   process that runs assimp cannot harm this one. */
#include "core/memory.h"
#include "scenes/check/check.h"
#include "scenes/import/import_answer.h"
#include "scenes/import/import_program.h"
#include "tests/scenes/files.h"

#if KD_HAVE_ASSIMP
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* One triangle under two nodes, moved and mirrored. The mirrored one still faces outward. */
#define GLTF(mode)                                                                                 \
    "{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"nodes\":["        \
    "{\"translation\":[0,0,5],\"children\":[1,2]},{\"mesh\":0,\"translation\":[10,0,0]},"          \
    "{\"mesh\":0,\"scale\":[-1,1,1]}],"                                                            \
    "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"mode\":" mode                 \
    ",\"material\":0}]}],"                                                                         \
    "\"materials\":[{\"name\":\"lamp\",\"emissiveFactor\":[1,0.5,0.25],"                           \
    "\"pbrMetallicRoughness\":"                                                                    \
    "{\"baseColorFactor\":[0.5,0.25,0.125,1],\"metallicFactor\":0,\"roughnessFactor\":0.5}}],"     \
    "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\","       \
    "\"min\":[0,0,0],\"max\":[1,1,0]}],"                                                           \
    "\"bufferViews\":[{\"buffer\":0,\"byteLength\":36}],\"buffers\":[{\"byteLength\":36,\"uri\":"  \
    "\"data:application/octet-stream;base64,"                                                      \
    "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA\"}]}"

static mesh load_two(void) {
    mesh read;
    file_put_text("two.gltf", GLTF("4"));
    const kd_status status = assimp_load(&read, file_in("two.gltf"), NULL, NULL);
    if (status != KD_OK) print_error("%s\n", kd_last_error());
    assert_int_equal(status, KD_OK);
    return read;
}

static void test_gltf_node_transforms(void **state) {
    (void)state;
    mesh read = load_two();
    assert_int_equal(read.triangle_count, 2);
    float low = 1e9f, high = -1e9f;
    for (int i = 0; i < 6; ++i) {
        const vec3 p = read.positions[read.triangles[i]];
        low = float_min(low, p.x);
        high = float_max(high, p.x);
        assert_true(p.z == 5);
    }
    assert_true(low == -1 && high == 11);
    const mesh_material *lamp = &read.materials[read.triangle_materials[0]];
    assert_string_equal(lamp->name, "lamp");
    assert_true(lamp->record.emission.y == 0.5f && lamp->record.diffuse.x == 0.5f);
    assert_int_equal(lamp->record.kind, MATERIAL_PLASTIC);
    assert_true(lamp->record.roughness == 0.5f && lamp->record.metallic == 0);
    mesh_close(&read);
}

static void test_mirrored_meshes_are_reversed(void **state) {
    (void)state;
    mesh read = load_two();
    for (uint32_t i = 0; i < read.triangle_count; ++i) assert_true(mesh_cross(&read, i).z > 0);
    mesh_close(&read);
}

/* A file with points only, which assimp's aiProcess_ValidateDataStructure would reject. */
static void test_point_only_file_is_read(void **state) {
    (void)state;
    mesh read;
    file_put_text("points.gltf", GLTF("0"));
    assert_int_equal(assimp_load(&read, file_in("points.gltf"), NULL, NULL), KD_OK);
    assert_int_equal(read.triangle_count, 0);
    assert_int_equal(read.position_count, 6);
    mesh_close(&read);
    check_report report;
    assert_int_equal(check_file(&report, file_in("points.gltf"), NULL, NULL), KD_OK);
    assert_true(report.renderable);
    check_close(&report);
}

static void test_damaged_files_are_rejected(void **state) {
    (void)state;
    file_put_text("bad.gltf", "{\"asset\":");
    mesh read;
    assert_int_equal(assimp_load(&read, file_in("bad.gltf"), NULL, NULL), KD_ERROR_INPUT);
    assert_null(read.positions);
    assert_non_null(strstr(kd_last_error(), "assimp cannot read it"));
    assert_int_equal(assimp_load(&read, file_in("absent.dae"), NULL, NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "absent.dae"));
}

/* --- other programs in the place of kandela-import -------------------------------------------- */

static volatile sig_atomic_t signals;

static void count_signal(int number) {
    (void)number;
    ++signals;
}

static int open_files(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) ++count;
    if (folder) closedir(folder);
    return count;
}

static void stand_in(const char *script) {
    char text[1024];
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
    file_put_text("stand-in", text);
    assert_int_equal(chmod(file_in("stand-in"), 0755), 0);
    setenv("KANDELA_IMPORT", file_in("stand-in"), 1);
}

static void test_failures_give_one_line_and_no_leftovers(void **state) {
    (void)state;
    static const struct {
        const char *script, *seconds, *said;
    } cases[] = {
        {"kill -SEGV $$", NULL, "crashed (Segmentation fault)"},
        {"kill -ABRT $$", NULL, "crashed (Aborted)"},
        {"exit 3", NULL, "failed with exit code 3"},
        {"sleep 1000", "0.2", "took more than 0.2 s"},
        {"exec >&-; sleep 1000", "0.2", "took more than 0.2 s"},
        {"trap '' TERM INT HUP; sleep 1000 & sleep 1000", "0.2", "took more than 0.2 s"},
        {"head -c 100000 /dev/zero", NULL, "invalid data"},
        {"yes", NULL, "invalid data"},
        {"cat /dev/stdin", NULL, "exit code 0"},
    };
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = count_signal;
    sigaction(SIGCHLD, &action, &before);
    signals = 0;
    alarm(60);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        mesh read;
        const int files = open_files();
        stand_in(cases[i].script);
        file_put_text("any.off", "OFF\n");
        if (cases[i].seconds)
            setenv("KANDELA_IMPORT_SECONDS", cases[i].seconds, 1);
        else
            unsetenv("KANDELA_IMPORT_SECONDS");
        assert_int_equal(assimp_load(&read, file_in("any.off"), NULL, NULL), KD_ERROR_INPUT);
        if (!strstr(kd_last_error(), cases[i].said)) fail_msg("%s", kd_last_error());
        assert_null(strchr(kd_last_error(), '\n'));
        assert_int_equal(open_files(), files);
        /* no child process is left, not even a zombie */
        assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
        assert_int_equal(errno, ECHILD);
    }
    alarm(0);
    assert_int_equal(signals, 0);
    sigaction(SIGCHLD, &before, NULL);
    setenv("KANDELA_IMPORT", "/nowhere/kandela-import", 1);
    mesh read;
    assert_int_equal(assimp_load(&read, file_in("any.off"), NULL, NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "cannot run /nowhere/kandela-import"));
    unsetenv("KANDELA_IMPORT");
    unsetenv("KANDELA_IMPORT_SECONDS");
}

static void *cancel_soon(void *job) {
    usleep(100000);
    atomic_store(&((job_control *)job)->cancelled, true);
    return NULL;
}

static void test_cancellation_is_prompt(void **state) {
    (void)state;
    job_control job;
    mesh read;
    pthread_t other;
    job_init(&job);
    stand_in("sleep 1000");
    alarm(60);
    assert_int_equal(pthread_create(&other, NULL, cancel_soon, &job), 0);
    assert_int_equal(assimp_load(&read, file_in("any.off"), NULL, &job), KD_INTERRUPTED);
    pthread_join(other, NULL);
    alarm(0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    unsetenv("KANDELA_IMPORT");
}

typedef struct import_thread {
    const char *path;
    bool failed;
} import_thread;

static void *load_one(void *context) {
    import_thread *thread = (import_thread *)context;
    mesh read;
    for (int i = 0; i < 4; ++i) {
        if (assimp_load(&read, thread->path, NULL, NULL) != KD_OK || read.triangle_count != 2)
            thread->failed = true;
        mesh_close(&read);
    }
    return NULL;
}

static void test_concurrent_imports(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    import_thread imports[THREADS];
    file_put_text("two.gltf", GLTF("4"));
    const char *path = file_in("two.gltf");
    alarm(60);
    for (int i = 0; i < THREADS; ++i) {
        imports[i].path = path;
        imports[i].failed = false;
        assert_int_equal(pthread_create(&threads[i], NULL, load_one, &imports[i]), 0);
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
        assert_false(imports[i].failed);
    }
    alarm(0);
}

/* --- the answer of kandela-import ------------------------------------------------------------- */

typedef struct bytes_source {
    const char *bytes;
    size_t count;
} bytes_source;

static kd_status read_bytes(void *context, void *to, uint64_t bytes) {
    bytes_source *from = (bytes_source *)context;
    if (bytes > from->count) return KD_ERROR_RUNTIME;
    memcpy(to, from->bytes, bytes);
    from->bytes += bytes;
    from->count -= bytes;
    return KD_OK;
}

/* The answer with each byte changed, and truncated at each byte, gives an error or a valid mesh. */
static void test_damaged_answers_are_validated(void **state) {
    (void)state;
    mesh made = load_two(), read;
    char *bytes = NULL;
    size_t count = 0;
    FILE *file = open_memstream(&bytes, &count);
    assert_true(import_answer_write(file, KD_OK, "", "a warning\n", &made));
    fclose(file);
    for (size_t at = 0; at < count; ++at) {
        for (int flip = 0; flip < 3; ++flip) {
            const char kept = bytes[at];
            bytes_source from = {bytes, flip == 2 ? at : count};
            bytes[at] = (char)(flip == 0 ? kept ^ 0x80 : flip == 1 ? -1 : kept);
            if (import_answer_read(&read, "a", 1 << 20, read_bytes, &from) == KD_OK)
                for (uint32_t i = 0; i < 3 * read.triangle_count; ++i)
                    assert_true(read.triangles[i] < read.position_count);
            else
                assert_null(read.positions);
            mesh_close(&read);
            bytes[at] = kept;
        }
    }
    bytes_source whole = {bytes, count};
    assert_int_equal(import_answer_read(&read, "a", 1 << 20, read_bytes, &whole), KD_OK);
    assert_int_equal(read.triangle_count, made.triangle_count);
    assert_string_equal(read.materials[0].name, made.materials[0].name);
    mesh_close(&read);
    bytes_source small = {bytes, count};
    assert_int_equal(import_answer_read(&read, "a", 64, read_bytes, &small), KD_ERROR_INPUT);
    mesh_close(&made);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gltf_node_transforms),
        cmocka_unit_test(test_mirrored_meshes_are_reversed),
        cmocka_unit_test(test_point_only_file_is_read),
        cmocka_unit_test(test_damaged_files_are_rejected),
        cmocka_unit_test(test_failures_give_one_line_and_no_leftovers),
        cmocka_unit_test(test_cancellation_is_prompt),
        cmocka_unit_test(test_concurrent_imports),
        cmocka_unit_test(test_damaged_answers_are_validated),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}

#else

int main(void) {
    mesh read;
    return assimp_load(&read, "any.dae", NULL, NULL) == KD_ERROR_INPUT ? TEST_SKIPPED : 1;
}

#endif
