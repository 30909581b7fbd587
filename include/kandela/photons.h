/* The photons of a scene, one by one: what photon maps are made of. NULL where something is needed
   is KD_ERROR_USAGE; calls without a status then do nothing or answer 0. */
#ifndef KANDELA_PHOTONS_H
#define KANDELA_PHOTONS_H
#include <kandela/render.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A photon: a packet of flux that landed on a surface, or was scattered by a medium. Never grows.
 */
typedef struct kd_photon {
    float position[3];  /* in the world */
    float power[3];     /* W, linear Rec. 709 */
    float direction[3]; /* unit, the way it was flying when it landed */
    float normal[3];    /* unit, of the side that it landed on; in a medium: the direction */
    uint32_t triangle;  /* that it landed on; or the medium that scattered it */
    uint32_t path;      /* of its emission: photons of one path are one packet's way */
    uint16_t light;     /* that it came from, its low 16 bits */
    uint8_t bounce;     /* surfaces and scatterings before this one */
    uint8_t kind;       /* 0: straight from its light; 1: only mirrors, glass and metal between;
                           2: something scattered it before */
} kd_photon;

typedef enum kd_photon_map {
    KD_PHOTONS_GLOBAL,  /* light that a surface scattered before */
    KD_PHOTONS_CAUSTIC, /* light that only mirrors, glass and metal passed on */
    KD_PHOTONS_MEDIA    /* light that fog or smoke scatters after it has met something */
} kd_photon_map;

typedef struct kd_photons kd_photons;

/* Never grows. */
typedef struct kd_photon_counts {
    uint64_t stored;  /* photons of the map */
    uint64_t emitted; /* paths that were followed for them: powers are shared out among these */
    double watts;     /* that lights emitted, as paths found it; mean of the channels */
    int32_t complete; /* 1: as many as were asked for */
} kd_photon_counts;

/* Emits the photons of a scene, those that a rendering by "photon" with these options would use:
   of the options photons, caustic_photons, media_photons, max_depth, seed and threads are looked
   at. Stages of `progress` (may be NULL): "build", "emit". The same photons for any number of
   threads. On failure, KD_INTERRUPTED among them, *out is NULL; otherwise the caller's, closed by
   kd_photons_close. */
KD_API kd_status kd_photons_emit(kd_photons **out, const kd_scene *scene,
                                 const kd_render_options *options, kd_progress progress,
                                 void *context);
KD_API void kd_photons_close(kd_photons *photons); /* takes NULL */
/* All 0 for a map that is none. */
KD_API kd_photon_counts kd_photons_count(const kd_photons *photons, kd_photon_map map);
/* kd_photon_counts.stored of them, in the order of (path, bounce); they live as long as `photons`.
   NULL if there are none. */
KD_API const kd_photon *kd_photons_list(const kd_photons *photons, kd_photon_map map);
/* As a file that kd_render_options.photon_map takes. */
KD_API kd_status kd_photons_write(const kd_photons *photons, const char *path);

#ifdef __cplusplus
}
#endif
#endif
