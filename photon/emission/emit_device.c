/* The parts of emission on a device that are no kernels. */
#include "photon/emission/emit_device.h"
#include "core/memory.h"

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
