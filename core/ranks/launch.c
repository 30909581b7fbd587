/* Finds out whether a launcher of MPI has started this process, and then loads the plug-in. */
#include "core/files/companion.h"
#include "core/log.h"
#include "core/ranks/ranks.h"
#include "core/system/plugin.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks that the launcher speaks of; 0: it says a rank, but not of how many; -1: there is none. */
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

/* The first of the names that is set to a number; `otherwise` if none is. */
static int32_t number_in(const char *const names[], int count, int32_t otherwise) {
    for (int i = 0; i < count; ++i) {
        const char *said = place_variable(names[i]);
        const long number = said && *said ? strtol(said, NULL, 10) : -1;
        if (number >= 0 && number <= RANKS_MOST) return (int32_t)number;
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

static bool plugin_find(char found[PLACE_BYTES]) {
    static const char *const places[] = {"", "kandela/", "../lib/kandela/", "../lib/",
                                         "../" KD_LIBDIR "/kandela/"};
    const companion plugin = {"KANDELA_MPI", "kandela-mpi.so", places,
                              sizeof places / sizeof *places, PLACE_READABLE};
    return companion_find(&plugin, found);
}

/* Why the plug-in cannot be used, in the linker's words. */
static kd_status plugin_load(ranks *out, const char *path) {
    /* global: parts that MPI itself loads look for its names */
    out->library = plugin_open(path, true);
    KD_REQUIRE(out->library, KD_ERROR_DEVICE, "the plug-in for MPI cannot be loaded: %s",
               plugin_reason());
    out->calls = (const ranks_calls *)plugin_symbol(out->library, RANKS_SYMBOL);
    KD_REQUIRE(out->calls && out->calls->version == RANKS_VERSION, KD_ERROR_DEVICE,
               "%s: no plug-in of this version (%d), expected that of the same build", path,
               RANKS_VERSION);
    KD_REQUIRE(out->calls->open(&out->with, &out->rank, &out->size) == 0, KD_ERROR_DEVICE,
               "%s: MPI does not start, or offers no threads (MPI_THREAD_SERIALIZED)", path);
    KD_REQUIRE(out->size <= RANKS_MOST, KD_ERROR_USAGE, "%d ranks, expected at most %d", out->size,
               RANKS_MOST);
    return KD_OK;
}

kd_status ranks_open(ranks *out) {
    char path[PLACE_BYTES];
    const long others = launched();
    memset(out, 0, sizeof *out);
    out->size = out->locals = 1;
    if (others < 0 || others == 1) return KD_OK;
    if (!plugin_find(path)) {
        if (others == 0) {
            log_message(LOG_WARNING, "started as a rank, but kandela-mpi.so is not here: alone");
            return KD_OK;
        }
        KD_FAIL(KD_ERROR_DEVICE,
                "started as one of %ld ranks, but found no kandela-mpi.so beside this program: "
                "expected a build with MPI (-DKD_MPI=ON), or KANDELA_MPI to name it",
                others);
    }
    const kd_status status = plugin_load(out, path);
    if (status == KD_OK) {
        find_locals(out);
        return KD_OK;
    }
    memset(out, 0, sizeof *out); /* the plug-in stays loaded: MPI may have left handlers behind */
    out->size = out->locals = 1;
    return status_pass(status, __FILE__, __LINE__, "plugin_load");
}

/* The plug-in stays loaded: MPI leaves handlers behind. */
void ranks_close(ranks *owned) {
    if (owned->calls && owned->library) owned->calls->close(owned->with);
    memset(owned, 0, sizeof *owned);
}

void ranks_abort(const ranks *of, int32_t code) {
    if (of && of->calls) of->calls->abort(of->with, code);
}
