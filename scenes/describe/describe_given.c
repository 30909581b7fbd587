/* Meshes that a caller gives as arrays: "file": "mesh:NAME" in a description. */
#include "core/names.h"
#include "scenes/describe/describe_reader.h"
#include <string.h>

bool describe_is_given(const char *file) {
    return strncmp(file, "mesh:", 5) == 0;
}

static kd_status check_given(const json_place *at, const kd_scene_mesh *from) {
    if ((!from->vertices && from->vertex_count > 0) || from->vertex_count >= KD_NONE ||
        from->triangle_count >= KD_NONE)
        return json_fail(at, "%llu vertices%s and %llu triangles, expected less than 2^32 - 1",
                         (unsigned long long)from->vertex_count, from->vertices ? "" : " at NULL",
                         (unsigned long long)from->triangle_count);
    if (!from->indices && from->vertex_count / 3 < from->triangle_count)
        return json_fail(at, "%llu triangles without indices, expected 3 vertices for each of them",
                         (unsigned long long)from->triangle_count);
    for (uint64_t i = 0; from->indices && i < 3 * from->triangle_count; ++i)
        if (from->indices[i] >= from->vertex_count)
            return json_fail(at, "triangle %llu has vertex %u, expected less than %llu",
                             (unsigned long long)(i / 3), from->indices[i],
                             (unsigned long long)from->vertex_count);
    for (uint64_t i = 0; i < from->vertex_count; ++i) {
        const float *v = from->vertices + 3 * i;
        if (!isfinite(v[0]) || !isfinite(v[1]) || !isfinite(v[2]))
            return json_fail(at, "vertex %llu is (%g, %g, %g), expected finite numbers",
                             (unsigned long long)i, (double)v[0], (double)v[1], (double)v[2]);
    }
    return KD_OK;
}

static void copy_corners(mesh *to, const kd_scene_mesh *from) {
    for (uint64_t i = 0; i < 3 * from->triangle_count; ++i) {
        const uint32_t vertex = from->indices ? from->indices[i] : (uint32_t)i;
        to->triangles[i] = vertex;
        if (from->normals) to->normal_indices[i] = vertex;
        if (from->texcoords) to->texcoord_indices[i] = vertex;
    }
}

static kd_status copy_given(mesh *out, const kd_scene_mesh *from) {
    mesh_builder part;
    memset(&part, 0, sizeof part);
    mesh_builder_extend(&part, from->vertex_count, from->triangle_count);
    if (from->normals) mesh_builder_extend_normals(&part, from->vertex_count);
    for (uint64_t i = 0; from->texcoords && i < from->vertex_count; ++i)
        mesh_builder_texcoord(&part, vec2_make(from->texcoords[2 * i], from->texcoords[2 * i + 1]));
    if (part.status == KD_OK) {
        const uint64_t bytes = from->vertex_count * sizeof(vec3);
        if (bytes) memcpy(part.made.positions, from->vertices, bytes);
        if (bytes && from->normals) memcpy(part.made.normals, from->normals, bytes);
        copy_corners(&part.made, from);
        part.made.face_count = part.made.triangle_count;
    }
    return mesh_builder_finish(&part, out);
}

kd_status describe_given(const describe_reader *in, const json_place *at, const char *file,
                         mesh *out) {
    const char *name = file + strlen("mesh:"), *best = NULL;
    for (uint64_t i = 0; i < in->given_count; ++i) {
        const kd_scene_mesh *from = &in->given[i];
        if (!from->name) continue;
        nearest_consider(&best, name, from->name);
        if (strcmp(from->name, name) != 0) continue;
        KD_TRY(check_given(at, from));
        KD_TRY(copy_given(out, from));
        return KD_OK;
    }
    if (best)
        return json_fail(at, "no mesh \"%.60s\" is given, did you mean \"%.60s\"?", name, best);
    return json_fail(at, "no mesh \"%.60s\" among the %llu that are given with the description",
                     name, (unsigned long long)in->given_count);
}
