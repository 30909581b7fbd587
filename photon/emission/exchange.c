#include "photon/emission/exchange.h"
#include "core/device/device_memory.h"
#include "core/job.h"
#include "core/memory.h"

/* Waits for the device; the time counts as time spent waiting for other ranks. */
static kd_status wait_counted(ranks *among) {
    const double begun = timing_now();
    const kd_status status = device_wait();
    among->waited += timing_now() - begun;
    return status;
}

kd_status exchange_gather(ranks *among, void *bytes, const uint64_t *begins) {
    const int32_t rank = among->rank, size = among->size;
    const uint64_t first = begins[0], all = begins[size] - first;
    const uint64_t own = begins[rank] - first, own_end = begins[rank + 1] - first;
    char *host = NULL, *there = (char *)bytes + first;
    uint64_t *host_begins = NULL;
    kd_status status = KD_OK;
    if (ranks_linked(among)) {
        KD_TRY(ranks_link_gather(among, bytes, begins, NULL));
        return wait_counted(among);
    }
    KD_TRY_GOTO(memory_reserve((void **)&host, all, 1));
    KD_TRY_GOTO(KD_RESERVE(host_begins, (uint64_t)size + 1));
    for (int32_t r = 0; r <= size; ++r) host_begins[r] = begins[r] - first;
    KD_TRY_GOTO(device_memory_download(host + own, there + own, own_end - own));
    KD_TRY_GOTO(ranks_all_gather(among, host, host_begins));
    KD_TRY_GOTO(device_memory_upload(there, host, own));
    KD_TRY_GOTO(device_memory_upload(there + own_end, host + own_end, all - own_end));
done:
    memory_free(host);
    memory_free(host_begins);
    return status;
}

kd_status exchange_sum(ranks *among, int64_t *values, uint64_t count) {
    int64_t *host = NULL;
    kd_status status = KD_OK;
    if (count == 0) return KD_OK;
    if (ranks_linked(among)) {
        KD_TRY(ranks_link_sum(among, values, count, NULL));
        return wait_counted(among);
    }
    KD_TRY(KD_RESERVE(host, count));
    KD_TRY_GOTO(device_memory_download(host, values, count * sizeof *values));
    KD_TRY_GOTO(ranks_all_sum(among, host, count));
    KD_TRY_GOTO(device_memory_upload(values, host, count * sizeof *values));
done:
    memory_free(host);
    return status;
}
