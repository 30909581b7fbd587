#include "render/photon_mapping/maps_ahead.h"

void maps_ahead_renew_orders(photon_cuda *of, const photon_options *options) {
    photon_orders_renew(of->orders, options);
    of->orders[PHOTON_LIST_GLOBAL].apart = of->orders[PHOTON_LIST_CAUSTIC].apart = of->apart;
    if (options->photons == 0) of->orders[PHOTON_LIST_GLOBAL].wanted = 0;
    if (options->caustics == 0) of->orders[PHOTON_LIST_CAUSTIC].wanted = 0;
    if (options->strayed == 0) of->orders[PHOTON_LIST_MEDIA].wanted = 0;
}

static kd_status make_ahead(void *context, job *watched) {
    maps_ahead *ahead = (maps_ahead *)context;
    KD_TRY(photon_maps_cuda_emit(&ahead->maps, &ahead->scene, ahead->orders, watched));
    return photon_maps_cuda_plant(&ahead->maps, &ahead->options, ahead->ordered, watched);
}

void maps_ahead_begin(maps_ahead *out, photon_cuda *there, const frame *of,
                      const photon_options *options, bool ordered) {
    if (out->by || out->too_large) return;
    maps_ahead_renew_orders(there, options);
    memcpy(out->orders, there->orders, sizeof out->orders);
    out->options = *options;
    out->ordered = ordered;
    out->scene = of->there->scene.view;
    if (beside_begin(&out->by, make_ahead, out) != KD_OK) status_clear(); /* when they are due */
}

static void exchange_maps(photon_maps_cuda *a, photon_maps_cuda *b) {
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        const photon_map_cuda map = a->map[l];
        a->map[l] = b->map[l];
        b->map[l] = map;
    }
}

kd_status maps_ahead_take(maps_ahead *from, photon_cuda *to, const frame *of,
                          const photon_options *options, bool *taken) {
    *taken = false;
    if (!from->by) return KD_OK;
    job_stage_begin(of->watched, "emit", 0);
    const kd_status status = beside_end(from->by, of->watched);
    job_stage_end(of->watched);
    from->by = NULL;
    if (status == KD_ERROR_MEMORY) {
        status_clear();
        photon_maps_cuda_close(&from->maps);
        from->too_large = true;
        return KD_OK;
    }
    KD_TRY(status);
    if (from->options.pass != options->pass) return KD_OK;
    exchange_maps(&from->maps, &to->maps);
    *taken = true;
    return KD_OK;
}

void maps_ahead_close(maps_ahead *owned) {
    beside_drop(owned->by);
    photon_maps_cuda_close(&owned->maps);
    memset(owned, 0, sizeof *owned);
}
