/* Reads an entry of "meshes": the source of its triangles, its transform and its materials. A
   source "file": "mesh:NAME" names a mesh that the caller passed as arrays. */
#include "core/files/file.h"
#include "core/memory.h"
#include "core/names.h"
#include "core/status.h"
#include "scenes/describe/describe_reader.h"
#include "scenes/mesh/generate.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool describe_is_caller_mesh(const char *file) {
    return strncmp(file, "mesh:", 5) == 0;
}

static kd_status check_given(const json_place *at, const kd_scene_mesh *mesh) {
    if ((!mesh->vertices && mesh->vertex_count > 0) || mesh->vertex_count >= KD_NONE ||
        mesh->triangle_count >= KD_NONE)
        return json_fail(at,
                         "the mesh has %llu vertices%s and %llu triangles; supported: less than "
                         "2^32 - 1 of each",
                         (unsigned long long)mesh->vertex_count,
                         mesh->vertices ? "" : " (but `vertices` is NULL)",
                         (unsigned long long)mesh->triangle_count);
    if (!mesh->indices && mesh->vertex_count / 3 < mesh->triangle_count)
        return json_fail(
            at,
            "the mesh has %llu triangles without `indices`; expected 3 vertices for each of them",
            (unsigned long long)mesh->triangle_count);
    for (uint64_t i = 0; mesh->indices && i < 3 * mesh->triangle_count; ++i)
        if (mesh->indices[i] >= mesh->vertex_count)
            return json_fail(at, "triangle %llu has vertex index %u; the mesh has %llu vertices",
                             (unsigned long long)(i / 3), mesh->indices[i],
                             (unsigned long long)mesh->vertex_count);
    for (uint64_t i = 0; i < mesh->vertex_count; ++i) {
        const float *v = mesh->vertices + 3 * i;
        if (!isfinite(v[0]) || !isfinite(v[1]) || !isfinite(v[2]))
            return json_fail(at, "vertex %llu is (%g, %g, %g); coordinates must be finite",
                             (unsigned long long)i, (double)v[0], (double)v[1], (double)v[2]);
    }
    return KD_OK;
}

static void copy_corners(mesh *mesh, const kd_scene_mesh *scene_mesh) {
    for (uint64_t i = 0; i < 3 * scene_mesh->triangle_count; ++i) {
        const uint32_t vertex = scene_mesh->indices ? scene_mesh->indices[i] : (uint32_t)i;
        mesh->triangles[i] = vertex;
        if (scene_mesh->normals) mesh->normal_indices[i] = vertex;
        if (scene_mesh->texcoords) mesh->texcoord_indices[i] = vertex;
    }
}

static kd_status copy_given(mesh *out, const kd_scene_mesh *scene_mesh) {
    mesh_builder part;
    memset(&part, 0, sizeof part);
    mesh_builder_extend(&part, scene_mesh->vertex_count, scene_mesh->triangle_count);
    if (scene_mesh->normals) mesh_builder_extend_normals(&part, scene_mesh->vertex_count);
    for (uint64_t i = 0; scene_mesh->texcoords && i < scene_mesh->vertex_count; ++i)
        mesh_builder_texcoord(
            &part, vec2_make(scene_mesh->texcoords[2 * i], scene_mesh->texcoords[2 * i + 1]));
    if (part.status == KD_OK) {
        const uint64_t bytes = scene_mesh->vertex_count * sizeof(vec3);
        if (bytes) memcpy(part.made.positions, scene_mesh->vertices, bytes);
        if (bytes && scene_mesh->normals) memcpy(part.made.normals, scene_mesh->normals, bytes);
        copy_corners(&part.made, scene_mesh);
        part.made.face_count = part.made.triangle_count;
    }
    return mesh_builder_finish(&part, out);
}

kd_status describe_caller_mesh(const describe_reader *reader, const json_place *at,
                               const char *file, mesh *out) {
    const char *name = file + strlen("mesh:"), *best = NULL;
    for (uint64_t i = 0; i < reader->caller_mesh_count; ++i) {
        const kd_scene_mesh *from = &reader->caller_meshes[i];
        if (!from->name) continue;
        nearest_consider(&best, name, from->name);
        if (strcmp(from->name, name) != 0) continue;
        KD_TRY(check_given(at, from));
        KD_TRY(copy_given(out, from));
        return KD_OK;
    }
    if (best) return json_fail(at, "unknown mesh \"%.60s\", did you mean \"%.60s\"?", name, best);
    return json_fail(
        at, "unknown mesh \"%.60s\": it is not one of the %llu meshes passed with the description",
        name, (unsigned long long)reader->caller_mesh_count);
}

/* --- transform -------------------------------------------------------------------------------- */

kd_status describe_transform(describe_reader *reader, const json_place *at, const cJSON *list,
                             transform *placed) {
    const cJSON *item = NULL;
    int index = 0;
    if (!cJSON_IsArray(list)) return json_unexpected(at, list, "a list of steps");
    cJSON_ArrayForEach(item, list) {
        const json_place place = json_place_item(at, index++);
        transform step;
        KD_TRY(describe_step(reader, &place, item, &step));
        *placed = transform_compose(&step, placed);
    }
    const double volume = transform_determinant(placed);
    if (!(fabs(volume) > 0) || !isfinite(volume))
        return json_fail(
            at, "the determinant of the transform is %g; expected a finite value other than 0",
            volume);
    return KD_OK;
}

/* --- where the triangles come from ------------------------------------------------------------ */

static kd_status read_quad(const json_place *at, const described_mesh *words, mesh_builder *part) {
    static const json_key point = {.name = "point", .kind = JSON_VECTOR};
    vec3 corners[4];
    if (!cJSON_IsArray(words->quad) || cJSON_GetArraySize(words->quad) != 4)
        return json_unexpected(at, words->quad, "a list of 4 points");
    for (int i = 0; i < 4; ++i) {
        const json_place place = json_place_item(at, i);
        KD_TRY(json_read_value(&place, cJSON_GetArrayItem(words->quad, i), &point, &corners[i]));
    }
    mesh_builder_quad(part, corners[0], corners[1], corners[2], corners[3],
                      vec2_make(words->uv[0], words->uv[1]));
    return KD_OK;
}

static kd_status read_box(const json_place *at, const cJSON *object, mesh_builder *part) {
    described_box words = {vec3_all(-1), vec3_all(1)};
    KD_TRY(json_read(at, object, describe_box_keys, &words));
    if (!(words.lo.x < words.hi.x && words.lo.y < words.hi.y && words.lo.z < words.hi.z))
        return json_fail(at, "`lo` must be less than `hi` in all three coordinates");
    const transform unmoved = transform_identity();
    mesh_builder_box(part, words.lo, words.hi, &unmoved);
    return KD_OK;
}

static kd_status read_sphere(describe_reader *reader, const json_place *at, const cJSON *object,
                             mesh_builder *part) {
    described_sphere words = {vec3_all(0), 1, 20000};
    char generator[64];
    mesh unit;
    KD_TRY(json_read(at, object, describe_sphere_keys, &words));
    snprintf(generator, sizeof generator, "gen:sphere:%llu", (unsigned long long)words.triangles);
    KD_TRY(reader->load(&unit, generator, reader->job));
    const transform larger = transform_scale(vec3_all(words.radius));
    const transform moved = transform_translate(words.centre);
    const transform placed = transform_compose(&moved, &larger);
    mesh_builder_append(part, &unit, &placed);
    mesh_close(&unit);
    return KD_OK;
}

static kd_status read_file(describe_reader *reader, const json_place *at, const char *name,
                           mesh *out) {
    if (procedural_is_path(name)) {
        const procedural_generator *row = NULL;
        KD_TRY(procedural_find(&row, name));
        reader->draft->inside = reader->draft->inside || row->inside;
        KD_TRY(reader->load(out, name, reader->job));
        return KD_OK;
    }
    if (describe_is_caller_mesh(name)) return describe_caller_mesh(reader, at, name, out);
    if (strcasecmp(file_suffix(name), ".json") == 0)
        return json_fail(at, "found the scene description \"%.60s\", expected a mesh file", name);
    char *path = NULL;
    KD_TRY(describe_path(reader, name, &path));
    const kd_status status = reader->load(out, path, reader->job);
    memory_free(path);
    KD_TRY(status);
    return KD_OK;
}

static kd_status read_part(describe_reader *reader, const json_place *at,
                           const described_mesh *words, mesh *out) {
    const int sources = (words->file != NULL) + (words->quad != NULL) + (words->box != NULL) +
                        (words->sphere != NULL);
    const json_place file = json_place_key(at, "file"), quad = json_place_key(at, "quad");
    const json_place box = json_place_key(at, "box"), sphere = json_place_key(at, "sphere");
    mesh_builder part;
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    memset(&part, 0, sizeof part);
    if (sources != 1)
        return json_fail(
            at, "found %d of the keys `file`, `quad`, `box` and `sphere`, expected exactly one",
            sources);
    if (words->file) {
        KD_TRY(read_file(reader, &file, words->file, out));
        return KD_OK;
    }
    if (words->quad) status = read_quad(&quad, words, &part);
    if (words->box) status = read_box(&box, words->box, &part);
    if (words->sphere) status = read_sphere(reader, &sphere, words->sphere, &part);
    if (status != KD_OK && part.status == KD_OK) part.status = status;
    KD_TRY(mesh_builder_finish(&part, out));
    return KD_OK;
}

/* --- what they are made of -------------------------------------------------------------------- */

static void replace_material(describe_reader *reader, uint64_t first, uint32_t old,
                             uint32_t replaced) {
    mesh *made = &reader->geometry.made;
    for (uint64_t i = first; i < made->triangle_count; ++i)
        if (old == KD_NONE || made->triangle_materials[i] == old)
            made->triangle_materials[i] = replaced;
}

/* Finds a material of the mesh file by name; *index is relative to the file. */
static kd_status find_in_part(const json_place *at, const mesh *part, const char *name,
                              uint32_t *index) {
    const char *best = NULL;
    for (uint32_t i = 0; i < part->material_count; ++i) {
        if (strcmp(part->materials[i].name, name) == 0) {
            *index = i;
            return KD_OK;
        }
        nearest_consider(&best, name, part->materials[i].name);
    }
    if (best) return json_fail(at, "the mesh has no such material, did you mean \"%.60s\"?", best);
    return json_fail(at, "the mesh has no such material; it has %u materials",
                     part->material_count);
}

static kd_status read_materials(describe_reader *reader, const json_place *at,
                                const described_mesh *words, const mesh *part, uint32_t base,
                                uint64_t first) {
    const json_place all = json_place_key(at, "material"), map = json_place_key(at, "materials");
    const cJSON *item = NULL;
    uint32_t index = 0;
    if (words->material) {
        if (words->materials) return json_fail(at, "set only one of `material` and `materials`");
        const uint32_t changed = part->material_count == 1 ? base : KD_NONE;
        KD_TRY(describe_material(reader, &all, words->material, changed, &index));
        replace_material(reader, first, KD_NONE, index);
    }
    cJSON_ArrayForEach(item, words->materials) {
        const json_place place = json_place_key(&map, item->string);
        uint32_t old = 0;
        KD_TRY(find_in_part(&place, part, item->string, &old));
        KD_TRY(describe_material(reader, &place, item, base + old, &index));
        replace_material(reader, first, base + old, index);
    }
    return KD_OK;
}

/* Appends the media of a mesh file to those of the description. Cameras and lights of the file are
   ignored: the description defines them. */
static kd_status adopt_media(describe_reader *reader, const json_place *at, mesh *part) {
    scene_draft *draft = reader->draft;
    const uint32_t first = draft->medium_count;
    if (part->camera_count || part->light_count) {
        char place[128];
        json_place_text(place, sizeof place, at);
        log_message(LOG_INFO, "%s: %s: %u cameras and %u lights of the file are ignored",
                    reader->path, place, part->camera_count, part->light_count);
    }
    if (part->medium_count == 0) return KD_OK;
    KD_TRY(KD_GROW(draft->media, first, (uint64_t)first + part->medium_count));
    memcpy(draft->media + first, part->media, part->medium_count * sizeof *part->media);
    draft->medium_count += part->medium_count;
    for (uint32_t i = 0; i < part->material_count; ++i)
        if (part->materials[i].record.medium != KD_NONE) part->materials[i].record.medium += first;
    return KD_OK;
}

kd_status describe_mesh(describe_reader *reader, const json_place *at, const cJSON *object) {
    described_mesh words;
    mesh part;
    transform placed = transform_identity();
    memset(&words, 0, sizeof words);
    words.uv[0] = words.uv[1] = 1;
    KD_TRY(json_read(at, object, describe_mesh_keys, &words));
    const json_place steps = json_place_key(at, "transform");
    if (words.transform) KD_TRY(describe_transform(reader, &steps, words.transform, &placed));
    KD_TRY(read_part(reader, at, &words, &part));
    if (words.inward) mesh_turn(&part);
    const mesh *made = &reader->geometry.made;
    const bool many = words.instances || words.scatter;
    const transform unmoved = transform_identity();
    const draft_shape begin = {
        made->triangle_count, 0, made->position_count, 0, made->normal_count, 0, KD_NONE};
    const uint64_t first = made->triangle_count;
    kd_status status = adopt_media(reader, at, &part);
    const uint32_t base = mesh_builder_append(&reader->geometry, &part, many ? &unmoved : &placed);
    if (status == KD_OK) status = reader->geometry.status;
    if (status == KD_OK) status = read_materials(reader, at, &words, &part, base, first);
    if (status == KD_OK && many) status = describe_instances(reader, at, &words, &placed, &begin);
    mesh_close(&part);
    KD_TRY(status);
    return KD_OK;
}
