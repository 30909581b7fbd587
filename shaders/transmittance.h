/* Transmittance along straight segments: cut-out surfaces, and media between surfaces.
   Idea: the medium around a ray is known at its origin and changes where the ray crosses a surface
   that bounds media (material.h). For a ray that starts at the camera or a light, the first such
   surface ahead determines the medium, whichever of its sides the ray hits.
   Work: one comparison in scenes without media. */
#ifndef KD_SHADERS_TRANSMITTANCE_H
#define KD_SHADERS_TRANSMITTANCE_H
#include "accel/instance_walk.h"
#include "accel/rays/batch.h"
#include "shaders/nested.h"
#include "shaders/surface.h"

enum { PATH_LAYERS = 256 }; /* limit of cut-outs along one ray */

/* --- Rays against the scene: its own tree, then the instances --- */

/* The geometry that rays are tested against. Always a compile-time constant, so that methods and
   kernels without instances have no code or registers for them. */
typedef enum scene_extent {
    SCENE_TREE,     /* the scene's own tree */
    SCENE_INSTANCED /* the scene's own tree and its instances */
} scene_extent;

/* Continues with the instances after the result of the scene's own tree. */
KD_FN_NOINLINE instance_hit scene_instance_cast(const scene_view *scene, ray ray, ray_hit before,
                                                bool any) {
    return instance_cast(&scene->instances, scene->mesh.positions, scene->mesh.triangles, ray,
                         before, any);
}
KD_FN ray_hit scene_go_on(const scene_view *scene, ray ray, ray_hit before, uint32_t *instance_id) {
    *instance_id = KD_NONE;
    if (scene->instances.count == 0) return before;
    const instance_hit hit = scene_instance_cast(scene, ray, before, false);
    *instance_id = hit.instance_id;
    return hit.at;
}
KD_FN bool scene_instance_blocks(const scene_view *scene, ray ray) {
    const ray_hit before = {ray.tmax, 0, 0, KD_NONE};
    return scene->instances.count != 0 &&
           scene_instance_cast(scene, ray, before, true).at.triangle != KD_NONE;
}

/* tritree_closest of the scene; sets *instance_id to the instance that was hit, or KD_NONE. */
KD_FN ray_hit scene_closest(const scene_view *scene, scene_extent extent, ray ray,
                            uint32_t *instance_id) {
    const ray_hit hit = tritree_closest(&scene->tree, ray);
    if (extent == SCENE_INSTANCED) return scene_go_on(scene, ray, hit, instance_id);
    *instance_id = KD_NONE;
    return hit;
}
KD_FN bool scene_occluded(const scene_view *scene, scene_extent extent, ray ray) {
    return tritree_occluded(&scene->tree, ray) ||
           (extent == SCENE_INSTANCED && scene_instance_blocks(scene, ray));
}

/* --- Media and cut-outs --- */

/* Returns the index of the medium that a path carries; medium_count or more: vacuum. In scenes with
   priorities paths carry a word of nested.h. */
KD_FN uint32_t medium_index(const scene_view *scene, uint32_t word) {
    const uint32_t index = scene->nested.count ? nested_medium(scene, word) : word;
    return index == MEDIUM_FOG ? scene->fog : index;
}

/* Returns NULL for vacuum. */
KD_FN const medium *medium_of(const scene_view *scene, uint32_t word) {
    const uint32_t index = medium_index(scene, word);
    return index < scene->medium_count ? scene->media + index : NULL;
}

/* Returns the part of a ray before `end` inside the sphere that media can fill. */
KD_FN medium_span transmittance_span(const scene_view *scene, const ray *ray, float end) {
    return medium_clip(scene->environment.scene_centre, scene->environment.scene_radius, ray, end);
}

/* Returns the medium behind the surface that a ray of this direction crosses. */
KD_FN uint32_t transmittance_beyond_instance(const scene_view *scene, uint32_t triangle,
                                             uint32_t instance_id, vec3 direction,
                                             uint32_t before) {
    const material *made = scene->materials + scene->mesh.triangle_materials[triangle];
    if (scene->nested.count) return nested_beyond(scene, triangle, instance_id, direction, before);
    if (!material_bounds_media(made)) return before;
    vec3 p[3];
    surface_corners(scene, triangle, instance_id, p);
    const vec3 normal = triangle_unit_normal(p[0], p[1], p[2]);
    return vec3_dot(direction, normal) < 0 ? made->medium : made->medium_outside;
}

KD_FN uint32_t transmittance_beyond(const scene_view *scene, uint32_t triangle, vec3 direction,
                                    uint32_t before) {
    return transmittance_beyond_instance(scene, triangle, KD_NONE, direction, before);
}

/* Returns true if the ray passes the hit, inside a medium of higher priority than its material. */
KD_FN bool transmittance_nested(const scene_view *scene, const ray *ray, uint32_t triangle,
                                uint32_t instance_id, uint32_t medium) {
    return scene->nested.count &&
           nested_passes(scene, triangle, instance_id, ray->direction, medium);
}

/* transmittance_around in scenes with priorities: counts, for each material, the surfaces that the
   ray leaves less those that it enters. */
KD_FN_NOINLINE uint32_t transmittance_around_nested(const scene_view *scene, scene_extent extent,
                                                    ray ray, uint32_t *rays) {
    const nested_view *nested = &scene->nested;
    int32_t around[NESTED_MAX];
    uint32_t word = 0;
    for (int i = 0; i < NESTED_MAX; ++i) around[i] = 0;
    for (int layer = 0; layer < PATH_LAYERS; ++layer) {
        uint32_t instance_id;
        ++*rays;
        const ray_hit hit = scene_closest(scene, extent, ray, &instance_id);
        if (hit.triangle == KD_NONE) break;
        const uint32_t place = nested_place(nested, scene->mesh.triangle_materials[hit.triangle]);
        if (place < nested->count)
            around[place] += nested_front(scene, hit.triangle, instance_id, ray.direction) ? -1 : 1;
        ray.tmin = hit.t;
    }
    for (uint32_t i = 0; i < nested->count; ++i) {
        const int32_t meshes = around[i] < 0             ? 0
                               : around[i] < NESTED_MASK ? around[i]
                                                         : NESTED_MASK;
        word |= (uint32_t)meshes << (NESTED_BITS * i);
    }
    return word;
}

/* Returns the medium at a ray's origin. */
KD_FN uint32_t transmittance_around(const scene_view *scene, scene_extent extent, ray ray,
                                    uint32_t *rays) {
    if (scene->nested.count) return transmittance_around_nested(scene, extent, ray, rays);
    for (int layer = 0; layer < PATH_LAYERS; ++layer) {
        uint32_t instance_id;
        ++*rays;
        const ray_hit hit = scene_closest(scene, extent, ray, &instance_id);
        if (hit.triangle == KD_NONE) break;
        /* In the opposite direction, the medium behind the surface is that of the origin. */
        const uint32_t medium_after = transmittance_beyond_instance(
            scene, hit.triangle, instance_id, vec3_negate(ray.direction), MEDIUM_SAME);
        if (medium_after != MEDIUM_SAME) return medium_after;
        ray.tmin = hit.t;
    }
    return MEDIUM_FOG;
}

/* Returns the index of refraction of dispersive glass; `medium` is the medium on the side that was
   hit. */
KD_FN float transmittance_spectral_index(const scene_view *scene, const surface *at,
                                         uint32_t medium, float wavelength) {
    return scene->nested.count
               ? nested_surface_index(scene, at->material, at->front, medium, wavelength)
               : spectrum_index(scene->materials + at->material, wavelength);
}

/* Returns the medium that a ray from a surface enters; `medium` is the medium on wo's side. */
KD_FN uint32_t medium_beyond_surface(const surface *at, vec3 wo, vec3 direction, uint32_t medium) {
    const bool crosses = !(at->smooth_height > 0) &&
                         vec3_dot(wo, at->geometric) * vec3_dot(direction, at->geometric) < 0;
    return crosses && at->beyond != MEDIUM_SAME ? at->beyond : medium;
}

/* Returns the fraction of light that cut-outs let pass along a ray: 0 blocked, 1 free. Continues
   the same ray from the t of a skipped surface, so no offset is needed. */
KD_FN float path_visibility(const scene_view *scene, scene_extent extent, ray ray, bool cutouts,
                            uint32_t *rays) {
    ++*rays;
    if (!cutouts) return scene_occluded(scene, extent, ray) ? 0 : 1;
    float share = 1;
    for (int layer = 0; layer < PATH_LAYERS; ++layer) {
        uint32_t instance_id;
        const ray_hit hit = scene_closest(scene, extent, ray, &instance_id);
        if (hit.triangle == KD_NONE) return share;
        share *= float_clamp(surface_passes(scene, hit), 0, 1);
        if (!(share > 0)) return 0;
        ray.tmin = hit.t;
        ++*rays;
    }
    return 0;
}

/* Multiplies `before` by the transmittance of the medium up to t = end. */
KD_FN vec3 transmittance_weaken(const scene_view *scene, const ray *ray, float end,
                                uint32_t medium_index, vec3 before) {
    if (scene->medium_count == 0) return before; /* avoids an unused load on a GPU */
    const medium *in = medium_of(scene, medium_index);
    if (!in) return before;
    const medium_span span = transmittance_span(scene, ray, end);
    const float length = (span.end - span.begin) * vec3_length(ray->direction);
    return length > 0 ? vec3_mul(before, medium_transmittance(in, length)) : before;
}

/* Light along a ray, through cut-outs and media. */
typedef struct transmittance_walk {
    struct ray ray;       /* the rest of the ray */
    vec3 share;           /* transmittance so far */
    uint32_t medium;      /* the current medium */
    uint32_t instance_id; /* instance that the ray has hit; KD_NONE: not instanced */
    int32_t layers;       /* cut-outs passed */
    bool to_camera;       /* passes what the camera does not see */
} transmittance_walk;

KD_FN transmittance_walk transmittance_begin(ray ray, uint32_t medium) {
    transmittance_walk walk;
    walk.ray = ray;
    walk.share = vec3_all(1);
    walk.medium = medium;
    walk.instance_id = KD_NONE;
    walk.layers = 0;
    walk.to_camera = false;
    return walk;
}

/* Processes a hit of the ray. Returns true if some light passes and the rest of the ray is to be
   cast; false if walk->share is the result. */
KD_FN bool transmittance_step(const scene_view *scene, transmittance_walk *walk, ray_hit hit) {
    const bool free = hit.triangle == KD_NONE;
    walk->share = transmittance_weaken(scene, &walk->ray, free ? walk->ray.tmax : hit.t,
                                       walk->medium, walk->share);
    if (free) return false;
    const bool hidden = walk->to_camera && surface_is_hidden(scene, hit.triangle);
    if (!hidden &&
        !transmittance_nested(scene, &walk->ray, hit.triangle, walk->instance_id, walk->medium))
        walk->share = vec3_scale(walk->share, float_clamp(surface_passes(scene, hit), 0, 1));
    const bool dark = !(vec3_largest(walk->share) > 0);
    if (dark || ++walk->layers == PATH_LAYERS) {
        walk->share = vec3_all(0);
        return false;
    }
    if (scene->medium_count && !hidden)
        walk->medium = transmittance_beyond_instance(scene, hit.triangle, walk->instance_id,
                                                     walk->ray.direction, walk->medium);
    walk->ray.tmin = hit.t;
    return true;
}

/* Returns the transmittance along a ray, per channel, of media and cut-outs. */
KD_FN vec3 transmittance_along(const scene_view *scene, scene_extent extent,
                               transmittance_walk walk, bool cutouts, uint32_t *rays) {
    if (!cutouts) {
        ++*rays;
        if (scene_occluded(scene, extent, walk.ray)) return vec3_all(0);
        return transmittance_weaken(scene, &walk.ray, walk.ray.tmax, walk.medium, vec3_all(1));
    }
    do ++*rays;
    while (transmittance_step(scene, &walk,
                              scene_closest(scene, extent, walk.ray, &walk.instance_id)));
    return walk.share;
}

/* The same for a ray that starts in medium `medium`. */
KD_FN vec3 path_transmittance(const scene_view *scene, scene_extent extent, ray ray,
                              uint32_t medium, bool cutouts, uint32_t *rays) {
    return transmittance_along(scene, extent, transmittance_begin(ray, medium), cutouts, rays);
}

#endif
