/* k-way merge of results.
   Idea: each part's results for a query are sorted by (dist2, number), so the least of their first
         elements is the next result.
   Invariants: numbers are positions in the input, so the order is that of a single tree. */
#include "points/parts/merge.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { GRAIN = 256 };

kd_status merge_runs_open(merge_runs *out, const parts_asked *asked, int rounds, int32_t parts,
                          uint64_t queries) {
    uint64_t *next = NULL;
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    KD_TRY_GOTO(KD_RESERVE_ZEROED(out->begins, queries + 1));
    for (int round = 0; round < rounds; ++round)
        for (uint64_t q = 0; q < asked[round].begins[parts]; ++q)
            ++out->begins[asked[round].who[q]];
    out->begins[queries] = scan_exclusive_u64(out->begins, out->begins, queries);
    KD_TRY_GOTO(KD_RESERVE(out->runs, out->begins[queries]));
    KD_TRY_GOTO(KD_RESERVE(next, queries));
    memcpy(next, out->begins, queries * sizeof *next);
    for (int round = 0; round < rounds; ++round)
        for (uint64_t q = 0; q < asked[round].begins[parts]; ++q) {
            const merge_run run = {asked[round].offsets[q], asked[round].offsets[q + 1],
                                   &asked[round]};
            out->runs[next[asked[round].who[q]]++] = run;
        }
done:
    memory_free(next);
    if (status != KD_OK) merge_runs_close(out);
    return status;
}

void merge_runs_close(merge_runs *owned) {
    memory_free(owned->begins);
    memory_free(owned->runs);
    memset(owned, 0, sizeof *owned);
}

/* --- rows ----------------------------------------------------------------------------------- */

typedef struct merging {
    const parts_call *call;
    merge_runs *runs;
    atomic_bool misfit;
} merging;

static double dist2_at(const parts_call *call, const merge_run *run) {
    if (!run->from->dist2) return 0;
    return point_coordinate((const char *)run->from->dist2 +
                                run->at * point_scalar_bytes(call->of->scalar),
                            call->of->scalar, 0);
}

/* Returns the run with the least remaining element, or NULL. */
static merge_run *least_of(const parts_call *call, merge_run *begin, merge_run *end) {
    merge_run *least = NULL;
    double least_dist2 = 0;
    for (merge_run *run = begin; run < end; ++run) {
        if (run->at == run->end) continue;
        const double dist2 = dist2_at(call, run);
        if (least &&
            (dist2 > least_dist2 || (dist2 == least_dist2 && run->from->numbers[run->at] >
                                                                 least->from->numbers[least->at])))
            continue;
        least = run;
        least_dist2 = dist2;
    }
    return least;
}

static void put(const parts_call *call, uint64_t at, uint64_t number, double dist2) {
    const points_rows *out = &call->out;
    const bool none = number == KD_NO_POINT64;
    if (call->names && !none) number = call->names[number - call->of->first];
    if (out->wide) out->wide[at] = number;
    if (out->ids) out->ids[at] = none ? KD_NO_POINT : (uint32_t)number;
    if (!out->dist2) return;
    if (call->of->scalar == POINT_DOUBLE)
        ((double *)out->dist2)[at] = dist2;
    else
        ((float *)out->dist2)[at] = (float)dist2;
}

/* Returns whether all runs of a query, without the excluded point, have the length of its row. */
static bool fits(const merging *work, const merge_run *begin, const merge_run *end, uint64_t room) {
    uint64_t answers = 0;
    for (const merge_run *run = begin; run < end; ++run) answers += run->end - run->at;
    return answers == room + (work->call->self ? 1 : 0);
}

static void merge_row(merging *work, uint64_t i) {
    const parts_call *call = work->call;
    const uint64_t query = call->begin + i;
    const uint64_t row = parts_row(call, query);
    merge_run *begin = work->runs->runs + work->runs->begins[i];
    merge_run *end = work->runs->runs + work->runs->begins[i + 1];
    if (call->kind == POINTS_COUNT) {
        uint64_t sum = 0;
        for (const merge_run *run = begin; run < end; ++run) sum += run->end - run->at;
        call->out.sums[row] = sum - (call->self ? 1 : 0);
        return;
    }
    const bool nearest = call->kind == POINTS_NEAREST;
    const uint64_t wanted = nearest ? call->k - (call->self ? 1 : 0) : 0;
    const uint64_t to = nearest ? row * wanted : call->offsets[row];
    const uint64_t room = nearest ? wanted : call->offsets[row + 1] - to;
    if (!nearest && !fits(work, begin, end, room)) {
        atomic_store(&work->misfit, true);
        return;
    }
    uint64_t made = 0;
    while (made < room) {
        merge_run *from = least_of(call, begin, end);
        if (!from) break;
        const uint64_t number = from->from->numbers[from->at];
        const double dist2 = dist2_at(call, from);
        ++from->at;
        if (call->self && number == call->self[query]) continue;
        put(call, to + made++, number, dist2);
    }
    if (call->out.counts) call->out.counts[row] = (uint32_t)made;
    for (; made < room; ++made) put(call, to + made, KD_NO_POINT64, (double)INFINITY);
}

static void merge_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    for (int64_t i = begin; i < end; ++i) merge_row((merging *)context, (uint64_t)i);
}

void merge_rows(const parts_call *call, merge_runs *runs) {
    merging work = {.call = call, .runs = runs};
    atomic_init(&work.misfit, false);
    parallel_for((int64_t)(call->end - call->begin), GRAIN, merge_piece, &work);
    runs->misfit = atomic_load(&work.misfit);
}
