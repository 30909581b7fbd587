#include "core/parallel.h"
#include <omp.h>

static int thread_count;

void parallel_set_threads(int threads) {
    thread_count = threads > 0 ? threads : 0;
}

int parallel_threads(void) {
    return thread_count ? thread_count : omp_get_max_threads();
}

void parallel_for(int64_t count, int64_t grain, parallel_body body, void *context) {
    if (grain < 1) grain = 1;
    const int64_t pieces = count / grain + (count % grain != 0);
    const int threads = parallel_threads();
    if (threads == 1 || pieces <= 1 || omp_in_parallel()) {
        for (int64_t begin = 0; begin < count; begin += grain)
            body(context, begin, begin + grain < count ? begin + grain : count,
                 omp_get_thread_num());
        return;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t piece = 0; piece < pieces; ++piece) {
        const int64_t begin = piece * grain;
        body(context, begin, begin + grain < count ? begin + grain : count, omp_get_thread_num());
    }
}
