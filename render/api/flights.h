/* The light of the current pass for those who show it: its numbers, its photon maps in host memory,
   and its light paths, traced again on the host.
   Invariants: a flight is the path that the pass traced, to the bit, since paths are pure functions
               of (seed, pass, number). */
#ifndef KD_RENDER_API_FLIGHTS_H
#define KD_RENDER_API_FLIGHTS_H
#include "render/frame/frame.h"
#include "render/photon_mapping/photon.h"

/* Sets of light paths: one for each photon list, and that of vcm, whose photons are all vertices
   that are not specular. */
enum { FLIGHTS_VCM = PHOTON_LISTS, FLIGHTS_SETS };

/* Returns the light of a frame's current pass; zeroed where there is none. */
light_source light_source_of(const frame *frame);
typedef struct light_numbers {
    uint64_t photons[FLIGHTS_SETS], paths[FLIGHTS_SETS]; /* photons of vcm: not known, 0 */
    uint32_t pass;                                       /* pass that made the maps */
    bool beams;                                          /* media are stored as beams */
} light_numbers;
light_numbers light_source_count(const light_source *source, bool on_device);
/* Copies maps from the device to the host and builds their trees; the caller closes *out. */
kd_status light_source_fetch(photon_maps *out, const light_source *source, const scene_view *scene);

typedef enum flight_kind {
    FLIGHT_LIGHT,
    FLIGHT_SURFACE, /* diffuse or glossy */
    FLIGHT_SPECULAR,
    FLIGHT_MEDIUM,
    FLIGHT_ESCAPE, /* a point outside the scene */
    FLIGHT_CUTOUT  /* passed */
} flight_kind;

typedef struct flight_point {
    vec3 position, power; /* W, that arrives; of the first point: emitted */
    flight_kind kind;
    uint32_t bounce, material; /* KD_NONE: no surface */
    bool stored;               /* a photon is stored here */
} flight_point;

/* A path has at most 255 bounces. Points beyond the limit, after many cut-outs, are left out. */
enum { FLIGHT_POINTS = 512 };

typedef struct flight {
    flight_point points[FLIGHT_POINTS];
    photon photons[FLIGHT_POINTS]; /* photons stored by the path */
    uint32_t point_count, photon_count, light;
} flight;

typedef struct flights {
    const scene_view *scene; /* its tree is in host memory */
    photon_order order;
    const struct vcm_view *vcm;
    uint64_t paths; /* number of light paths in the pass */
} flights;

/* Prepares tracing the paths of a set. KD_ERROR_USAGE: they cannot be traced again. */
kd_status flights_open(flights *out, const frame *frame, int set);
void flights_trace(const flights *of, uint64_t path, flight *out);

#endif
