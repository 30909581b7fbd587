/* Irradiance at every photon, so that a final gather ray only needs the nearest photon.
   Source: Christensen 1999, "Faster photon map global illumination", Journal of Graphics Tools
           4(3); the estimate is in photon/density/estimate_radius.h.
   Work: two estimates per photon, on all cores; a gather ray then finds one photon instead of k.
   Memory: 16 bytes per photon.
   Invariants: the same bits for any number of threads. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "photon/density/estimate_radius.h"
#include "photon/maps/photon_map.h"

enum { PRECOMPUTE_GRAIN = 256 };

typedef struct precomputation {
    const photon_map_view *map, *caustic;
    const tile_view *tiles;
    irradiance_record *irradiance;
    uint64_t first; /* index of this rank's first photon */
    job_control *job;
} precomputation;

static void precompute(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const precomputation *work = (const precomputation *)context;
    photon_last last[2];
    const photon_map_view map = photon_map_followed(work->map, &last[0]),
                          caustic = photon_map_followed(work->caustic, &last[1]);
    if (job_cancelled(work->job)) return;
    for (int64_t i = begin; i < end; ++i) {
        const uint64_t at = work->first + (uint64_t)i;
        work->irradiance[at] = photon_irradiance_at(&map, &caustic, work->tiles, (uint32_t)at);
    }
    job_advance(work->job, end - begin);
}

kd_status photon_irradiance_exchange(ranks *comm, irradiance_record *irradiance, uint64_t count,
                                     kd_status (*gather)(ranks *, void *, const uint64_t *),
                                     job_control *job) {
    bool stopped = job_cancelled(job);
    if (ranks_shared(comm)) {
        uint64_t *begins = NULL, end = 0;
        KD_TRY(KD_RESERVE(begins, (uint64_t)comm->size + 1));
        for (int32_t r = 0; r < comm->size; ++r) {
            ranks_part(comm, r, count, &begins[r], &end);
            begins[r] *= sizeof *irradiance;
        }
        begins[comm->size] = count * sizeof *irradiance;
        const kd_status status = gather(comm, irradiance, begins);
        memory_free(begins);
        KD_TRY(status);
        KD_TRY(ranks_any(comm, stopped, &stopped));
    }
    KD_REQUIRE(!stopped, KD_INTERRUPTED, "computing the irradiance was interrupted");
    return KD_OK;
}

kd_status photon_maps_precompute(photon_maps *maps, job_control *job) {
    photon_map *map = &maps->global;
    if (map->count == 0 || map->irradiance) return KD_OK;
    irradiance_record *irradiance = NULL;
    KD_TRY(KD_RESERVE(irradiance, map->count));
    const photon_map_view view = photon_maps_global(maps);
    const tile_view tiles = photon_maps_tiles(maps);
    const photon_map_view caustic = photon_maps_caustic(maps);
    uint64_t first = 0, end = 0;
    ranks_part(maps->comm, maps->comm ? maps->comm->rank : 0, map->count, &first, &end);
    precomputation work = {&view, &caustic, &tiles, irradiance, first, job};
    job_stage_begin(job, "photon_tree", (int64_t)map->count);
    parallel_for((int64_t)(end - first), PRECOMPUTE_GRAIN, precompute, &work);
    const kd_status status =
        photon_irradiance_exchange(maps->comm, irradiance, map->count, ranks_all_gather, job);
    job_stage_end(job);
    if (status == KD_OK)
        map->irradiance = irradiance;
    else
        memory_free(irradiance);
    return status;
}
