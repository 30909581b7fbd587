#include "photon/emission/emit_ranks.h"
#include "core/job.h"
#include "core/memory.h"

kd_status emit_share_open(emit_share *out, ranks *comm) {
    memset(out, 0, sizeof *out);
    if (!ranks_shared(comm)) return KD_OK;
    out->comm = comm;
    KD_TRY(KD_RESERVE_ZEROED(out->speed, (uint64_t)comm->size));
    KD_TRY(KD_RESERVE_ZEROED(out->begins, (uint64_t)comm->size + 1));
    return KD_OK;
}

void emit_share_close(emit_share *owned) {
    memory_free(owned->speed);
    memory_free(owned->begins);
    memset(owned, 0, sizeof *owned);
}

/* Divides the paths in proportion to the ranks' speeds in the previous batch. */
static void take_part(emit_share *share, uint64_t paths) {
    double all = 0, before = 0;
    bool all_known = true;
    const int32_t rank = share->comm->rank, size = share->comm->size;
    for (int32_t r = 0; r < size; ++r) {
        all_known &= share->speed[r] > 0;
        all += share->speed[r];
    }
    uint64_t end = 0;
    if (!all_known) {
        ranks_part(share->comm, rank, paths, &share->first, &end);
    } else {
        for (int32_t r = 0; r < rank; ++r) before += share->speed[r];
        share->first = (uint64_t)((double)paths * (before / all));
        end = rank == size - 1 ? paths
                               : (uint64_t)((double)paths * ((before + share->speed[rank]) / all));
    }
    share->paths = end - share->first;
}

kd_status emit_share_plan(emit_share *share, uint64_t *paths, bool *cut) {
    if (!share->comm) {
        share->paths = *paths;
        return KD_OK;
    }
    uint64_t plan[2] = {*paths, *cut};
    KD_TRY(ranks_broadcast(share->comm, plan, sizeof plan));
    *paths = plan[0];
    *cut = plan[1] != 0;
    take_part(share, *paths);
    share->start_time = timing_now();
    return KD_OK;
}

typedef struct part_traced {
    uint64_t landed, cancelled;
    double speed;
} part_traced;

kd_status emit_share_landed(emit_share *share, uint64_t landed, bool cancelled, bool *stopped) {
    *stopped = cancelled;
    share->before = 0;
    if (!share->comm) return KD_OK;
    part_traced *parts = NULL;
    const int32_t rank = share->comm->rank, size = share->comm->size;
    const double seconds = timing_now() - share->start_time;
    KD_TRY(KD_RESERVE_ZEROED(parts, (uint64_t)size));
    parts[rank].landed = landed;
    parts[rank].cancelled = cancelled;
    parts[rank].speed =
        seconds > 0 && share->paths ? (double)share->paths / seconds : share->speed[rank];
    const kd_status status = ranks_all_gather_even(share->comm, parts, sizeof *parts);
    for (int32_t r = 0; r < size && status == KD_OK; ++r) {
        *stopped |= parts[r].cancelled != 0;
        share->speed[r] = parts[r].speed;
        if (r < rank) share->before += parts[r].landed;
    }
    memory_free(parts);
    return status;
}

kd_status emit_share_parts(emit_share *share, emit_part *part, uint64_t count, emit_part *all) {
    *all = *part;
    if (!share->comm) return KD_OK;
    emit_part *parts = NULL;
    const int32_t rank = share->comm->rank, size = share->comm->size;
    KD_TRY(KD_RESERVE_ZEROED(parts, (uint64_t)size));
    parts[rank] = *part;
    const kd_status status = ranks_all_gather_even(share->comm, parts, sizeof *parts);
    memset(all, 0, sizeof *all);
    share->begins[0] = count * sizeof(photon);
    for (int32_t r = 0; r < size && status == KD_OK; ++r) {
        if (all->ended) memset(&parts[r], 0, sizeof parts[r]);
        all->paths += parts[r].paths;
        all->photons += parts[r].photons;
        all->ended |= parts[r].ended;
        all->complete |= parts[r].complete;
        share->begins[r + 1] = share->begins[r] + parts[r].photons * sizeof(photon);
    }
    *part = parts[rank];
    memory_free(parts);
    return status;
}

kd_status emit_share_photons(emit_share *share, photon *photons) {
    return share->comm ? ranks_all_gather(share->comm, photons, share->begins) : KD_OK;
}

kd_status emit_share_ledger(emit_share *share, ledger_sum *sum) {
    static_assert(sizeof *sum == (2 * LEDGER_ROWS + 1) * sizeof(int64_t), "summed as numbers");
    int64_t words[2 * LEDGER_ROWS + 1];
    if (!share->comm) return KD_OK;
    memcpy(words, sum, sizeof words);
    KD_TRY(ranks_all_sum(share->comm, words, 2 * LEDGER_ROWS + 1));
    memcpy(sum, words, sizeof words);
    return KD_OK;
}
