/* Converts materials from the readers to material records: resolves maps to texture indices. */
#include "core/memory.h"
#include "core/status.h"
#include "scenes/assembly/scene_parts.h"
#include "scenes/describe/readers.h"
#include "scenes/formats/mesh_formats.h"
#include "scenes/import/gltf.h"
#include "scenes/mesh/origin.h"
#include "scenes/mesh/overlaps.h"

static texture_role role_of(const mesh_map_form *form, texture_role usual) {
    switch (form->channel) {
    case MESH_CHANNEL_RED: return TEXTURE_GREY;
    case MESH_CHANNEL_GREEN: return TEXTURE_GREEN;
    case MESH_CHANNEL_BLUE: return TEXTURE_BLUE;
    case MESH_CHANNEL_ALPHA: return TEXTURE_ALPHA;
    case MESH_CHANNEL_LUMINANCE: return TEXTURE_LUMINANCE;
    default: return usual;
    }
}

static vec2 pair_of(const float pair[2]) {
    return vec2_make(pair[0], pair[1]);
}

static void request_range(texture_request *request, const mesh_map_form *form, float maximum) {
    request->factor[TEXTURE_BASE] = form->ranged ? form->base : 0;
    request->factor[TEXTURE_GAIN] = form->ranged ? form->gain : 1;
    request->factor[TEXTURE_MAXIMUM] = form->ranged ? maximum : 0;
    request->factor[TEXTURE_LINEAR] = form->linear;
}

static kd_status request(scene *scene, mesh_material *material, mesh_map map, texture_role usual,
                         uint32_t *index) {
    const mesh_map_form *form = &material->forms[map];
    const char *path = *mesh_material_map(material, map);
    texture_request request = {.path = path, .role = role_of(form, usual)};
    *index = KD_NONE;
    if (!path) return KD_OK;
    request.scale = pair_of(form->placed ? form->scale : material->map_scale);
    request.offset = pair_of(form->placed ? form->offset : material->map_offset);
    if (form->placed) request.shear = pair_of(form->shear);
    request.wraps = form->placed          ? texture_wraps(form->wrap[0], form->wrap[1])
                    : material->map_clamp ? TEXTURE_HOLD
                                          : TEXTURE_REPEAT;
    if (form->second) request.wraps |= TEXTURE_SECOND;
    if (form->nearest[0]) request.wraps |= TEXTURE_NEAREST_U;
    if (form->nearest[1]) request.wraps |= TEXTURE_NEAREST_V;
    if (texture_role_is_gloss(usual))
        memcpy(request.factor, material->glossiness, sizeof request.factor);
    else if (form->ranged || form->linear)
        request_range(&request, form, map == MESH_MAP_EMISSION ? 1e30f : 1);
    return texture_store_add(&scene->textures, &request, index);
}

static bool has_gloss_map(const mesh_material *material) {
    return (material->record.flags & MATERIAL_SPECULAR) && material->specular_map;
}

/* As in glTF: roughness and metallic in one file are its green and blue channels. */
static bool is_packed(const mesh_material *material) {
    return material->roughness_map && material->metallic_map &&
           strcmp(material->roughness_map, material->metallic_map) == 0;
}

typedef struct map_row {
    mesh_map map;
    texture_role usual;
    size_t offset; /* offset of the texture index in its record */
} map_row;

/* The order determines the texture indices. */
static const map_row plain_rows[] = {
    {MESH_MAP_DIFFUSE, TEXTURE_COLOUR, offsetof(material, diffuse_map)},
    {MESH_MAP_SPECULAR, TEXTURE_COLOUR, offsetof(material, specular_map)},
    {MESH_MAP_EMISSION, TEXTURE_COLOUR, offsetof(material, emission_map)},
    {MESH_MAP_OPACITY, TEXTURE_OPACITY, offsetof(material, opacity_map)},
    {MESH_MAP_ROUGHNESS, TEXTURE_GREY, offsetof(material, roughness_map)},
    {MESH_MAP_METALLIC, TEXTURE_GREY, offsetof(material, metallic_map)},
    {MESH_MAP_NORMAL, TEXTURE_NORMAL, offsetof(material, normal_map)},
    {MESH_MAP_BUMP, TEXTURE_GREY, offsetof(material, bump_map)}};

static const map_row layer_rows[] = {
    {MESH_MAP_SPECULAR, TEXTURE_GREY, offsetof(principled, specular_map)},
    {MESH_MAP_SPECULAR_TINT, TEXTURE_COLOUR, offsetof(principled, specular_tint_map)},
    {MESH_MAP_ANISOTROPY, TEXTURE_NORMAL, offsetof(principled, anisotropy_map)},
    {MESH_MAP_SHEEN, TEXTURE_COLOUR, offsetof(principled, sheen_map)},
    {MESH_MAP_SHEEN_ROUGHNESS, TEXTURE_GREY, offsetof(principled, sheen_roughness_map)},
    {MESH_MAP_COAT, TEXTURE_GREY, offsetof(principled, coat_map)},
    {MESH_MAP_COAT_ROUGHNESS, TEXTURE_GREY, offsetof(principled, coat_roughness_map)},
    {MESH_MAP_COAT_NORMAL, TEXTURE_NORMAL, offsetof(principled, coat_normal_map)},
    {MESH_MAP_TRANSMISSION, TEXTURE_GREY, offsetof(principled, transmission_map)}};

/* Of principled materials with an image of specular and glossiness. */
static const map_row gloss_rows[] = {
    {MESH_MAP_SPECULAR, TEXTURE_GLOSS_METAL, offsetof(material, specular_map)},
    {MESH_MAP_SPECULAR, TEXTURE_GLOSS_METALLIC, offsetof(material, metallic_map)},
    {MESH_MAP_SPECULAR, TEXTURE_GLOSS_ROUGHNESS, offsetof(material, roughness_map)}};
static const map_row gloss_layer_row = {MESH_MAP_SPECULAR, TEXTURE_GLOSS_DIELECTRIC,
                                        offsetof(principled, specular_map)};

/* If one image has both colour and opacity, opacity is its alpha channel only. */
static texture_role opacity_role(const mesh_material *material) {
    const bool same = material->diffuse_map && material->opacity_map &&
                      strcmp(material->diffuse_map, material->opacity_map) == 0;
    return same ? TEXTURE_ALPHA : TEXTURE_OPACITY;
}

static kd_status rows_build(scene *scene, mesh_material *material, const map_row *rows,
                            size_t count, void *record) {
    for (size_t i = 0; i < count; ++i)
        KD_TRY(request(scene, material, rows[i].map, rows[i].usual,
                       (uint32_t *)(void *)((char *)record + rows[i].offset)));
    return KD_OK;
}

static kd_status build_one(scene *scene, mesh_material *mesh_material, material *made) {
    *made = mesh_material->record;
    for (size_t i = 0; i < sizeof plain_rows / sizeof *plain_rows; ++i) {
        map_row row = plain_rows[i];
        /* principled: specular is a scalar, set by layer_rows */
        if (row.map == MESH_MAP_SPECULAR && made->kind == MATERIAL_PRINCIPLED) continue;
        if (row.map == MESH_MAP_OPACITY) row.usual = opacity_role(mesh_material);
        if (row.map == MESH_MAP_ROUGHNESS && is_packed(mesh_material)) row.usual = TEXTURE_GREEN;
        if (row.map == MESH_MAP_METALLIC && is_packed(mesh_material)) row.usual = TEXTURE_BLUE;
        KD_TRY(rows_build(scene, mesh_material, &row, 1, made));
    }
    if (has_gloss_map(mesh_material))
        KD_TRY(rows_build(scene, mesh_material, gloss_rows, sizeof gloss_rows / sizeof *gloss_rows,
                          made));
    return KD_OK;
}

/* Allocates the layers, one per material, if any material is principled. */
static kd_status build_layers(scene *scene) {
    const mesh *geometry = &scene->geometry;
    bool any = false;
    for (uint32_t i = 0; i < geometry->material_count; ++i)
        any |= geometry->materials[i].record.kind == MATERIAL_PRINCIPLED;
    if (!any) return KD_OK;
    KD_TRY(KD_RESERVE(scene->layers, geometry->material_count));
    for (uint32_t i = 0; i < geometry->material_count; ++i) {
        mesh_material *from = &geometry->materials[i];
        scene->layers[i] = principled_default();
        if (from->record.kind != MATERIAL_PRINCIPLED) continue;
        principled *made = &scene->layers[i];
        *made = from->layers;
        const bool glossy = has_gloss_map(from); /* in place of the first row */
        if (glossy) KD_TRY(rows_build(scene, from, &gloss_layer_row, 1, made));
        KD_TRY(rows_build(scene, from, layer_rows + glossy,
                          sizeof layer_rows / sizeof *layer_rows - glossy, made));
        if (made->transmission > 0) scene->materials[i].flags |= MATERIAL_PASSES;
    }
    return KD_OK;
}

/* Some programs export normal maps as bump maps: loads such an image again as a normal map. */
static kd_status turn_bumps(scene *scene) {
    bool any = false;
    for (uint32_t i = 0; i < scene->geometry.material_count; ++i) {
        mesh_material from = scene->geometry.materials[i];
        material *made = &scene->materials[i];
        if (made->bump_map == KD_NONE || made->normal_map != KD_NONE) continue;
        const uint32_t image = scene->textures.view_images[made->bump_map];
        if (!scene->textures.images[image].shows_normals) continue;
        KD_TRY(request(scene, &from, MESH_MAP_BUMP, TEXTURE_NORMAL, &made->normal_map));
        made->bump_map = KD_NONE;
        any = true;
    }
    if (any) KD_TRY(texture_store_load(&scene->textures));
    return KD_OK;
}

/* Inserts a material into the order of priorities. */
static void insert_nested(nested_view *nested, const material *materials, uint32_t index) {
    uint32_t place = nested->count++;
    for (; place > 0; --place) {
        if (materials[nested->materials[place - 1]].priority <= materials[index].priority) break;
        nested->materials[place] = nested->materials[place - 1];
    }
    nested->materials[place] = index;
}

/* Orders the materials that bound media, if one of them has a priority (nested.h). Such a scene has
   at least one medium, an empty one, because paths only keep track of media in scenes with media.
 */
static kd_status order_priorities(scene *scene) {
    const uint32_t count = scene->geometry.material_count;
    uint32_t bounding = 0;
    bool any = false, outside = false;
    memset(&scene->nested, 0, sizeof scene->nested);
    for (uint32_t i = 0; i < count; ++i) {
        const material *made = scene->materials + i;
        if (!material_bounds_media(made)) continue;
        ++bounding;
        any |= made->priority > 0;
        outside |= made->medium_outside != MEDIUM_FOG;
    }
    if (!any) return KD_OK;
    KD_REQUIRE(bounding <= NESTED_MAX, KD_ERROR_INPUT,
               "%u materials are glass or have a `medium`; with a `priority`, at most %d are "
               "possible; merge equal ones",
               bounding, NESTED_MAX);
    if (outside)
        log_message(LOG_WARNING,
                    "some material has a `priority`; `medium_outside` of others is ignored");
    for (uint32_t i = 0; i < count; ++i)
        if (material_bounds_media(scene->materials + i))
            insert_nested(&scene->nested, scene->materials, i);
    if (scene->medium_count) return KD_OK;
    KD_TRY(KD_GROW(scene->media, 0, 1));
    memset(scene->media, 0, sizeof *scene->media);
    scene->medium_count = 1;
    return KD_OK;
}

/* Warns where the media of materials with priorities are lost (nested.h), once per animated scene.
 */
static kd_status report_nested(const scene *scene) {
    const mesh *geometry = &scene->geometry;
    const nested_view *nested = &scene->nested;
    bool *bounds = NULL;
    uint32_t kinds[2];
    vec3 place;
    double at[3];
    if (nested->count == 0 || scene->textures.lender) return KD_OK;
    KD_TRY(KD_RESERVE_ZEROED(bounds, geometry->material_count));
    for (uint32_t i = 0; i < nested->count; ++i) bounds[nested->materials[i]] = true;
    const kd_status status =
        overlaps_find_coincident(geometry, scene->plain_count, bounds, kinds, &place);
    memory_free(bounds);
    KD_TRY(status);
    if (kinds[0] != KD_NONE) {
        origin_to_world(at, scene->origin, place);
        log_message(LOG_WARNING,
                    "surfaces of \"%.40s\" and \"%.40s\" coincide near (%.6g, %.6g, %.6g), where "
                    "one of them is lost: move one by 1e-3 of its size into the other",
                    geometry->materials[kinds[0]].name, geometry->materials[kinds[1]].name, at[0],
                    at[1], at[2]);
    }
    for (uint32_t i = 0; i < nested->count; ++i) {
        const uint32_t kind = nested->materials[i];
        uint32_t depth;
        KD_TRY(
            overlaps_find_crowd(geometry, scene->plain_count, kind, NESTED_MASK, &depth, &place));
        if (depth == 0) continue;
        origin_to_world(at, scene->origin, place);
        log_message(LOG_WARNING,
                    "%u meshes of \"%.40s\" overlap at (%.6g, %.6g, %.6g), but with a `priority` "
                    "only %d of one material are counted: join some, or give some another material",
                    depth, geometry->materials[kind].name, at[0], at[1], at[2], NESTED_MASK);
    }
    return KD_OK;
}

kd_status scene_build_materials(scene *scene) {
    const mesh *geometry = &scene->geometry;
    KD_TRY(KD_RESERVE(scene->materials, geometry->material_count));
    for (uint32_t i = 0; i < geometry->material_count; ++i)
        KD_TRY(build_one(scene, &geometry->materials[i], &scene->materials[i]));
    KD_TRY(build_layers(scene));
    scene->textures.pictures = geometry->pictures;
    scene->textures.picture_count = geometry->picture_count;
    KD_TRY(texture_store_load(&scene->textures));
    KD_TRY(order_priorities(scene));
    KD_TRY(report_nested(scene));
    return turn_bumps(scene);
}

kd_status scene_take_glass(scene *scene) {
    const mesh *geometry = &scene->geometry;
    scene->solid_glass = true;
    for (uint32_t i = 0; i < geometry->material_count; ++i) {
        if (!geometry->materials[i].may_be_glass) continue;
        if (scene->materials[i].flags & MATERIAL_THIN) { /* glTF: the roughness is kept */
            scene->materials[i].flags &= (uint8_t)~MATERIAL_THIN;
            continue;
        }
        if (!scene->layers) {
            KD_TRY(KD_RESERVE(scene->layers, geometry->material_count));
            for (uint32_t k = 0; k < geometry->material_count; ++k)
                scene->layers[k] = principled_default();
        }
        scene->materials[i].kind = MATERIAL_PRINCIPLED;
        scene->materials[i].flags |= MATERIAL_PASSES;
        scene->materials[i].roughness = 0;
        scene->layers[i].transmission = 1;
    }
    return order_priorities(scene);
}

/* --- mesh files without a description
 * ------------------------------------------------------------- */

static bool emits(const mesh_material *made) {
    return !vec3_is_zero(made->record.emission) && !(made->record.flags & MATERIAL_UNLIT);
}

/* Returns true for a file that needs a default light: it has no lamps, but displays, signs, or
   surfaces that emit at most 1, either all of them, which reflect, too, or some in a format other
   than OBJ, in which a brighter lamp needs an extension or a light. */
static bool only_glows(const mesh *mesh, const mesh_reader *reader) {
    bool weak = false, others = false, reflects = false;
    if (mesh->light_count) return false;
    for (uint32_t i = 0; i < mesh->material_count; ++i) {
        const mesh_material *made = &mesh->materials[i];
        if (!emits(made)) continue;
        const bool textured = made->emission_map && reader->load == gltf_load;
        if (!textured && vec3_largest(made->record.emission) > 1) return false;
        weak = true;
        reflects |= textured || made->diffuse_map || !vec3_is_zero(made->record.diffuse);
    }
    for (uint32_t i = 0; weak && i < mesh->triangle_count; ++i)
        others |= !emits(&mesh->materials[mesh->triangle_materials[i]]);
    return weak && (others ? reader->load != obj_load : reflects);
}

/* Materials without any opacity become opaque if nothing in the file is opaque: some programs write
   opacity for transparency. */
static void show_invisible(mesh *mesh, const char *path) {
    uint32_t shown = 0;
    for (uint32_t i = 0; i < mesh->triangle_count; ++i) {
        const mesh_material *made = &mesh->materials[mesh->triangle_materials[i]];
        if (made->record.opacity >= 1 || made->opacity_map) return;
    }
    for (uint32_t i = 0; i < mesh->material_count; ++i) {
        mesh_material *made = &mesh->materials[i];
        if (made->record.opacity != 0 || made->opacity_map) continue;
        made->record.opacity = 1;
        ++shown;
    }
    if (shown)
        log_message(LOG_WARNING,
                    "%s: found the opacity 0 in %u material%s and no opaque one; %s shown opaque",
                    path, shown, shown == 1 ? "" : "s", shown == 1 ? "it is" : "they are");
}

/* The default of glTF, white metal, is what programs without materials write, too. In a file
   without materials and lights it leaves the choice to the look. */
static void forget_default_material(mesh *mesh) {
    if (mesh->material_count != 1 || mesh->colours || mesh->light_count) return;
    mesh->materials[0].record = material_default();
    mesh->materials[0].layers = principled_default();
}

bool scene_adapt_materials(mesh *mesh, const char *path) {
    const mesh_reader *reader = mesh_reader_find(path);
    if (reader->load == gltf_load)
        forget_default_material(mesh);
    else
        show_invisible(mesh, path);
    return only_glows(mesh, reader);
}
