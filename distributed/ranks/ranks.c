/* Communication wrappers with accounting, detection of an MPI launcher from the environment, and
   loading of the MPI plug-in. */
#include "distributed/ranks/ranks.h"
#include "core/files/file.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/status.h"
#include "core/system/process.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kd_status count_call(ranks *comm, double start, uint64_t sent, int failed,
                            const char *operation, uint64_t bytes) {
    comm->waited += timing_now() - start;
    KD_REQUIRE(!failed, KD_ERROR_RUNTIME,
               "rank %d of %d: the data exchange with the other ranks failed (%s of %llu bytes)",
               comm->rank, comm->size, operation, (unsigned long long)bytes);
    comm->sent += sent;
    return KD_OK;
}

kd_status ranks_broadcast(ranks *comm, void *bytes, uint64_t count) {
    if (!ranks_shared(comm) || count == 0) return KD_OK;
    const double start = timing_now();
    const int failed = comm->calls->broadcast(comm->user_data, bytes, count, 0);
    return count_call(comm, start, comm->rank == 0 ? count : 0, failed, "broadcast", count);
}

kd_status ranks_all_gather(ranks *comm, void *bytes, const uint64_t *begins) {
    if (!ranks_shared(comm) || begins[comm->size] == begins[0]) return KD_OK;
    const double start = timing_now();
    const uint64_t sent = begins[comm->rank + 1] - begins[comm->rank];
    const int failed = comm->calls->all_gather(comm->user_data, bytes, begins);
    return count_call(comm, start, sent, failed, "all-gather", begins[comm->size] - begins[0]);
}

kd_status ranks_all_gather_even(ranks *comm, void *bytes, uint64_t count) {
    uint64_t *begins = NULL;
    if (!ranks_shared(comm)) return KD_OK;
    KD_TRY(KD_RESERVE(begins, (uint64_t)comm->size + 1));
    for (int32_t r = 0; r <= comm->size; ++r) begins[r] = (uint64_t)r * count;
    const kd_status status = ranks_all_gather(comm, bytes, begins);
    memory_free(begins);
    return status;
}

kd_status ranks_all_sum(ranks *comm, int64_t *values, uint64_t count) {
    if (!ranks_shared(comm) || count == 0) return KD_OK;
    const double start = timing_now();
    const uint64_t bytes = count * sizeof *values;
    const int failed = comm->calls->all_sum(comm->user_data, values, count);
    return count_call(comm, start, bytes, failed, "sum", bytes);
}

int ranks_copy(const ranks *comm, void *to, const void *from, uint64_t bytes) {
    if (bytes == 0) return 0;
    if (comm && comm->copy) return comm->copy(to, from, bytes);
    memcpy(to, from, bytes);
    return 0;
}

kd_status ranks_all_to_all(ranks *comm, const void *bytes, const uint64_t *begins, void *into,
                           const uint64_t *into_begins) {
    if (!ranks_shared(comm)) {
        KD_REQUIRE(ranks_copy(comm, (char *)into + into_begins[0], (const char *)bytes + begins[0],
                              begins[1] - begins[0]) == 0,
                   KD_ERROR_DEVICE, "cannot copy %llu bytes between host and device",
                   (unsigned long long)(begins[1] - begins[0]));
        return KD_OK;
    }
    const double start = timing_now();
    const uint64_t all = begins[comm->size] - begins[0];
    const uint64_t sent = all - (begins[comm->rank + 1] - begins[comm->rank]);
    const int failed = comm->calls->all_to_all(comm->user_data, bytes, begins, into, into_begins);
    return count_call(comm, start, sent, failed, "exchange", all);
}

kd_status ranks_send(ranks *comm, int32_t to, int32_t tag, const void *bytes, uint64_t count) {
    if (!ranks_shared(comm)) return KD_OK;
    const double start = timing_now();
    const int failed = comm->calls->send(comm->user_data, to, tag, bytes, count);
    return count_call(comm, start, count, failed, "message", count);
}

kd_status ranks_receive(ranks *comm, int32_t from, int32_t tag, void *bytes, uint64_t count,
                        int32_t *sender) {
    if (!ranks_shared(comm)) return KD_OK;
    const double start = timing_now();
    const int failed = comm->calls->receive(comm->user_data, from, tag, bytes, count, sender);
    return count_call(comm, start, 0, failed, "message", count);
}

kd_status ranks_any(ranks *comm, bool value, bool *any) {
    int64_t said = value;
    KD_TRY(ranks_all_sum(comm, &said, 1));
    *any = said != 0;
    return KD_OK;
}

kd_status ranks_measure(ranks *comm, double *bandwidth) {
    enum { BYTES = 1 << 20, TIMES = 4 };
    char *buffer = NULL;
    double minimum = 0;
    bool lacking = false;
    *bandwidth = 0;
    if (!ranks_shared(comm)) return KD_OK;
    const uint64_t all = (uint64_t)comm->size * BYTES;
    kd_status status = KD_RESERVE_ZEROED(buffer, all);
    const kd_status finished = ranks_any(comm, status != KD_OK, &lacking);
    if (status == KD_OK) status = finished;
    if (status == KD_OK && lacking) { /* or the others would wait */
        memory_free(buffer);
        KD_FAIL(KD_ERROR_MEMORY, "another rank is out of memory: %llu bytes were needed",
                (unsigned long long)all);
    }
    for (int i = 0; i < TIMES && status == KD_OK; ++i) {
        const double start = timing_now();
        status = ranks_all_gather_even(comm, buffer, BYTES);
        const double elapsed = timing_now() - start;
        if (i == 0 || elapsed < minimum) minimum = elapsed;
    }
    memory_free(buffer);
    KD_TRY(status);
    /* each rank's part is sent to all others */
    if (minimum > 0) *bandwidth = (double)(all - BYTES) / minimum;
    return ranks_broadcast(comm, bandwidth, sizeof *bandwidth);
}

void ranks_part(const ranks *comm, int32_t rank, uint64_t count, uint64_t *begin, uint64_t *end) {
    const uint64_t size = comm ? (uint64_t)comm->size : 1, each = count / size, more = count % size;
    const uint64_t at = (uint64_t)rank;
    *begin = at * each + (at < more ? at : more);
    *end = *begin + each + (at < more ? 1 : 0);
}

/* Returns the number of ranks according to the launcher; 0 if it sets a rank but no size; -1 if no
   launcher has started this process. */
static long launched(void) {
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"};
    static const char *const places[] = {"PMI_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const char *said = place_variable(sizes[i]);
        if (said && *said) return strtol(said, NULL, 10);
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
        const char *slurm = place_variable("SLURM_STEP_NUM_TASKS");
        if (place_variable(places[i])) return slurm && *slurm ? strtol(slurm, NULL, 10) : 0;
    }
    return -1;
}

/* Returns the value of the first variable that is set to a number, or `otherwise`. */
static int32_t number_in(const char *const names[], int count, int32_t otherwise) {
    for (int i = 0; i < count; ++i) {
        const char *said = place_variable(names[i]);
        const long number = said && *said ? strtol(said, NULL, 10) : -1;
        if (number >= 0 && number <= RANKS_MAX) return (int32_t)number;
    }
    return otherwise;
}

static void find_locals(ranks *out) {
    static const char *const places[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                         "SLURM_LOCALID"};
    static const char *const sizes[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "SLURM_NTASKS_PER_NODE"};
    out->local = number_in(places, 3, 0);
    out->locals = number_in(sizes, 3, 1);
}

static bool plugin_find(char path[PLACE_BYTES]) {
    static const char *const places[] = {"", "kandela/", "../lib/kandela/", "../lib/",
                                         "../" KD_LIBDIR "/kandela/"};
    const companion plugin = {"KANDELA_MPI", "kandela-mpi.so", places,
                              sizeof places / sizeof *places, PLACE_READABLE};
    return companion_find(&plugin, path);
}

/* Loads the plug-in and opens its connection. On failure the message contains the dynamic linker's
   reason. */
static kd_status plugin_load(ranks *out, const char *path) {
    /* RTLD_GLOBAL: components that MPI loads refer to symbols of MPI */
    out->library = plugin_open(path, true);
    KD_REQUIRE(out->library, KD_ERROR_DEVICE, "cannot load the MPI plug-in: %s", plugin_reason());
    out->calls = (const ranks_calls *)plugin_symbol(out->library, RANKS_SYMBOL);
    KD_REQUIRE(
        out->calls && out->calls->version == RANKS_VERSION, KD_ERROR_DEVICE,
        "%s: not an MPI plug-in of version %d; use the one from the same build as this program",
        path, RANKS_VERSION);
    KD_REQUIRE(out->calls->open(&out->user_data, &out->rank, &out->size) == 0, KD_ERROR_DEVICE,
               "%s: MPI cannot be initialised with MPI_THREAD_SERIALIZED", path);
    KD_REQUIRE(out->size <= RANKS_MAX, KD_ERROR_USAGE,
               "started with %d ranks; supported: at most %d", out->size, RANKS_MAX);
    return KD_OK;
}

kd_status ranks_open(ranks *out) {
    char path[PLACE_BYTES];
    const long launched_ranks = launched();
    memset(out, 0, sizeof *out);
    out->size = out->locals = 1;
    if (launched_ranks < 0 || launched_ranks == 1) return KD_OK;
    if (!plugin_find(path)) {
        if (launched_ranks == 0) {
            log_message(LOG_WARNING, "started by an MPI launcher, but kandela-mpi.so was not "
                                     "found; running without MPI");
            return KD_OK;
        }
        KD_FAIL(KD_ERROR_DEVICE,
                "started as one of %ld ranks, but kandela-mpi.so is not next to this program; "
                "build with -DKD_MPI=ON, or set KANDELA_MPI to its path",
                launched_ranks);
    }
    const kd_status status = plugin_load(out, path);
    if (status == KD_OK) {
        find_locals(out);
        return KD_OK;
    }
    memset(out, 0, sizeof *out); /* the plug-in stays loaded: see ranks_close */
    out->size = out->locals = 1;
    return status_pass(status, __FILE__, __LINE__, "plugin_load");
}

/* Does not unload the plug-in, since MPI leaves handlers installed. */
void ranks_close(ranks *owned) {
    if (owned->calls && owned->library) owned->calls->close(owned->user_data);
    memset(owned, 0, sizeof *owned);
}

void ranks_abort(const ranks *comm, int32_t code) {
    if (comm && comm->calls) comm->calls->abort(comm->user_data, code);
}

/* --- agreement on errors --------------------------------------------------------------------- */

enum { MESSAGE_BYTES = 512 };

static int32_t rank_of(const ranks *comm) {
    return comm ? comm->rank : 0;
}

static int32_t size_of(const ranks *comm) {
    return ranks_shared(comm) ? comm->size : 1;
}

/* Distributes the error message of the first failed rank to all ranks. */
static kd_status fail_as(ranks *comm, int32_t first, kd_status failure) {
    char *words = NULL;
    const int32_t size = size_of(comm);
    if (size == 1) return failure;
    KD_TRY(KD_RESERVE_ZEROED(words, (uint64_t)size * MESSAGE_BYTES));
    strncpy(words + (uint64_t)rank_of(comm) * MESSAGE_BYTES, kd_last_error(), MESSAGE_BYTES - 1);
    kd_status status = ranks_all_gather_even(comm, words, MESSAGE_BYTES);
    if (status == KD_OK)
        status = status_fail(failure, __FILE__, __LINE__, "%.*s", MESSAGE_BYTES - 1,
                             words + first * (int)MESSAGE_BYTES);
    memory_free(words);
    return status;
}

kd_status ranks_agree_on(ranks *comm, kd_status local_status, const uint64_t *numbers,
                         uint32_t width, uint64_t *all) {
    const int32_t size = size_of(comm);
    const uint64_t each = width + 1ull;
    uint64_t *said = NULL;
    int32_t first = -1;
    kd_status failure = KD_OK;
    KD_TRY(KD_RESERVE(said, each * (uint64_t)size));
    uint64_t *values = said + each * (uint64_t)rank_of(comm);
    values[0] = (uint64_t)local_status;
    if (width) memcpy(values + 1, numbers, width * sizeof *numbers);
    kd_status status = ranks_all_gather_even(comm, said, each * sizeof *said);
    for (int32_t r = 0; status == KD_OK && r < size; ++r) {
        const uint64_t *from = said + each * (uint64_t)r;
        if (from[0] != KD_OK && first < 0) {
            first = r;
            failure = (kd_status)from[0];
        }
        if (width) memcpy(all + (uint64_t)r * width, from + 1, width * sizeof *all);
    }
    memory_free(said);
    if (status == KD_OK && first >= 0) status = fail_as(comm, first, failure);
    return status;
}

kd_status ranks_agree(ranks *comm, kd_status status) {
    return ranks_agree_on(comm, status, NULL, 0, NULL);
}
