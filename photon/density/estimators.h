/* The tables of density estimates: which photons are taken (estimators), what each weighs by its
   distance (kernels; photon/density/kernels.h), how those near are found
   (lookups), and what is kept of light in media (media).
   Kernels of a device cannot call through rows: what they have to know is a flag here and a number
   in their photon_map_view. */
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
/* Id, name, walks: the tree is walked without a stack (points/tree/walk.h), one look after the
   other, instead of an index of its leaves that answers many. The same photons, the same bits. */
#define PHOTON_LOOKUP_ROWS(ROW) ROW(LEAVES, leaves, false) ROW(WALK, walk, true)
/* Id, name, beams: photons where a medium scatters them (photon/density/media_estimate.h), or whole
   flights of photons through it (photon/density/beams.h). */
#define PHOTON_MEDIA_ROWS(ROW) ROW(POINTS, points, false) ROW(BEAMS, beams, true)

#define PHOTON_ESTIMATOR_ID(id, name, one_radius, adaptive) PHOTON_ESTIMATOR_##id,
typedef enum photon_estimator {
    PHOTON_ESTIMATOR_ROWS(PHOTON_ESTIMATOR_ID) PHOTON_ESTIMATORS
} photon_estimator;
#undef PHOTON_ESTIMATOR_ID

/* Which photons an estimate takes: the k nearest within a map's radius, but for what is said here.
 */
typedef struct photon_estimator_row {
    const char *name;
    /* All within one radius, unless given the median distance of photons to their k-th: how many
       that are is nobody's concern, and batches of photons may be as small as one likes. */
    bool one_radius;
    /* Of the k nearest as many as the light allows (photon/density/estimate_radius.h): on a
       device photons have to lie in their tree's order. */
    bool adaptive;
} photon_estimator_row;

extern const photon_estimator_row photon_estimators[PHOTON_ESTIMATORS];

#define PHOTON_LOOKUP_ID(id, name, walks) PHOTON_LOOKUP_##id,
typedef enum photon_lookup { PHOTON_LOOKUP_ROWS(PHOTON_LOOKUP_ID) PHOTON_LOOKUPS } photon_lookup;
#undef PHOTON_LOOKUP_ID

typedef struct photon_lookup_row {
    const char *name;
    bool walks; /* on a device photons have to lie in their tree's order */
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

/* NULL beyond the last. */
const char *photon_kernel_name(int index);
const char *photon_estimator_name(int index);
const char *photon_lookup_name(int index);
const char *photon_media_name(int index);
/* KD_ERROR_USAGE with the list for any other name. */
kd_status photon_kernel_find(photon_kernel *out, const char *name);
kd_status photon_estimator_find(photon_estimator *out, const char *name);
kd_status photon_lookup_find(photon_lookup *out, const char *name); /* "auto": leaves */
kd_status photon_media_find(photon_media *out, const char *name);
/* The row of a name that was found before. */
const photon_estimator_row *photon_estimator_named(const char *name);
const photon_lookup_row *photon_lookup_named(const char *name);
const photon_media_row *photon_media_named(const char *name);

/* Numbers that options of photon maps have where nobody sets them. */

#define PHOTONS_DEFAULT 200000 /* stored in a map, to aim for */
#define GATHER_DEFAULT 50      /* photons of one estimate */
#define MAX_DEPTH_DEFAULT 32   /* surfaces that a path may meet */

#ifdef __cplusplus
}
#endif

#endif
