/* The parts of emission on a device that are no kernels. */
#include "photon/emission/emit_device.h"
#include "core/memory.h"
#include "core/ranks/link.h"
#include "photon/emission/emit_ranks.h"

void photon_emitter_cuda_close(photon_emitter_cuda *owned) {
    device_buffer_free(&owned->batch);
    device_buffer_free(&owned->state);
    memset(owned, 0, sizeof *owned);
}

void photon_list_cuda_close(photon_list_cuda *owned) {
    device_buffer_free(&owned->photons);
    device_buffer_free(&owned->positions);
    memset(owned, 0, sizeof *owned);
}

kd_status photon_list_cuda_download(photon_list *out, const photon_list_cuda *from) {
    memset(out, 0, sizeof *out);
    KD_TRY(KD_RESERVE(out->photons, from->count));
    const kd_status status = device_memory_download(out->photons, from->photons.memory,
                                                    from->count * sizeof *out->photons);
    if (status != KD_OK) {
        photon_list_close(out);
        return status_pass(status, __FILE__, __LINE__, "download");
    }
    out->count = from->count;
    out->emitted = from->emitted;
    out->rays = from->rays;
    out->ledger = from->ledger;
    out->complete = from->complete;
    out->cut = from->cut;
    return KD_OK;
}

kd_status photon_list_cuda_exchange(photon_list_cuda *list, emit_share *share) {
    kd_status status = KD_OK;
    if (!share->among) return KD_OK;
    const int32_t rank = share->among->rank, size = share->among->size;
    const uint64_t first = share->begins[0], bytes = share->begins[size] - first;
    char *host = NULL, *there = (char *)list->photons.memory;
    if (ranks_linked(share->among)) {
        KD_TRY(ranks_link_gather(share->among, there, share->begins, NULL));
        return device_wait();
    }
    KD_TRY(memory_reserve((void **)&host, bytes, 1));
    const uint64_t own = share->begins[rank], own_end = share->begins[rank + 1];
    for (int32_t r = 0; r <= size; ++r) share->begins[r] -= first;
    KD_TRY_GOTO(device_memory_download(host + (own - first), there + own, own_end - own));
    KD_TRY_GOTO(emit_share_photons(share, (photon *)(void *)host));
    if (own > first) KD_TRY_GOTO(device_memory_upload(there + first, host, own - first));
    if (first + bytes > own_end)
        KD_TRY_GOTO(device_memory_upload(there + own_end, host + (own_end - first),
                                         first + bytes - own_end));
done:
    memory_free(host);
    return status;
}
