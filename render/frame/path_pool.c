/* Path tracing as wavefronts on a CPU.
   Source: Laine, Karras, Aila 2013, "Megakernels considered harmful: wavefront path tracing on
           GPUs".
   Idea: a single ray waits for memory in each traversal step; in batches of hundreds of rays,
         others proceed meanwhile (accel/wide). So each thread has a pool of paths, and a wavefront
         advances all of them by one surface: new paths fill the pool, all rays are traced, random
         numbers are drawn for sixteen paths at a time, all surfaces are shaded, all shadow rays are
         traced.
   Memory: some 160 kB of heap while it runs.
   Invariants: the terms added to a sample, and their order, are those of path_follow
               (shaders/path.h), and random numbers depend on (pixel, sample, step): the bits are
               those of path_radiance. */
#include "accel/rays/batch.h"
#include "core/math/sobol_many.h"
#include "core/memory.h"
#include "render/frame/light_groups.h"
#include "render/frame/waves.h"

enum { POOL = 512 };

typedef struct pooled_path {
    path_state state;
    rng_key key;
    int32_t depth;
    uint32_t sample; /* index of the sample to add to */
} pooled_path;

typedef struct pooled_shadow {
    shadow_request request;
    vec3 throughput;
    uint32_t sample, light; /* `light` is known if there are groups */
    bool indirect;          /* the path has scattered before */
} pooled_shadow;

typedef struct path_pool {
    const pixel_view *view;
    const path_options *options;
    const pixel_request *requests;
    pixel_sample *samples;
    const light_groups *groups; /* NULL: none */
    uint32_t count, next;       /* number of samples; next one to start */
    uint32_t active, shadows;   /* number of paths; number of shadow rays in this wavefront */
    camera_sight sight;
    rng_block light[POOL], scatter[POOL]; /* random numbers for the paths' next surfaces */
    pooled_path paths[POOL];
    pooled_shadow pending[POOL];
    ray rays[POOL];
    ray_hit hits[POOL];
    uint8_t blocked[POOL];
} path_pool;

/* Draws random numbers for the paths begin ... end - 1, for the surface `steps` further. */
static void draw_numbers(const path_pool *p, uint32_t begin, uint32_t end, uint32_t steps,
                         uint32_t dimension, rng_block *out) {
    sobol_batch request = {.seed = p->view->seed, .pass = PIXEL_PASS, .dimension = dimension};
    rng_block drawn[SOBOL_MANY];
    for (uint32_t first = begin; first < end; first += SOBOL_MANY) {
        const uint32_t count = end - first < SOBOL_MANY ? end - first : SOBOL_MANY;
        for (uint32_t i = 0; i < SOBOL_MANY; ++i) {
            const pooled_path *path = p->paths + first + (i < count ? i : 0);
            request.path[i] = path->key.path;
            request.bounce[i] = path->state.step + steps;
        }
        sobol_draw_many(&request, drawn);
        memcpy(out + first, drawn, count * sizeof *drawn);
    }
}

static void begin_paths(path_pool *p) {
    const uint32_t before = p->active, first = p->next;
    for (; p->active < POOL && p->next < p->count; ++p->next, ++p->active) {
        const pixel_request *at = p->requests + p->next;
        pooled_path *path = p->paths + p->active;
        path->key = pixel_key(p->view, at->x, at->y, at->sample);
        path->depth = 1;
        path->sample = p->next;
        path->state.step = 0;
    }
    draw_numbers(p, before, p->active, 0, PATH_DRAW_CAMERA, p->light);
    for (uint32_t i = before; i < p->active; ++i) {
        const pixel_request *at = p->requests + first + (i - before);
        pooled_path *path = p->paths + i;
        pixel_sample *to = p->samples + path->sample;
        to->radiance = vec3_all(0);
        to->rays = 0;
        const ray ray = pixel_ray_by(p->view, &p->sight, at->x, at->y, path->key, p->light[i]);
        path->state = path_begin_in(p->view->scene, SCENE_INSTANCED, ray, &to->rays);
    }
}

/* Sets the first surface of a sample; keeps the radiance and ray count. */
static void take_first(const path_pool *p, pixel_sample *sample, const ray *ray,
                       const surface *at) {
    *sample = pixel_of_by(p->view, p->sight.axes.normal, ray, at, sample->radiance, sample->rays);
}

/* Adds to a sample what comes from a light source. */
static void add_radiance(const path_pool *p, uint32_t sample, uint32_t light, vec3 radiance) {
    const pixel_request *at = p->requests + sample;
    p->samples[sample].radiance = vec3_add(p->samples[sample].radiance, radiance);
    if (p->groups)
        light_groups_add(p->groups, at->x, at->y, light_groups_find(p->groups, light), radiance);
}

/* Returns the light source that path_sample_light_by has chosen. */
static uint32_t light_sampled(const scene_view *scene, const path_state *state, path_turn turn,
                              const surface *at, rng_block random) {
    const bool in_volume = turn == PATH_SCATTERS_IN_VOLUME;
    const vec3 normal =
        in_volume ? vec3_all(0) : path_light_normal(at, vec3_negate(state->ray.direction));
    float chance;
    return light_choose(scene, in_volume ? state->place : at->position, normal, random.value[2],
                        &chance);
}

static void sample_light(path_pool *p, const pooled_path *path, path_turn turn, const surface *at,
                         rng_block random, pixel_sample *sample) {
    pooled_shadow *shadow = p->pending + p->shadows;
    if (path_sample_light_by(p->view->scene, &path->state, turn, at, random, &shadow->request)) {
        shadow->throughput = path->state.throughput;
        shadow->sample = path->sample;
        shadow->indirect = path->state.scattered > 0;
        if (p->groups)
            shadow->light = light_sampled(p->view->scene, &path->state, turn, at, random);
        ++p->shadows;
        return;
    }
    const vec3 none = shadow_request_light(&shadow->request, vec3_all(0));
    sample->radiance = vec3_add(sample->radiance, vec3_mul(path->state.throughput, none));
}

/* Shades the hit of a path's ray; returns true if the path has another ray. */
static bool shade_path(path_pool *p, uint32_t number) {
    pooled_path *path = p->paths + number;
    ray_hit hit = p->hits[number];
    const scene_view *scene = p->view->scene;
    pixel_sample *to = p->samples + path->sample;
    surface at;
    vec3 sent;
    ++to->rays;
    ++path->state.step;
    if (path_passes(scene, p->options, &path->state, path->key, &hit)) return true;
    const path_turn turn = path_arrive(scene, p->options, &path->state, path->depth, hit, path->key,
                                       SURFACE_ANY, &at, &sent);
    if (path->depth == 1) take_first(p, to, &path->state.ray, &at);
    add_radiance(p, path->sample, light_groups_light_found(scene, hit.triangle), sent);
    if (path_seeks_light(turn, &at)) sample_light(p, path, turn, &at, p->light[number], to);
    return turn != PATH_ENDS &&
           path_go_on_by(scene, &path->state, turn, &at, path->depth++, p->scatter[number]);
}

/* Traces the rays of all paths and shades their hits; paths that continue are kept in order. */
static void take_step(path_pool *p) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->active; ++i) p->rays[i] = p->paths[i].state.ray;
    (void)trace_closest(&p->view->scene->tree, p->rays, p->hits, p->active, NULL, NULL);
    p->shadows = 0;
    draw_numbers(p, 0, p->active, 1, PATH_DRAW_LIGHT, p->light);
    draw_numbers(p, 0, p->active, 1, PATH_DRAW_SCATTER, p->scatter);
    for (uint32_t i = 0; i < p->active; ++i) {
        p->hits[i] =
            scene_go_on(p->view->scene, p->rays[i], p->hits[i], &p->paths[i].state.instance_id);
        if (!shade_path(p, i)) continue;
        if (kept != i) p->paths[kept] = p->paths[i];
        ++kept;
    }
    p->active = kept;
}

/* Fraction of light transmitted along a shadow ray whose first segment has been traced. */
static vec3 shadow_share(path_pool *p, uint32_t i, uint32_t *rays) {
    const scene_view *scene = p->view->scene;
    const shadow_request *request = &p->pending[i].request;
    ++*rays;
    if (!p->options->cutouts)
        return p->blocked[i] || scene_instance_blocks(scene, request->ray)
                   ? vec3_all(0)
                   : transmittance_weaken(scene, &request->ray, request->ray.tmax, request->medium,
                                          vec3_all(1));
    transmittance_walk walk = transmittance_begin(request->ray, request->medium);
    ray_hit hit = scene_go_on(scene, walk.ray, p->hits[i], &walk.instance_id);
    while (transmittance_step(scene, &walk, hit)) {
        ++*rays;
        hit = scene_closest(scene, SCENE_INSTANCED, walk.ray, &walk.instance_id);
    }
    return walk.share;
}

static void cast_shadows(path_pool *p) {
    const tritree_view *tree = &p->view->scene->tree;
    for (uint32_t i = 0; i < p->shadows; ++i) p->rays[i] = p->pending[i].request.ray;
    if (p->options->cutouts)
        (void)trace_closest(tree, p->rays, p->hits, p->shadows, NULL, NULL);
    else
        (void)trace_occluded(tree, p->rays, p->blocked, p->shadows, NULL, NULL);
    for (uint32_t i = 0; i < p->shadows; ++i) {
        const pooled_shadow *shadow = p->pending + i;
        pixel_sample *to = p->samples + shadow->sample;
        const vec3 direct = shadow_request_light(&shadow->request, shadow_share(p, i, &to->rays));
        add_radiance(
            p, shadow->sample, shadow->light,
            path_clamped(p->options, shadow->indirect, vec3_mul(shadow->throughput, direct)));
    }
}

bool path_pool_take(const pixel_view *view, const path_options *options,
                    const pixel_request *request, uint32_t count, pixel_sample *samples,
                    const light_groups *groups) {
    path_pool *p = (path_pool *)memory_try_allocate(sizeof *p);
    if (!p) return false;
    p->view = view;
    p->options = options;
    p->requests = request;
    p->samples = samples;
    p->groups = groups && groups->sums ? groups : NULL;
    p->count = count;
    p->next = p->active = 0;
    p->sight = camera_sight_of(&view->eye, view->height);
    for (begin_paths(p); p->active; begin_paths(p)) {
        take_step(p);
        cast_shadows(p);
    }
    memory_free(p);
    return true;
}
