/* Irradiance at every photon, once, so that a final gather asks for the nearest photon only.
   Source: Christensen 1999, "Faster photon map global illumination", Journal of Graphics Tools
   4(3); what is computed is in photon/density/precomputed.h.
   Work: two estimates a photon, all cores; then a gather ray asks for one photon, not for k.
   Memory: 12 bytes a photon. Invariants: the same bits on any number of threads. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "photon/density/precomputed.h"
#include "photon/maps/photon_map.h"

enum { PRECOMPUTE_GRAIN = 256 };

typedef struct precomputation {
    const photon_map_view *map, *caustic;
    const crease_view *creases;
    const mesh_view *mesh;
    vec3 *irradiance;
    job *watched;
} precomputation;

static void precompute(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const precomputation *work = (const precomputation *)context;
    if (job_cancelled(work->watched)) return;
    for (int64_t i = begin; i < end; ++i)
        work->irradiance[i] =
            photon_irradiance_at(work->map, work->caustic, work->creases, work->mesh, (uint32_t)i);
    job_advance(work->watched, end - begin);
}

kd_status photon_maps_precompute(photon_maps *maps, const mesh_view *mesh, job *watched) {
    photon_map *map = &maps->global;
    if (map->count == 0 || map->irradiance) return KD_OK;
    vec3 *irradiance = NULL;
    KD_TRY(KD_RESERVE(irradiance, map->count));
    const photon_map_view view = photon_maps_global(maps);
    const crease_view creases = crease_set_get_view(&maps->creases);
    const photon_map_view caustic = photon_maps_caustic(maps);
    precomputation work = {&view, &caustic, &creases, mesh, irradiance, watched};
    job_stage_begin(watched, "photon_tree", (int64_t)map->count);
    parallel_for((int64_t)map->count, PRECOMPUTE_GRAIN, precompute, &work);
    job_stage_end(watched);
    if (job_cancelled(watched)) {
        memory_free(irradiance);
        KD_FAIL(KD_INTERRUPTED, "interrupted");
    }
    map->irradiance = irradiance;
    return KD_OK;
}
