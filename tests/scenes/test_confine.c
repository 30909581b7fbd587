/* scenes/import/import_confine.h: attempts everything that the sandbox must forbid to a reader of
   untrusted files, from inside; and checks that kandela-import is confined while it reads. */
#include "scenes/import/import_confine.h"
#include "tests/test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct attempt {
    const char *message;
    long (*run)(void); /* returns -1 with EPERM if refused */
} attempt;

static int pipe_ends[2]; /* a pipe opened before the confinement */
static pid_t parent;

static long open_file(void) {
    return open("/etc/passwd", O_RDONLY);
}

static long open_again(void) {
    return open("/proc/self/exe", O_RDONLY);
}

static long make_file(void) {
    return open("/tmp/kandela-escaped", O_WRONLY | O_CREAT, 0600);
}

static long probe_file(void) {
    return access("/etc/passwd", F_OK);
}

static long expect_file(void) {
    struct stat info;
    return stat("/etc/passwd", &info);
}

static long expect_link(void) {
    char text[64];
    return readlink("/proc/self/exe", text, sizeof text);
}

static long remove_file(void) {
    return unlink("/tmp/kandela-not-there");
}

static long rename_file(void) {
    return rename("/tmp/kandela-not-there", "/tmp/kandela-nor-there");
}

static long change_folder(void) {
    return chdir("/");
}

static long open_network_socket(void) {
    return socket(AF_INET, SOCK_STREAM, 0);
}

static long open_local_socket(void) {
    return socket(AF_UNIX, SOCK_DGRAM, 0);
}

static long make_pair(void) {
    int ends[2];
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

static long connect_socket(void) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    return connect(pipe_ends[0], (const struct sockaddr *)&to, sizeof to);
}

static long send_datagram(void) {
    return sendto(pipe_ends[1], "x", 1, 0, NULL, 0);
}

static long run_program(void) {
    char name[] = "/bin/true";
    char *const arguments[] = {name, NULL}, *const environment[] = {NULL};
    return execve(name, arguments, environment);
}

static long run_program_at(void) {
    char name[] = "true";
    char *const arguments[] = {name, NULL};
    return syscall(SYS_execveat, pipe_ends[0], "", arguments, NULL, 0x1000);
}

static long make_process(void) {
    return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static long make_process_3(void) {
    return syscall(SYS_clone3, NULL, (size_t)0);
}

static long kill_parent(void) {
    return kill(parent, 0);
}

static long kill_self(void) {
    return kill(getpid(), 0);
}

static long kill_a_thread_of_the_parent(void) {
    return syscall(SYS_tgkill, parent, parent, 0);
}

static long trace_parent(void) {
    return ptrace(PTRACE_ATTACH, parent, NULL, NULL);
}

static long read_parent(void) {
    return syscall(SYS_process_vm_readv, parent, NULL, 0ul, NULL, 0ul, 0ul);
}

static long make_code(void) {
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
               ? -1
               : 0;
}

static long make_executable(void) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? 0 : mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static long raise_limit(void) {
    const struct rlimit more = {1024, 1024};
    return setrlimit(RLIMIT_NOFILE, &more);
}

static long control_device(void) {
    int count = 0;
    return syscall(SYS_ioctl, pipe_ends[0], 0x541Bul, &count); /* FIONREAD */
}

static long make_ring(void) {
    return syscall(425, 1u, NULL); /* io_uring_setup */
}

static long relax_filter(void) {
    return syscall(SYS_seccomp, 0u, 0u, NULL);
}

static const attempt attempts[] = {{"open a file", open_file},
                                   {"open itself", open_again},
                                   {"make a file", make_file},
                                   {"look for a file", probe_file},
                                   {"look at a file", expect_file},
                                   {"look at a link", expect_link},
                                   {"remove a file", remove_file},
                                   {"rename a file", rename_file},
                                   {"change its folder", change_folder},
                                   {"make a socket of the network", open_network_socket},
                                   {"make a socket of this machine", open_local_socket},
                                   {"make two sockets", make_pair},
                                   {"connect", connect_socket},
                                   {"send", send_datagram},
                                   {"become a program", run_program},
                                   {"become a program by descriptor", run_program_at},
                                   {"start a process", make_process},
                                   {"start a process by clone3", make_process_3},
                                   {"signal its parent", kill_parent},
                                   {"signal by kill", kill_self},
                                   {"signal another's thread", kill_a_thread_of_the_parent},
                                   {"trace its parent", trace_parent},
                                   {"read its parent's memory", read_parent},
                                   {"map code", make_code},
                                   {"turn memory into code", make_executable},
                                   {"raise a limit", raise_limit},
                                   {"control a device", control_device},
                                   {"make a ring of calls", make_ring},
                                   {"ask for another filter", relax_filter}};

enum { ATTEMPTS = sizeof attempts / sizeof *attempts, NO_FILTERS = 200, BROKEN = 201, FINE = 202 };

/* Returns true if the operations that a confined process needs still work. */
static bool operations_work(void) {
    char text[8] = "";
    struct timespec now;
    char *memory = (char *)malloc(64 << 20);
    if (!memory) return false;
    memset(memory, 1, 64 << 20);
    free(memory);
    return write(pipe_ends[1], "passed", 6) == 6 && read(pipe_ends[0], text, 6) == 6 &&
           strcmp(text, "passed") == 0 && clock_gettime(CLOCK_MONOTONIC, &now) == 0;
}

/* Returns the number of an attempt that was not refused, or a code for how the process ended. */
static int try_all(void) {
    if (!import_confine()) return NO_FILTERS;
    if (!operations_work()) return BROKEN;
    for (int i = 0; i < ATTEMPTS; ++i) {
        errno = 0;
        if (attempts[i].run() != -1 || errno != EPERM) return i;
    }
    return FINE;
}

static int end_of(pid_t child) {
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_sandbox_rejects_every_attempt(void **state) {
    (void)state;
    if (TEST_HAS_SANITIZER) skip(); /* a sanitizer's runtime needs refused operations */
    parent = getpid();
    assert_int_equal(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) _exit(try_all());
    const int status = end_of(child);
    assert_true(WIFEXITED(status));
    const int code = WEXITSTATUS(status);
    if (code == NO_FILTERS) skip();
    if (code < ATTEMPTS) fail_msg("it could %s", attempts[code].message);
    assert_int_equal(code, FINE);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

/* A crash ends the process with its own signal, not with the filter's. */
static void test_sandboxed_process_may_abort(void **state) {
    (void)state;
    if (TEST_HAS_SANITIZER) skip();
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        if (!import_confine()) _exit(NO_FILTERS);
        abort();
    }
    const int status = end_of(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTERS) skip();
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

#if KD_HAVE_ASSIMP
/* Returns a line of /proc/PID/status as a number, or -1 if it is missing. */
static int status_of(pid_t process, const char *name) {
    char path[64], line[256];
    int value = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0) value = atoi(line + strlen(name));
    if (file) fclose(file);
    return value;
}

/* kandela-import blocks on a large answer until it is read; meanwhile the test inspects its
   status. */
static void test_import_process_is_sandboxed(void **state) {
    (void)state;
    const char *const program = getenv("KANDELA_PROGRAM");
    char import[4200], mesh[] = "/tmp/kandela-confined-XXXXXX.off";
    if (TEST_HAS_SANITIZER || !program) skip();
    snprintf(import, sizeof import, "%s-import", program);
    const int file = mkstemps(mesh, 4);
    assert_true(file >= 0);
    FILE *text = fdopen(file, "w");
    fprintf(text, "OFF\n30000 10000 0\n");
    for (int i = 0; i < 30000; ++i) fprintf(text, "%d %d %d\n", i, i * i % 97, i % 89);
    for (int i = 0; i < 10000; ++i) fprintf(text, "3 %d %d %d\n", 3 * i, 3 * i + 1, 3 * i + 2);
    fclose(text);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        execl(import, "kandela-import", mesh, "8000000000", "60", (char *)NULL);
        _exit(BROKEN);
    }
    close(ends[1]);
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 1); /* the answer has begun */
    assert_int_equal(status_of(child, "NoNewPrivs:"), 1);
    assert_int_equal(status_of(child, "Seccomp:"), 2);
    char rest[65536];
    while (read(ends[0], rest, sizeof rest) > 0) {
    }
    const int status = end_of(child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(ends[0]);
    unlink(mesh);
}
#else
static void test_import_process_is_sandboxed(void **state) {
    (void)state;
    skip();
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sandbox_rejects_every_attempt),
        cmocka_unit_test(test_sandboxed_process_may_abort),
        cmocka_unit_test(test_import_process_is_sandboxed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
