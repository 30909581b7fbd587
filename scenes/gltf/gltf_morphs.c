/* Morph targets as they rest: by the weights that the mesh names, its numbers are moved. */
#include "core/memory.h"
#include "scenes/gltf/gltf_parts.h"

static kd_status target_add(gltf_file *of, const json_place *at, const cJSON *target,
                            const char *key, double weight, uint32_t vertices, float *values) {
    const json_place place = json_place_key(at, key);
    uint32_t index = KD_NONE;
    gltf_accessor from;
    float *moves = NULL;
    KD_TRY(gltf_index(of, at, target, key, GLTF_ACCESSORS, &index));
    if (index == KD_NONE || !values) return KD_OK;
    KD_TRY(gltf_accessor_open(of, index, &from));
    if (from.components != 3 || from.count < vertices)
        return gltf_fail(of, "index-range", &place,
                         "found %u elements of %u components, expected %u of 3", from.count,
                         from.components, vertices);
    KD_TRY(gltf_accessor_floats(of, &from, &moves));
    for (uint64_t i = 0; i < 3 * (uint64_t)vertices; ++i)
        values[i] = (float)((double)values[i] + weight * (double)moves[i]);
    memory_free(moves);
    return KD_OK;
}

kd_status gltf_morphs_apply(gltf_file *of, const json_place *at, const gltf_primitive *from,
                            gltf_numbers_read *to) {
    const cJSON *weights = NULL, *weight = NULL, *targets = NULL, *target = NULL;
    const json_place mesh_at = gltf_place(of, GLTF_MESHES, from->mesh);
    const json_place list_at = json_place_key(at, "targets");
    int index = 0;
    KD_TRY(gltf_inner(of, &mesh_at, gltf_item(of, GLTF_MESHES, from->mesh), "weights", true,
                      &weights));
    KD_TRY(gltf_inner(of, at, from->json, "targets", true, &targets));
    if (!weights || !targets) return KD_OK;
    weight = weights->child;
    cJSON_ArrayForEach(target, targets) {
        const json_place place = json_place_item(&list_at, index++);
        if (!weight) break;
        if (!cJSON_IsNumber(weight) || !cJSON_IsObject(target))
            return gltf_fail(of, "bad-value", &place,
                             "found no target with a weight, expected one");
        if (weight->valuedouble != 0) {
            KD_TRY(target_add(of, &place, target, "POSITION", weight->valuedouble, from->vertices,
                              to->positions));
            KD_TRY(target_add(of, &place, target, "NORMAL", weight->valuedouble, from->vertices,
                              to->normals));
        }
        weight = weight->next;
    }
    return KD_OK;
}
