/* Rendering from C: options as the command line, the scene file and a caller fill them. */
#ifndef KANDELA_RENDER_H
#define KANDELA_RENDER_H
#include <kandela/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kd_tonemap { KD_TONEMAP_LINEAR, KD_TONEMAP_REINHARD, KD_TONEMAP_ACES } kd_tonemap;

/* Filled by kd_render_options_default; fields are only ever added at the end. */
typedef struct kd_render_options {
    char integrator[32];      /* "direct", "path", "photon" */
    char builder[32];         /* triangle tree builder: "sweep", "median", ... */
    char device[32];          /* "auto", "cpu", "cuda:N" */
    int32_t width, height;    /* pixels */
    int32_t crop[4];          /* x0, y0, x1, y1 in pixels, half open; x1 == 0: the whole image */
    int32_t spp;              /* samples per pixel */
    int32_t max_depth;        /* surfaces a path may meet */
    uint64_t photons;         /* number stored in the global map to aim for */
    uint64_t caustic_photons; /* the same for the caustic map; 0: as many as `photons` */
    int32_t gather;           /* k: photons of one density estimate */
    float radius;             /* largest gather radius, scene units; 0: from the photons' density */
    char kernel[16];          /* "disc", "cone", "epanechnikov" */
    int32_t final_gather;     /* rays of the final gather; 0: the map is seen directly */
    uint64_t seed;
    int32_t threads;          /* 0: all cores */
    double time_seconds;      /* stop sampling after this; 0: no limit */
    float exposure;           /* stops: colours are scaled by 2^exposure in PNG */
    kd_tonemap tonemap;       /* PNG only */
    float sah_traversal_cost; /* C_t */
    float sah_intersect_cost; /* C_i */
    float sah_empty_factor;   /* (0, 1]: cost factor of a split that cuts off empty space */
} kd_render_options;

KD_API void kd_render_options_default(kd_render_options *options);

#ifdef __cplusplus
}
#endif
#endif
