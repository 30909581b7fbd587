/* NCCL, loaded at run time.
   Source: the functions of NCCL 2 as documented in its manual. They are declared here, so that
           neither its header nor its library is needed to build. */
#include "distributed/ranks/nccl.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/status.h"
#include "core/system/paths.h"
#include "core/system/process.h"
#include <stdlib.h>
#include <string.h>

enum {
    NCCL_ID_BYTES = 128,
    NCCL_UINT8 = 1,
    NCCL_INT64 = 4,
    NCCL_SUM = 0,
    NCCL_VERSION_LEAST = 20000
};

typedef struct nccl_id {
    char bytes[NCCL_ID_BYTES];
} nccl_id;
typedef void *nccl_communicator, *cuda_stream;

/* Function pointers; a return value of 0 is success. */
typedef struct nccl_calls {
    int (*version)(int *version);
    int (*unique_id)(nccl_id *out);
    int (*init_rank)(nccl_communicator *out, int ranks, nccl_id id, int rank);
    int (*destroy)(nccl_communicator of);
    int (*abort)(nccl_communicator of);
    int (*async_error)(nccl_communicator of, int *error);
    const char *(*error_string)(int error);
    int (*group_start)(void);
    int (*group_end)(void);
    int (*broadcast)(const void *from, void *to, size_t count, int type, int root,
                     nccl_communicator of, cuda_stream stream);
    int (*all_reduce)(const void *from, void *to, size_t count, int type, int operation,
                      nccl_communicator of, cuda_stream stream);
} nccl_calls;

struct ranks_link {
    void *library;
    nccl_calls calls;
    nccl_communicator with;
    int version;
    bool begun; /* NCCL may have started threads, so the library must not be unloaded */
};

static const char *library_name(void) {
    const char *said = place_variable("KANDELA_NCCL");
    return said && *said ? said : "libnccl.so.2";
}

/* Resolves all functions; returns false if one is missing or the version is too old. */
static bool take_names(struct ranks_link *of) {
    const struct {
        const char *name;
        void **to;
    } names[] = {{"ncclGetVersion", (void **)&of->calls.version},
                 {"ncclGetUniqueId", (void **)&of->calls.unique_id},
                 {"ncclCommInitRank", (void **)&of->calls.init_rank},
                 {"ncclCommDestroy", (void **)&of->calls.destroy},
                 {"ncclCommAbort", (void **)&of->calls.abort},
                 {"ncclCommGetAsyncError", (void **)&of->calls.async_error},
                 {"ncclGetErrorString", (void **)&of->calls.error_string},
                 {"ncclGroupStart", (void **)&of->calls.group_start},
                 {"ncclGroupEnd", (void **)&of->calls.group_end},
                 {"ncclBroadcast", (void **)&of->calls.broadcast},
                 {"ncclAllReduce", (void **)&of->calls.all_reduce}};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (!(*names[i].to = plugin_symbol(of->library, names[i].name))) return false;
    return of->calls.version(&of->version) == 0 && of->version >= NCCL_VERSION_LEAST;
}

static bool load(struct ranks_link *of) {
    const char *name = library_name();
    if (strcmp(name, "off") == 0) return false;
    of->library = plugin_open(name, false);
    return of->library && take_names(of);
}

static void drop(struct ranks_link *of) {
    if (of && of->library && !of->begun) plugin_close(of->library);
    memory_free(of);
}

/* Creates the communicator on all ranks or on none; `why` is set to NCCL's reason on failure. */
static kd_status join(struct ranks_link *link, ranks *of, bool *joined, const char **why) {
    nccl_id id;
    bool failed = false;
    memset(&id, 0, sizeof id);
    link->begun = true;
    int error = of->rank == 0 ? link->calls.unique_id(&id) : 0;
    KD_TRY(ranks_any(of, error != 0, &failed));
    if (!failed) {
        KD_TRY(ranks_broadcast(of, &id, sizeof id));
        error = link->calls.init_rank(&link->with, of->size, id, of->rank);
        KD_TRY(ranks_any(of, error != 0, &failed));
    }
    *joined = !failed;
    if (error) *why = link->calls.error_string(error);
    if (failed && link->with) link->calls.abort(link->with);
    return KD_OK;
}

kd_status ranks_link_open(ranks *of, bool on_device) {
    struct ranks_link *link = NULL;
    const char *why = "another rank could not";
    bool lacking = false, joined = false;
    if (!ranks_shared(of)) return KD_OK;
    KD_TRY(ranks_any(of, !on_device, &lacking));
    if (lacking) return KD_OK; /* at least one rank uses the CPU */
    /* a failure is shared with all ranks, which would otherwise wait */
    const bool none = KD_RESERVE_ZEROED(link, 1) != KD_OK;
    kd_status status = ranks_any(of, none || !load(link), &lacking);
    if (status == KD_OK && !lacking) status = join(link, of, &joined, &why);
    if (status != KD_OK || !joined) {
        if (of->rank == 0 && status == KD_OK && !lacking)
            log_message(LOG_INFO, "NCCL: %s; ranks go on through the host", why);
        drop(link);
        return status;
    }
    of->link = link;
    if (of->rank == 0)
        log_message(LOG_INFO, "NCCL %d.%d.%d joins %d devices", link->version / 10000,
                    link->version / 100 % 100, link->version % 100, of->size);
    return KD_OK;
}

void ranks_link_close(ranks *of, bool failed) {
    if (!ranks_linked(of)) return;
    (failed ? of->link->calls.abort : of->link->calls.destroy)(of->link->with);
    drop(of->link);
    of->link = NULL;
}

static kd_status tell(const ranks *of, int error, const char *what) {
    if (error == 0) of->link->calls.async_error(of->link->with, &error);
    KD_REQUIRE(error == 0, KD_ERROR_RUNTIME, "rank %d of %d: NCCL has failed (%s): %s", of->rank,
               of->size, what, of->link->calls.error_string(error));
    return KD_OK;
}

/* A group of broadcasts, one from each rank, because parts differ in length. */
kd_status ranks_link_gather(ranks *of, void *bytes, const uint64_t *begins, void *stream) {
    const nccl_calls *calls = &of->link->calls;
    const double begun = timing_now();
    int error = calls->group_start();
    for (int32_t r = 0; r < of->size; ++r) {
        char *part = (char *)bytes + begins[r];
        const uint64_t count = begins[r + 1] - begins[r];
        if (count == 0 || error) continue;
        error = calls->broadcast(part, part, count, NCCL_UINT8, r, of->link->with, stream);
    }
    const int ended = calls->group_end();
    of->waited += timing_now() - begun;
    of->sent += begins[of->rank + 1] - begins[of->rank];
    return tell(of, error ? error : ended, "all-gather");
}

kd_status ranks_link_sum(ranks *of, int64_t *values, uint64_t count, void *stream) {
    const double begun = timing_now();
    const int error = of->link->calls.all_reduce(values, values, count, NCCL_INT64, NCCL_SUM,
                                                 of->link->with, stream);
    of->waited += timing_now() - begun;
    of->sent += count * sizeof *values;
    return tell(of, error, "sum");
}
