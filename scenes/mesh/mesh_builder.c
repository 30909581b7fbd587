#include "scenes/mesh/mesh_builder.h"
#include "core/memory.h"
#include <stdio.h>

/* Ensures capacity for `more` items after the first `count` of an array; at least doubles it, so
   that appending takes amortised constant time. */
static void reserve(mesh_builder *builder, void **array, uint64_t count, uint64_t more,
                    uint64_t *capacity, size_t item_bytes) {
    if (builder->status != KD_OK || count + more <= *capacity) return;
    uint64_t larger = *capacity * 2 > count + more ? *capacity * 2 : count + more;
    if (larger < 64) larger = 64;
    builder->status = memory_grow(array, count, larger, item_bytes);
    if (builder->status == KD_OK) *capacity = larger;
}

static void check_count(mesh_builder *builder, uint64_t count, const char *name) {
    if (builder->status == KD_OK && count >= KD_NONE)
        builder->status = status_fail(KD_ERROR_INPUT, __FILE__, __LINE__,
                                      "the mesh has %llu %s; supported: at most 4294967294",
                                      (unsigned long long)count, name);
}

static void reserve_triangles(mesh_builder *builder, uint64_t more) {
    mesh *made = &builder->made;
    const uint64_t count = made->triangle_count;
    check_count(builder, count + more, "triangles");
    if (count + more <= builder->triangle_capacity) return;
    uint64_t capacities[4] = {3 * builder->triangle_capacity, 3 * builder->triangle_capacity,
                              3 * builder->triangle_capacity, builder->triangle_capacity};
    reserve(builder, (void **)&made->triangles, 3 * count, 3 * more, &capacities[0],
            sizeof(uint32_t));
    reserve(builder, (void **)&made->normal_indices, 3 * count, 3 * more, &capacities[1],
            sizeof(uint32_t));
    reserve(builder, (void **)&made->texcoord_indices, 3 * count, 3 * more, &capacities[2],
            sizeof(uint32_t));
    reserve(builder, (void **)&made->triangle_materials, count, more, &capacities[3],
            sizeof(uint32_t));
    if (builder->status == KD_OK)
        builder->triangle_capacity =
            capacities[3] < capacities[0] / 3 ? capacities[3] : capacities[0] / 3;
}

static void reserve_positions(mesh_builder *builder, uint64_t more) {
    check_count(builder, builder->made.position_count + more, "vertices");
    reserve(builder, (void **)&builder->made.positions, builder->made.position_count, more,
            &builder->position_capacity, sizeof(vec3));
}

static void reserve_normals(mesh_builder *builder, uint64_t more) {
    check_count(builder, builder->made.normal_count + more, "normals");
    reserve(builder, (void **)&builder->made.normals, builder->made.normal_count, more,
            &builder->normal_capacity, sizeof(vec3));
}

static void reserve_texcoords(mesh_builder *builder, uint64_t more) {
    check_count(builder, builder->made.texcoord_count + more, "texture coordinates");
    reserve(builder, (void **)&builder->made.texcoords, builder->made.texcoord_count, more,
            &builder->texcoord_capacity, sizeof(vec2));
}

/* Every triangle needs a material: adds a default one if there is none yet. */
static void need_material(mesh_builder *builder) {
    if (builder->made.material_count > 0 || builder->status != KD_OK) return;
    const material plain = material_default();
    mesh_builder_material(builder, "default", &plain);
}

void mesh_builder_extend(mesh_builder *builder, uint64_t positions, uint64_t triangles) {
    need_material(builder);
    reserve_positions(builder, positions);
    reserve_triangles(builder, triangles);
    if (builder->status != KD_OK) return;
    builder->made.position_count += (uint32_t)positions;
    if (triangles == 0) return; /* the arrays may be NULL */
    const uint64_t first = builder->made.triangle_count;
    memset(builder->made.normal_indices + 3 * first, 0xff, 3 * triangles * sizeof(uint32_t));
    memset(builder->made.texcoord_indices + 3 * first, 0xff, 3 * triangles * sizeof(uint32_t));
    for (uint64_t i = 0; i < triangles; ++i)
        builder->made.triangle_materials[first + i] = builder->material;
    builder->made.triangle_count += (uint32_t)triangles;
}

void mesh_builder_extend_normals(mesh_builder *builder, uint64_t normals) {
    reserve_normals(builder, normals);
    if (builder->status == KD_OK) builder->made.normal_count += (uint32_t)normals;
}

uint32_t mesh_builder_position(mesh_builder *builder, vec3 position) {
    reserve_positions(builder, 1);
    if (builder->status != KD_OK) return 0;
    builder->made.positions[builder->made.position_count] = position;
    return builder->made.position_count++;
}

uint32_t mesh_builder_normal(mesh_builder *builder, vec3 normal) {
    reserve_normals(builder, 1);
    if (builder->status != KD_OK) return 0;
    builder->made.normals[builder->made.normal_count] = normal;
    return builder->made.normal_count++;
}

uint32_t mesh_builder_texcoord(mesh_builder *builder, vec2 texcoord) {
    reserve_texcoords(builder, 1);
    if (builder->status != KD_OK) return 0;
    builder->made.texcoords[builder->made.texcoord_count] = texcoord;
    return builder->made.texcoord_count++;
}

void mesh_builder_triangle(mesh_builder *builder, mesh_corner a, mesh_corner b, mesh_corner c) {
    const mesh_corner corners[3] = {a, b, c};
    const uint64_t first = 3 * (uint64_t)builder->made.triangle_count;
    mesh_builder_extend(builder, 0, 1);
    if (builder->status != KD_OK) return;
    for (int i = 0; i < 3; ++i) {
        builder->made.triangles[first + (uint64_t)i] = corners[i].position;
        builder->made.normal_indices[first + (uint64_t)i] = corners[i].normal;
        builder->made.texcoord_indices[first + (uint64_t)i] = corners[i].texcoord;
    }
}

static mesh_corner plain_corner(mesh_builder *builder, vec3 position) {
    const mesh_corner corner = {mesh_builder_position(builder, position), KD_NONE, KD_NONE};
    return corner;
}

void mesh_builder_flat_triangle(mesh_builder *builder, vec3 a, vec3 b, vec3 c) {
    const mesh_corner p = plain_corner(builder, a), q = plain_corner(builder, b),
                      r = plain_corner(builder, c);
    mesh_builder_triangle(builder, p, q, r);
}

void mesh_builder_quad(mesh_builder *builder, vec3 a, vec3 b, vec3 c, vec3 d, vec2 uv) {
    const vec3 positions[4] = {a, b, c, d};
    const vec2 texcoords[4] = {vec2_make(0, 0), vec2_make(uv.x, 0), vec2_make(uv.x, uv.y),
                               vec2_make(0, uv.y)};
    mesh_corner corners[4];
    for (int i = 0; i < 4; ++i) {
        corners[i] = plain_corner(builder, positions[i]);
        corners[i].texcoord = mesh_builder_texcoord(builder, texcoords[i]);
    }
    mesh_builder_triangle(builder, corners[0], corners[1], corners[2]);
    mesh_builder_triangle(builder, corners[0], corners[2], corners[3]);
}

void mesh_builder_box(mesh_builder *builder, vec3 lo, vec3 hi, const transform *placed) {
    /* Bits of a corner's index: 1 x, 2 y, 4 z. Each face is counter-clockwise seen from outside. */
    static const uint8_t faces[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                        {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    vec3 corners[8];
    for (int i = 0; i < 8; ++i)
        corners[i] = transform_point(
            placed, vec3_make(i & 1 ? hi.x : lo.x, i & 2 ? hi.y : lo.y, i & 4 ? hi.z : lo.z));
    for (int i = 0; i < 6; ++i)
        mesh_builder_quad(builder, corners[faces[i][0]], corners[faces[i][1]], corners[faces[i][2]],
                          corners[faces[i][3]], vec2_make(1, 1));
}

/* --- materials ------------------------------------------------------------------------------ */

static char *copy_text(mesh_builder *builder, const char *text) {
    char *copy = NULL;
    if (!text || builder->status != KD_OK) return NULL;
    const size_t bytes = strlen(text) + 1;
    builder->status = KD_RESERVE(copy, bytes);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}

static uint32_t find_material(const mesh_builder *builder, const char *name) {
    const text_span span = {name, strlen(name)};
    return name_table_find(&builder->names, span);
}

/* The table refers to the material's own string, which does not move. */
static void name_keep(mesh_builder *builder, const char *name, uint32_t index) {
    const text_span span = {name, strlen(name)};
    if (builder->status == KD_OK) builder->status = name_table_add(&builder->names, span, index);
    if (builder->status == KD_OK) builder->copies[index] = 1;
}

static mesh_material *add_material(mesh_builder *builder, const char *name) {
    reserve(builder, (void **)&builder->made.materials, builder->made.material_count, 1,
            &builder->material_capacity, sizeof(mesh_material));
    reserve(builder, (void **)&builder->copies, builder->made.material_count, 1,
            &builder->copies_capacity, sizeof(uint32_t));
    char *copy = copy_text(builder, name);
    if (copy) name_keep(builder, copy, builder->made.material_count);
    if (builder->status != KD_OK) {
        memory_free(copy);
        return NULL;
    }
    mesh_material *made = &builder->made.materials[builder->made.material_count++];
    mesh_material_default(made);
    made->name = copy;
    return made;
}

uint32_t mesh_builder_material(mesh_builder *builder, const char *name, const material *record) {
    uint32_t index = find_material(builder, name);
    if (index == KD_NONE) {
        mesh_material *made = add_material(builder, name);
        if (!made) return 0;
        made->record = *record;
        index = builder->made.material_count - 1;
    }
    builder->material = index;
    return index;
}

/* Writes `name`, or the first unused of name#2, name#3, ... Names are never removed, so the search
   starts after the last number used. */
static void free_name(mesh_builder *builder, const char *name, char *out, size_t size) {
    snprintf(out, size, "%.480s", name);
    const uint32_t first = find_material(builder, out);
    while (first != KD_NONE && find_material(builder, out) != KD_NONE)
        snprintf(out, size, "%.480s#%u", name, ++builder->copies[first]);
}

uint32_t mesh_builder_copy_material(mesh_builder *builder, const mesh_material *material) {
    /* `material` may be a material of this mesh, which may be reallocated */
    const mesh_material copied = *material;
    char name[512];
    free_name(builder, copied.name ? copied.name : "", name, sizeof name);
    mesh_material *made = add_material(builder, name);
    if (!made) return 0;
    char *own_name = made->name;
    *made = copied;
    made->name = own_name;
    for (int map = 0; map < MESH_MAPS; ++map) {
        char **path = mesh_material_map(made, (mesh_map)map);
        *path = copy_text(builder, *path);
    }
    return builder->made.material_count - 1;
}

/* --- what only some files have ------------------------------------------------------------- */

/* Extends the colours to `count` texture coordinates; new ones are white. */
static void whiten(mesh_builder *builder, uint64_t count) {
    if (count <= builder->colour_count) return;
    reserve(builder, (void **)&builder->made.colours, builder->colour_count,
            count - builder->colour_count, &builder->colour_capacity, 4 * sizeof(float));
    if (builder->status != KD_OK) return;
    for (uint64_t i = 4 * builder->colour_count; i < 4 * count; ++i) builder->made.colours[i] = 1;
    builder->colour_count = count;
}

/* Appends the colours of a part whose texture coordinates begin at `first`. */
static void append_colours(mesh_builder *builder, const mesh *part, uint64_t first) {
    if (!part->colours) return;
    whiten(builder, first + part->texcoord_count);
    if (builder->status == KD_OK)
        memcpy(builder->made.colours + 4 * first, part->colours,
               (size_t)part->texcoord_count * 4 * sizeof(float));
}

/* Extends the second texture coordinates to `count`; new ones equal the first set. */
static void repeat_texcoords(mesh_builder *builder, uint64_t count) {
    if (count <= builder->second_count) return;
    reserve(builder, (void **)&builder->made.texcoords_second, builder->second_count,
            count - builder->second_count, &builder->second_capacity, sizeof(vec2));
    if (builder->status != KD_OK) return;
    memcpy(builder->made.texcoords_second + builder->second_count,
           builder->made.texcoords + builder->second_count,
           (size_t)(count - builder->second_count) * sizeof(vec2));
    builder->second_count = count;
}

static void append_second(mesh_builder *builder, const mesh *part, uint64_t first) {
    if (!part->texcoords_second) return;
    repeat_texcoords(builder, first + part->texcoord_count);
    if (builder->status == KD_OK)
        memcpy(builder->made.texcoords_second + first, part->texcoords_second,
               (size_t)part->texcoord_count * sizeof(vec2));
}

/* Extends the tangents to `count` normals; new ones are zero (no tangent). */
static void clear_tangents(mesh_builder *builder, uint64_t count) {
    if (count <= builder->tangent_count) return;
    reserve(builder, (void **)&builder->made.tangents, builder->tangent_count,
            count - builder->tangent_count, &builder->tangent_capacity, 4 * sizeof(float));
    if (builder->status != KD_OK) return;
    memset(builder->made.tangents + 4 * builder->tangent_count, 0,
           (size_t)(count - builder->tangent_count) * 4 * sizeof(float));
    builder->tangent_count = count;
}

static void append_tangents(mesh_builder *builder, const mesh *part, uint64_t first,
                            const transform *placed) {
    const float side = transform_determinant(placed) < 0 ? -1.0f : 1.0f;
    if (!part->tangents) return;
    clear_tangents(builder, first + part->normal_count);
    for (uint32_t i = 0; i < part->normal_count && builder->status == KD_OK; ++i) {
        const float *from = part->tangents + 4 * (size_t)i;
        float *at = builder->made.tangents + 4 * (first + i);
        const vec3 direction =
            vec3_normalize(transform_direction(placed, vec3_make(from[0], from[1], from[2])));
        at[0] = direction.x;
        at[1] = direction.y;
        at[2] = direction.z;
        at[3] = side * from[3];
    }
}

static bool has_picture(const mesh *mesh, const char *name) {
    for (uint32_t i = 0; i < mesh->picture_count; ++i)
        if (strcmp(mesh->pictures[i].name, name) == 0) return true;
    return false;
}

static void append_pictures(mesh_builder *builder, const mesh *part) {
    mesh *made = &builder->made;
    for (uint32_t i = 0; i < part->picture_count && builder->status == KD_OK; ++i) {
        const mesh_picture *from = &part->pictures[i];
        mesh_picture copy = {NULL, NULL, from->count};
        if (has_picture(made, from->name)) continue;
        builder->status = KD_GROW(made->pictures, made->picture_count, made->picture_count + 1ull);
        if (builder->status == KD_OK) builder->status = KD_RESERVE(copy.bytes, from->count);
        copy.name = copy_text(builder, from->name);
        if (builder->status == KD_OK) {
            memcpy(copy.bytes, from->bytes, from->count);
            made->pictures[made->picture_count++] = copy;
        } else {
            memory_free(copy.bytes);
            memory_free(copy.name);
        }
    }
}

/* --- joining meshes ------------------------------------------------------------------------- */

/* Appends indices with an offset; reverses the winding if `turned`. */
static void append_indices(uint32_t *to, const uint32_t *from, uint64_t triangles, uint32_t base,
                           bool turned) {
    for (uint64_t i = 0; i < triangles; ++i)
        for (uint64_t corner = 0; corner < 3; ++corner) {
            const uint32_t index = from[3 * i + (turned ? (3 - corner) % 3 : corner)];
            to[3 * i + corner] = index == KD_NONE ? KD_NONE : index + base;
        }
}

uint32_t mesh_builder_append(mesh_builder *builder, const mesh *part, const transform *placed) {
    const mesh base = builder->made;
    for (uint32_t i = 0; i < part->material_count; ++i)
        mesh_builder_copy_material(builder, &part->materials[i]);
    reserve_normals(builder, part->normal_count);
    reserve_texcoords(builder, part->texcoord_count);
    mesh_builder_extend(builder, part->position_count, part->triangle_count);
    if (builder->status != KD_OK) return 0;
    mesh *made = &builder->made;
    for (uint32_t i = 0; i < part->position_count; ++i)
        made->positions[base.position_count + i] = transform_point(placed, part->positions[i]);
    for (uint32_t i = 0; i < part->normal_count; ++i)
        made->normals[base.normal_count + i] = transform_normal(placed, part->normals[i]);
    if (part->texcoord_count)
        memcpy(made->texcoords + base.texcoord_count, part->texcoords,
               part->texcoord_count * sizeof(vec2));
    append_colours(builder, part, base.texcoord_count);
    append_second(builder, part, base.texcoord_count);
    append_tangents(builder, part, base.normal_count, placed);
    append_pictures(builder, part);
    if (builder->status != KD_OK) return 0;
    made->normal_count += part->normal_count;
    made->texcoord_count += part->texcoord_count;
    made->face_count += part->face_count;
    if (part->triangle_count == 0) return base.material_count; /* the arrays may be NULL */
    const bool turned = transform_determinant(placed) < 0;
    const uint64_t first = 3 * (uint64_t)base.triangle_count, count = part->triangle_count;
    append_indices(made->triangles + first, part->triangles, count, base.position_count, turned);
    if (part->normal_indices)
        append_indices(made->normal_indices + first, part->normal_indices, count, base.normal_count,
                       turned);
    if (part->texcoord_indices)
        append_indices(made->texcoord_indices + first, part->texcoord_indices, count,
                       base.texcoord_count, turned);
    for (uint64_t i = 0; i < count; ++i)
        made->triangle_materials[base.triangle_count + i] =
            part->triangle_materials[i] + base.material_count;
    return base.material_count;
}

uint32_t mesh_builder_repeat_turned(mesh_builder *builder, uint32_t first, uint32_t count) {
    const uint64_t begin = builder->made.triangle_count, from = 3 * (uint64_t)first;
    mesh_builder_extend(builder, 0, count);
    if (builder->status != KD_OK) return 0;
    mesh *made = &builder->made;
    append_indices(made->triangles + 3 * begin, made->triangles + from, count, 0, true);
    append_indices(made->normal_indices + 3 * begin, made->normal_indices + from, count, 0, true);
    append_indices(made->texcoord_indices + 3 * begin, made->texcoord_indices + from, count, 0,
                   true);
    memcpy(made->triangle_materials + begin, made->triangle_materials + first,
           count * sizeof *made->triangle_materials);
    return (uint32_t)begin;
}

static void swap_corners(uint32_t *indices, uint64_t triangles) {
    for (uint64_t i = 0; indices && i < triangles; ++i) {
        const uint32_t second = indices[3 * i + 1];
        indices[3 * i + 1] = indices[3 * i + 2];
        indices[3 * i + 2] = second;
    }
}

void mesh_turn(mesh *mesh) {
    for (uint32_t i = 0; i < mesh->normal_count; ++i)
        mesh->normals[i] = vec3_negate(mesh->normals[i]);
    for (uint32_t i = 0; i < mesh->normal_count && mesh->tangents; ++i)
        mesh->tangents[4 * (size_t)i + 3] = -mesh->tangents[4 * (size_t)i + 3];
    swap_corners(mesh->triangles, mesh->triangle_count);
    swap_corners(mesh->normal_indices, mesh->triangle_count);
    swap_corners(mesh->texcoord_indices, mesh->triangle_count);
}

kd_status mesh_drop_unused_materials(mesh *mesh) {
    uint32_t *moved = NULL; /* new index of each material, KD_NONE: unused */
    uint32_t kept = 0;
    KD_TRY(KD_RESERVE(moved, mesh->material_count));
    memset(moved, 0xff, mesh->material_count * sizeof *moved);
    for (uint32_t i = 0; i < mesh->triangle_count; ++i) moved[mesh->triangle_materials[i]] = 0;
    for (uint32_t i = 0; i < mesh->material_count; ++i) {
        if (moved[i] == KD_NONE) {
            mesh_material_close(&mesh->materials[i]);
        } else {
            mesh->materials[kept] = mesh->materials[i];
            moved[i] = kept++;
        }
    }
    mesh->material_count = kept;
    for (uint32_t i = 0; i < mesh->triangle_count; ++i)
        mesh->triangle_materials[i] = moved[mesh->triangle_materials[i]];
    memory_free(moved);
    return KD_OK;
}

kd_status mesh_builder_finish(mesh_builder *builder, mesh *out) {
    if (builder->made.colours) whiten(builder, builder->made.texcoord_count);
    if (builder->made.texcoords_second) repeat_texcoords(builder, builder->made.texcoord_count);
    if (builder->made.tangents) clear_tangents(builder, builder->made.normal_count);
    const kd_status status = builder->status;
    mesh *made = &builder->made;
    memset(out, 0, sizeof *out);
    if (status == KD_OK) {
        if (made->normal_count == 0) {
            memory_free(made->normal_indices);
            made->normal_indices = NULL;
        }
        if (made->texcoord_count == 0) {
            memory_free(made->texcoord_indices);
            made->texcoord_indices = NULL;
        }
        if (made->face_count == 0) made->face_count = made->triangle_count;
        *out = *made;
    } else {
        mesh_close(made);
    }
    name_table_close(&builder->names);
    memory_free(builder->copies);
    memset(builder, 0, sizeof *builder);
    return status;
}
