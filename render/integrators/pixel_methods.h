/* Sample functions of the integrators that use no photon maps, for CPU and GPU. Each is a pure
   function of its arguments. */
#ifndef KD_RENDER_INTEGRATORS_PIXEL_METHODS_H
#define KD_RENDER_INTEGRATORS_PIXEL_METHODS_H
#include "render/frame/pixel.h"
#include "shaders/path.h"

/* Radiance along a camera ray by recursive (Whitted) ray tracing.
   Source: Whitted 1980, "An improved illumination model for shaded display"; the cutoff of weak
           branches after Hall and Greenberg 1983, "A testbed for realistic image synthesis".
   Idea: at smooth glass and smooth coats both the reflected and the refracted ray are traced,
         weighted by the Fresnel terms, so they cause no noise; other surfaces receive direct light
         from one sampled light.
   Memory: a stack of pending rays of fixed size.
   Invariants: the expected value is that of direct light seen through mirrors and smooth glass
               (path.h with one scattering). Media: at most one point of a ray segment scatters
               light, which comes directly from one light.
   Differs from the sources in: at a branch too weak to split, one of the two rays is sampled
         instead of both being cut off, which is unbiased; there is no ambient term. */

enum { WHITTED_RAYS = 32 };
/* A ray with a smaller throughput is not split. */
#define WHITTED_MIN_SPLIT 0.015625f

typedef struct whitted_ray {
    struct ray ray;
    vec3 throughput;
    int32_t depth;   /* surfaces before this ray */
    uint32_t medium; /* the medium, as in path_state */
    float wavelength;
} whitted_ray;

typedef struct whitted_tree {
    whitted_ray rays[WHITTED_RAYS]; /* stack of pending rays */
    uint32_t count;
    uint32_t step; /* surfaces so far on all branches: the step of the random numbers */
    path_result result;
} whitted_tree;

/* Probability with which bsdf_draw selects the smooth upper interface; 0: there is none. */
KD_FN float whitted_mirror_odds(const surface *at, vec3 wo) {
    const bsdf_frame base = bsdf_frame_at(at, wo);
    if (at->kind == MATERIAL_DIFFUSE || (at->kind != MATERIAL_MIRROR && at->alpha > 0)) return 0;
    if (at->kind == MATERIAL_GLASS) return fresnel_dielectric(base.wo.z, base.glass.eta);
    return opaque_layers_of(at, base.wo).upper_odds;
}

KD_FN void whitted_push(whitted_tree *tree, const surface *at, const whitted_ray *ray,
                        const bsdf_sample *drawn, float share) {
    if (vec3_is_zero(drawn->weight) || !(share > 0)) return;
    whitted_ray *next = tree->rays + tree->count++;
    next->ray = surface_leave(at, drawn->direction, INFINITY);
    next->throughput = vec3_scale(vec3_mul(ray->throughput, drawn->weight), share);
    next->depth = ray->depth + 1;
    next->medium =
        medium_beyond_surface(at, vec3_negate(ray->ray.direction), drawn->direction, ray->medium);
    next->wavelength = ray->wavelength;
}

/* Traces the reflected and the refracted ray. */
KD_FN void whitted_split(whitted_tree *tree, const surface *at, const whitted_ray *ray,
                         rng_block random) {
    const vec3 wo = vec3_negate(ray->ray.direction);
    if (at->kind == MATERIAL_PRINCIPLED) { /* specular scattering of layered surfaces is sampled */
        const bsdf_sample drawn = bsdf_draw(at, wo, random, BSDF_RADIANCE);
        if (drawn.specular && tree->count < WHITTED_RAYS) whitted_push(tree, at, ray, &drawn, 1);
        return;
    }
    const float odds = whitted_mirror_odds(at, wo);
    const bool glass = at->kind == MATERIAL_GLASS && at->alpha == 0;
    if (!(odds > 0) && !glass) return;
    const bool splits =
        tree->count + 2 <= WHITTED_RAYS && vec3_largest(ray->throughput) >= WHITTED_MIN_SPLIT;
    if (glass && !splits) {
        const bsdf_sample drawn = bsdf_draw(at, wo, random, BSDF_RADIANCE);
        whitted_push(tree, at, ray, &drawn, 1);
        return;
    }
    random.value[2] = 0; /* selects reflection at the upper interface */
    if (odds > 0) {
        const bsdf_sample mirrored = bsdf_draw(at, wo, random, BSDF_RADIANCE);
        whitted_push(tree, at, ray, &mirrored, odds);
    }
    if (!glass || !(odds < 1)) return;
    random.value[2] = 0x1.fffffep-1f; /* selects what lies below the interface */
    const bsdf_sample refracted = bsdf_draw(at, wo, random, BSDF_RADIANCE);
    whitted_push(tree, at, ray, &refracted, 1 - odds);
}

/* Returns a path state at the origin of a ray. */
KD_FN path_state whitted_arrive(const scene_view *scene, const whitted_tree *tree,
                                const whitted_ray *ray) {
    path_state state = path_begin(ray->ray);
    state.throughput = ray->throughput;
    if (ray->depth > 0) state.pdf = 0;
    state.step = tree->step;
    state.flies = scene->medium_count > 0;
    state.medium = ray->medium;
    state.wavelength = ray->wavelength;
    return state;
}

KD_FN void whitted_visit(const scene_view *scene, scene_extent extent, const path_options *options,
                         whitted_tree *tree, const whitted_ray *ray, rng_key key) {
    path_state state = whitted_arrive(scene, tree, ray);
    const ray_hit hit = path_advance(scene, extent, options, &state, key, &tree->result);
    const bool last = ray->depth + 1 >= options->max_depth ||
                      (options->max_specular && ray->depth + 1 >= options->max_specular);
    tree->step = state.step;
    vec3 seen = vec3_all(0);
    if (state.in_volume) {
        if (ray->depth == 0 && hit.triangle != KD_NONE)
            tree->result.first = surface_at_instance(scene, &state.ray, hit, state.instance_id);
        if (!last)
            seen = path_light_in(scene, extent, options, state.place, state.medium,
                                 state.ray.direction, false,
                                 sobol_draw(key, state.step, PATH_DRAW_LIGHT), &tree->result.rays);
        tree->result.radiance = vec3_add(tree->result.radiance, vec3_mul(state.throughput, seen));
        return;
    }
    if (hit.triangle == KD_NONE) {
        tree->result.radiance =
            vec3_add(tree->result.radiance, path_sky_seen(scene, &state, ray->depth + 1));
        return;
    }
    const surface at = path_surface(scene, &state, hit, key, SURFACE_ANY);
    const vec3 wo = vec3_negate(state.ray.direction);
    if (ray->depth == 0) tree->result.first = at;
    seen = path_emission(scene, &state, &at);
    if (!last) {
        whitted_ray arrival = *ray; /* with the throughput, medium and wavelength on arrival */
        arrival.throughput = state.throughput;
        arrival.medium = state.medium;
        arrival.wavelength = state.wavelength;
        if (!surface_is_specular(&at))
            seen = vec3_add(
                seen,
                vec3_mul(arrival.throughput,
                         path_light_alone(scene, extent, options->cutouts, &at, wo, state.medium,
                                          sobol_draw(key, state.step, PATH_DRAW_LIGHT),
                                          &tree->result.rays)));
        whitted_split(tree, &at, &arrival, sobol_draw(key, state.step, PATH_DRAW_SCATTER));
    }
    tree->result.radiance = vec3_add(tree->result.radiance, seen);
}

/* `ray` has a unit direction; key.path is sobol_path(pixel, sample). */
KD_FN path_result whitted_radiance(const scene_view *scene, scene_extent extent,
                                   const path_options *options, ray ray, rng_key key) {
    whitted_tree tree;
    memset(&tree.result, 0, sizeof tree.result);
    tree.result.first.triangle = KD_NONE;
    tree.step = 0;
    tree.count = 1;
    tree.rays[0].ray = ray;
    tree.rays[0].throughput = vec3_all(1);
    tree.rays[0].depth = 0;
    tree.rays[0].wavelength = 0;
    tree.rays[0].medium = scene->medium_count > 0
                              ? transmittance_around(scene, extent, ray, &tree.result.rays)
                              : MEDIUM_FOG;
    while (tree.count > 0) {
        const whitted_ray next = tree.rays[--tree.count];
        whitted_visit(scene, extent, options, &tree, &next, key);
    }
    return tree.result;
}

/* Ambient occlusion: the fraction of a uniform white sky visible from the first surface, ignoring
   occluders further away than `reach`.
   Source: Zhukov, Iones and Kronin 1998, "An ambient light illumination model". */
KD_FN path_result ambient_radiance(const scene_view *scene, scene_extent extent,
                                   const path_options *options, ray ray, rng_key key, float reach) {
    path_result result;
    memset(&result, 0, sizeof result);
    result.first.triangle = KD_NONE;
    path_state state = path_begin(ray);
    const ray_hit hit = path_advance(scene, extent, options, &state, key, &result);
    if (hit.triangle == KD_NONE) {
        result.radiance = vec3_all(scene->environment.hidden ? 0 : 1);
        return result;
    }
    const surface at = surface_at_instance(scene, &state.ray, hit, state.instance_id);
    result.first = at;
    const rng_block random = sobol_draw(key, state.step, PATH_DRAW_SCATTER);
    const frame3 axes = frame3_around(at.front ? at.normal : vec3_negate(at.normal));
    const vec3 up =
        frame3_to_world(&axes, sample_cosine_hemisphere(random.value[0], random.value[1]));
    result.radiance = vec3_all(path_visibility(scene, extent, surface_leave(&at, up, reach),
                                               options->cutouts, &result.rays));
    return result;
}

KD_FN pixel_sample path_pixel(const pixel_view *view, scene_extent extent,
                              const path_options *options, int32_t x, int32_t y, uint32_t sample) {
    const rng_key key = pixel_key(view, x, y, sample);
    const ray ray = pixel_ray(view, x, y, key);
    const path_result result = path_radiance(view->scene, extent, options, ray, key);
    return pixel_of(view, &ray, &result.first, result.radiance, result.rays);
}

typedef struct whitted_options {
    path_options path;
    float reach; /* occluders beyond this distance are ignored, scene units */
} whitted_options;

KD_FN pixel_sample whitted_pixel(const pixel_view *view, scene_extent extent,
                                 const whitted_options *options, int32_t x, int32_t y,
                                 uint32_t sample) {
    const rng_key key = pixel_key(view, x, y, sample);
    const ray ray = pixel_ray(view, x, y, key);
    const path_result result = whitted_radiance(view->scene, extent, &options->path, ray, key);
    return pixel_of(view, &ray, &result.first, result.radiance, result.rays);
}

KD_FN pixel_sample ambient_pixel(const pixel_view *view, scene_extent extent,
                                 const whitted_options *options, int32_t x, int32_t y,
                                 uint32_t sample) {
    const rng_key key = pixel_key(view, x, y, sample);
    const ray ray = pixel_ray(view, x, y, key);
    const path_result result =
        ambient_radiance(view->scene, extent, &options->path, ray, key, options->reach);
    return pixel_of(view, &ray, &result.first, result.radiance, result.rays);
}

#endif
