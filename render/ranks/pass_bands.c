/* Each rank has a band of rows for many passes, and keeps its sums: a pass sends no pixels. */
#include "core/job.h"
#include "core/memory.h"
#include "render/frame/frame_device.h"
#include "render/ranks/pass_ranks.h"
#include <string.h>

/* It costs an exchange of the film to split the picture again. */
static const double worth_it = 1.1;
enum { PATIENCE_MOST = 64 };

kd_status pass_by_bands(shared_pass *pass) {
    const int32_t rank = pass->among->rank;
    const int32_t top = pass->bounds[rank], bottom = pass->bounds[rank + 1];
    const double begun = timing_now();
    if (bottom > top)
        KD_TRY(frame_take_rows(pass->of, pass->to, &pass->samples, top, bottom, &pass->counts));
    pass->seconds[rank] = timing_now() - begun;
    pass->worked += pass->seconds[rank];
    pass->rows += (uint64_t)(bottom - top);
    return KD_OK;
}

static int32_t longest_band(const shared_pass *pass) {
    int32_t longest = 0;
    for (int32_t r = 0; r < pass->among->size; ++r) {
        const int32_t rows = pass->bounds[r + 1] - pass->bounds[r];
        if (rows > longest) longest = rows;
    }
    return longest;
}

/* Ranks with devices look together, each for rows of its own band; of short bands the last launches
   have none. */
static kd_status pass_apart_there(shared_pass *pass) {
    const frame *of = pass->of;
    const film *to = pass->to;
    const int32_t rank = pass->among->rank, longest = longest_band(pass);
    const int32_t top = pass->bounds[rank], bottom = pass->bounds[rank + 1];
    const int32_t rows =
        frame_cuda_rows(to->width, to->height, 1, frame_cuda_launch_samples(of->how, of->options));
    const double begun = timing_now(), waited = pass->among->waited;
    for (uint32_t s = 0; s < pass->samples.count; ++s)
        for (int32_t at = 0; at < longest; at += rows) {
            const int32_t first = bottom - top < at ? bottom : top + at;
            const int32_t end = bottom - first < rows ? bottom : first + rows;
            const sample_range range = {
                to->x0, to->y0, to->width, first, end, pass->samples.begin + s, 1};
            KD_TRY(frame_cuda_take(of, of->how, &range, &pass->counts));
        }
    pass->seconds[rank] = timing_now() - begun - (pass->among->waited - waited);
    pass->worked += pass->seconds[rank];
    pass->rows += (uint64_t)(bottom - top);
    return KD_OK;
}

kd_status pass_apart(shared_pass *pass) {
    frame *of = pass->of;
    if (of->there) return pass_apart_there(pass);
    const int32_t rank = pass->among->rank;
    apart_range range = {0, pass->bounds[rank], pass->bounds[rank + 1]};
    const double begun = timing_now(), waited = pass->among->waited;
    bool over = false;
    for (uint32_t s = 0; s < pass->samples.count && !over; ++s) {
        range.sample = pass->samples.begin + s;
        KD_TRY(of->how->take_apart(of, pass->to, &range, &pass->counts, &over));
    }
    pass->worked += timing_now() - begun - (pass->among->waited - waited);
    pass->rows += (uint64_t)(range.own_bottom - range.own_top);
    return KD_OK;
}

kd_status pass_collect(shared_pass *pass) {
    film *to = pass->to;
    frame *of = pass->of;
    const int32_t size = pass->among->size, rank = pass->among->rank;
    const uint64_t row = (uint64_t)to->width * sizeof *to->pixels;
    uint64_t *begins = NULL;
    int64_t counts[2] = {(int64_t)pass->counts.rays, (int64_t)pass->counts.nan_samples};
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(begins, (uint64_t)size + 1));
    for (int32_t r = 0; r <= size; ++r) begins[r] = (uint64_t)pass->bounds[r] * row;
    if (of->there)
        KD_TRY_GOTO(
            frame_cuda_fetch_rows(of->there, to, pass->bounds[rank], pass->bounds[rank + 1]));
    KD_TRY_GOTO(ranks_all_gather(pass->among, to->pixels, begins));
    KD_TRY_GOTO(ranks_all_sum(pass->among, counts, 2));
    of->statistics.rays += (uint64_t)counts[0];
    of->statistics.nan_samples += (uint64_t)counts[1];
    memset(&pass->counts, 0, sizeof pass->counts);
done:
    memory_free(begins);
    return status;
}

/* Seldom: it waits twice as long after each time. */
kd_status pass_split_again(shared_pass *pass) {
    const int32_t size = pass->among->size, rank = pass->among->rank;
    if (split_imbalance(pass->seconds, size) < worth_it) return KD_OK;
    if (pass->samples.begin + 1 < pass->patience) return KD_OK;
    const uint32_t more = pass->patience < PATIENCE_MOST ? pass->patience : PATIENCE_MOST;
    pass->patience = pass->samples.begin + 1 + more;
    KD_TRY(pass_collect(pass));
    memcpy(pass->old, pass->bounds, ((size_t)size + 1) * sizeof *pass->old);
    split_again(pass->bounds, pass->old, size, pass->seconds);
    if (!pass->of->there) return KD_OK;
    return frame_cuda_place_rows(pass->of->there, pass->to, pass->bounds[rank],
                                 pass->bounds[rank + 1]);
}
