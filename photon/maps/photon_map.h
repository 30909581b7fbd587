/* The photon maps of a scene, and the tiles that density estimates need.
     global map    light that a diffuse or glossy surface has scattered before
     caustic map   light that has met only specular surfaces before
     media map     light that media scatter after it has met something else
   No map contains light that comes straight from its source, since shadow rays estimate that
   better. */
#ifndef KD_PHOTON_MAPS_PHOTON_MAP_H
#define KD_PHOTON_MAPS_PHOTON_MAP_H
#include "photon/density/beams.h"
#include "photon/density/estimate.h"
#include "photon/density/estimators.h"
#include "photon/density/tile_set.h"
#include "photon/emission/emit.h"
#include "points/neighbours/leaf_index.h"
#include "points/tree/pointtree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits and guides of the emission of a list, chosen for an image (render/photon_mapping/pilot.h).
   Zeroed: emission does not depend on an image. */
typedef struct photon_suit {
    uint64_t paths_max;                           /* photon_order.paths_max */
    bool faint;                                   /* photon_order.faint */
    emission_target guides[EMISSION_TARGETS - 1]; /* spheres that guide the emission */
    uint32_t guide_count;                         /* 0: emission is not guided */
} photon_suit;

/* Share of a guided list's photons that is sent towards the guides. */
#define PHOTON_GUIDED_SHARE 0.75f

typedef struct photon_options {
    uint64_t seed;
    uint32_t pass;           /* pass of a progressive method; each pass has independent photons */
    uint64_t photons;        /* photons to store in the global map */
    uint64_t caustics;       /* photons to store in the caustic map */
    uint64_t volume_photons; /* photons to store in the media map, if some medium scatters light */
    uint32_t max_depth;      /* surfaces that a photon may meet; at most 255 are followed */
    uint32_t max_specular;   /* see photon_filter */
    uint32_t gather;         /* k, 2 .. ESTIMATE_GATHER_MAX */
    float radius; /* largest estimation radius, scene units; 0: derived from the photon density */
    photon_kernel kernel;
    photon_estimator estimator;
    photon_lookup lookup;
    photon_media media;             /* contents of the media map */
    uint32_t batch_paths;           /* 0: default. Does not affect the result */
    double deadlines[PHOTON_LISTS]; /* deadline of each list (photon_order.deadline) */
    photon_suit suit[PHOTON_LISTS];
    bool tiles;       /* find the tiles; false if the caller has them from another pass */
    ranks *comm;      /* ranks that build the maps together: photon_order.comm */
    bool distributed; /* each rank keeps only its photons of the global and the caustic map */
} photon_options;

typedef struct photon_map {
    photon *photons;               /* photons in tree order */
    irradiance_record *irradiance; /* record of each photon, in tree order; NULL: not computed */
    pointtree tree;
    /* same results as the tree, faster on a CPU; empty if lookups traverse the tree */
    leafindex index;
    uint64_t count;   /* number of photons, of all ranks if the map is distributed; the tree holds
                         those of this rank */
    photon_run *runs; /* distributed maps: indices of these photons in the list of all ranks */
    uint32_t run_count;
    uint64_t emitted, rays;
    photon_ledger ledger; /* W */
    uint64_t hash;        /* hash of the photons in the order (path, bounce) */
    float radius;         /* largest estimation radius, scene units */
    float scale;          /* flux_scale of the largest channel of any photon */
    bool complete, cut;   /* see photon_list */
    bool built;           /* the tree was built here, not read from a file */
} photon_map;

typedef struct photon_maps {
    photon_map global, caustic, media;
    beam_set beams; /* replaces the photons and the tree of `media` if media store beams */
    tile_set tiles;
    uint32_t gather;
    photon_kernel kernel;
    photon_estimator estimator;
    photon_lookup lookup;
    ranks *comm; /* photon_options.comm */
} photon_maps;

photon_options photon_options_default(void);

/* Emits photons and builds the maps. Stages of the job: emit, photon_tree. A map may be empty or
   smaller than requested: then `complete` is false and the reason has been logged. */
kd_status photon_maps_open(photon_maps *out, const scene_view *scene, const photon_options *options,
                           job_control *job);
/* The two steps of photon_maps_open: emits the lists of photons in the order (path, bounce); builds
   maps of such lists, which it takes over and closes. */
kd_status photon_lists_open(photon_list out[PHOTON_LISTS], const scene_view *scene,
                            const photon_options *options, job_control *job);
kd_status photon_maps_build_trees(photon_maps *out, const scene_view *scene,
                                  photon_list lists[PHOTON_LISTS], const photon_options *options,
                                  job_control *job);
/* Computes the irradiance of both maps at every photon of the global one, for a final gather with
   more rays than photons. Work: an estimate per photon, on all cores. Stage of the job:
   photon_tree. */
kd_status photon_maps_precompute(photon_maps *maps, job_control *job);
/* Exchanges the irradiances, of which each rank has computed its part (ranks_part), by `gather`:
   ranks_all_gather, or ranks_device_gather for device memory. Collective. Returns KD_INTERRUPTED on
   all ranks if the job of one was cancelled. */
kd_status photon_irradiance_exchange(ranks *comm, irradiance_record *irradiance, uint64_t count,
                                     kd_status (*gather)(struct ranks *, void *, const uint64_t *),
                                     job_control *job);
/* Makes the emission orders of the lists; the media list is empty if no medium scatters light.
   Scans the whole mesh; photon_orders_renew suffices for another pass. */
kd_status photon_orders_make(photon_order out[PHOTON_LISTS], const scene_view *scene,
                             const photon_options *options);
void photon_orders_renew(photon_order orders[PHOTON_LISTS], const photon_options *options);
/* Returns the error that photon_maps_open and related functions would return for these options. */
kd_status photon_options_check(const photon_options *options);
extern const char *const photon_list_names[PHOTON_LISTS];
/* On a method's first pass, logs why a list is not complete. Does not access the list's photons. */
void photon_map_say_missing(const photon_list *list, const char *name, const photon_order *order);
enum { RADIUS_PROBES = 1024 };
/* Returns the radius of a map from the distances of some photons to their k-th neighbours, which it
   sorts: twice the median, or for `fixed` the median itself. */
float photon_radius_of(float *distances, uint64_t count, bool fixed);
/* Sets deadlines that divide the time from now to `end` (timing_now()) equally among the lists to
   be emitted; 0: none. */
void photon_options_limit(photon_options *options, double end);
/* Returns true if a deadline truncated some list. */
bool photon_maps_cut(const photon_maps *maps);
void photon_maps_close(photon_maps *owned); /* `owned` may be zeroed */
/* Bytes of one map besides its list, during and after construction. */
uint64_t photon_map_bytes_max(uint64_t photons);

photon_map_view photon_maps_global(const photon_maps *maps);
photon_map_view photon_maps_caustic(const photon_maps *maps);
/* Returns a view for consecutive lookups of one thread at nearby points, each of which starts from
   the result of the last one. Initialises *last, which must outlive the view. The order of found
   photons differs, so results must be sums that do not depend on the order (flux_sum.h). */
photon_map_view photon_map_followed(const photon_map_view *map, photon_last *last);
photon_map_view photon_maps_media(const photon_maps *maps);
beam_view photon_maps_beams(const photon_maps *maps);
tile_view photon_maps_tiles(const photon_maps *maps);
uint64_t photon_maps_hash(const photon_maps *maps); /* hash of all maps */
/* Returns true if some medium scatters light; otherwise the media map stays empty. */
bool photon_scene_scatters(const scene_view *scene);

#ifdef __cplusplus
}
#endif
#endif
