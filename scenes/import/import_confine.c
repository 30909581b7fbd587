/* Source: Documentation/userspace-api/seccomp_filter.rst of Linux.
   Invariants: the filter is an allowlist, so that system calls of future kernels are refused. */
#include "scenes/import/import_confine.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { MACHINE = (int)AUDIT_ARCH_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = (int)AUDIT_ARCH_AARCH64 };
#else
enum { MACHINE = 0 };
#endif

#define PUT(list, count, ...) ((list)[(count)++] = (struct sock_filter)__VA_ARGS__)
#define LOAD(field)                                                                                \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, field))
#define LOAD_ARGUMENT(i) /* its low half, on the little-endian machines above */                   \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                                                             \
             (unsigned)(offsetof(struct seccomp_data, args) + (i) * sizeof(__u64)))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), yes, no)
#define IF_ANY_BIT(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (unsigned)(bits), yes, no)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

/* Memory, open files, clocks, exit. */
static const int allowed[] = {
    SYS_read,         SYS_write,        SYS_readv,        SYS_writev,         SYS_pread64,
    SYS_lseek,        SYS_close,        SYS_munmap,       SYS_mremap,         SYS_brk,
    SYS_madvise,      SYS_futex,        SYS_sched_yield,  SYS_getrandom,      SYS_clock_gettime,
    SYS_gettimeofday, SYS_rt_sigreturn, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_sigaltstack,
    SYS_getpid,       SYS_gettid,       SYS_exit,         SYS_exit_group,     SYS_restart_syscall};
/* Allowed without PROT_EXEC. */
static const int mapping[] = {SYS_mmap, SYS_mprotect};

enum { CAPACITY = 4 + 2 * sizeof allowed / sizeof *allowed + 5 * 3 + 1 };

static unsigned short filter_make(struct sock_filter list[CAPACITY]) {
    unsigned short count = 0;
    PUT(list, count, LOAD(arch));
    PUT(list, count, IF_EQUAL(MACHINE, 1, 0));
    PUT(list, count, REFUSE);
    PUT(list, count, LOAD(nr));
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; ++i) {
        PUT(list, count, IF_EQUAL(allowed[i], 0, 1));
        PUT(list, count, ALLOW);
    }
    for (size_t i = 0; i < sizeof mapping / sizeof *mapping; ++i) {
        PUT(list, count, IF_EQUAL(mapping[i], 0, 4));
        PUT(list, count, LOAD_ARGUMENT(2));
        PUT(list, count, IF_ANY_BIT(PROT_EXEC, 0, 1));
        PUT(list, count, REFUSE);
        PUT(list, count, ALLOW);
    }
    /* abort() sends a signal to this process */
    PUT(list, count, IF_EQUAL(SYS_tgkill, 0, 4));
    PUT(list, count, LOAD_ARGUMENT(0));
    PUT(list, count, IF_EQUAL(getpid(), 0, 1));
    PUT(list, count, ALLOW);
    PUT(list, count, REFUSE);
    PUT(list, count, REFUSE);
    return count;
}

bool import_confine(void) {
    const struct rlimit none = {0, 0};
    struct sock_filter list[CAPACITY];
    const struct sock_fprog filter = {filter_make(list), list};
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) return false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    return MACHINE != 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}
