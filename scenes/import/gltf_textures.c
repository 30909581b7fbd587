/* Textures, samplers and images: resolves a texture of a material to a path and a texture
   transform. Images embedded in the file become images of the mesh, once each. */
#include "core/image/picture.h"
#include "core/memory.h"
#include "scenes/import/gltf_parts.h"
#include "scenes/text/text.h"
#include <stdio.h>

enum { FILTER_NEAREST = 9728, FILTER_LINEAR = 9729, FILTER_LAST = 9987 };
enum { WRAP_HOLD = 33071, WRAP_MIRROR = 33648, WRAP_REPEAT = 10497, WHERE_BYTES = 4096 };

/* --- images ----------------------------------------------------------------------------------- */

/* Takes ownership of `owned` if it is not NULL; otherwise copies `from`. */
static kd_status picture_add(gltf_surface *surface, uint32_t image, unsigned char *owned,
                             gltf_bytes from) {
    gltf_materials *all = surface->all;
    char name[WHERE_BYTES];
    mesh_picture made = {NULL, owned, from.count};
    kd_status status = KD_OK;
    snprintf(name, sizeof name, "%s: images[%u]", surface->gltf->path, image);
    KD_TRY_GOTO(KD_GROW(all->pictures, all->picture_count, (uint64_t)all->picture_count + 1));
    if (!made.bytes) {
        KD_TRY_GOTO(KD_RESERVE(made.bytes, from.count));
        memcpy(made.bytes, from.bytes, from.count);
    }
    KD_TRY_GOTO(text_copy(&made.name, name));
    all->pictures[all->picture_count++] = made;
    memset(&made, 0, sizeof made);
    KD_TRY_GOTO(text_copy(&all->image_paths[image], name));
done:
    memory_free(made.bytes);
    memory_free(made.name);
    return status;
}

static void foreign_report(gltf_file *gltf, const json_place *at, const char *kind) {
    gltf_warn(gltf, "unusable-texture", at, "found %s, expected PNG, JPEG%s; it is ignored", kind,
              picture_reads_webp() ? " or WebP" : "");
}

/* Returns what an image is for which this build has no decoder, or NULL. */
static const char *foreign_kind(gltf_bytes from) {
    const file_view view = {(const char *)from.bytes, from.count, NULL};
    return picture_foreign_name(&view);
}

/* The texture store reports files that cannot be read. */
static const char *foreign_kind_of_file(const char *path) {
    file_view file = {.count = 0};
    const char *kind = NULL;
    if (file_open(&file, path) == KD_OK)
        kind = picture_foreign_name(&file);
    else
        status_clear();
    file_close(&file);
    return kind;
}

static kd_status image_from_file(gltf_surface *surface, uint32_t image, const json_place *at,
                                 const char *uri) {
    char **path = &surface->all->image_paths[image];
    KD_TRY(gltf_uri_path(surface->gltf, at, uri, path));
    const bool exists = file_exists(*path);
    const char *kind = exists ? foreign_kind_of_file(*path) : NULL;
    if (exists && !kind) return KD_OK;
    memory_free(*path);
    *path = NULL;
    if (kind)
        foreign_report(surface->gltf, at, kind);
    else
        gltf_warn(surface->gltf, "missing-texture", at,
                  "found the texture \"%.400s\", but no such file exists", uri);
    return KD_OK;
}

static kd_status image_from_bytes(gltf_surface *surface, uint32_t image, const json_place *at,
                                  unsigned char *owned, gltf_bytes from) {
    const char *kind = foreign_kind(from);
    if (kind) {
        memory_free(owned);
        foreign_report(surface->gltf, at, kind);
        return KD_OK;
    }
    return picture_add(surface, image, owned, from);
}

static kd_status image_find(gltf_surface *surface, uint32_t image) {
    gltf_file *gltf = surface->gltf;
    const json_place at = gltf_place(gltf, GLTF_IMAGES, image);
    const json_place uri_at = json_place_key(&at, "uri");
    const cJSON *from = gltf_item(gltf, GLTF_IMAGES, image);
    const char *uri = NULL;
    uint32_t view = KD_NONE, stride = 0;
    unsigned char *owned = NULL;
    gltf_bytes bytes = {NULL, 0};
    KD_TRY(gltf_text(gltf, &at, from, "uri", &uri));
    KD_TRY(gltf_index(gltf, &at, from, "bufferView", GLTF_VIEWS, &view));
    if (view != KD_NONE) {
        KD_TRY(gltf_view_bytes(gltf, view, &bytes, &stride));
        return image_from_bytes(surface, image, &at, NULL, bytes);
    }
    if (uri && !gltf_uri_is_data(uri)) return image_from_file(surface, image, &uri_at, uri);
    if (!uri)
        return gltf_fail(gltf, "bad-value", &at,
                         "found neither `uri` nor `bufferView`, expected one");
    KD_TRY(gltf_uri_decode(gltf, &uri_at, uri, &owned, &bytes.count));
    bytes.bytes = owned;
    return image_from_bytes(surface, image, &at, owned, bytes);
}

/* --- textures --------------------------------------------------------------------------------- */

static kd_status wrap_read(gltf_file *gltf, const json_place *at, const cJSON *sampler,
                           const char *key, uint8_t *wrap) {
    uint64_t said = WRAP_REPEAT;
    KD_TRY(gltf_count(gltf, at, sampler, key, &said));
    if (said != WRAP_REPEAT && said != WRAP_HOLD && said != WRAP_MIRROR)
        return gltf_fail(gltf, "bad-value", at, "found the %s %llu, expected 33071, 33648 or 10497",
                         key, (unsigned long long)said);
    *wrap = said == WRAP_HOLD     ? TEXTURE_HOLD
            : said == WRAP_MIRROR ? TEXTURE_MIRROR
                                  : TEXTURE_REPEAT;
    return KD_OK;
}

/* Magnification is by the nearest texel or linear. Minification needs no filter: the samples of a
   pixel average the texels. */
static kd_status filters_read(gltf_file *gltf, const json_place *at, const cJSON *sampler,
                              mesh_map_form *form) {
    uint64_t larger = FILTER_LINEAR, smaller = FILTER_LAST;
    KD_TRY(gltf_count(gltf, at, sampler, "magFilter", &larger));
    KD_TRY(gltf_count(gltf, at, sampler, "minFilter", &smaller));
    if (larger != FILTER_NEAREST && larger != FILTER_LINEAR)
        return gltf_fail(gltf, "bad-value", at, "found the magFilter %llu, expected 9728 or 9729",
                         (unsigned long long)larger);
    const bool is_nearest = smaller == FILTER_NEAREST || smaller == 9984 || smaller == 9986;
    if (!is_nearest && smaller != FILTER_LINEAR && smaller != 9985 && smaller != FILTER_LAST)
        return gltf_fail(gltf, "bad-value", at,
                         "found the minFilter %llu, expected 9728, 9729 or 9984 to 9987",
                         (unsigned long long)smaller);
    if (is_nearest && larger != FILTER_NEAREST && gltf_is_first(gltf, GLTF_SAID_FILTER))
        gltf_warn(gltf, "left-out", at,
                  "found the minFilter %llu (nearest), which Kandela does not use: texels smaller "
                  "than a pixel are averaged",
                  (unsigned long long)smaller);
    form->nearest[0] = form->nearest[1] = larger == FILTER_NEAREST;
    return KD_OK;
}

/* The images of a texture, in order of preference. */
enum { IMAGE_FORMATS = 4 };
typedef struct gltf_sources {
    uint32_t images[IMAGE_FORMATS + 1], count;
} gltf_sources;

static bool never(void) {
    return false;
}

/* Lists the images that this build can decode. Warns once of each other format; fails if the file
   requires it and has no image in another format. */
static kd_status sources_read(gltf_file *gltf, const json_place *at, const cJSON *json,
                              gltf_sources *out) {
    static const struct {
        const char *extension, *format;
        bool (*is_read)(void);
    } formats[IMAGE_FORMATS] = {{"EXT_texture_webp", "WebP", picture_reads_webp},
                                {"EXT_texture_avif", "AVIF", never},
                                {"KHR_texture_basisu", "KTX2", never},
                                {"MSFT_texture_dds", "DDS", never}};
    const json_place inner = json_place_key(at, "extensions");
    bool skips[IMAGE_FORMATS] = {false};
    uint32_t image = KD_NONE;
    out->count = 0;
    for (int i = 0; i < IMAGE_FORMATS; ++i) {
        const json_place place = json_place_key(&inner, formats[i].extension);
        const cJSON *from = NULL;
        KD_TRY(gltf_extension(gltf, at, json, formats[i].extension, &from));
        if (!from) continue;
        KD_TRY(gltf_index(gltf, &place, from, "source", GLTF_IMAGES, &image));
        skips[i] = !formats[i].is_read();
        if (image != KD_NONE && !skips[i]) out->images[out->count++] = image;
    }
    KD_TRY(gltf_index(gltf, at, json, "source", GLTF_IMAGES, &image));
    if (image != KD_NONE) out->images[out->count++] = image;
    for (int i = 0; i < IMAGE_FORMATS; ++i) {
        const uint32_t said = 1u << (2 * i + (out->count ? 1 : 0));
        if (!skips[i]) continue;
        if (out->count == 0 && gltf_requires(gltf, formats[i].extension))
            return gltf_fail(gltf, "unsupported", at,
                             "found an image in %s only, which %s requires and this build cannot "
                             "read",
                             formats[i].format, formats[i].extension);
        if (!(gltf->said & said))
            gltf_warn(gltf, "unusable-texture", at,
                      "found an image in %s, which is not supported%s", formats[i].format,
                      out->count ? "; the alternative is used" : "; it is ignored");
        gltf->said |= said;
    }
    return KD_OK;
}

/* Finds the images of a texture and its wrap modes. */
static kd_status texture_read(gltf_surface *surface, uint32_t texture, gltf_sources *images,
                              mesh_map_form *form) {
    gltf_file *gltf = surface->gltf;
    const json_place at = gltf_place(gltf, GLTF_TEXTURES, texture);
    const cJSON *from = gltf_item(gltf, GLTF_TEXTURES, texture);
    uint32_t sampler = KD_NONE;
    KD_TRY(sources_read(gltf, &at, from, images));
    KD_TRY(gltf_index(gltf, &at, from, "sampler", GLTF_SAMPLERS, &sampler));
    if (sampler == KD_NONE) return KD_OK;
    const json_place sampler_at = gltf_place(gltf, GLTF_SAMPLERS, sampler);
    const cJSON *wraps = gltf_item(gltf, GLTF_SAMPLERS, sampler);
    KD_TRY(wrap_read(gltf, &sampler_at, wraps, "wrapS", &form->wrap[0]));
    KD_TRY(wrap_read(gltf, &sampler_at, wraps, "wrapT", &form->wrap[1]));
    KD_TRY(filters_read(gltf, &sampler_at, wraps, form));
    return KD_OK;
}

/* Converts KHR_texture_transform, which scales, rotates counter-clockwise, then offsets, with v
   pointing down; here v points up. */
static kd_status transform_read(gltf_surface *surface, const json_place *at, const cJSON *info,
                                mesh_map_form *form, uint64_t *texcoord) {
    const cJSON *moved = NULL;
    double offset[2] = {0, 0}, scale[2] = {1, 1}, turn = 0;
    const double maximum = 1e6;
    KD_TRY(gltf_extension(surface->gltf, at, info, "KHR_texture_transform", &moved));
    if (moved) {
        KD_TRY(gltf_numbers(surface->gltf, at, moved, "offset", 2, offset, NULL));
        KD_TRY(gltf_numbers(surface->gltf, at, moved, "scale", 2, scale, NULL));
        KD_TRY(gltf_number(surface->gltf, at, moved, "rotation", -maximum, maximum, &turn));
        KD_TRY(gltf_count(surface->gltf, at, moved, "texCoord", texcoord));
    }
    const double c = cos(turn), s = sin(turn);
    const double m[2][3] = {{c * scale[0], s * scale[1], offset[0]},
                            {-s * scale[0], c * scale[1], offset[1]}};
    form->placed = true;
    form->scale[0] = (float)m[0][0];
    form->scale[1] = (float)m[1][1];
    form->shear[0] = (float)-m[0][1];
    form->shear[1] = (float)-m[1][0];
    form->offset[0] = (float)(m[0][1] + m[0][2]);
    form->offset[1] = (float)(1 - m[1][1] - m[1][2]);
    for (int i = 0; i < 2; ++i)
        if (!isfinite(form->scale[i]) || !isfinite(form->shear[i]) || !isfinite(form->offset[i]))
            return gltf_fail(surface->gltf, "bad-value", at,
                             "found a texture transform that is not finite");
    return KD_OK;
}

/* --- maps ------------------------------------------------------------------------------------- */

/* Uses the first image that exists in a format that can be read. */
static kd_status path_give(gltf_surface *surface, const gltf_sources *from, mesh_map map) {
    gltf_materials *all = surface->all;
    char **path = mesh_material_map(surface->material, map);
    for (uint32_t i = 0; i < from->count && !*path; ++i) {
        const uint32_t image = from->images[i];
        if (!all->image_paths[image] && !all->image_missing[image]) {
            KD_TRY(image_find(surface, image));
            all->image_missing[image] = !all->image_paths[image];
        }
        if (all->image_paths[image]) KD_TRY(text_copy(path, all->image_paths[image]));
    }
    return KD_OK;
}

kd_status gltf_map_read(gltf_surface *surface, const json_place *at, const cJSON *object,
                        const char *key, mesh_map map, mesh_channel channel) {
    gltf_file *gltf = surface->gltf;
    const cJSON *info = NULL;
    const json_place place = json_place_key(at, key);
    mesh_map_form form;
    uint32_t texture = KD_NONE;
    gltf_sources images = {.count = 0};
    uint64_t texcoord = 0;
    memset(&form, 0, sizeof form);
    form.channel = (uint8_t)channel;
    KD_TRY(gltf_inner(gltf, at, object, key, false, &info));
    if (!info) return KD_OK;
    KD_TRY(gltf_index(gltf, &place, info, "index", GLTF_TEXTURES, &texture));
    if (texture == KD_NONE) return gltf_fail(gltf, "bad-value", &place, "`index` is missing");
    KD_TRY(gltf_count(gltf, &place, info, "texCoord", &texcoord));
    KD_TRY(transform_read(surface, &place, info, &form, &texcoord));
    KD_TRY(texture_read(surface, texture, &images, &form));
    if (images.count == 0) return KD_OK;
    if (surface->texcoord == KD_NONE) surface->texcoord = texcoord < 64 ? (uint32_t)texcoord : 0;
    form.second = surface->texcoord != texcoord;
    if (form.second && surface->second == KD_NONE)
        surface->second = texcoord < 64 ? (uint32_t)texcoord : 0;
    if (form.second && surface->second != texcoord) {
        gltf_warn(gltf, "unsupported", &place,
                  "found TEXCOORD_%llu, but other maps of the material use TEXCOORD_%u and "
                  "TEXCOORD_%u; it is ignored",
                  (unsigned long long)texcoord, surface->texcoord, surface->second);
        return KD_OK;
    }
    surface->material->forms[map] = form;
    KD_TRY(path_give(surface, &images, map));
    return KD_OK;
}

kd_status gltf_map_copy(gltf_surface *surface, mesh_map from, mesh_map map, mesh_channel channel) {
    const char *path = *mesh_material_map(surface->material, from);
    char **copy = mesh_material_map(surface->material, map);
    if (!path || *copy) return KD_OK;
    surface->material->forms[map] = surface->material->forms[from];
    surface->material->forms[map].channel = (uint8_t)channel;
    return text_copy(copy, path);
}
