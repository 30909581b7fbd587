#include "core/files/file.h"
#include "core/files/file_parcel.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/system/machine.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

static void (*witness)(const char *path, file_identity which);

void file_set_witness(void (*seen)(const char *path, file_identity which)) {
    witness = seen;
}

/* --- reading ---------------------------------------------------------------------------------- */

enum { PIECE_BYTES = 1 << 20 }; /* that one thread reads at once */

typedef struct reading {
    const mapping_source *from;
    void *memory;
    atomic_int reason;    /* errno of a read that failed */
    atomic_bool is_short; /* it ended early */
} reading;

static void pieces_read(void *context, int64_t begin, int64_t end, int thread) {
    reading *of = (reading *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const uint64_t first = (uint64_t)i * PIECE_BYTES, left = of->from->bytes - first;
        if (mapping_read(of->memory, of->from, first, left < PIECE_BYTES ? left : PIECE_BYTES))
            continue;
        if (errno)
            atomic_store(&of->reason, errno);
        else
            atomic_store(&of->is_short, true);
    }
}

/* Pages of a mapped file vanish when another process shortens it, and whoever reads them dies by
   SIGBUS; so the bytes are copied, by all threads. */
mapping_end file_source_read(file_view *view, const mapping_source *from) {
    const uint64_t pieces = (from->bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    const mapping_end end = mapping_reserve(&view->mapping, from);
    if (end != MAPPING_MADE || pieces == 0) return end;
    reading of = {.from = from, .memory = view->mapping};
    view->bytes = (const char *)view->mapping;
    view->count = (size_t)from->bytes;
    parallel_for((int64_t)pieces, 1, pieces_read, &of);
    if (!atomic_load(&of.reason) && !atomic_load(&of.is_short) && mapping_is_unchanged(from))
        return MAPPING_MADE;
    file_close(view);
    errno = atomic_load(&of.reason);
    return errno ? MAPPING_FAILED : MAPPING_CHANGED;
}

kd_status file_open(file_view *view, const char *path) {
    memset(view, 0, sizeof *view);
    view->bytes = "";
    if (file_parcel_find(path, &view->bytes, &view->count)) return KD_OK; /* no memory of its own */
    mapping_source from;
    mapping_end end = mapping_find(&from, path);
    KD_REQUIRE(end != MAPPING_CANNOT_OPEN, KD_ERROR_INPUT, "%s: cannot open: %s", path,
               strerror(errno));
    KD_REQUIRE(end != MAPPING_NOT_REGULAR, KD_ERROR_INPUT, "%s: not a regular file", path);
    if (witness) witness(path, from.which);
    file_parcel_note(path);
    end = file_source_read(view, &from);
    const int reason = errno;
    mapping_drop(&from);
    KD_REQUIRE(end != MAPPING_CHANGED, KD_ERROR_INPUT,
               "%s: changed while it was read: read it "
               "again when nobody writes to it",
               path);
    KD_REQUIRE(end == MAPPING_MADE, reason == ENOMEM ? KD_ERROR_MEMORY : KD_ERROR_INPUT,
               "%s: cannot read: %s", path, strerror(reason));
    return KD_OK;
}

bool file_is_there(const char *path) {
    const char *bytes;
    size_t count;
    if (file_parcel_find(path, &bytes, &count)) return true;
    return file_identify(NULL, path) == FILE_REGULAR;
}

void file_release(const char *begin, size_t count) {
    if (file_parcel_holds(begin)) return; /* another reads the same bytes */
    machine_pages_drop(begin, count);
}

void file_close(file_view *view) {
    mapping_close(view->mapping, view->count);
    memset(view, 0, sizeof *view);
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
