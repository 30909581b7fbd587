/* The light of the current pass for those who show it: its numbers, its photon maps in host memory,
   and its light paths, traced again on the host.
   Invariants: a traced path is the one that the pass traced, to the bit, since paths are pure functions
               of (seed, pass, number). */
#ifndef KD_RENDER_API_LIGHT_PATHS_H
#define KD_RENDER_API_LIGHT_PATHS_H
#include "render/frame/frame.h"
#include "render/photon_mapping/photon.h"

/* Sets of light paths: one for each photon list, and that of vcm, whose photons are all vertices
   that are not specular. */
enum { LIGHT_PATHS_VCM = PHOTON_LISTS, LIGHT_PATH_SETS };

/* Returns the light of a frame's current pass; zeroed if there is none. */
light_source light_source_of(const frame *frame);
typedef struct light_numbers {
    uint64_t photons[LIGHT_PATH_SETS], paths[LIGHT_PATH_SETS]; /* photons of vcm: unknown, 0 */
    uint32_t pass;                                             /* pass that made the maps */
    bool beams;                                                /* media are stored as beams */
} light_numbers;
light_numbers light_source_count(const light_source *source, bool on_device);
/* Copies maps from the device to the host and builds their trees; the caller closes *out. */
kd_status light_source_fetch(photon_maps *out, const light_source *source, const scene_view *scene);

typedef enum traced_kind {
    TRACED_LIGHT,
    TRACED_SURFACE, /* diffuse or glossy */
    TRACED_SPECULAR,
    TRACED_MEDIUM,
    TRACED_ESCAPE, /* a point outside the scene */
    TRACED_CUTOUT  /* a cut-out that the path passed */
} traced_kind;

typedef struct traced_vertex {
    vec3 position, power; /* arriving power in W; first vertex: emitted */
    traced_kind kind;
    uint32_t bounce, material; /* KD_NONE: no surface */
    bool stored;               /* a photon is stored here */
} traced_vertex;

/* A path has at most 255 bounces. Vertices beyond the limit, after many cut-outs, are left out. */
enum { TRACED_VERTICES_MAX = 512 };

typedef struct traced_path {
    traced_vertex vertices[TRACED_VERTICES_MAX];
    photon photons[TRACED_VERTICES_MAX]; /* photons stored by the path */
    uint32_t vertex_count, photon_count, light;
} traced_path;

typedef struct traced_paths {
    const scene_view *scene; /* its tree is in host memory */
    photon_order order;
    const struct vcm_view *vcm;
    uint64_t count; /* number of light paths in the pass */
} traced_paths;

/* Prepares tracing the paths of a set. KD_ERROR_USAGE: they cannot be traced again. */
kd_status traced_paths_open(traced_paths *out, const frame *frame, int set);
void traced_paths_trace(const traced_paths *paths, uint64_t path, traced_path *out);
/* Lists the photons of the current pass of vcm that merge with an eye path at a surface, at most
   `limit` of them, with the numbers of their paths. `paths` are those of vcm; `normal` is on the
   side of the eye path. */
kd_status traced_paths_merging(photon *out, uint32_t *count, uint32_t limit,
                               const traced_paths *paths, bool on_device, vec3 position,
                               vec3 normal);

#endif
