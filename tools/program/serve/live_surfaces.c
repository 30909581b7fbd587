/* Channels of the surface at the centre of each pixel, which a film does not have. */
#include "core/parallel/parallel.h"
#include "render/api/light_paths.h"
#include "render/frame/frame.h"
#include "render/photon_mapping/photon.h"
#include "tools/program/serve/live_answers.h"
#include <math.h>
#include <stdlib.h>

/* Half floats hold integers up to this. */
enum { IDS = 2048, ROWS_GRAIN = 1 };

typedef struct surfaces {
    const render_moment *now;
    live_picture *to;
    photon_map_view map; /* of the channels of photons */
    int channel;
} surfaces;

bool live_estimate_map(photon_map_view *out, bool *global, const light_source *source,
                       const photon_maps *maps) {
    if (!maps || (maps->global.count == 0 && maps->caustic.count == 0)) return false;
    *global = maps->global.count > 0;
    *out = *global ? photon_maps_global(maps) : photon_maps_caustic(maps);
    if (source->view) { /* the radius of sppm shrinks from pass to pass */
        const photon_map_view *view = *global ? &source->view->global : &source->view->caustic;
        out->gather = view->gather;
        out->radius = view->radius;
    }
    return true;
}

void live_gather(photon_gathering *out, const photon_map_view *map, vec3 position) {
    photon_map_view many = *map;
    if (map->gather == 0) many.gather = PIXEL_PHOTONS_MAX;
    photon_gather(&many, position, out);
}

static float photons_at(const surfaces *work, vec3 position) {
    photon_gathering gathered;
    live_gather(&gathered, &work->map, position);
    if (work->channel == LIVE_DENSITY)
        return (float)gathered.count / (KD_PI * gathered.radius * gathered.radius);
    return work->map.gather ? gathered.radius : work->map.radius;
}

static float value_at(const surfaces *work, int32_t x, int32_t y) {
    const scene_view *scene = work->now->frame->scene;
    live_query pixel = {.x = x, .y = y};
    uint32_t instance_id;
    ray ray;
    if (!live_centre_ray(&ray, &pixel, work->now)) return INFINITY;
    if (work->channel == LIVE_COST) return (float)live_ray_nodes(scene, ray);
    const ray_hit hit = scene_closest(scene, SCENE_INSTANCED, ray, &instance_id);
    if (hit.triangle == KD_NONE) return INFINITY;
    if (work->channel == LIVE_TRIANGLE) return (float)(hit.triangle % IDS);
    if (work->channel == LIVE_MATERIAL)
        return (float)(scene->mesh.triangle_materials[hit.triangle] % IDS);
    return photons_at(work, ray_at(&ray, hit.t));
}

static void show_rows(void *context, int64_t begin, int64_t end, int thread) {
    const surfaces *work = (const surfaces *)context;
    const uint32_t width = work->to->width;
    (void)thread;
    for (int64_t y = begin; y < end; ++y)
        for (uint32_t x = 0; x < width; ++x)
            work->to->values[(size_t)y * width + x] =
                live_half(value_at(work, (int32_t)x, (int32_t)y));
}

void live_query_surfaces(live_query *query, live_session *live, const render_moment *now) {
    const film *film = now->film;
    surfaces work = {.now = now, .channel = query->x};
    if (work.channel == LIVE_RADIUS || work.channel == LIVE_DENSITY) {
        const light_source source = light_source_of(now->frame);
        bool global;
        if (!live_estimate_map(&work.map, &global, &source, live_host_maps(query, live, now))) {
            live_fail(query, 409, "there are no photons; set the integrator to photon or sppm");
            return;
        }
    }
    work.to = live_picture_open((uint32_t)film->width, (uint32_t)film->height, 1);
    if (work.to) {
        work.to->number = live->state.picture;
        parallel_for(film->height, ROWS_GRAIN, show_rows, &work);
    }
    live_finish(query, work.to, 0);
}
