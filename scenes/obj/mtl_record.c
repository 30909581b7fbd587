/* From what an MTL file says to what our light transport knows. */
#include "scenes/obj/mtl.h"

/* A bump map's white is this many texture periods high at -bm 1: MTL leaves the unit open. */
static const float bump_unit = 0.01f;

/* Beside a reflection ten times as strong, a diffuse part is what exporters write for "none". */
static const float diffuse_share = 0.1f;

static bool given(float x) {
    return !isnan(x);
}

static vec3 share(vec3 c) {
    return vec3_make(float_clamp(c.x, 0, 1), float_clamp(c.y, 0, 1), float_clamp(c.z, 0, 1));
}

/* Equal width of the two lobes: Walter et al. 2007 (EGSR), section 5.3, alpha^2 = 2 / (Ns + 2);
   our roughness is the root of alpha. */
float mtl_roughness_of_exponent(float ns) {
    if (!(ns > 0)) return 1;
    return sqrtf(sqrtf(2 / (ns + 2)));
}

static bool is_glass(const mtl_entry *entry) {
    if (given(entry->illum))
        return entry->illum == 4 || entry->illum == 6 || entry->illum == 7 || entry->illum == 9;
    const bool dark = !given(entry->kd.x) || vec3_is_zero(entry->kd);
    return dark && given(entry->tf.x) && !vec3_is_zero(entry->tf) && entry->ni > 1;
}

static bool has_map(const mtl_entry *entry, mtl_map which) {
    return entry->maps[which].path != NULL;
}

static bool is_pbr(const mtl_entry *entry) {
    return given(entry->pr) || given(entry->pm) || has_map(entry, MTL_MAP_ROUGHNESS) ||
           has_map(entry, MTL_MAP_METALLIC);
}

static void glass_set(const mtl_entry *entry, material *record) {
    record->kind = MATERIAL_GLASS;
    record->roughness = given(entry->pr) ? float_clamp(entry->pr, 0, 1) : 0;
    record->opacity = 1;
    /* Tf filters what has passed through the body: in and out, two crossings */
    const vec3 tint = given(entry->tf.x) ? share(entry->tf) : vec3_all(1);
    record->transmission = vec3_make(sqrtf(tint.x), sqrtf(tint.y), sqrtf(tint.z));
}

static void pbr_set(const mtl_entry *entry, material *record) {
    record->kind = MATERIAL_PLASTIC;
    record->roughness = given(entry->pr)                    ? float_clamp(entry->pr, 0, 1)
                        : has_map(entry, MTL_MAP_ROUGHNESS) ? 1
                                                            : mtl_roughness_of_exponent(entry->ns);
    record->metallic = given(entry->pm)                   ? float_clamp(entry->pm, 0, 1)
                       : has_map(entry, MTL_MAP_METALLIC) ? 1
                                                          : 0;
    record->specular = vec3_all(float_square((record->ior - 1) / (record->ior + 1)));
}

/* Our plastic's coat is a dielectric: the index whose normal reflectance is that of Ks. Where Ni is
   said, the coat is not stronger than that of Ni: many exporters write Ks 0.5 for plain plastic. */
static float coat_index(const mtl_entry *entry, const material *record, bool traced) {
    float reflectance = float_min(vec3_luminance(record->specular), 0.9f);
    if (given(entry->ni) && !traced) {
        const float index = entry->ni > 1 ? record->ior : 1.5f;
        reflectance = float_min(reflectance, float_square((index - 1) / (index + 1)));
    }
    const float root = sqrtf(reflectance);
    return (1 + root) / (1 - root);
}

static void phong_set(const mtl_entry *entry, material *record) {
    const bool traced = entry->illum == 3 || entry->illum == 5 || entry->illum == 8;
    record->roughness = traced ? 0 : mtl_roughness_of_exponent(entry->ns);
    const bool shiny = vec3_largest(record->specular) > 0 && !(entry->illum <= 1);
    const bool coloured =
        vec3_largest(record->diffuse) > diffuse_share * vec3_largest(record->specular);
    if (!shiny)
        record->kind = MATERIAL_DIFFUSE;
    else if (coloured || has_map(entry, MTL_MAP_DIFFUSE))
        record->kind = MATERIAL_PLASTIC;
    else
        record->kind = record->roughness > 0 ? MATERIAL_CONDUCTOR : MATERIAL_MIRROR;
    if (record->kind == MATERIAL_PLASTIC) record->ior = coat_index(entry, record, traced);
}

static void colours_set(const mtl_entry *entry, material *record) {
    const bool textured = has_map(entry, MTL_MAP_DIFFUSE);
    if (given(entry->kd.x))
        record->diffuse = share(entry->kd);
    else if (given(entry->ks.x) || given(entry->tf.x) || given(entry->ke.x))
        record->diffuse = vec3_all(0);
    if (textured && (!given(entry->kd.x) || vec3_is_zero(record->diffuse)))
        record->diffuse = vec3_all(1); /* black would hide the picture */
    record->specular = given(entry->ks.x) ? share(entry->ks) : vec3_all(0);
    if (has_map(entry, MTL_MAP_SPECULAR) && vec3_is_zero(record->specular) && !given(entry->ks.x))
        record->specular = vec3_all(1);
    record->emission = given(entry->ke.x) ? vec3_max(entry->ke, vec3_all(0)) : vec3_all(0);
    if (has_map(entry, MTL_MAP_EMISSION) && vec3_is_zero(record->emission))
        record->emission = vec3_all(1);
}

static void maps_take(mtl_entry *entry, mesh_material *into) {
    char **const paths[MTL_MAPS] = {&into->diffuse_map, &into->specular_map,  &into->emission_map,
                                    &into->opacity_map, &into->roughness_map, &into->metallic_map,
                                    &into->normal_map,  &into->bump_map};
    const mtl_texture *placed = NULL;
    for (int i = 0; i < MTL_MAPS; ++i) {
        if (!entry->maps[i].path) continue;
        *paths[i] = entry->maps[i].path;
        entry->maps[i].path = NULL;
        if (!placed) placed = &entry->maps[i];
    }
    into->map_scale[0] = placed ? placed->scale[0] : 1;
    into->map_scale[1] = placed ? placed->scale[1] : 1;
    into->map_offset[0] = placed ? placed->offset[0] : 0;
    into->map_offset[1] = placed ? placed->offset[1] : 0;
    into->map_clamp = placed && placed->clamp;
    into->record.bump_scale = bump_unit * entry->maps[MTL_MAP_BUMP].bump;
}

void mtl_entry_convert(mtl_entry *entry, mesh_material *into) {
    material *record = &into->record;
    *record = material_default();
    if (entry->ni > 0.1f && entry->ni < 10) record->ior = entry->ni;
    colours_set(entry, record);
    const float opacity = given(entry->d) ? entry->d : given(entry->tr) ? 1 - entry->tr : 1;
    record->opacity = float_clamp(opacity, 0, 1);
    if (is_glass(entry))
        glass_set(entry, record);
    else if (is_pbr(entry))
        pbr_set(entry, record);
    else
        phong_set(entry, record);
    maps_take(entry, into);
}
