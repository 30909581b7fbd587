/* Idea: a distributed map needs three values that depend on the photons of all ranks: a hash and
         the largest power, which are reduced over the ranks, and the estimation radius, which is
         derived from some nodes of the tree of all photons. That tree is built once, on rank 0,
         from positions alone. */
#include "photon/maps/distributed_photons.h"
#include "core/memory.h"
#include "points/select/builders.h"

kd_status distributed_photons_agree(ranks *comm, uint64_t *hash, uint32_t *strongest) {
    int64_t sum = 0;
    uint32_t *all = NULL;
    memcpy(&sum, hash, sizeof sum);
    KD_TRY(ranks_all_sum(comm, &sum, 1));
    memcpy(hash, &sum, sizeof sum);
    KD_TRY(KD_RESERVE_ZEROED(all, (uint64_t)comm->size));
    all[comm->rank] = *strongest;
    const kd_status status = ranks_all_gather_even(comm, all, sizeof *all);
    for (int32_t r = 0; r < comm->size; ++r)
        if (all[r] > *strongest) *strongest = all[r];
    memory_free(all);
    return status;
}

uint64_t distributed_photons_tree_bytes(uint64_t photons) {
    /* the positions as received, sorted and in the tree, and the tree's ids */
    const uint64_t each = 3 * sizeof(vec3) + sizeof(uint32_t);
    return photons * each + pointtree_builders[0]->scratch_bytes(photons);
}

/* Gathers the items of every rank on rank 0; rank r sends counts[r * every] of them. */
static kd_status gather_on_first(ranks *comm, const void *part, uint64_t bytes,
                                 const uint64_t *counts, uint64_t every, void *into) {
    const uint64_t size = (uint64_t)comm->size, rank = (uint64_t)comm->rank;
    uint64_t *begins = NULL;
    KD_TRY(KD_RESERVE_ZEROED(begins, 2 * (size + 1)));
    uint64_t *arrive = begins + size + 1;
    for (uint64_t r = 1; r <= size; ++r) begins[r] = counts[rank * every] * bytes;
    for (uint64_t r = 0; r < size; ++r)
        arrive[r + 1] = arrive[r] + (rank == 0 ? counts[r * every] * bytes : 0);
    const kd_status status = ranks_all_to_all(comm, part, begins, into, arrive);
    memory_free(begins);
    return status;
}

typedef struct arrivals {
    uint64_t *counts; /* numbers of photons and of runs of each rank */
    uint64_t all, all_runs;
    vec3 *local, *came, *ordered;
    photon_run *runs;
} arrivals;

static void arrivals_free(arrivals *owned) {
    memory_free(owned->counts);
    memory_free(owned->local);
    memory_free(owned->came);
    memory_free(owned->ordered);
    memory_free(owned->runs);
}

/* Scatters the positions to their indices in the list of all ranks. */
static void put_in_order(arrivals *arrivals, int32_t size) {
    const vec3 *came = arrivals->came;
    const photon_run *runs = arrivals->runs;
    for (int32_t r = 0; r < size; ++r) {
        const uint64_t photons = arrivals->counts[2 * r], count = arrivals->counts[2 * r + 1];
        for (uint64_t i = 0; i < count; ++i) {
            const uint64_t end = i + 1 < count ? runs[i + 1].begin : photons;
            memcpy(arrivals->ordered + runs[i].place, came + runs[i].begin,
                   (end - runs[i].begin) * sizeof *came);
        }
        came += photons;
        runs += count;
    }
}

static kd_status gather_positions(arrivals *arrivals, ranks *comm, const photon_list *list,
                                  const photon_run *runs, uint32_t run_count) {
    const uint64_t size = (uint64_t)comm->size, rank = (uint64_t)comm->rank;
    KD_TRY(KD_RESERVE_ZEROED(arrivals->counts, 2 * size));
    arrivals->counts[2 * rank] = list->count;
    arrivals->counts[2 * rank + 1] = run_count;
    KD_TRY(ranks_all_gather_even(comm, arrivals->counts, 2 * sizeof *arrivals->counts));
    for (uint64_t r = 0; r < size; ++r) {
        arrivals->all += arrivals->counts[2 * r];
        arrivals->all_runs += arrivals->counts[2 * r + 1];
    }
    KD_REQUIRE(arrivals->all <= POINTTREE_COUNT_MAX, KD_ERROR_USAGE,
               "cannot determine a gather radius for %llu photons; set --radius for more than %u",
               (unsigned long long)arrivals->all, POINTTREE_COUNT_MAX);
    KD_TRY(KD_RESERVE(arrivals->local, list->count));
    for (uint64_t i = 0; i < list->count; ++i) arrivals->local[i] = list->photons[i].position;
    if (rank == 0) {
        KD_TRY(KD_RESERVE(arrivals->came, arrivals->all));
        KD_TRY(KD_RESERVE(arrivals->runs, arrivals->all_runs));
    }
    KD_TRY(gather_on_first(comm, arrivals->local, sizeof *arrivals->local, arrivals->counts, 2,
                           arrivals->came));
    memory_free(arrivals->local);
    arrivals->local = NULL;
    return gather_on_first(comm, runs, sizeof *runs, arrivals->counts + 1, 2, arrivals->runs);
}

kd_status distributed_photons_whole_tree(pointtree *out, ranks *comm, const photon_list *list,
                                         const photon_run *runs, uint32_t run_count) {
    arrivals arrivals;
    kd_status status = KD_OK;
    memset(&arrivals, 0, sizeof arrivals);
    memset(out, 0, sizeof *out);
    KD_TRY_GOTO(gather_positions(&arrivals, comm, list, runs, run_count));
    if (comm->rank > 0) goto done;
    KD_TRY_GOTO(KD_RESERVE(arrivals.ordered, arrivals.all));
    put_in_order(&arrivals, comm->size);
    memory_free(arrivals.came);
    arrivals.came = NULL;
    KD_TRY_GOTO(pointtree_open(out, arrivals.ordered, arrivals.all, NULL, NULL, NULL));
done:
    arrivals_free(&arrivals);
    return status;
}
