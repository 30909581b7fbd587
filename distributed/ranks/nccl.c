/* Collective operations on device memory: by NCCL, which is loaded at run time, or through the
   host.
   Source: the functions of NCCL 2 as documented in its manual. They are declared here, so that
           neither its header nor its library is needed to build. */
#include "core/device/device_memory.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/status.h"
#include "core/system/paths.h"
#include "core/system/process.h"
#include "distributed/ranks/ranks.h"
#include <stdlib.h>
#include <string.h>

enum {
    NCCL_ID_BYTES = 128,
    NCCL_UINT8 = 1,
    NCCL_INT64 = 4,
    NCCL_SUM = 0,
    NCCL_VERSION_MIN = 20000
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
    int (*destroy)(nccl_communicator communicator);
    int (*abort)(nccl_communicator communicator);
    int (*async_error)(nccl_communicator communicator, int *error);
    const char *(*error_string)(int error);
    int (*group_start)(void);
    int (*group_end)(void);
    int (*broadcast)(const void *from, void *to, size_t count, int type, int root,
                     nccl_communicator communicator, cuda_stream stream);
    int (*all_reduce)(const void *from, void *to, size_t count, int type, int operation,
                      nccl_communicator communicator, cuda_stream stream);
} nccl_calls;

struct ranks_nccl {
    void *library;
    nccl_calls calls;
    nccl_communicator communicator;
    int version;
    bool started; /* NCCL may have started threads, so the library must not be unloaded */
};

static const char *library_name(void) {
    const char *said = place_variable("KANDELA_NCCL");
    return said && *said ? said : "libnccl.so.2";
}

/* Resolves all functions; returns false if one is missing or the version is too old. */
static bool take_names(struct ranks_nccl *link) {
    const struct {
        const char *name;
        void **to;
    } names[] = {{"ncclGetVersion", (void **)&link->calls.version},
                 {"ncclGetUniqueId", (void **)&link->calls.unique_id},
                 {"ncclCommInitRank", (void **)&link->calls.init_rank},
                 {"ncclCommDestroy", (void **)&link->calls.destroy},
                 {"ncclCommAbort", (void **)&link->calls.abort},
                 {"ncclCommGetAsyncError", (void **)&link->calls.async_error},
                 {"ncclGetErrorString", (void **)&link->calls.error_string},
                 {"ncclGroupStart", (void **)&link->calls.group_start},
                 {"ncclGroupEnd", (void **)&link->calls.group_end},
                 {"ncclBroadcast", (void **)&link->calls.broadcast},
                 {"ncclAllReduce", (void **)&link->calls.all_reduce}};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (!(*names[i].to = plugin_symbol(link->library, names[i].name))) return false;
    return link->calls.version(&link->version) == 0 && link->version >= NCCL_VERSION_MIN;
}

static bool load(struct ranks_nccl *link) {
    const char *name = library_name();
    if (strcmp(name, "off") == 0) return false;
    link->library = plugin_open(name, false);
    return link->library && take_names(link);
}

static void drop(struct ranks_nccl *link) {
    if (link && link->library && !link->started) plugin_close(link->library);
    memory_free(link);
}

/* Creates the communicator on all ranks or on none; `reason` is set to NCCL's reason on failure. */
static kd_status join(struct ranks_nccl *nccl, ranks *comm, bool *joined, const char **reason) {
    nccl_id id;
    bool failed = false;
    memset(&id, 0, sizeof id);
    nccl->started = true;
    int error = comm->rank == 0 ? nccl->calls.unique_id(&id) : 0;
    KD_TRY(ranks_any(comm, error != 0, &failed));
    if (!failed) {
        KD_TRY(ranks_broadcast(comm, &id, sizeof id));
        error = nccl->calls.init_rank(&nccl->communicator, comm->size, id, comm->rank);
        KD_TRY(ranks_any(comm, error != 0, &failed));
    }
    *joined = !failed;
    if (error) *reason = nccl->calls.error_string(error);
    if (failed && nccl->communicator) nccl->calls.abort(nccl->communicator);
    return KD_OK;
}

kd_status ranks_nccl_open(ranks *comm, bool on_device) {
    struct ranks_nccl *nccl = NULL;
    const char *reason = "another rank could not";
    bool lacking = false, joined = false;
    if (!ranks_shared(comm)) return KD_OK;
    KD_TRY(ranks_any(comm, !on_device, &lacking));
    if (lacking) return KD_OK; /* at least one rank uses the CPU */
    /* a failure is shared with all ranks, which would otherwise wait */
    const bool none = KD_RESERVE_ZEROED(nccl, 1) != KD_OK;
    kd_status status = ranks_any(comm, none || !load(nccl), &lacking);
    if (status == KD_OK && !lacking) status = join(nccl, comm, &joined, &reason);
    if (status != KD_OK || !joined) {
        if (comm->rank == 0 && status == KD_OK && !lacking)
            log_message(LOG_INFO, "NCCL: %s; the ranks exchange data through the host instead",
                        reason);
        drop(nccl);
        return status;
    }
    comm->nccl = nccl;
    if (comm->rank == 0)
        log_message(LOG_INFO, "using NCCL %d.%d.%d for %d devices", nccl->version / 10000,
                    nccl->version / 100 % 100, nccl->version % 100, comm->size);
    return KD_OK;
}

static bool ranks_linked(const ranks *comm) {
    return comm && comm->nccl != NULL;
}

void ranks_nccl_close(ranks *comm, bool failed) {
    if (!ranks_linked(comm)) return;
    (failed ? comm->nccl->calls.abort : comm->nccl->calls.destroy)(comm->nccl->communicator);
    drop(comm->nccl);
    comm->nccl = NULL;
}

static kd_status check_result(const ranks *comm, int error, const char *operation) {
    if (error == 0) comm->nccl->calls.async_error(comm->nccl->communicator, &error);
    KD_REQUIRE(error == 0, KD_ERROR_RUNTIME, "rank %d of %d: NCCL failed (%s): %s", comm->rank,
               comm->size, operation, comm->nccl->calls.error_string(error));
    return KD_OK;
}

/* Asynchronous on the default stream. A group of broadcasts, one from each rank, because parts
   differ in length. */
static kd_status link_gather(ranks *comm, void *bytes, const uint64_t *begins) {
    const nccl_calls *calls = &comm->nccl->calls;
    const double start = timing_now();
    int error = calls->group_start();
    for (int32_t r = 0; r < comm->size; ++r) {
        char *part = (char *)bytes + begins[r];
        const uint64_t count = begins[r + 1] - begins[r];
        if (count == 0 || error) continue;
        error = calls->broadcast(part, part, count, NCCL_UINT8, r, comm->nccl->communicator, NULL);
    }
    const int ended = calls->group_end();
    comm->waited += timing_now() - start;
    comm->sent += begins[comm->rank + 1] - begins[comm->rank];
    return check_result(comm, error ? error : ended, "all-gather");
}

static kd_status link_sum(ranks *comm, int64_t *values, uint64_t count) {
    const double start = timing_now();
    const int error = comm->nccl->calls.all_reduce(values, values, count, NCCL_INT64, NCCL_SUM,
                                                   comm->nccl->communicator, NULL);
    comm->waited += timing_now() - start;
    comm->sent += count * sizeof *values;
    return check_result(comm, error, "sum");
}

/* Waits for the device; the time counts as time spent waiting for other ranks. */
static kd_status wait_counted(ranks *comm) {
    const double start = timing_now();
    const kd_status status = device_wait();
    comm->waited += timing_now() - start;
    return status;
}

kd_status ranks_device_gather(ranks *comm, void *bytes, const uint64_t *begins) {
    const int32_t rank = comm->rank, size = comm->size;
    const uint64_t first = begins[0], all = begins[size] - first;
    const uint64_t begin = begins[rank] - first, own_end = begins[rank + 1] - first;
    char *host = NULL, *target = (char *)bytes + first;
    uint64_t *host_begins = NULL;
    kd_status status = KD_OK;
    if (ranks_linked(comm)) {
        KD_TRY(link_gather(comm, bytes, begins));
        return wait_counted(comm);
    }
    KD_TRY_GOTO(memory_reserve((void **)&host, all, 1));
    KD_TRY_GOTO(KD_RESERVE(host_begins, (uint64_t)size + 1));
    for (int32_t r = 0; r <= size; ++r) host_begins[r] = begins[r] - first;
    KD_TRY_GOTO(device_memory_download(host + begin, target + begin, own_end - begin));
    KD_TRY_GOTO(ranks_all_gather(comm, host, host_begins));
    KD_TRY_GOTO(device_memory_upload(target, host, begin));
    KD_TRY_GOTO(device_memory_upload(target + own_end, host + own_end, all - own_end));
done:
    memory_free(host);
    memory_free(host_begins);
    return status;
}

kd_status ranks_device_sum(ranks *comm, int64_t *values, uint64_t count) {
    int64_t *host = NULL;
    kd_status status = KD_OK;
    if (count == 0) return KD_OK;
    if (ranks_linked(comm)) {
        KD_TRY(link_sum(comm, values, count));
        return wait_counted(comm);
    }
    KD_TRY(KD_RESERVE(host, count));
    KD_TRY_GOTO(device_memory_download(host, values, count * sizeof *values));
    KD_TRY_GOTO(ranks_all_sum(comm, host, count));
    KD_TRY_GOTO(device_memory_upload(values, host, count * sizeof *values));
done:
    memory_free(host);
    return status;
}
