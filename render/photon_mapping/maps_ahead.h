/* The next pass's maps on a CUDA device, made beside this pass's samples: waves of photons and
   waves of the eye's paths each leave much of a device idle when they are alone. */
#ifndef KD_RENDER_PHOTON_MAPPING_MAPS_AHEAD_H
#define KD_RENDER_PHOTON_MAPPING_MAPS_AHEAD_H
#include "core/beside/beside.h"
#include "render/photon_mapping/photons_device.h"

typedef struct maps_ahead {
    photon_maps_cuda maps;
    photon_options options; /* of their pass */
    photon_order orders[PHOTON_LISTS];
    scene_view scene; /* the device's */
    bool ordered;     /* as of photon_cuda_make_maps */
    beside_task *by;  /* who makes them; NULL: nobody */
    bool too_large;   /* the device has no memory for two passes' maps */
} maps_ahead;

/* Orders of the options' pass, which `of` has made for another one. */
void maps_ahead_renew_orders(photon_cuda *of, const photon_options *options);
/* Begins with the maps of these options' pass; `there` has made maps before. Nothing is begun where
   they are being made already, memory was short before, or no thread is to be had. */
void maps_ahead_begin(maps_ahead *out, photon_cuda *there, const frame *of,
                      const photon_options *options, bool ordered);
/* Waits for them, if they were begun; those of the options' pass become the maps of `to`. `taken`:
   false if there are none: they are to be made now. Stage of the frame's job: emit. */
kd_status maps_ahead_take(maps_ahead *from, photon_cuda *to, const frame *of,
                          const photon_options *options, bool *taken);
void maps_ahead_close(maps_ahead *owned); /* takes a zeroed one */

#endif
