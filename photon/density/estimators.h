/* Tables of the choices for density estimates: which photons are used (estimators), their weights
   by distance (kernels; photon/density/kernels.h), how neighbours are found (lookups), and how
   light in media is stored (media). Device code cannot call through function pointers: each
   property that it depends on is a flag here and a number in photon_map_view. */
#ifndef KD_PHOTON_DENSITY_ESTIMATORS_H
#define KD_PHOTON_DENSITY_ESTIMATORS_H
#include "core/status.h"
#include "photon/density/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Id, name, one_radius, adaptive. */
#define PHOTON_ESTIMATOR_ROWS(ROW)                                                                 \
    ROW(NEAREST, nearest, false, false)                                                            \
    ROW(FIXED, fixed, true, false)                                                                 \
    ROW(ADAPTIVE, adaptive, false, true)
/* Id, name, walks: the tree is traversed without a stack (points/tree/walk.h), for one query at a
   time; otherwise an index of its leaves answers queries in batches. Both find the same photons and
   give the same bits. */
#define PHOTON_LOOKUP_ROWS(ROW) ROW(LEAVES, leaves, false) ROW(WALK, walk, true)
/* Id, name, beams: store photons where a medium scatters them (photon/density/media_estimate.h), or
   their whole paths through the medium (photon/density/beams.h). */
#define PHOTON_MEDIA_ROWS(ROW) ROW(POINTS, points, false) ROW(BEAMS, beams, true)

#define PHOTON_ESTIMATOR_ID(id, name, one_radius, adaptive) PHOTON_ESTIMATOR_##id,
typedef enum photon_estimator {
    PHOTON_ESTIMATOR_ROWS(PHOTON_ESTIMATOR_ID) PHOTON_ESTIMATORS
} photon_estimator;
#undef PHOTON_ESTIMATOR_ID

/* Which photons an estimate uses: by default the k nearest within the map's radius. */
typedef struct photon_estimator_row {
    const char *name;
    /* All photons within one radius, which is by default the median distance to the k-th neighbour.
       Their number does not matter, so batches of photons can be arbitrarily small. */
    bool one_radius;
    /* At most k, fewer where the light varies (photon/density/estimate_radius.h); on a device this
       requires photons in tree order. */
    bool adaptive;
} photon_estimator_row;

extern const photon_estimator_row photon_estimators[PHOTON_ESTIMATORS];

#define PHOTON_LOOKUP_ID(id, name, walks) PHOTON_LOOKUP_##id,
typedef enum photon_lookup { PHOTON_LOOKUP_ROWS(PHOTON_LOOKUP_ID) PHOTON_LOOKUPS } photon_lookup;
#undef PHOTON_LOOKUP_ID

typedef struct photon_lookup_row {
    const char *name;
    bool walks; /* on a device this requires photons in tree order */
} photon_lookup_row;

extern const photon_lookup_row photon_lookups[PHOTON_LOOKUPS];

#define PHOTON_MEDIA_ID(id, name, beams) PHOTON_MEDIA_##id,
typedef enum photon_media { PHOTON_MEDIA_ROWS(PHOTON_MEDIA_ID) PHOTON_MEDIA_KINDS } photon_media;
#undef PHOTON_MEDIA_ID

typedef struct photon_media_row {
    const char *name;
    bool beams;
} photon_media_row;

extern const photon_media_row photon_media_rows[PHOTON_MEDIA_KINDS];

/* Return NULL for an index beyond the last one. */
const char *photon_kernel_name(int index);
const char *photon_estimator_name(int index);
const char *photon_lookup_name(int index);
const char *photon_media_name(int index);
/* Return KD_ERROR_USAGE, with a list of the names, for an unknown name. */
kd_status photon_kernel_find(photon_kernel *out, const char *name);
kd_status photon_estimator_find(photon_estimator *out, const char *name);
kd_status photon_lookup_find(photon_lookup *out, const char *name); /* "auto" selects leaves */
kd_status photon_media_find(photon_media *out, const char *name);
/* Return the row of a name known to be valid. */
const photon_estimator_row *photon_estimator_named(const char *name);
const photon_lookup_row *photon_lookup_named(const char *name);
const photon_media_row *photon_media_named(const char *name);

/* Defaults of photon map options. */

#define PHOTONS_DEFAULT 200000  /* photons to store in a map */
#define GATHER_DEFAULT 50       /* k, the number of photons of an estimate */
#define MAX_DEPTH_DEFAULT 255   /* maximum number of surfaces of a path */
#define MAX_SPECULAR_DEFAULT 32 /* maximum number of specular events, less that of the others */

#ifdef __cplusplus
}
#endif

#endif
