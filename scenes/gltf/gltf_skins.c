/* Skins as they rest: each vertex goes where the joints that hold it stand in the file, and the
   node that shows the mesh does not count. Weights that do not add up to 1 are scaled. */
#include "core/memory.h"
#include "scenes/gltf/gltf_parts.h"

/* What a joint does to a vertex of the mesh: its place in the world after the way from the mesh
   into the joint. */
static kd_status bones_make(gltf_file *of, const gltf_nodes *nodes, const uint32_t *joints,
                            const float *inverses, gltf_skin *out, const json_place *at) {
    for (uint32_t i = 0; i < out->bone_count; ++i) {
        const uint32_t placed = nodes->placement_of[joints[i]];
        transform rest = transform_identity();
        if (placed == KD_NONE)
            return gltf_fail(of, "bad-tree", at,
                             "found the joint nodes[%u], which is not in the "
                             "scene",
                             joints[i]);
        for (int row = 0; row < 3 && inverses; ++row)
            for (int column = 0; column < 4; ++column)
                rest.m[row][column] = (double)inverses[16 * (size_t)i + (size_t)(4 * column + row)];
        out->bones[i] = transform_compose(&nodes->placed[placed].world, &rest);
    }
    return KD_OK;
}

static kd_status inverses_read(gltf_file *of, const json_place *at, const cJSON *skin,
                               uint32_t count, float **inverses) {
    uint32_t index = KD_NONE;
    gltf_accessor from;
    KD_TRY(gltf_index(of, at, skin, "inverseBindMatrices", GLTF_ACCESSORS, &index));
    if (index == KD_NONE) return KD_OK;
    KD_TRY(gltf_accessor_open(of, index, &from));
    if (from.components != 16 || from.count < count)
        return gltf_fail(of, "bad-value", at,
                         "found %u inverseBindMatrices of %u numbers, expected "
                         "%u of 16",
                         from.count, from.components, count);
    KD_TRY(gltf_accessor_floats(of, &from, inverses));
    return KD_OK;
}

kd_status gltf_skin_open(gltf_file *of, const gltf_nodes *nodes, uint32_t skin, gltf_skin *out) {
    const json_place at = gltf_place(of, GLTF_SKINS, skin);
    const json_place list_at = json_place_key(&at, "joints");
    const cJSON *from = gltf_item(of, GLTF_SKINS, skin), *list = NULL, *item = NULL;
    uint32_t *joints = NULL, count = 0;
    float *inverses = NULL;
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    KD_TRY(gltf_inner(of, &at, from, "joints", true, &list));
    KD_TRY_GOTO(KD_RESERVE(joints, (uint64_t)cJSON_GetArraySize(list)));
    cJSON_ArrayForEach(item, list)
        KD_TRY_GOTO(gltf_index_of(of, &list_at, item, GLTF_NODES, &joints[count++]));
    KD_TRY_GOTO(inverses_read(of, &at, from, count, &inverses));
    KD_TRY_GOTO(KD_RESERVE(out->bones, count));
    out->bone_count = count;
    KD_TRY_GOTO(bones_make(of, nodes, joints, inverses, out, &at));
done:
    memory_free(joints);
    memory_free(inverses);
    return status;
}

void gltf_skin_close(gltf_skin *owned) {
    memory_free(owned->bones);
    memset(owned, 0, sizeof *owned);
}

transform gltf_skin_at(const gltf_skin *of, const float joints[4], const float weights[4]) {
    transform sum;
    double all = 0;
    memset(&sum, 0, sizeof sum);
    for (int k = 0; k < 4; ++k) {
        const bool held = weights[k] > 0 && weights[k] <= 1e6f && joints[k] >= 0 &&
                          joints[k] < (float)of->bone_count;
        if (!held) continue;
        const transform *bone = &of->bones[(uint32_t)joints[k]];
        all += (double)weights[k];
        for (int row = 0; row < 3; ++row)
            for (int column = 0; column < 4; ++column)
                sum.m[row][column] += (double)weights[k] * bone->m[row][column];
    }
    for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 4 && all > 0; ++column) sum.m[row][column] /= all;
    return all > 0 ? sum : transform_identity();
}
