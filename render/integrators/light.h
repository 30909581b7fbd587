/* What light tracing keeps between passes, on the CPU or on a CUDA device. */
#ifndef KD_RENDER_INTEGRATORS_LIGHT_H
#define KD_RENDER_INTEGRATORS_LIGHT_H
#include "core/status.h"
#include "render/integrators/light_path.h"
#include "render/integrators/pixel_methods.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct light_counts {
    uint64_t rays;
    uint64_t cut; /* splats too large for a sum */
} light_counts;

typedef struct light_state {
    light_eye eye;
    photon_emission emission;
    path_options straight; /* from the eye to the lamps */
    int64_t *sums;         /* 3 per pixel, in units; where the samples are taken */
    float unit;            /* W/(sr m^2) */
    uint32_t paths;        /* a pass */
    uint32_t first, own;   /* of them, that this rank traces */
    light_counts counts;   /* not read yet */
    light_counts *there;   /* the same in device memory; NULL: on the CPU */
} light_state;

light_pixels light_state_pixels(const light_state *of);

/* The same on a CUDA device (light.cu). */
typedef struct light_device {
    /* Memory of the current device for sums and counts. */
    kd_status (*place)(light_state *to, uint64_t sums);
    void (*leave)(light_state *owned);
    /* Traces the pass's paths there, waits, and adds to `counts`. `scene` points to device
       memory. */
    kd_status (*trace)(light_state *of, const scene_view *scene);
} light_device;
extern const light_device light_on_device;

#ifdef __cplusplus
}
#endif

#endif
