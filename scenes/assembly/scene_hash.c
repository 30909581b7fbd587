/* The hash of a scene (scene_hash in scene.h), field by field in a fixed order. Optional data is
   hashed only if present, so that adding a feature keeps the hashes of scenes without it. */
#include "core/hash.h"
#include "scenes/assembly/scene.h"
#include "scenes/mesh/origin.h"

/* The records are hashed as bytes, so they must have no padding. */
static_assert(sizeof(material) == 36 * 4, "padding would be hashed");
static_assert(sizeof(principled) == 24 * 4, "padding would be hashed");
static_assert(sizeof(light) == 16 * 4, "padding would be hashed");
static_assert(sizeof(medium) == 7 * 4, "padding would be hashed");

static uint64_t add(uint64_t hash, const void *bytes, uint64_t count, size_t item_bytes) {
    hash = hash_combine(hash, &count, sizeof count);
    return bytes ? hash_combine(hash, bytes, (size_t)count * item_bytes) : hash;
}

static uint64_t add_mesh(uint64_t hash, const mesh_view *mesh) {
    const uint64_t triangles = mesh->stored_count, corners = 3 * triangles;
    hash = add(hash, mesh->positions, mesh->position_count, sizeof *mesh->positions);
    hash = add(hash, mesh->normals, mesh->normal_count, sizeof *mesh->normals);
    hash = add(hash, mesh->texcoords, mesh->texcoord_count, sizeof *mesh->texcoords);
    hash = add(hash, mesh->triangles, corners, sizeof *mesh->triangles);
    if (mesh->normal_indices) hash = add(hash, mesh->normal_indices, corners, sizeof(uint32_t));
    if (mesh->texcoord_indices) hash = add(hash, mesh->texcoord_indices, corners, sizeof(uint32_t));
    if (mesh->colours) hash = add(hash, mesh->colours, mesh->texcoord_count, 4 * sizeof(float));
    if (mesh->texcoords_second)
        hash = add(hash, mesh->texcoords_second, mesh->texcoord_count, sizeof(vec2));
    if (mesh->tangents) hash = add(hash, mesh->tangents, mesh->normal_count, 4 * sizeof(float));
    return add(hash, mesh->triangle_materials, triangles, sizeof *mesh->triangle_materials);
}

static uint64_t add_instance(uint64_t hash, const instance_view *view) {
    for (uint32_t i = 0; i < view->count; ++i) {
        const instance *put = view->list + i;
        const uint32_t run[2] = {view->shapes[put->shape].first, view->shapes[put->shape].count};
        hash = hash_combine(hash, &put->to_world, sizeof put->to_world);
        hash = hash_combine(hash, run, sizeof run);
    }
    return hash;
}

/* Hashes texels in a form that does not depend on how they are stored, so that equal textures have
   equal hashes: a sky as the decoded floats, other textures as RGBA bytes, where the alpha of a
   scalar map repeats its value. Each update of the hash has a fixed cost, so it gets several
   texels. */
typedef struct texel_run {
    const texture_view *view;
    uint64_t count;
} texel_run;

static void run_light(const void *context, uint64_t i, void *out) {
    const texel_run *run = (const texel_run *)context;
    const uint64_t width = (uint64_t)run->view->width;
    vec3 *shown = (vec3 *)out;
    for (uint64_t t = i * run->count; t < (i + 1) * run->count; ++t)
        *shown++ = texture_texel(run->view, (int32_t)(t % width), (int32_t)(t / width));
}

static void run_bytes(const void *context, uint64_t i, void *out) {
    const texel_run *run = (const texel_run *)context;
    const uint32_t samples = run->view->samples, next = samples > 2;
    const bool is_value = samples == 1 && !run->view->srgb;
    uint8_t *to = (uint8_t *)out;
    for (uint64_t t = i * run->count; t < (i + 1) * run->count; ++t) {
        const uint8_t *at = run->view->bytes + samples * t;
        *to++ = at[0];
        *to++ = at[next];
        *to++ = at[2 * next];
        *to++ = samples % 2 == 0 ? at[samples - 1] : is_value ? at[0] : 255;
    }
}

static uint64_t add_runs(uint64_t hash, const texture_view *view, uint64_t texels, bool is_sky) {
    const texel_run run = {view, texels % 16 == 0 ? 16 : 1};
    const size_t bytes = run.count * (is_sky ? sizeof(vec3) : 4);
    hash = hash_combine(hash, &texels, sizeof texels);
    return hash_combine_each(hash, texels / run.count, bytes, is_sky ? run_light : run_bytes, &run);
}

static uint64_t add_texture(uint64_t hash, const texture_view *view, bool is_sky) {
    const uint64_t texels = (uint64_t)view->width * (uint64_t)view->height;
    const bool srgb = view->srgb && !is_sky;
    const int32_t form[4] = {view->width, view->height, srgb, (int32_t)view->clamp};
    const float place[4] = {view->scale.x, view->scale.y, view->offset.x, view->offset.y};
    hash = hash_combine(hash, form, sizeof form);
    const float shear[2] = {view->shear.x, view->shear.y};
    hash = hash_combine(hash, place, sizeof place);
    if (shear[0] != 0 || shear[1] != 0) hash = hash_combine(hash, shear, sizeof shear);
    if (view->floats) return add(hash, view->floats, texels, 3 * sizeof(float));
    if (view->is_wide && !is_sky) return add(hash, view->bytes, texels, 2 * view->samples);
    if (view->samples == 4 && !is_sky) return add(hash, view->bytes, texels, 4);
    return add_runs(hash, view, texels, is_sky);
}

/* Hashes the energy compensation of rough materials, so that photon files of program versions
   without it do not match the scene. */
static uint64_t add_energy(uint64_t hash, const material *material) {
    const bool rough = material->roughness > 0 || material->roughness_map != KD_NONE;
    const bool scatters = material->kind == MATERIAL_GLASS ||
                          material->kind == MATERIAL_CONDUCTOR ||
                          material->kind == MATERIAL_PLASTIC;
    const uint16_t energy = material->energy;
    return rough && scatters ? hash_combine(hash, &energy, sizeof energy) : hash;
}

/* Position and direction of a triangle light follow from the triangle, so they are left out. */
static void light_alone(const void *context, uint64_t i, void *out) {
    const scene_view *view = (const scene_view *)context;
    light alone = view->lights[i];
    if (alone.kind == LIGHT_TRIANGLE) alone.position = alone.direction = vec3_all(0);
    memcpy(out, &alone, sizeof alone);
}

static uint64_t add_lights(uint64_t hash, const scene_view *view) {
    const uint64_t count = view->light_count;
    hash = hash_combine(hash, &count, sizeof count);
    return hash_combine_each(hash, count, sizeof *view->lights, light_alone, view);
}

uint64_t scene_hash(const scene_view *view) {
    const environment_view *sky = &view->environment;
    uint64_t hash = add_mesh(0, &view->mesh);
    hash = add(hash, view->materials, view->material_count, sizeof *view->materials);
    for (uint32_t i = 0; i < view->material_count; ++i)
        hash = add_energy(hash, view->materials + i);
    if (view->layers) hash = add(hash, view->layers, view->material_count, sizeof *view->layers);
    if (view->instances.count) hash = add_instance(hash, &view->instances);
    hash = add_lights(hash, view);
    for (uint32_t i = 0; i < view->texture_count; ++i)
        hash = add_texture(hash, view->textures + i, i == view->environment.texture);
    if (view->medium_count) {
        hash = add(hash, view->media, view->medium_count, sizeof *view->media);
        hash = hash_combine(hash, &view->fog, sizeof view->fog);
    }
    const uint32_t images[2] = {sky->light, sky->texture};
    hash = hash_combine(hash, images, sizeof images);
    if (!origin_is_zero(view->origin)) hash = hash_combine(hash, view->origin, sizeof view->origin);
    return hash_combine(hash, &sky->rotation, sizeof sky->rotation);
}
