/* Reads one primitive: its properties, its data if compressed by Draco
   (KHR_draco_mesh_compression, decoded by another process), morph targets, and skins. A skinned
   vertex follows the rest pose of its joints, independent of the node that refers to the mesh.
   Weights are normalised to a sum of 1. */
#include "core/memory.h"
#include "scenes/import/gltf_parts.h"
#include "scenes/import/import_program.h"
#include <stdio.h>

/* Finds an attribute with one of the given numbers of components, and checks that it has an
   element for each vertex. */
static kd_status attribute_find(gltf_file *gltf, const json_place *at, const cJSON *attributes,
                                const char *key, uint32_t components, uint32_t or_components,
                                const gltf_primitive *primitive, uint32_t *index) {
    const json_place place = json_place_key(at, key);
    gltf_accessor accessor;
    KD_TRY(gltf_index(gltf, at, attributes, key, GLTF_ACCESSORS, index));
    if (*index == KD_NONE) return KD_OK;
    KD_TRY(gltf_accessor_open(gltf, *index, &accessor));
    if (accessor.components != components && accessor.components != or_components)
        return gltf_fail(gltf, "bad-value", &place,
                         "found accessors[%u] of %u components, expected %u", *index,
                         accessor.components, components);
    if (primitive && accessor.count < primitive->vertices)
        return gltf_fail(gltf, "index-range", &place,
                         "found %u elements, expected one for each of the %u vertices",
                         accessor.count, primitive->vertices);
    return KD_OK;
}

static kd_status attributes_read(gltf_file *gltf, const gltf_materials *materials,
                                 const json_place *at, const cJSON *attributes,
                                 gltf_primitive *out) {
    gltf_accessor positions;
    char texcoord[32], second[32];
    out->texcoord_set = materials->texcoords[out->material];
    out->second_set = materials->seconds[out->material];
    snprintf(texcoord, sizeof texcoord, "TEXCOORD_%u", out->texcoord_set);
    snprintf(second, sizeof second, "TEXCOORD_%u", out->second_set);
    KD_TRY(attribute_find(gltf, at, attributes, "POSITION", 3, 3, NULL, &out->position));
    if (out->position == KD_NONE) return KD_OK;
    KD_TRY(gltf_accessor_open(gltf, out->position, &positions));
    out->vertices = positions.count;
    KD_TRY(attribute_find(gltf, at, attributes, "NORMAL", 3, 3, out, &out->normal));
    KD_TRY(attribute_find(gltf, at, attributes, texcoord, 2, 2, out, &out->texcoord));
    if (out->second_set != KD_NONE)
        KD_TRY(attribute_find(gltf, at, attributes, second, 2, 2, out, &out->second));
    if (materials->turns[out->material] && out->normal != KD_NONE)
        KD_TRY(attribute_find(gltf, at, attributes, "TANGENT", 4, 4, out, &out->tangent));
    KD_TRY(attribute_find(gltf, at, attributes, "COLOR_0", 3, 4, out, &out->colour));
    KD_TRY(attribute_find(gltf, at, attributes, "JOINTS_0", 4, 4, out, &out->joints));
    KD_TRY(attribute_find(gltf, at, attributes, "WEIGHTS_0", 4, 4, out, &out->weights));
    if (cJSON_HasObjectItem(attributes, "JOINTS_1") && !(gltf->said & GLTF_SAID_JOINTS)) {
        gltf->said |= GLTF_SAID_JOINTS;
        gltf_warn(gltf, "unsupported", at,
                  "found JOINTS_1, but only the first four joints of a vertex are supported; the "
                  "others are ignored");
    }
    return KD_OK;
}

static kd_status mode_read(gltf_file *gltf, const json_place *at, const cJSON *json,
                           gltf_primitive *out) {
    uint64_t mode = GLTF_TRIANGLES;
    KD_TRY(gltf_count(gltf, at, json, "mode", &mode));
    if (mode > GLTF_FAN)
        return gltf_fail(gltf, "bad-value", at, "found the mode %llu, expected 0 to 6",
                         (unsigned long long)mode);
    out->mode = (uint32_t)mode;
    const uint32_t corners = out->corners;
    if (out->mode < GLTF_TRIANGLES)
        gltf_warn(gltf, "unsupported", at,
                  "found points or lines, which Kandela does not support; they are ignored");
    else if (out->mode == GLTF_TRIANGLES)
        out->triangles = corners / 3;
    else
        out->triangles = corners > 2 ? corners - 2 : 0;
    if (out->mode == GLTF_TRIANGLES && corners % 3)
        gltf_warn(gltf, "truncated", at, "found %u corners, expected a multiple of 3", corners);
    return KD_OK;
}

kd_status gltf_primitive_read(gltf_file *gltf, const gltf_materials *materials,
                              const json_place *at, const cJSON *json, gltf_primitive *out) {
    const cJSON *attributes = NULL;
    const json_place place = json_place_key(at, "attributes");
    KD_TRY(gltf_index(gltf, at, json, "material", GLTF_MATERIALS, &out->material));
    if (out->material == KD_NONE) out->material = materials->count - 1;
    KD_TRY(gltf_inner(gltf, at, json, "attributes", false, &attributes));
    out->normal = out->texcoord = out->position = out->colour = KD_NONE;
    out->joints = out->weights = out->second = out->tangent = KD_NONE;
    if (attributes) KD_TRY(attributes_read(gltf, materials, &place, attributes, out));
    KD_TRY(gltf_extension(gltf, at, json, "KHR_draco_mesh_compression", &out->packed));
    out->json = json;
    out->corners = out->vertices;
    KD_TRY(gltf_index(gltf, at, json, "indices", GLTF_ACCESSORS, &out->indices));
    if (out->indices != KD_NONE) {
        gltf_accessor indices;
        const json_place location = json_place_key(at, "indices");
        KD_TRY(gltf_accessor_open(gltf, out->indices, &indices));
        if (indices.components != 1)
            return gltf_fail(gltf, "bad-value", &location,
                             "found accessors[%u] of %u components, expected 1", out->indices,
                             indices.components);
        out->corners = indices.count;
    }
    if (out->position == KD_NONE && out->corners > 0) {
        gltf_warn(gltf, "unsupported", at,
                  "found indices without POSITION; the primitive is ignored");
        out->corners = 0;
    }
    KD_TRY(mode_read(gltf, at, json, out));
    return KD_OK;
}

typedef struct packed_primitive {
    gltf_file *gltf;
    const json_place *place; /* JSON path of the extension */
    const cJSON *attributes;
    const gltf_primitive *primitive;
    draco_mesh unpacked;
} packed_primitive;

static double normal_divisor(int32_t type) { /* divisor of a normalized integer */
    static const double maximum[4] = {127, 255, 32767, 65535};
    return type >= 5120 && type <= 5123 ? maximum[type - 5120] : 1;
}

/* Sets *values to an attribute as floats, in the same form as its accessor would give (freed by
   memory_free). Reads attributes that are not in the Draco data from the accessor. */
static kd_status attribute_take(packed_primitive *primitive, const char *key, uint32_t accessor,
                                float **values) {
    const json_place place = json_place_key(primitive->place, "attributes");
    gltf_accessor meant;
    draco_attribute *attribute = NULL;
    uint64_t id = UINT64_MAX;
    if (accessor == KD_NONE) return KD_OK;
    KD_TRY(gltf_accessor_open(primitive->gltf, accessor, &meant));
    if (!json_has(primitive->attributes, key))
        return gltf_accessor_floats(primitive->gltf, &meant, values);
    KD_TRY(gltf_count(primitive->gltf, &place, primitive->attributes, key, &id));
    for (uint32_t i = 0; i < primitive->unpacked.attribute_count; ++i)
        if (primitive->unpacked.attributes[i].id == id)
            attribute = &primitive->unpacked.attributes[i];
    if (!attribute || !attribute->values || attribute->components != meant.components)
        return gltf_fail(primitive->gltf, "bad-value", &place,
                         "found no compressed %s of %u components, expected one", key,
                         meant.components);
    const uint64_t count = (uint64_t)primitive->unpacked.point_count * attribute->components;
    const double divisor = meant.normalized ? normal_divisor(meant.type) : 1;
    for (uint64_t i = 0; i < count && divisor != 1; ++i)
        attribute->values[i] = fmaxf((float)((double)attribute->values[i] / divisor), -1);
    *values = attribute->values;
    attribute->values = NULL;
    return KD_OK;
}

static kd_status numbers_take(packed_primitive *primitive, gltf_numbers_read *out) {
    const gltf_primitive *from = primitive->primitive;
    char texcoord[32], second[32];
    snprintf(texcoord, sizeof texcoord, "TEXCOORD_%u", from->texcoord_set);
    snprintf(second, sizeof second, "TEXCOORD_%u", from->second_set);
    if (primitive->unpacked.point_count != from->vertices ||
        3 * (uint64_t)primitive->unpacked.triangle_count != from->corners ||
        from->mode != GLTF_TRIANGLES)
        return gltf_fail(
            primitive->gltf, "bad-value", primitive->place,
            "found %u compressed points and %u triangles, expected the %u and %u of the accessors",
            primitive->unpacked.point_count, primitive->unpacked.triangle_count, from->vertices,
            from->corners / 3);
    KD_TRY(attribute_take(primitive, "POSITION", from->position, &out->positions));
    KD_TRY(attribute_take(primitive, "NORMAL", from->normal, &out->normals));
    KD_TRY(attribute_take(primitive, texcoord, from->texcoord, &out->texcoords));
    KD_TRY(attribute_take(primitive, second, from->second, &out->second));
    KD_TRY(attribute_take(primitive, "TANGENT", from->tangent, &out->tangents));
    KD_TRY(attribute_take(primitive, "COLOR_0", from->colour, &out->colours));
    KD_TRY(attribute_take(primitive, "JOINTS_0", from->joints, &out->joints));
    KD_TRY(attribute_take(primitive, "WEIGHTS_0", from->weights, &out->weights));
    out->indices = primitive->unpacked.indices;
    primitive->unpacked.indices = NULL;
    return KD_OK;
}

kd_status gltf_draco_read(gltf_file *gltf, const json_place *at, const gltf_primitive *primitive,
                          gltf_numbers_read *out) {
    const json_place inner = json_place_key(at, "extensions");
    const json_place place = json_place_key(&inner, "KHR_draco_mesh_compression");
    packed_primitive packed = {.gltf = gltf, .place = &place, .primitive = primitive};
    gltf_bytes bytes = {NULL, 0};
    uint32_t view = KD_NONE, stride = 0;
    KD_TRY(gltf_inner(gltf, &place, primitive->packed, "attributes", false, &packed.attributes));
    KD_TRY(gltf_index(gltf, &place, primitive->packed, "bufferView", GLTF_VIEWS, &view));
    if (view == KD_NONE) return gltf_fail(gltf, "bad-value", &place, "`bufferView` is missing");
    KD_TRY(gltf_view_bytes(gltf, view, &bytes, &stride));
    char position[1024], text[256];
    json_place_text(text, sizeof text, &place);
    snprintf(position, sizeof position, "%.700s: %s", gltf->path, text);
    gltf->kind = "unsupported";
    kd_status status =
        draco_mesh_open(&packed.unpacked, position, bytes.bytes, bytes.count, gltf->job);
    if (status == KD_OK) status = numbers_take(&packed, out);
    draco_mesh_close(&packed.unpacked);
    KD_TRY(status);
    return KD_OK;
}

/* Adds a target's attribute to values of which `step` belong to a vertex. */
static kd_status target_add(gltf_file *gltf, const json_place *at, const cJSON *target,
                            const char *key, double weight, uint32_t vertices, uint32_t step,
                            float *values) {
    const json_place place = json_place_key(at, key);
    uint32_t index = KD_NONE;
    gltf_accessor from;
    float *moves = NULL;
    KD_TRY(gltf_index(gltf, at, target, key, GLTF_ACCESSORS, &index));
    if (index == KD_NONE || !values) return KD_OK;
    KD_TRY(gltf_accessor_open(gltf, index, &from));
    if (from.components != 3 || from.count < vertices)
        return gltf_fail(gltf, "index-range", &place,
                         "found %u elements of %u components, expected %u of 3", from.count,
                         from.components, vertices);
    KD_TRY(gltf_accessor_floats(gltf, &from, &moves));
    for (uint64_t i = 0; i < vertices; ++i)
        for (uint64_t k = 0; k < 3; ++k)
            values[step * i + k] =
                (float)((double)values[step * i + k] + weight * (double)moves[3 * i + k]);
    memory_free(moves);
    return KD_OK;
}

/* Warns once of attributes of targets that are not added. */
static void target_report(gltf_file *gltf, const json_place *at, const cJSON *target) {
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, target) {
        const char *name = item->string ? item->string : "";
        const bool is_added = strcmp(name, "POSITION") == 0 || strcmp(name, "NORMAL") == 0 ||
                              strcmp(name, "TANGENT") == 0;
        if (is_added || *name == '_' || gltf->said & GLTF_SAID_TARGET) continue;
        gltf->said |= GLTF_SAID_TARGET;
        gltf_warn(gltf, "unsupported", at,
                  "found a morph target of %.40s, which is not supported and is ignored", name);
    }
}

const cJSON *gltf_mesh_targets(const gltf_file *gltf, uint32_t mesh) {
    const cJSON *primitives =
        cJSON_GetObjectItemCaseSensitive(gltf_item(gltf, GLTF_MESHES, mesh), "primitives");
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(primitives, 0), "targets");
}

kd_status gltf_morphs_apply(gltf_file *gltf, const json_place *at, const gltf_primitive *primitive,
                            const cJSON *weights, gltf_numbers_read *read) {
    const cJSON *weight = NULL, *targets = NULL, *target = NULL;
    const json_place list_at = json_place_key(at, "targets");
    const uint32_t vertices = primitive->vertices;
    int index = 0;
    KD_TRY(gltf_inner(gltf, at, primitive->json, "targets", true, &targets));
    if (!weights || !targets) return KD_OK;
    weight = weights->child;
    cJSON_ArrayForEach(target, targets) {
        const json_place place = json_place_item(&list_at, index++);
        if (!weight) break;
        if (!cJSON_IsNumber(weight) || !cJSON_IsObject(target))
            return gltf_fail(gltf, "bad-value", &place,
                             "found no target with a weight, expected one");
        const double share = weight->valuedouble;
        weight = weight->next;
        if (share == 0) continue;
        KD_TRY(target_add(gltf, &place, target, "POSITION", share, vertices, 3, read->positions));
        KD_TRY(target_add(gltf, &place, target, "NORMAL", share, vertices, 3, read->normals));
        KD_TRY(target_add(gltf, &place, target, "TANGENT", share, vertices, 4, read->tangents));
        target_report(gltf, &place, target);
    }
    return KD_OK;
}

/* Computes the transform of each joint: its world transform times its inverse bind matrix. */
static kd_status bones_make(gltf_file *gltf, const gltf_nodes *nodes, const uint32_t *joints,
                            const float *inverses, gltf_skin *out, const json_place *at) {
    for (uint32_t i = 0; i < out->bone_count; ++i) {
        const uint32_t node = nodes->list_index_of[joints[i]];
        transform rest = transform_identity();
        if (node == KD_NONE)
            return gltf_fail(gltf, "bad-tree", at,
                             "found the joint nodes[%u], which is not in the "
                             "scene",
                             joints[i]);
        for (int row = 0; row < 3 && inverses; ++row)
            for (int column = 0; column < 4; ++column)
                rest.m[row][column] = (double)inverses[16 * (size_t)i + (size_t)(4 * column + row)];
        out->bones[i] = transform_compose(&nodes->list[node].world, &rest);
    }
    return KD_OK;
}

static kd_status inverses_read(gltf_file *gltf, const json_place *at, const cJSON *skin,
                               uint32_t count, float **inverses) {
    uint32_t index = KD_NONE;
    gltf_accessor from;
    KD_TRY(gltf_index(gltf, at, skin, "inverseBindMatrices", GLTF_ACCESSORS, &index));
    if (index == KD_NONE) return KD_OK;
    KD_TRY(gltf_accessor_open(gltf, index, &from));
    if (from.components != 16 || from.count < count)
        return gltf_fail(gltf, "bad-value", at,
                         "found %u inverseBindMatrices of %u numbers, expected "
                         "%u of 16",
                         from.count, from.components, count);
    KD_TRY(gltf_accessor_floats(gltf, &from, inverses));
    return KD_OK;
}

kd_status gltf_skin_open(gltf_file *gltf, const gltf_nodes *nodes, uint32_t skin, gltf_skin *out) {
    const json_place at = gltf_place(gltf, GLTF_SKINS, skin);
    const json_place list_at = json_place_key(&at, "joints");
    const cJSON *from = gltf_item(gltf, GLTF_SKINS, skin), *list = NULL, *item = NULL;
    uint32_t *joints = NULL, count = 0;
    float *inverses = NULL;
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    KD_TRY(gltf_inner(gltf, &at, from, "joints", true, &list));
    KD_TRY_GOTO(KD_RESERVE(joints, (uint64_t)cJSON_GetArraySize(list)));
    cJSON_ArrayForEach(item, list)
        KD_TRY_GOTO(gltf_index_of(gltf, &list_at, item, GLTF_NODES, &joints[count++]));
    KD_TRY_GOTO(inverses_read(gltf, &at, from, count, &inverses));
    KD_TRY_GOTO(KD_RESERVE(out->bones, count));
    out->bone_count = count;
    KD_TRY_GOTO(bones_make(gltf, nodes, joints, inverses, out, &at));
done:
    memory_free(joints);
    memory_free(inverses);
    return status;
}

void gltf_skin_close(gltf_skin *owned) {
    memory_free(owned->bones);
    memset(owned, 0, sizeof *owned);
}

void gltf_skin_judge(gltf_file *gltf, const json_place *at, const gltf_skin *skin, uint32_t number,
                     const gltf_numbers_read *read, uint32_t vertices) {
    uint64_t beyond = 0, first = 0;
    for (uint64_t i = 0; i < 4 * (uint64_t)vertices; ++i) {
        const bool held = !(read->weights[i] > 0) ||
                          (read->joints[i] >= 0 && read->joints[i] < (float)skin->bone_count);
        if (held) continue;
        if (beyond++ == 0) first = i;
    }
    if (beyond)
        gltf_warn(
            gltf, "index-range", at,
            "found the joint %g of vertex %llu in JOINTS_0, expected less than %u, the number "
            "of joints of skins[%u]; %llu such joints are ignored",
            (double)read->joints[first], (unsigned long long)(first / 4), skin->bone_count, number,
            (unsigned long long)beyond);
}

transform gltf_skin_at(const gltf_skin *skin, const float joints[4], const float weights[4]) {
    transform sum;
    double all = 0;
    memset(&sum, 0, sizeof sum);
    for (int k = 0; k < 4; ++k) {
        const bool held = weights[k] > 0 && weights[k] <= 1e6f && joints[k] >= 0 &&
                          joints[k] < (float)skin->bone_count;
        if (!held) continue;
        const transform *bone = &skin->bones[(uint32_t)joints[k]];
        all += (double)weights[k];
        for (int row = 0; row < 3; ++row)
            for (int column = 0; column < 4; ++column)
                sum.m[row][column] += (double)weights[k] * bone->m[row][column];
    }
    for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 4 && all > 0; ++column) sum.m[row][column] /= all;
    return all > 0 ? sum : transform_identity();
}
