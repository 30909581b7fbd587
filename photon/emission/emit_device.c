/* Host code of photon emission on a device. */
#include "core/device/device_stream.h"
#include "core/memory.h"
#include "photon/emission/emit.h"
#include "photon/emission/emit_ranks.h"

void photon_emitter_cuda_close(photon_emitter_cuda *owned) {
    device_buffer_free(&owned->batch);
    device_buffer_free(&owned->state);
    memset(owned, 0, sizeof *owned);
}

void photon_list_cuda_close(photon_list_cuda *owned) {
    device_buffer_free(&owned->photons);
    device_buffer_free(&owned->positions);
    memory_free(owned->runs);
    memset(owned, 0, sizeof *owned);
}

kd_status photon_list_cuda_download(photon_list *out, const photon_list_cuda *list) {
    memset(out, 0, sizeof *out);
    KD_TRY(KD_RESERVE(out->photons, list->count));
    const kd_status status = device_memory_download(out->photons, list->photons.memory,
                                                    list->count * sizeof *out->photons);
    if (status != KD_OK) {
        photon_list_close(out);
        return status_pass(status, __FILE__, __LINE__, "download");
    }
    out->count = list->count;
    out->emitted = list->emitted;
    out->rays = list->rays;
    out->ledger = list->ledger;
    out->complete = list->complete;
    out->cut = list->cut;
    return KD_OK;
}

kd_status photon_list_cuda_exchange(photon_list_cuda *list, emit_share *share) {
    if (!share->comm) return KD_OK;
    return ranks_device_gather(share->comm, list->photons.memory, share->begins);
}

/* Enlarges a buffer and keeps the bytes used. */
static kd_status grow(device_buffer *buffer, uint64_t used, uint64_t bytes) {
    void *memory = NULL;
    if (bytes <= buffer->bytes) return KD_OK;
    KD_TRY(device_memory_reserve(&memory, bytes));
    const kd_status status = device_copy(memory, buffer->memory, used, NULL);
    if (status == KD_OK) {
        device_buffer_free(buffer);
        *buffer = (device_buffer){memory, bytes};
    } else {
        device_memory_free(memory);
    }
    return status;
}

kd_status photon_list_cuda_begin_run(photon_list_cuda *list, uint64_t place, uint64_t photons) {
    if (photons == 0) return KD_OK;
    const uint64_t all = list->local_count + photons, capacity = all + all / 8;
    KD_TRY(KD_GROW(list->runs, list->run_count, (uint64_t)list->run_count + 1));
    list->runs[list->run_count++] = (photon_run){list->local_count, place};
    if (all * sizeof(photon) > list->photons.bytes)
        KD_TRY(grow(&list->photons, list->local_count * sizeof(photon), capacity * sizeof(photon)));
    if (all * sizeof(vec3) <= list->positions.bytes) return KD_OK;
    return device_buffer_reserve(&list->positions, capacity * sizeof(vec3)); /* filled later */
}
