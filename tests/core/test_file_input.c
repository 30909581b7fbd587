/* core/files/file.h: if another process changes an input file while it is read, the result is an
   error, neither a signal nor a mixture of both versions. */
#include "core/files/file.h"
#include "core/parallel/parallel.h"
#include "tests/scenes/files.h"
#include <errno.h>
#include <fcntl.h>
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

static void a_change_is_seen(void **state) {
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
static void bytes_outlive_the_file(void **state) {
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

static void no_moment_is_deadly(void **state) {
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_seen),
        cmocka_unit_test(bytes_outlive_the_file),
        cmocka_unit_test(no_moment_is_deadly),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
