/* The photon maps of a scene: a global one of light that a diffuse or glossy surface scattered
   before, a caustic one of light that only mirrors, glass and metal passed on, one of light that
   media scatter after it has met something, and the tiles that density estimates need. Light
   straight from its source is in none: shadow rays find it better. Owner. */
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

typedef struct photon_options {
    uint64_t seed;
    uint32_t pass;      /* of a progressive method; each has photons of its own */
    uint64_t photons;   /* to store in the global map */
    uint64_t caustics;  /* to store in the caustic map */
    uint64_t strayed;   /* to store in the map of the media, if some scatter light */
    uint32_t max_depth; /* surfaces a photon may meet; at most 255 are followed */
    uint32_t gather;    /* k, 2 .. ESTIMATE_GATHER_MAX */
    float radius;       /* the largest gather radius; 0: from the photons' density */
    photon_kernel kernel;
    photon_estimator estimator;
    photon_lookup lookup;
    photon_media media;             /* what the map of the media keeps */
    uint32_t batch_paths;           /* 0: chosen. No influence on the result */
    double deadlines[PHOTON_LISTS]; /* of each list: photon_order.deadline */
    bool tiles;                     /* find them; else the caller has them from another pass */
    struct ranks *among;            /* who make the maps together: photon_order.among */
    bool apart; /* each keeps its photons of the global and of the caustic map */
} photon_options;

typedef struct photon_map {
    photon *photons; /* in the tree's order */
    vec3 *
        irradiance; /* W/m^2 at each photon by both maps, in the tree's order; NULL: not computed */
    pointtree tree;
    leafindex index;  /* answers as the tree does, faster on a CPU; none where lookups walk */
    uint64_t count;   /* of a map apart those of all ranks; its tree holds one's own */
    photon_run *runs; /* of a map apart: where these are in the list of all */
    uint32_t run_count;
    uint64_t emitted, rays;
    photon_ledger ledger; /* W */
    uint64_t hash;        /* of the photons in the order (path, bounce) */
    float radius;         /* largest gather radius */
    float scale;          /* flux_scale of the strongest channel of any photon */
    bool complete, cut;   /* as of a photon_list */
    bool built;           /* the tree was built here: nobody knew it before */
} photon_map;

typedef struct photon_maps {
    photon_map global, caustic, media;
    beam_set beams; /* in place of the photons and the tree of `media` */
    tile_set tiles;
    uint32_t gather;
    photon_kernel kernel;
    photon_estimator estimator;
    photon_lookup lookup;
    struct ranks *among; /* photon_options.among */
} photon_maps;

photon_options photon_options_default(void);

/* Stages of the job: emit, photon_tree. A map may come out empty or smaller than wanted: then
   `complete` is false and log_message has said why. */
kd_status photon_maps_open(photon_maps *out, const scene_view *scene, const photon_options *options,
                           job *watched);
/* The same in two steps: the photons of the global map, the caustic one and that of the media in
   the order (path, bounce), and maps of any such lists, which are taken and closed. */
kd_status photon_lists_open(photon_list out[PHOTON_LISTS], const scene_view *scene,
                            const photon_options *options, job *watched);
kd_status photon_maps_plant(photon_maps *out, const scene_view *scene,
                            photon_list lists[PHOTON_LISTS], const photon_options *options,
                            job *watched);
/* The irradiance by both maps at every photon of the global one, for a final gather that will ask
   more often than there are photons. Work: an estimate a photon, all cores. Stage of the job:
   photon_tree. */
kd_status photon_maps_precompute(photon_maps *maps, job *watched);
/* What ranks have computed of it, each its ranks_part of the photons, to all of them by `gather`
   (ranks_all_gather; exchange_gather where it is device memory). KD_INTERRUPTED on all if the job
   of one was cancelled. */
kd_status photon_irradiance_meet(struct ranks *among, vec3 *irradiance, uint64_t count,
                                 kd_status (*gather)(struct ranks *, void *, const uint64_t *),
                                 job *watched);
/* How the lists are to be emitted; that of the media wants nothing where none scatters light. Looks
   at the whole mesh; for another pass photon_orders_renew is enough. */
kd_status photon_orders_make(photon_order out[PHOTON_LISTS], const scene_view *scene,
                             const photon_options *options);
void photon_orders_renew(photon_order orders[PHOTON_LISTS], const photon_options *options);
/* What photon_maps_open and the like would refuse. */
kd_status photon_options_check(const photon_options *options);
extern const char *const photon_list_names[PHOTON_LISTS];
/* Says in the log why a list that is not complete is not, on a method's first pass. `list` needs no
   photons. */
void photon_map_say_missing(const photon_list *list, const char *name, const photon_order *order);
enum { RADIUS_PROBES = 1024 };
/* A map's radius by the distances of some photons to their k-th neighbours, which it sorts: twice
   their median, or that itself for a fixed one. */
float photon_radius_of(float *distances, uint64_t count, bool fixed);
/* Deadlines that leave each list that is wanted as much of the time from now to `end`
   (timing_now()); 0: none. */
void photon_options_limit(photon_options *of, double end);
/* Whether a deadline cut some list short. */
bool photon_maps_cut(const photon_maps *of);
void photon_maps_close(photon_maps *owned); /* takes a zeroed one */
/* What one map takes beside its list, while it is made and after. */
uint64_t photon_map_bytes_most(uint64_t photons);

photon_map_view photon_maps_global(const photon_maps *from);
photon_map_view photon_maps_caustic(const photon_maps *from);
/* The same map for one thread's looks that follow each other closely and add photons up, whose sums
   no order changes (flux_sum.h); *last is begun, and is to live as long as the view. */
photon_map_view photon_map_followed(const photon_map_view *map, photon_last *last);
photon_map_view photon_maps_media(const photon_maps *from);
beam_view photon_maps_beams(const photon_maps *from);
tile_view photon_maps_tiles(const photon_maps *from);
uint64_t photon_maps_hash(const photon_maps *from); /* of all */
/* Whether there are media that scatter light: else their map stays empty. */
bool photon_scene_scatters(const scene_view *scene);

#ifdef __cplusplus
}
#endif
#endif
