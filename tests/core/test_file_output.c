/* core/files/file.h: written data are neither lost nor written elsewhere. The function fsync of
   this file takes the place of the system's. */
#include "core/files/file.h"
#include "tests/scenes/files.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    int calls, fails_with; /* fails_with: errno, or 0 to succeed */
    long long bytes;       /* size of the file at the call */
    bool existed;          /* the final name already existed */
    char name[512];
} synced;

int fsync(int descriptor) {
    struct stat info;
    ++synced.calls;
    synced.bytes = fstat(descriptor, &info) == 0 ? (long long)info.st_size : -1;
    synced.existed = lstat(synced.name, &info) == 0;
    if (!synced.fails_with) return (int)syscall(SYS_fsync, descriptor);
    errno = synced.fails_with;
    return -1;
}

static kd_status write_text(const char *path, const char *text) {
    file_output output;
    KD_TRY(file_output_open(&output, path));
    fputs(text, output.stream);
    KD_TRY(file_output_commit(&output));
    return KD_OK;
}

static void expect_text(const char *path, const char *text) {
    file_view view;
    assert_int_equal(file_open(&view, path), KD_OK);
    assert_int_equal(view.count, strlen(text));
    assert_memory_equal(view.bytes, text, view.count);
    file_close(&view);
}

/* After a crash the final name must not refer to an empty file, so the data are synchronised before
   the rename. */
static void test_data_is_synced_before_rename(void **state) {
    (void)state;
    memset(&synced, 0, sizeof synced);
    snprintf(synced.name, sizeof synced.name, "%s", file_in("new.txt"));
    assert_int_equal(write_text(file_in("new.txt"), "twelve bytes"), KD_OK);
    assert_int_equal(synced.calls, 1);
    assert_int_equal(synced.bytes, 12);
    assert_false(synced.existed);
    expect_text(file_in("new.txt"), "twelve bytes");
}

static void test_disk_errors_keep_the_old_file(void **state) {
    (void)state;
    memset(&synced, 0, sizeof synced);
    file_put_text("old.txt", "old");
    synced.fails_with = EIO;
    assert_int_equal(write_text(file_in("old.txt"), "new"), KD_ERROR_RUNTIME);
    assert_non_null(strstr(kd_last_error(), "old.txt: cannot write: Input/output error"));
    expect_text(file_in("old.txt"), "old");
    assert_int_equal(access(file_in("old.txt.0.tmp"), F_OK), -1);
    synced.fails_with = 0;
}

/* An attacker has put a link in the place of the temporary file. Its target must neither be written
   to nor opened: the reader of a pipe would see an end of file. */
static void test_planted_links_are_not_followed(void **state) {
    (void)state;
    file_put_text("victim.txt", "precious");
    assert_int_equal(symlink(file_in("victim.txt"), file_in("a.txt.0.tmp")), 0);
    assert_int_equal(write_text(file_in("a.txt"), "mine"), KD_OK);
    expect_text(file_in("victim.txt"), "precious");
    expect_text(file_in("a.txt"), "mine");
    assert_int_equal(link(file_in("victim.txt"), file_in("c.txt.0.tmp")), 0);
    assert_int_equal(write_text(file_in("c.txt"), "mine"), KD_OK);
    expect_text(file_in("victim.txt"), "precious");
    expect_text(file_in("c.txt"), "mine");
    assert_int_equal(mkfifo(file_in("pipe"), 0600), 0);
    const int reader = open(file_in("pipe"), O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_int_equal(symlink(file_in("pipe"), file_in("b.txt.0.tmp")), 0);
    assert_int_equal(write_text(file_in("b.txt"), "mine"), KD_OK);
    struct pollfd seen = {reader, POLLIN, 0};
    assert_int_equal(poll(&seen, 1, 0), 0);
    close(reader);
    expect_text(file_in("b.txt"), "mine");
}

static void test_symbolic_links_are_preserved(void **state) {
    (void)state;
    struct stat info;
    assert_int_equal(mkdir(file_in("deep"), 0700), 0);
    assert_int_equal(symlink("second", file_in("first")), 0);
    /* a target that does not exist yet */
    assert_int_equal(symlink("deep/end.txt", file_in("second")), 0);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(write_text(file_in("first"), i ? "again" : "once"), KD_OK);
        assert_true(lstat(file_in("first"), &info) == 0 && S_ISLNK(info.st_mode));
        assert_true(lstat(file_in("deep/end.txt"), &info) == 0 && S_ISREG(info.st_mode));
        expect_text(file_in("deep/end.txt"), i ? "again" : "once");
    }
    assert_int_equal(symlink("round", file_in("round")), 0);
    assert_int_equal(write_text(file_in("round"), "no"), KD_ERROR_RUNTIME);
    assert_non_null(strstr(kd_last_error(), "symbolic links"));
    assert_int_equal(symlink("absent/end.txt", file_in("lost")), 0);
    assert_int_equal(write_text(file_in("lost"), "no"), KD_ERROR_RUNTIME);
    unlink(file_in("deep/end.txt"));
    rmdir(file_in("deep"));
}

/* Errors are reported when the output is opened, and opening never blocks. */
static void test_pipes_and_devices_open_without_blocking(void **state) {
    (void)state;
    file_output output;
    alarm(60); /* watchdog */
    assert_int_equal(mkfifo(file_in("unread"), 0600), 0);
    assert_int_equal(file_output_open(&output, file_in("unread")), KD_ERROR_RUNTIME);
    assert_non_null(strstr(kd_last_error(), "no program reads from this pipe"));
    assert_int_equal(file_output_open(&output, "/dev/full"), KD_ERROR_RUNTIME);
    assert_non_null(strstr(kd_last_error(), "No space left on device"));
    assert_int_equal(write_text("/dev/null", "gone"), KD_OK);
    const int reader = open(file_in("unread"), O_RDONLY | O_NONBLOCK);
    assert_int_equal(file_output_open(&output, file_in("unread")), KD_OK);
    assert_false(fcntl(fileno(output.stream), F_GETFL) &
                 O_NONBLOCK); /* writing must wait for a slow reader */
    fputs("heard", output.stream);
    assert_int_equal(file_output_commit(&output), KD_OK);
    char received_text[8] = "";
    assert_int_equal(read(reader, received_text, sizeof received_text), 5);
    assert_string_equal(received_text, "heard");
    close(reader);
    alarm(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_is_synced_before_rename),
        cmocka_unit_test(test_disk_errors_keep_the_old_file),
        cmocka_unit_test(test_planted_links_are_not_followed),
        cmocka_unit_test(test_symbolic_links_are_preserved),
        cmocka_unit_test(test_pipes_and_devices_open_without_blocking),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
