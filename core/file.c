#include "core/file.h"
#include "core/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

kd_status file_open(file_view *view, const char *path) {
    memset(view, 0, sizeof *view);
    view->bytes = "";
    /* O_NONBLOCK: a pipe without a writer would be waited for before it can be refused */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    KD_REQUIRE(descriptor >= 0, KD_ERROR_INPUT, "%s: cannot open: %s", path, strerror(errno));
    struct stat info;
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(descriptor);
        KD_FAIL(KD_ERROR_INPUT, "%s: not a regular file", path);
    }
    if (info.st_size > 0) {
        void *mapping = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        const int reason = errno;
        close(descriptor);
        KD_REQUIRE(mapping != MAP_FAILED, KD_ERROR_INPUT, "%s: cannot read: %s", path,
                   strerror(reason));
        view->mapping = mapping;
        view->bytes = (const char *)mapping;
        view->count = (size_t)info.st_size;
    } else {
        close(descriptor);
    }
    return KD_OK;
}

void file_release(const char *begin, size_t count) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = ((uintptr_t)begin + page - 1) / page * page;
    const uintptr_t last = ((uintptr_t)begin + count) / page * page;
    if (last > first) madvise((void *)first, last - first, MADV_DONTNEED);
}

void file_close(file_view *view) {
    if (view->mapping) munmap(view->mapping, view->count);
    memset(view, 0, sizeof *view);
}

kd_status file_output_open(file_output *output, const char *path) {
    output->stream = NULL;
    struct stat info;
    const bool direct = stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
    /* a link stays a link: what it points to is replaced */
    const bool is_link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
    char *target = is_link && !direct ? realpath(path, NULL) : NULL;
    const char *name = target ? target : path;
    const int length = snprintf(output->path, sizeof output->path, "%s", name);
    const int temporary_length = snprintf(output->temporary, sizeof output->temporary,
                                          direct ? "%s" : "%s.%ld.tmp", name, (long)getpid());
    free(target);
    KD_REQUIRE(length < (int)sizeof output->path &&
                   temporary_length < (int)sizeof output->temporary,
               KD_ERROR_USAGE, "%.60s...: the path is too long", path);
    output->direct = direct;
    output->stream = fopen(output->temporary, "wb");
    KD_REQUIRE(output->stream, KD_ERROR_RUNTIME, "%s: cannot write: %s", path, strerror(errno));
    return KD_OK;
}

kd_status file_output_commit(file_output *output) {
    int failed = ferror(output->stream) | fflush(output->stream);
    int reason = errno;
    if (!failed && !output->direct && fsync(fileno(output->stream)) != 0 && errno != EINVAL &&
        errno != EROFS) {
        failed = 1;
        reason = errno;
    }
    if (fclose(output->stream) != 0 && !failed) {
        failed = 1;
        reason = errno;
    }
    output->stream = NULL;
    if (!failed && !output->direct && rename(output->temporary, output->path) != 0) {
        failed = 1;
        reason = errno;
    }
    if (failed) {
        if (!output->direct) unlink(output->temporary);
        KD_FAIL(KD_ERROR_RUNTIME, "%s: cannot write: %s", output->path, strerror(reason));
    }
    return KD_OK;
}

void file_output_discard(file_output *output) {
    if (!output->stream) return;
    fclose(output->stream);
    output->stream = NULL;
    if (!output->direct) unlink(output->temporary);
}

char *file_path_beside(const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    const size_t folder =
        slash && name[0] != '/' && name[0] != '\\' ? (size_t)(slash - path) + 1 : 0;
    const size_t length = strlen(name);
    char *joined = NULL;
    if (KD_RESERVE(joined, folder + length + 1) != KD_OK) return NULL;
    memcpy(joined, path, folder);
    for (size_t i = 0; i <= length; ++i) joined[folder + i] = name[i] == '\\' ? '/' : name[i];
    return joined;
}

const char *file_suffix(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    return dot ? dot : path + strlen(path);
}
