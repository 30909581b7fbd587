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
        for (uint64_t j = i + 1; j < reader->caller_mesh_count; ++j)
            if (reader->caller_meshes[j].name && !strcmp(reader->caller_meshes[j].name, name))
                return json_fail(at, "the meshes %llu and %llu passed are both called \"%.60s\"",
                                 (unsigned long long)i, (unsigned long long)j, name);
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

/* --- sources of triangles --------------------------------------------------------------------- */

void describe_place_part(const describe_reader *reader, double (*corners)[3], int count,
                         mesh_builder *part) {
    double *origin = part->made.origin;
    for (int i = 0; i < ORIGIN_MOVES && reader->exact; ++i) {
        box3 box = box3_empty();
        for (int k = 0; k < count; ++k) box3_include(&box, origin_to_local(origin, corners[k]));
        if (!origin_move(origin, box)) break;
    }
}

static kd_status read_quad(const describe_reader *reader, const json_place *at,
                           const described_mesh *words, mesh_builder *part) {
    static const json_key point = {.name = "point", .kind = JSON_POINT};
    double corners[4][3];
    vec3 local[4];
    if (!cJSON_IsArray(words->quad) || cJSON_GetArraySize(words->quad) != 4)
        return json_unexpected(at, words->quad, "a list of 4 points");
    for (int i = 0; i < 4; ++i) {
        const json_place place = json_place_item(at, i);
        KD_TRY(json_read_value(&place, cJSON_GetArrayItem(words->quad, i), &point, corners[i]));
    }
    describe_place_part(reader, corners, 4, part);
    for (int i = 0; i < 4; ++i) local[i] = origin_to_local(part->made.origin, corners[i]);
    mesh_builder_quad(part, local[0], local[1], local[2], local[3],
                      vec2_make(words->uv[0], words->uv[1]));
    return KD_OK;
}

static kd_status read_sphere(describe_reader *reader, const json_place *at, const cJSON *object,
                             mesh_builder *part) {
    described_sphere words = {{0, 0, 0}, 1, 20000};
    double corners[2][3];
    char generator[64];
    mesh unit;
    KD_TRY(json_read(at, object, describe_sphere_keys, &words));
    snprintf(generator, sizeof generator, "gen:sphere:%llu", (unsigned long long)words.triangles);
    KD_TRY(reader->load(&unit, generator, NULL, reader->job));
    for (int i = 0; i < 3; ++i) {
        corners[0][i] = words.centre[i] - (double)words.radius;
        corners[1][i] = words.centre[i] + (double)words.radius;
    }
    describe_place_part(reader, corners, 2, part);
    const transform larger = transform_scale(vec3_all(words.radius));
    const transform moved = transform_translate(origin_to_local(part->made.origin, words.centre));
    const transform placed = transform_compose(&moved, &larger);
    mesh_builder_append(part, &unit, &placed);
    mesh_close(&unit);
    return KD_OK;
}

static kd_status read_file(describe_reader *reader, const json_place *at, const char *name,
                           const obj_options *options, mesh *out) {
    if (procedural_is_path(name)) {
        const procedural_generator *row = NULL;
        KD_TRY(procedural_find(&row, name));
        reader->draft->inside = reader->draft->inside || row->inside;
        KD_TRY(reader->load(out, name, options, reader->job));
        return KD_OK;
    }
    if (describe_is_caller_mesh(name)) {
        KD_TRY(describe_caller_mesh(reader, at, name, out));
        if (options->recentre) mesh_recentre(out);
        return KD_OK;
    }
    if (strcasecmp(file_suffix(name), ".json") == 0)
        return json_fail(at, "found the scene description \"%.400s\", expected a mesh file", name);
    char *path = NULL;
    KD_TRY(describe_path(reader, name, &path));
    const kd_status status = reader->load(out, path, options, reader->job);
    memory_free(path);
    KD_TRY(status);
    reader->draft->moves = reader->draft->moves || out->moves;
    return KD_OK;
}

static kd_status read_part(describe_reader *reader, const json_place *at,
                           const described_mesh *words, mesh *out) {
    const int sources = (words->file != NULL) + (words->quad != NULL) + (words->box != NULL) +
                        (words->sphere != NULL) + (words->lathe != NULL) + (words->torus != NULL) +
                        (words->cylinder != NULL);
    const json_place file = json_place_key(at, "file"), quad = json_place_key(at, "quad");
    const json_place sphere = json_place_key(at, "sphere");
    /* a transform may bring a far file near; without one, a file of a near scene is near */
    const obj_options options = {.recentre = reader->exact || words->transform ||
                                             words->instances || words->scatter,
                                 .clip = reader->clip,
                                 .seconds = reader->seconds};
    mesh_builder part;
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    memset(&part, 0, sizeof part);
    if (sources != 1)
        return json_fail(at,
                         "found %d of the keys `file`, `quad`, `box`, `sphere`, `lathe`, `torus` "
                         "and `cylinder`, expected exactly one",
                         sources);
    if (words->file) {
        KD_TRY(read_file(reader, &file, words->file, &options, out));
        return KD_OK;
    }
    if (words->quad)
        status = read_quad(reader, &quad, words, &part);
    else if (words->sphere)
        status = read_sphere(reader, &sphere, words->sphere, &part);
    else
        status = describe_shape(reader, at, words, &part);
    if (status != KD_OK && part.status == KD_OK) part.status = status;
    KD_TRY(mesh_builder_finish(&part, out));
    return KD_OK;
}

/* --- materials -------------------------------------------------------------------------------- */

static void replace_material(describe_reader *reader, uint64_t first, uint32_t old,
                             uint32_t replaced) {
    mesh *made = &reader->geometry.made;
    for (uint64_t i = first; i < made->triangle_count; ++i)
        if (old == KD_NONE || made->triangle_materials[i] == old)
            made->triangle_materials[i] = replaced;
}

enum { NAMES_BYTES = 320, NAMES_LISTED = 12 };

/* Writes "a", "b" and 5 others. */
static void list_materials(char out[NAMES_BYTES], const mesh *part) {
    size_t used = 0;
    uint32_t listed = 0;
    while (listed < part->material_count && listed < NAMES_LISTED && used < NAMES_BYTES - 90) {
        const char *name = part->materials[listed].name;
        used += (size_t)snprintf(out + used, NAMES_BYTES - used, "%s\"%.60s\"", listed ? ", " : "",
                                 name ? name : "");
        ++listed;
    }
    if (listed < part->material_count)
        snprintf(out + used, NAMES_BYTES - used, " and %u others", part->material_count - listed);
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
    char names[NAMES_BYTES];
    list_materials(names, part);
    return json_fail(at, "the mesh has no such material; it has %s", names);
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

/* Reads the transform, and applies it after adding the origin of the part, in double precision. */
static kd_status read_transform(describe_reader *reader, const json_place *at,
                                const described_mesh *words, const mesh *part, transform *placed) {
    const json_place steps = json_place_key(at, "transform");
    const bool exact = reader->exact;
    transform moved = transform_identity();
    *placed = transform_identity();
    for (int i = 0; i < 3; ++i) moved.m[i][3] = part->origin[i];
    reader->exact = exact || !origin_is_zero(part->origin);
    const kd_status status =
        words->transform ? describe_transform(reader, &steps, words->transform, placed) : KD_OK;
    reader->exact = exact;
    if (!origin_is_zero(part->origin)) *placed = transform_compose(placed, &moved);
    return status;
}

/* Sets flags of the materials of all triangles from `first` on, in copies of the materials. */
static kd_status flag_materials(describe_reader *reader, uint64_t first, uint8_t flags) {
    mesh *made = &reader->geometry.made;
    const uint32_t count = made->material_count;
    uint32_t *copies = NULL;
    if (flags == 0 || count == 0) return KD_OK;
    KD_TRY(KD_RESERVE(copies, count));
    memset(copies, 0xff, count * sizeof *copies);
    for (uint64_t i = first; i < made->triangle_count && reader->geometry.status == KD_OK; ++i) {
        const uint32_t old = made->triangle_materials[i];
        if (copies[old] == KD_NONE) {
            copies[old] = mesh_builder_copy_material(&reader->geometry, &made->materials[old]);
            if (reader->geometry.status != KD_OK) break;
            made->materials[copies[old]].record.flags |= flags;
        }
        made->triangle_materials[i] = copies[old];
    }
    memory_free(copies);
    return reader->geometry.status;
}

/* Adds the bounds of the positions from `first` on to those of the scene. */
static void include_positions(describe_reader *reader, uint32_t first) {
    mesh added = reader->geometry.made;
    if (added.position_count == first) return; /* positions may be NULL */
    added.positions += first;
    added.position_count -= first;
    box3_join(&reader->box, mesh_box(&added));
}

/* Appends the part: in world space, or, with instances, in object space. */
static kd_status add_part(describe_reader *reader, const json_place *at,
                          const described_mesh *words, mesh *part) {
    const mesh *made = &reader->geometry.made;
    const bool many = words->instances || words->scatter;
    const draft_shape begin = {
        made->triangle_count, 0, made->position_count, 0, made->normal_count, 0, KD_NONE};
    transform pose, placed = transform_identity();
    KD_TRY(read_transform(reader, at, words, part, &pose));
    if (words->inward) mesh_turn(part);
    KD_TRY(adopt_media(reader, at, part));
    if (!many) placed = pose;
    for (int i = 0; i < 3 && !many; ++i) placed.m[i][3] -= reader->origin[i];
    const uint32_t base = mesh_builder_append(&reader->geometry, part, &placed);
    KD_TRY(reader->geometry.status);
    KD_TRY(read_materials(reader, at, words, part, base, begin.first));
    const int flags = (words->camera_visible ? 0 : MATERIAL_HIDDEN) |
                      (words->shadow_catcher ? MATERIAL_CATCHER : 0);
    KD_TRY(flag_materials(reader, begin.first, (uint8_t)flags));
    if (many) return describe_instances(reader, at, words, &pose, &begin, mesh_box(part));
    include_positions(reader, begin.position);
    return KD_OK;
}

kd_status describe_mesh(describe_reader *reader, const json_place *at, const cJSON *object) {
    described_mesh words;
    mesh part;
    memset(&words, 0, sizeof words);
    words.uv[0] = words.uv[1] = 1;
    words.camera_visible = true;
    KD_TRY(json_read(at, object, describe_mesh_keys, &words));
    KD_TRY(read_part(reader, at, &words, &part));
    const kd_status status = add_part(reader, at, &words, &part);
    mesh_close(&part);
    KD_TRY(status);
    return KD_OK;
}
