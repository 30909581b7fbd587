#include "points/parts/agree.h"
#include "core/memory.h"
#include <string.h>

enum { WORDS = 512 };

static int32_t rank_of(const ranks *among) {
    return among ? among->rank : 0;
}

static int32_t size_of(const ranks *among) {
    return ranks_shared(among) ? among->size : 1;
}

/* Distributes the error message of the first failed rank to all ranks. */
static kd_status fail_as(ranks *among, int32_t first, kd_status failure) {
    char *words = NULL;
    const int32_t size = size_of(among);
    if (size == 1) return failure;
    KD_TRY(KD_RESERVE_ZEROED(words, (uint64_t)size * WORDS));
    strncpy(words + (uint64_t)rank_of(among) * WORDS, kd_last_error(), WORDS - 1);
    kd_status status = ranks_all_gather_even(among, words, WORDS);
    if (status == KD_OK)
        status =
            status_fail(failure, __FILE__, __LINE__, "%.*s", WORDS - 1, words + first * (int)WORDS);
    memory_free(words);
    return status;
}

kd_status parts_agree_on(ranks *among, kd_status own, const uint64_t *numbers, uint32_t width,
                         uint64_t *all) {
    const int32_t size = size_of(among);
    const uint64_t each = width + 1ull;
    uint64_t *said = NULL;
    int32_t first = -1;
    kd_status failure = KD_OK;
    KD_TRY(KD_RESERVE(said, each * (uint64_t)size));
    uint64_t *mine = said + each * (uint64_t)rank_of(among);
    mine[0] = (uint64_t)own;
    if (width) memcpy(mine + 1, numbers, width * sizeof *numbers);
    kd_status status = ranks_all_gather_even(among, said, each * sizeof *said);
    for (int32_t r = 0; status == KD_OK && r < size; ++r) {
        const uint64_t *from = said + each * (uint64_t)r;
        if (from[0] != KD_OK && first < 0) {
            first = r;
            failure = (kd_status)from[0];
        }
        if (width) memcpy(all + (uint64_t)r * width, from + 1, width * sizeof *all);
    }
    memory_free(said);
    if (status == KD_OK && first >= 0) status = fail_as(among, first, failure);
    return status;
}

kd_status parts_agree(ranks *among, kd_status own) {
    return parts_agree_on(among, own, NULL, 0, NULL);
}
