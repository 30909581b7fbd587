/* Textures on a surface: colours multiplied by textures, shading normals perturbed by normal and
   bump maps; and the layers of a principled surface at a point, textures applied. Both kinds of map
   perturb the normal by slopes along the texture's axes, so neither depends on the scale of the
   scene. */
#ifndef KD_SHADERS_SURFACE_LAYERS_H
#define KD_SHADERS_SURFACE_LAYERS_H
#include "shaders/scene_view.h"

/* A point in the mesh's two sets of texture coordinates. */
typedef struct surface_uv {
    vec2 first, second;
} surface_uv;

/* Samples a texture at a point. */
KD_FN vec3 surface_sample(const scene_view *scene, uint32_t map, surface_uv at) {
    const texture_view *from = scene->textures + map;
    return texture_sample(from, from->clamp & TEXTURE_SECOND ? at.second : at.first);
}

/* Returns `constant` times the texture `map` (KD_NONE: none) at a point. Here and below, a scene
   whose `textures` is NULL has none, which kernels know before they load the material. */
KD_FN vec3 surface_texture(const scene_view *scene, uint32_t map, surface_uv at, vec3 constant) {
    if (!scene->textures || map == KD_NONE) return constant;
    return vec3_mul(constant, surface_sample(scene, map, at));
}

/* Returns a triangle's corners in world space, in an instance or (KD_NONE) in none. */
KD_FN void surface_corners(const scene_view *scene, uint32_t triangle, uint32_t instance_id,
                           vec3 out[3]) {
    const uint32_t *corner = scene->mesh.triangles + 3 * (size_t)triangle;
    for (int i = 0; i < 3; ++i) out[i] = scene->mesh.positions[corner[i]];
    if (instance_id == KD_NONE) return;
    for (int i = 0; i < 3; ++i)
        out[i] = instance_corner(scene->instances.list + instance_id, out[i]);
}

KD_FN bool surface_has_texcoords(const mesh_view *mesh, uint32_t triangle) {
    if (!mesh->texcoord_indices) return false;
    const uint32_t *corner = mesh->texcoord_indices + 3 * (size_t)triangle;
    return corner[0] != KD_NONE && corner[1] != KD_NONE && corner[2] != KD_NONE;
}

/* Interpolates texture coordinates; all three corners must have them. */
KD_FN vec2 surface_blend(const vec2 *texcoords, const uint32_t corner[3], ray_hit hit) {
    const vec2 a = texcoords[corner[0]], b = texcoords[corner[1]], c = texcoords[corner[2]];
    const float w = 1 - hit.u - hit.v;
    return vec2_make(w * a.x + hit.u * b.x + hit.v * c.x, w * a.y + hit.u * b.y + hit.v * c.y);
}

/* Returns (0, 0) if the triangle has no texture coordinates. Without a second set, `second` equals
   `first`. */
KD_FN surface_uv surface_texcoord(const mesh_view *mesh, ray_hit hit) {
    surface_uv at;
    at.first = at.second = vec2_make(0, 0);
    if (!surface_has_texcoords(mesh, hit.triangle)) return at;
    const uint32_t *corner = mesh->texcoord_indices + 3 * (size_t)hit.triangle;
    at.first = at.second = surface_blend(mesh->texcoords, corner, hit);
    if (mesh->texcoords_second) at.second = surface_blend(mesh->texcoords_second, corner, hit);
    return at;
}

/* Interpolates vertex colours and opacities; the mesh must have some. */
KD_FN vec3 surface_corner_colour(const mesh_view *mesh, ray_hit hit, float *opacity) {
    *opacity = 1;
    if (!surface_has_texcoords(mesh, hit.triangle)) return vec3_all(1);
    const uint32_t *corner = mesh->texcoord_indices + 3 * (size_t)hit.triangle;
    const float *a = mesh->colours + 4 * (size_t)corner[0];
    const float *b = mesh->colours + 4 * (size_t)corner[1];
    const float *c = mesh->colours + 4 * (size_t)corner[2];
    const float w = 1 - hit.u - hit.v;
    *opacity = w * a[3] + hit.u * b[3] + hit.v * c[3];
    return vec3_make(w * a[0] + hit.u * b[0] + hit.v * c[0], w * a[1] + hit.u * b[1] + hit.v * c[1],
                     w * a[2] + hit.u * b[2] + hit.v * c[2]);
}

/* Computes the tangent frame from the mesh's interpolated tangents. Returns false if a corner has
   none. */
KD_FN_NOINLINE bool surface_tangent_frame(const scene_view *scene, ray_hit hit,
                                          uint32_t instance_id, vec3 normal, frame3 *axes) {
    const mesh_view *mesh = &scene->mesh;
    const float share[3] = {1 - hit.u - hit.v, hit.u, hit.v};
    vec3 sum = vec3_all(0);
    float side = 0;
    for (int i = 0; i < 3; ++i) {
        const uint32_t corner = mesh->normal_indices[3 * (size_t)hit.triangle + (size_t)i];
        if (corner == KD_NONE) return false;
        const float *t = mesh->tangents + 4 * (size_t)corner;
        if (t[3] == 0) return false;
        sum = vec3_along(sum, share[i], vec3_make(t[0], t[1], t[2]));
        side += share[i] * t[3];
    }
    if (instance_id != KD_NONE) {
        const transform *transform = &scene->instances.list[instance_id].to_world;
        sum = transform_direction(transform, sum);
        if (transform_determinant(transform) < 0) side = -side;
    }
    const vec3 along = vec3_normalize(vec3_along(sum, -vec3_dot(sum, normal), normal));
    if (vec3_is_zero(along)) return false;
    axes->tangent = along;
    axes->bitangent = vec3_scale(vec3_cross(normal, along), side < 0 ? -1.0f : 1.0f);
    axes->normal = normal;
    return true;
}

/* Computes unit directions in which u and v of the texture's set grow over the triangle, orthogonal
   to `normal`; the frame has the texture's handedness. Returns false if the texture coordinates are
   degenerate. */
KD_FN bool surface_texture_frame(const scene_view *scene, uint32_t map, ray_hit hit,
                                 uint32_t instance_id, vec3 normal, frame3 *axes) {
    const mesh_view *mesh = &scene->mesh;
    const uint32_t triangle = hit.triangle;
    if (mesh->tangents && surface_tangent_frame(scene, hit, instance_id, normal, axes)) return true;
    if (!surface_has_texcoords(mesh, triangle)) return false;
    const uint32_t *uv = mesh->texcoord_indices + 3 * (size_t)triangle;
    const vec2 *texcoords = mesh->texcoords;
    if (mesh->texcoords_second && map != KD_NONE && scene->textures[map].clamp & TEXTURE_SECOND)
        texcoords = mesh->texcoords_second;
    vec3 p[3];
    surface_corners(scene, triangle, instance_id, p);
    const vec3 ab = vec3_sub(p[1], p[0]), ac = vec3_sub(p[2], p[0]);
    const vec2 ta = texcoords[uv[0]], tb = texcoords[uv[1]], tc = texcoords[uv[2]];
    const float bu = tb.x - ta.x, bv = tb.y - ta.y, cu = tc.x - ta.x, cv = tc.y - ta.y;
    const float area = bu * cv - bv * cu;
    if (!(fabsf(area) > 0)) return false;
    const float sign = area < 0 ? -1.0f : 1.0f;
    /* dp/du up to a positive factor. */
    vec3 along = vec3_normalize(vec3_scale(vec3_sub(vec3_scale(ab, cv), vec3_scale(ac, bv)), sign));
    along = vec3_normalize(vec3_along(along, -vec3_dot(along, normal), normal));
    if (vec3_is_zero(along)) return false;
    axes->tangent = along;
    axes->bitangent = vec3_scale(vec3_cross(normal, along), sign);
    axes->normal = normal;
    return true;
}

/* Returns the slope of the height map at `texcoord` along u and v, in heights of white per image
   size, by central differences of one texel. */
KD_FN_CALL vec2 surface_bump_slope(const texture_view *map, vec2 texcoord) {
    const float across = float_max(fabsf(map->scale.x), fabsf(map->shear.y));
    const float up = float_max(fabsf(map->scale.y), fabsf(map->shear.x));
    const float du = 1 / ((float)map->width * float_max(across, 1e-6f));
    const float dv = 1 / ((float)map->height * float_max(up, 1e-6f));
    const float right = texture_sample(map, vec2_make(texcoord.x + du, texcoord.y)).x;
    const float left = texture_sample(map, vec2_make(texcoord.x - du, texcoord.y)).x;
    const float above = texture_sample(map, vec2_make(texcoord.x, texcoord.y + dv)).x;
    const float below = texture_sample(map, vec2_make(texcoord.x, texcoord.y - dv)).x;
    return vec2_make((right - left) / (2 * du), (above - below) / (2 * dv));
}

/* Returns true if a map perturbs the material's normals. */
KD_FN bool surface_is_mapped(const scene_view *scene, const material *made) {
    return scene->textures && (made->normal_map != KD_NONE || made->bump_map != KD_NONE);
}

/* Returns the shading normal perturbed by the material's maps; `normal` if it has none. */
KD_FN vec3 surface_mapped_normal(const scene_view *scene, uint32_t index, ray_hit hit,
                                 uint32_t instance_id, surface_uv at, vec3 normal) {
    frame3 axes;
    const material *made = scene->materials + index;
    if (!surface_is_mapped(scene, made)) return normal;
    if (!surface_texture_frame(scene, made->normal_map, hit, instance_id, normal, &axes))
        return normal;
    vec3 local = vec3_make(0, 0, 1);
    if (made->normal_map != KD_NONE) {
        const vec3 texel = surface_sample(scene, made->normal_map, at);
        local = vec3_make(2 * texel.x - 1, 2 * texel.y - 1, float_max(2 * texel.z - 1, 0));
        if (made->kind == MATERIAL_PRINCIPLED) {
            local.x *= scene->layers[index].normal_scale;
            local.y *= scene->layers[index].normal_scale;
        }
    }
    if (made->bump_map != KD_NONE) {
        const vec2 slope = surface_bump_slope(scene->textures + made->bump_map, at.first);
        local.x -= made->bump_scale * slope.x;
        local.y -= made->bump_scale * slope.y;
    }
    const vec3 turned = vec3_normalize(frame3_to_world(&axes, local));
    return vec3_is_zero(turned) ? normal : turned;
}

/* --- Layers --- */

typedef struct surface_layers {
    vec3 tangent;     /* unit, approximately tangential; zero: alpha_u equals alpha_v */
    vec3 coat_normal; /* unit, in the geometric normal's hemisphere */
    float alpha_u;    /* GGX alpha along the tangent */
    float alpha_v;    /* GGX alpha across the tangent */
    vec3 specular_tint;
    float coat_index; /* index for the base's reflection: ior, modified by `specular` */
    vec3 sheen;
    float sheen_roughness;
    float clear, clear_alpha, clear_ior; /* fraction, GGX alpha and index of the clear coat */
    float transmission;
    bool thin;
} surface_layers;

/* Returns the GGX alpha of a perceptual roughness; 0: smooth. */
KD_FN float surface_alpha(float roughness) {
    const float alpha = roughness * roughness;
    return alpha < 1e-3f ? 0 : alpha;
}

/* Returns the index whose normal reflectance is `factor` times that of ior. */
KD_FN float surface_index_scaled(float ior, float factor) {
    if (factor == 1) return ior;
    const float root = (ior - 1) / (ior + 1);
    const float scaled = sqrtf(float_clamp(factor * root * root, 0, 0.9f));
    return (1 + scaled) / (1 - scaled);
}

/* Returns the direction of a normal map in a frame; `scale` multiplies its slopes. */
KD_FN vec3 surface_normal_of_map(const scene_view *scene, uint32_t map, surface_uv uv, float scale,
                                 const frame3 *axes) {
    const vec3 texel = surface_sample(scene, map, uv);
    const vec3 local = vec3_make(scale * (2 * texel.x - 1), scale * (2 * texel.y - 1),
                                 float_max(2 * texel.z - 1, 0));
    const vec3 turned = vec3_normalize(frame3_to_world(axes, local));
    return vec3_is_zero(turned) ? axes->normal : turned;
}

/* Anisotropic GGX: alpha along the tangent is divided by sqrt(1 - 0.9 anisotropy), alpha across it
   multiplied, as in Burley 2012, "Physically based shading at Disney". `axes`: u and v on the
   surface, if it has texture coordinates. */
KD_FN void surface_stretch(surface_layers *layers, const scene_view *scene,
                           const principled *principled, surface_uv uv, float alpha,
                           const frame3 *axes) {
    float amount = principled->anisotropy, x = float_cos(principled->turn),
          y = float_sin(principled->turn);
    layers->alpha_u = layers->alpha_v = alpha;
    layers->tangent = vec3_all(0);
    if (principled->anisotropy_map != KD_NONE) {
        const vec3 texel = surface_sample(scene, principled->anisotropy_map, uv);
        const float s = 2 * texel.x - 1, t = 2 * texel.y - 1;
        const float turned = x * s - y * t;
        y = y * s + x * t;
        x = turned;
        amount *= texel.z;
    }
    if (!(amount > 0) || !(alpha > 0)) return;
    layers->tangent = vec3_normalize(vec3_along(vec3_scale(axes->tangent, x), y, axes->bitangent));
    if (vec3_is_zero(layers->tangent)) return;
    const float aspect = sqrtf(1 - 0.9f * float_min(amount, 1));
    layers->alpha_u = float_clamp(alpha / aspect, 1e-3f, 1);
    layers->alpha_v = float_max(alpha * aspect, 1e-3f);
}

/* Returns the layers at a point. `smooth` is the interpolated normal, without maps; `alpha` and
   `ior` are those of the base. */
KD_FN_NOINLINE surface_layers surface_layers_at(const scene_view *scene, uint32_t material_index,
                                                ray_hit hit, uint32_t instance_id, surface_uv uv,
                                                vec3 smooth, float alpha, float ior) {
    const principled *from = scene->layers + material_index;
    surface_layers to;
    frame3 axes;
    const uint32_t map =
        from->coat_normal_map != KD_NONE ? from->coat_normal_map : from->anisotropy_map;
    if (!surface_texture_frame(scene, map, hit, instance_id, smooth, &axes))
        axes = frame3_around(smooth);
    surface_stretch(&to, scene, from, uv, alpha, &axes);
    to.coat_normal = smooth;
    if (from->coat_normal_map != KD_NONE)
        to.coat_normal = surface_normal_of_map(scene, from->coat_normal_map, uv, 1, &axes);
    const float specular =
        surface_texture(scene, from->specular_map, uv, vec3_all(from->specular)).x;
    to.coat_index = surface_index_scaled(ior, specular);
    to.specular_tint = surface_texture(scene, from->specular_tint_map, uv, from->specular_tint);
    to.sheen = surface_texture(scene, from->sheen_map, uv, from->sheen);
    to.sheen_roughness =
        surface_texture(scene, from->sheen_roughness_map, uv, vec3_all(from->sheen_roughness)).x;
    to.clear = surface_texture(scene, from->coat_map, uv, vec3_all(from->coat)).x;
    to.clear_alpha = surface_alpha(
        surface_texture(scene, from->coat_roughness_map, uv, vec3_all(from->coat_roughness)).x);
    to.clear_ior = from->coat_ior;
    to.transmission =
        surface_texture(scene, from->transmission_map, uv, vec3_all(from->transmission)).x;
    to.thin = (scene->materials[material_index].flags & MATERIAL_THIN) != 0;
    return to;
}

#endif
