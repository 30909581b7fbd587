/* Photon emission: emits the photons of a scene, from which photon maps are built, and provides
   them as an array or a file. C99.

       #include <kandela/photons.h>
       #include <stdio.h>

       // Emits photons and prints the total power stored in the global map.
       int print_power(const kd_scene *scene, const kd_render_options *options) {
           kd_photons *photons = NULL;
           kd_status status = kd_photons_emit(&photons, scene, options, NULL, NULL);
           const uint64_t count = kd_photons_count(photons, KD_PHOTONS_GLOBAL).stored;
           const kd_photon *photon = kd_photons_list(photons, KD_PHOTONS_GLOBAL);
           double watts = 0;
           for (uint64_t i = 0; i < count; ++i) watts += photon[i].power[1];
           if (status != KD_OK) fprintf(stderr, "%s\n", kd_last_error());
           else printf("%llu photons, %g W green\n", (unsigned long long)count, watts);
           kd_photons_close(photons);
           return status;
       }

   NULL: passing NULL for a required argument returns KD_ERROR_USAGE; functions that do not return a
   status then do nothing or return 0.

   Errors: the message of a failed call is in kd_last_error().

   Threads: only one call at a time may use a scene; any number of threads may read the same
   photons. */
#ifndef KANDELA_PHOTONS_H
#define KANDELA_PHOTONS_H
#include <kandela/render.h>

#ifdef __cplusplus
extern "C" {
#endif

/*************************************** Simple: types ****************************************/

/* A photon: a packet of flux that was stored on a surface, or where a medium scattered it. The
   struct never grows. */
typedef struct kd_photon {
    float position[3];  /* in world space, scene units; kd_scene_origin() is included */
    float power[3];     /* W, linear Rec. 709 */
    float direction[3]; /* direction of travel, normalised */
    float normal[3];    /* of the side that was hit, normalised; in a medium: equal to direction */
    uint32_t triangle;  /* index of the triangle, or of the medium that scattered it */
    uint32_t path;      /* index of the emitted path, the same for all photons of a path */
    uint16_t light;     /* low 16 bits of the index of the light */
    uint8_t bounce;     /* number of scattering events before this one */
    uint8_t kind; /* 0: direct from the light; 1: caustic: only mirrors, glass and metal in between;
                     2: indirect: at least one other surface or a medium in between */
} kd_photon;

/* The maps that the photons are divided into. */
typedef enum kd_photon_map {
    KD_PHOTONS_GLOBAL,  /* indirect light: photons that a surface scattered before */
    KD_PHOTONS_CAUSTIC, /* caustics: photons that came via mirrors, glass and metal only */
    KD_PHOTONS_MEDIA    /* photons scattered by a medium after an earlier scattering event */
} kd_photon_map;

/* The photons of a scene; made by kd_photons_emit, closed by kd_photons_close. */
typedef struct kd_photons kd_photons;

/* Statistics of a map. The struct never grows. */
typedef struct kd_photon_counts {
    uint64_t stored;  /* photons in the map */
    uint64_t emitted; /* paths emitted for the map; powers are normalised by this number */
    double watts;     /* power of the lights, as sampled by the paths; mean of the channels */
    int32_t complete; /* 1: the requested number of photons was stored */
} kd_photon_counts;

/****************************** Simple: emit, read, write, close ******************************/

/* Emits the photons of a scene: those that the integrator "photon" would use with the same options,
   of which photons, caustic_photons, media_photons, max_depth, seed and threads are read. The
   photons are the same for any number of threads. `progress` may be NULL; its stages are "build"
   and "emit". On failure, including KD_INTERRUPTED, *out is NULL. The caller closes *out with
   kd_photons_close. */
KD_API kd_status kd_photons_emit(kd_photons **out, const kd_scene *scene,
                                 const kd_render_options *options, kd_progress progress,
                                 void *context);
/* Frees the photons; `photons` may be NULL. */
KD_API void kd_photons_close(kd_photons *photons);
/* Returns the statistics of a map; all 0 if `map` is not a kd_photon_map. */
KD_API kd_photon_counts kd_photons_count(const kd_photons *photons, kd_photon_map map);
/* Returns the kd_photon_counts.stored photons of a map, ordered by (path, bounce); NULL if there
   are none. The array is owned by `photons`. */
KD_API const kd_photon *kd_photons_list(const kd_photons *photons, kd_photon_map map);
/* Writes a file that kd_render_options.photon_map can name. On failure a file of that name remains
   unchanged. */
KD_API kd_status kd_photons_write(const kd_photons *photons, const char *path);
/* Reads a file that kd_photons_write or `kandela photons` wrote; later changes of the file have no
   effect. On failure *out is NULL: KD_ERROR_INPUT if the file is missing, truncated, modified or
   invalid. The caller closes *out with kd_photons_close. */
KD_API kd_status kd_photons_load(kd_photons **out, const char *path);

#ifdef __cplusplus
}
#endif
#endif
