#include "scenes/gltf/gltf_parts.h"
#include <stdio.h>

/* An attribute of so many components (or that many), as many elements as the primitive has
   vertices. */
static kd_status attribute_find(gltf_file *of, const json_place *at, const cJSON *attributes,
                                const char *key, uint32_t components, uint32_t or_components,
                                const gltf_primitive *as, uint32_t *index) {
    const json_place place = json_place_key(at, key);
    gltf_accessor found;
    KD_TRY(gltf_index(of, at, attributes, key, GLTF_ACCESSORS, index));
    if (*index == KD_NONE) return KD_OK;
    KD_TRY(gltf_accessor_open(of, *index, &found));
    if (found.components != components && found.components != or_components)
        return gltf_fail(of, "bad-value", &place,
                         "found accessors[%u] of %u components, expected %u", *index,
                         found.components, components);
    if (as && found.count < as->vertices)
        return gltf_fail(of, "index-range", &place,
                         "found %u elements, expected one for each of the %u vertices", found.count,
                         as->vertices);
    return KD_OK;
}

static kd_status attributes_read(gltf_file *of, const gltf_materials *materials,
                                 const json_place *at, const cJSON *attributes,
                                 gltf_primitive *out) {
    gltf_accessor positions;
    char texcoord[32], second[32];
    out->texcoord_set = materials->texcoords[out->material];
    out->second_set = materials->seconds[out->material];
    snprintf(texcoord, sizeof texcoord, "TEXCOORD_%u", out->texcoord_set);
    snprintf(second, sizeof second, "TEXCOORD_%u", out->second_set);
    KD_TRY(attribute_find(of, at, attributes, "POSITION", 3, 3, NULL, &out->position));
    if (out->position == KD_NONE) return KD_OK;
    KD_TRY(gltf_accessor_open(of, out->position, &positions));
    out->vertices = positions.count;
    KD_TRY(attribute_find(of, at, attributes, "NORMAL", 3, 3, out, &out->normal));
    KD_TRY(attribute_find(of, at, attributes, texcoord, 2, 2, out, &out->texcoord));
    if (out->second_set != KD_NONE)
        KD_TRY(attribute_find(of, at, attributes, second, 2, 2, out, &out->second));
    if (materials->turns[out->material] && out->normal != KD_NONE)
        KD_TRY(attribute_find(of, at, attributes, "TANGENT", 4, 4, out, &out->tangent));
    KD_TRY(attribute_find(of, at, attributes, "COLOR_0", 3, 4, out, &out->colour));
    KD_TRY(attribute_find(of, at, attributes, "JOINTS_0", 4, 4, out, &out->joints));
    KD_TRY(attribute_find(of, at, attributes, "WEIGHTS_0", 4, 4, out, &out->weights));
    return KD_OK;
}

static kd_status mode_read(gltf_file *of, const json_place *at, const cJSON *from,
                           gltf_primitive *out) {
    uint64_t mode = GLTF_TRIANGLES;
    KD_TRY(gltf_count(of, at, from, "mode", &mode));
    if (mode > GLTF_FAN)
        return gltf_fail(of, "bad-value", at, "found the mode %llu, expected 0 to 6",
                         (unsigned long long)mode);
    out->mode = (uint32_t)mode;
    const uint32_t corners = out->corners;
    if (out->mode < GLTF_TRIANGLES)
        gltf_warn(of, "unsupported", at, "found points or lines, which Kandela does not draw");
    else if (out->mode == GLTF_TRIANGLES)
        out->triangles = corners / 3;
    else
        out->triangles = corners > 2 ? corners - 2 : 0;
    if (out->mode == GLTF_TRIANGLES && corners % 3)
        gltf_warn(of, "truncated", at, "found %u corners, expected a multiple of 3", corners);
    return KD_OK;
}

kd_status gltf_primitive_read(gltf_file *of, const gltf_materials *materials, const json_place *at,
                              const cJSON *from, gltf_primitive *out) {
    const cJSON *attributes = NULL;
    const json_place place = json_place_key(at, "attributes");
    KD_TRY(gltf_index(of, at, from, "material", GLTF_MATERIALS, &out->material));
    if (out->material == KD_NONE) out->material = materials->count - 1;
    KD_TRY(gltf_inner(of, at, from, "attributes", false, &attributes));
    out->normal = out->texcoord = out->position = out->colour = KD_NONE;
    out->joints = out->weights = out->second = out->tangent = KD_NONE;
    if (attributes) KD_TRY(attributes_read(of, materials, &place, attributes, out));
    KD_TRY(gltf_extension(of, at, from, "KHR_draco_mesh_compression", &out->packed));
    out->json = from;
    out->corners = out->vertices;
    KD_TRY(gltf_index(of, at, from, "indices", GLTF_ACCESSORS, &out->indices));
    if (out->indices != KD_NONE) {
        gltf_accessor indices;
        const json_place where = json_place_key(at, "indices");
        KD_TRY(gltf_accessor_open(of, out->indices, &indices));
        if (indices.components != 1)
            return gltf_fail(of, "bad-value", &where,
                             "found accessors[%u] of %u components, expected 1", out->indices,
                             indices.components);
        out->corners = indices.count;
    }
    if (out->position == KD_NONE && out->corners > 0) {
        gltf_warn(of, "unsupported", at,
                  "found indices without POSITION, of which nothing is drawn");
        out->corners = 0;
    }
    KD_TRY(mode_read(of, at, from, out));
    return KD_OK;
}
