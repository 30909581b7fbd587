/* KHR_draco_mesh_compression: the numbers of a primitive, unpacked by another process. */
#include "core/memory.h"
#include "scenes/gltf/gltf_parts.h"
#include "scenes/import/import_draco.h"
#include <stdio.h>

typedef struct packed_primitive {
    gltf_file *of;
    const json_place *at; /* of the extension */
    const cJSON *attributes;
    const gltf_primitive *from;
    draco_mesh unpacked;
} packed_primitive;

static double normal_divisor(int32_t type) { /* of a normalized integer */
    static const double most[4] = {127, 255, 32767, 65535};
    return type >= 5120 && type <= 5123 ? most[type - 5120] : 1;
}

/* The attribute's values (memory_free), as the accessor would give them; it gives those that are
   not packed. */
static kd_status attribute_take(packed_primitive *of, const char *key, uint32_t accessor,
                                float **values) {
    const json_place place = json_place_key(of->at, "attributes");
    gltf_accessor meant;
    draco_attribute *found = NULL;
    uint64_t id = UINT64_MAX;
    if (accessor == KD_NONE) return KD_OK;
    KD_TRY(gltf_accessor_open(of->of, accessor, &meant));
    if (!json_has(of->attributes, key)) return gltf_accessor_floats(of->of, &meant, values);
    KD_TRY(gltf_count(of->of, &place, of->attributes, key, &id));
    for (uint32_t i = 0; i < of->unpacked.attribute_count; ++i)
        if (of->unpacked.attributes[i].id == id) found = &of->unpacked.attributes[i];
    if (!found || !found->values || found->components != meant.components)
        return gltf_fail(of->of, "bad-value", &place,
                         "found no packed %s of %u components, expected one", key,
                         meant.components);
    const uint64_t count = (uint64_t)of->unpacked.point_count * found->components;
    const double divisor = meant.normalized ? normal_divisor(meant.type) : 1;
    for (uint64_t i = 0; i < count && divisor != 1; ++i)
        found->values[i] = fmaxf((float)((double)found->values[i] / divisor), -1);
    *values = found->values;
    found->values = NULL;
    return KD_OK;
}

static kd_status numbers_take(packed_primitive *of, gltf_numbers_read *out) {
    const gltf_primitive *from = of->from;
    char texcoord[32], second[32];
    snprintf(texcoord, sizeof texcoord, "TEXCOORD_%u", from->texcoord_set);
    snprintf(second, sizeof second, "TEXCOORD_%u", from->second_set);
    if (of->unpacked.point_count != from->vertices ||
        3 * (uint64_t)of->unpacked.triangle_count != from->corners || from->mode != GLTF_TRIANGLES)
        return gltf_fail(of->of, "bad-value", of->at,
                         "found %u points and %u triangles packed, expected the %u and %u of the "
                         "accessors",
                         of->unpacked.point_count, of->unpacked.triangle_count, from->vertices,
                         from->corners / 3);
    KD_TRY(attribute_take(of, "POSITION", from->position, &out->positions));
    KD_TRY(attribute_take(of, "NORMAL", from->normal, &out->normals));
    KD_TRY(attribute_take(of, texcoord, from->texcoord, &out->texcoords));
    KD_TRY(attribute_take(of, second, from->second, &out->second));
    KD_TRY(attribute_take(of, "TANGENT", from->tangent, &out->tangents));
    KD_TRY(attribute_take(of, "COLOR_0", from->colour, &out->colours));
    KD_TRY(attribute_take(of, "JOINTS_0", from->joints, &out->joints));
    KD_TRY(attribute_take(of, "WEIGHTS_0", from->weights, &out->weights));
    out->indices = of->unpacked.indices;
    of->unpacked.indices = NULL;
    return KD_OK;
}

kd_status gltf_draco_read(gltf_file *of, const json_place *at, const gltf_primitive *from,
                          gltf_numbers_read *out) {
    const json_place inner = json_place_key(at, "extensions");
    const json_place place = json_place_key(&inner, "KHR_draco_mesh_compression");
    packed_primitive packed = {.of = of, .at = &place, .from = from};
    gltf_bytes bytes = {NULL, 0};
    uint32_t view = KD_NONE, stride = 0;
    KD_TRY(gltf_inner(of, &place, from->packed, "attributes", false, &packed.attributes));
    KD_TRY(gltf_index(of, &place, from->packed, "bufferView", GLTF_VIEWS, &view));
    if (view == KD_NONE) return gltf_fail(of, "bad-value", &place, "found no bufferView");
    KD_TRY(gltf_view_bytes(of, view, &bytes, &stride));
    char where[1024], text[256];
    json_place_text(text, sizeof text, &place);
    snprintf(where, sizeof where, "%.700s: %s", of->path, text);
    of->kind = "unsupported";
    kd_status status =
        draco_mesh_open(&packed.unpacked, where, bytes.bytes, bytes.count, of->watched);
    if (status == KD_OK) status = numbers_take(&packed, out);
    draco_mesh_close(&packed.unpacked);
    KD_TRY(status);
    return KD_OK;
}
