#include "scenes/mesh/mesh_builder.h"
#include "core/memory.h"
#include <stdio.h>

/* Ensures capacity for `more` items after the first `count` of an array; at least doubles it, so
   that appending takes amortised constant time. */
static void make_room(mesh_builder *to, void **array, uint64_t count, uint64_t more, uint64_t *room,
                      size_t item_bytes) {
    if (to->status != KD_OK || count + more <= *room) return;
    uint64_t larger = *room * 2 > count + more ? *room * 2 : count + more;
    if (larger < 64) larger = 64;
    to->status = memory_grow(array, count, larger, item_bytes);
    if (to->status == KD_OK) *room = larger;
}

static void check_count(mesh_builder *to, uint64_t count, const char *what) {
    if (to->status == KD_OK && count >= KD_NONE)
        to->status = status_fail(KD_ERROR_INPUT, __FILE__, __LINE__,
                                 "the mesh has %llu %s; supported: at most 4294967294",
                                 (unsigned long long)count, what);
}

static void room_for_triangles(mesh_builder *to, uint64_t more) {
    mesh *made = &to->made;
    const uint64_t count = made->triangle_count;
    check_count(to, count + more, "triangles");
    if (count + more <= to->triangle_room) return;
    uint64_t rooms[4] = {3 * to->triangle_room, 3 * to->triangle_room, 3 * to->triangle_room,
                         to->triangle_room};
    make_room(to, (void **)&made->triangles, 3 * count, 3 * more, &rooms[0], sizeof(uint32_t));
    make_room(to, (void **)&made->normal_indices, 3 * count, 3 * more, &rooms[1], sizeof(uint32_t));
    make_room(to, (void **)&made->texcoord_indices, 3 * count, 3 * more, &rooms[2],
              sizeof(uint32_t));
    make_room(to, (void **)&made->triangle_materials, count, more, &rooms[3], sizeof(uint32_t));
    if (to->status == KD_OK) to->triangle_room = rooms[3] < rooms[0] / 3 ? rooms[3] : rooms[0] / 3;
}

static void room_for_positions(mesh_builder *to, uint64_t more) {
    check_count(to, to->made.position_count + more, "vertices");
    make_room(to, (void **)&to->made.positions, to->made.position_count, more, &to->position_room,
              sizeof(vec3));
}

static void room_for_normals(mesh_builder *to, uint64_t more) {
    check_count(to, to->made.normal_count + more, "normals");
    make_room(to, (void **)&to->made.normals, to->made.normal_count, more, &to->normal_room,
              sizeof(vec3));
}

static void room_for_texcoords(mesh_builder *to, uint64_t more) {
    check_count(to, to->made.texcoord_count + more, "texture coordinates");
    make_room(to, (void **)&to->made.texcoords, to->made.texcoord_count, more, &to->texcoord_room,
              sizeof(vec2));
}

/* Every triangle needs a material: adds a default one if there is none yet. */
static void need_material(mesh_builder *to) {
    if (to->made.material_count > 0 || to->status != KD_OK) return;
    const material plain = material_default();
    mesh_builder_material(to, "default", &plain);
}

void mesh_builder_extend(mesh_builder *to, uint64_t positions, uint64_t triangles) {
    need_material(to);
    room_for_positions(to, positions);
    room_for_triangles(to, triangles);
    if (to->status != KD_OK) return;
    to->made.position_count += (uint32_t)positions;
    if (triangles == 0) return; /* the arrays may be NULL */
    const uint64_t first = to->made.triangle_count;
    memset(to->made.normal_indices + 3 * first, 0xff, 3 * triangles * sizeof(uint32_t));
    memset(to->made.texcoord_indices + 3 * first, 0xff, 3 * triangles * sizeof(uint32_t));
    for (uint64_t i = 0; i < triangles; ++i) to->made.triangle_materials[first + i] = to->material;
    to->made.triangle_count += (uint32_t)triangles;
}

void mesh_builder_extend_normals(mesh_builder *to, uint64_t normals) {
    room_for_normals(to, normals);
    if (to->status == KD_OK) to->made.normal_count += (uint32_t)normals;
}

uint32_t mesh_builder_position(mesh_builder *to, vec3 position) {
    room_for_positions(to, 1);
    if (to->status != KD_OK) return 0;
    to->made.positions[to->made.position_count] = position;
    return to->made.position_count++;
}

uint32_t mesh_builder_normal(mesh_builder *to, vec3 normal) {
    room_for_normals(to, 1);
    if (to->status != KD_OK) return 0;
    to->made.normals[to->made.normal_count] = normal;
    return to->made.normal_count++;
}

uint32_t mesh_builder_texcoord(mesh_builder *to, vec2 texcoord) {
    room_for_texcoords(to, 1);
    if (to->status != KD_OK) return 0;
    to->made.texcoords[to->made.texcoord_count] = texcoord;
    return to->made.texcoord_count++;
}

void mesh_builder_triangle(mesh_builder *to, mesh_corner a, mesh_corner b, mesh_corner c) {
    const mesh_corner corners[3] = {a, b, c};
    const uint64_t first = 3 * (uint64_t)to->made.triangle_count;
    mesh_builder_extend(to, 0, 1);
    if (to->status != KD_OK) return;
    for (int i = 0; i < 3; ++i) {
        to->made.triangles[first + (uint64_t)i] = corners[i].position;
        to->made.normal_indices[first + (uint64_t)i] = corners[i].normal;
        to->made.texcoord_indices[first + (uint64_t)i] = corners[i].texcoord;
    }
}

static mesh_corner plain_corner(mesh_builder *to, vec3 position) {
    const mesh_corner corner = {mesh_builder_position(to, position), KD_NONE, KD_NONE};
    return corner;
}

void mesh_builder_flat_triangle(mesh_builder *to, vec3 a, vec3 b, vec3 c) {
    const mesh_corner p = plain_corner(to, a), q = plain_corner(to, b), r = plain_corner(to, c);
    mesh_builder_triangle(to, p, q, r);
}

void mesh_builder_quad(mesh_builder *to, vec3 a, vec3 b, vec3 c, vec3 d, vec2 uv) {
    const vec3 positions[4] = {a, b, c, d};
    const vec2 texcoords[4] = {vec2_make(0, 0), vec2_make(uv.x, 0), vec2_make(uv.x, uv.y),
                               vec2_make(0, uv.y)};
    mesh_corner corners[4];
    for (int i = 0; i < 4; ++i) {
        corners[i] = plain_corner(to, positions[i]);
        corners[i].texcoord = mesh_builder_texcoord(to, texcoords[i]);
    }
    mesh_builder_triangle(to, corners[0], corners[1], corners[2]);
    mesh_builder_triangle(to, corners[0], corners[2], corners[3]);
}

void mesh_builder_box(mesh_builder *to, vec3 lo, vec3 hi, const transform *placed) {
    /* Bits of a corner's index: 1 x, 2 y, 4 z. Each face is counter-clockwise seen from outside. */
    static const uint8_t faces[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                        {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    vec3 corners[8];
    for (int i = 0; i < 8; ++i)
        corners[i] = transform_point(
            placed, vec3_make(i & 1 ? hi.x : lo.x, i & 2 ? hi.y : lo.y, i & 4 ? hi.z : lo.z));
    for (int i = 0; i < 6; ++i)
        mesh_builder_quad(to, corners[faces[i][0]], corners[faces[i][1]], corners[faces[i][2]],
                          corners[faces[i][3]], vec2_make(1, 1));
}

/* --- materials ------------------------------------------------------------------------------ */

static char *copy_text(mesh_builder *to, const char *text) {
    char *copy = NULL;
    if (!text || to->status != KD_OK) return NULL;
    const size_t bytes = strlen(text) + 1;
    to->status = KD_RESERVE(copy, bytes);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}

static uint32_t find_material(const mesh_builder *in, const char *name) {
    const text_span span = {name, strlen(name)};
    return name_table_find(&in->names, span);
}

/* The table refers to the material's own string, which does not move. */
static void name_keep(mesh_builder *to, const char *name, uint32_t index) {
    const text_span span = {name, strlen(name)};
    if (to->status == KD_OK) to->status = name_table_add(&to->names, span, index);
    if (to->status == KD_OK) to->copies[index] = 1;
}

static mesh_material *add_material(mesh_builder *to, const char *name) {
    make_room(to, (void **)&to->made.materials, to->made.material_count, 1, &to->material_room,
              sizeof(mesh_material));
    make_room(to, (void **)&to->copies, to->made.material_count, 1, &to->copies_room,
              sizeof(uint32_t));
    char *copy = copy_text(to, name);
    if (copy) name_keep(to, copy, to->made.material_count);
    if (to->status != KD_OK) {
        memory_free(copy);
        return NULL;
    }
    mesh_material *made = &to->made.materials[to->made.material_count++];
    mesh_material_default(made);
    made->name = copy;
    return made;
}

uint32_t mesh_builder_material(mesh_builder *to, const char *name, const material *record) {
    uint32_t found = find_material(to, name);
    if (found == KD_NONE) {
        mesh_material *made = add_material(to, name);
        if (!made) return 0;
        made->record = *record;
        found = to->made.material_count - 1;
    }
    to->material = found;
    return found;
}

/* Writes `name`, or the first unused of name#2, name#3, ... Names are never removed, so the search
   starts after the last number used. */
static void free_name(mesh_builder *in, const char *name, char *found, size_t size) {
    snprintf(found, size, "%.480s", name);
    const uint32_t first = find_material(in, found);
    while (first != KD_NONE && find_material(in, found) != KD_NONE)
        snprintf(found, size, "%.480s#%u", name, ++in->copies[first]);
}

uint32_t mesh_builder_copy_material(mesh_builder *to, const mesh_material *from) {
    /* `from` may be a material of this mesh, which may be reallocated */
    const mesh_material copied = *from;
    char name[512];
    free_name(to, copied.name ? copied.name : "", name, sizeof name);
    mesh_material *made = add_material(to, name);
    if (!made) return 0;
    char *own_name = made->name;
    *made = copied;
    made->name = own_name;
    for (int map = 0; map < MESH_MAPS; ++map) {
        char **path = mesh_material_map(made, (mesh_map)map);
        *path = copy_text(to, *path);
    }
    return to->made.material_count - 1;
}

/* --- what only some files have ------------------------------------------------------------- */

/* Extends the colours to `count` texture coordinates; new ones are white. */
static void whiten(mesh_builder *to, uint64_t count) {
    if (count <= to->colour_count) return;
    make_room(to, (void **)&to->made.colours, to->colour_count, count - to->colour_count,
              &to->colour_room, 4 * sizeof(float));
    if (to->status != KD_OK) return;
    for (uint64_t i = 4 * to->colour_count; i < 4 * count; ++i) to->made.colours[i] = 1;
    to->colour_count = count;
}

/* Appends the colours of a part whose texture coordinates begin at `first`. */
static void append_colours(mesh_builder *to, const mesh *part, uint64_t first) {
    if (!part->colours) return;
    whiten(to, first + part->texcoord_count);
    if (to->status == KD_OK)
        memcpy(to->made.colours + 4 * first, part->colours,
               (size_t)part->texcoord_count * 4 * sizeof(float));
}

/* Extends the second texture coordinates to `count`; new ones equal the first set. */
static void repeat_texcoords(mesh_builder *to, uint64_t count) {
    if (count <= to->second_count) return;
    make_room(to, (void **)&to->made.texcoords_second, to->second_count, count - to->second_count,
              &to->second_room, sizeof(vec2));
    if (to->status != KD_OK) return;
    memcpy(to->made.texcoords_second + to->second_count, to->made.texcoords + to->second_count,
           (size_t)(count - to->second_count) * sizeof(vec2));
    to->second_count = count;
}

static void append_second(mesh_builder *to, const mesh *part, uint64_t first) {
    if (!part->texcoords_second) return;
    repeat_texcoords(to, first + part->texcoord_count);
    if (to->status == KD_OK)
        memcpy(to->made.texcoords_second + first, part->texcoords_second,
               (size_t)part->texcoord_count * sizeof(vec2));
}

/* Extends the tangents to `count` normals; new ones are zero (no tangent). */
static void clear_tangents(mesh_builder *to, uint64_t count) {
    if (count <= to->tangent_count) return;
    make_room(to, (void **)&to->made.tangents, to->tangent_count, count - to->tangent_count,
              &to->tangent_room, 4 * sizeof(float));
    if (to->status != KD_OK) return;
    memset(to->made.tangents + 4 * to->tangent_count, 0,
           (size_t)(count - to->tangent_count) * 4 * sizeof(float));
    to->tangent_count = count;
}

static void append_tangents(mesh_builder *to, const mesh *part, uint64_t first,
                            const transform *placed) {
    const float side = transform_determinant(placed) < 0 ? -1.0f : 1.0f;
    if (!part->tangents) return;
    clear_tangents(to, first + part->normal_count);
    for (uint32_t i = 0; i < part->normal_count && to->status == KD_OK; ++i) {
        const float *from = part->tangents + 4 * (size_t)i;
        float *at = to->made.tangents + 4 * (first + i);
        const vec3 way =
            vec3_normalize(transform_way(placed, vec3_make(from[0], from[1], from[2])));
        at[0] = way.x;
        at[1] = way.y;
        at[2] = way.z;
        at[3] = side * from[3];
    }
}

static bool has_picture(const mesh *in, const char *name) {
    for (uint32_t i = 0; i < in->picture_count; ++i)
        if (strcmp(in->pictures[i].name, name) == 0) return true;
    return false;
}

static void append_pictures(mesh_builder *to, const mesh *part) {
    mesh *made = &to->made;
    for (uint32_t i = 0; i < part->picture_count && to->status == KD_OK; ++i) {
        const mesh_picture *from = &part->pictures[i];
        mesh_picture copy = {NULL, NULL, from->count};
        if (has_picture(made, from->name)) continue;
        to->status = KD_GROW(made->pictures, made->picture_count, made->picture_count + 1ull);
        if (to->status == KD_OK) to->status = KD_RESERVE(copy.bytes, from->count);
        copy.name = copy_text(to, from->name);
        if (to->status == KD_OK) {
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

uint32_t mesh_builder_append(mesh_builder *to, const mesh *part, const transform *placed) {
    const mesh base = to->made;
    for (uint32_t i = 0; i < part->material_count; ++i)
        mesh_builder_copy_material(to, &part->materials[i]);
    room_for_normals(to, part->normal_count);
    room_for_texcoords(to, part->texcoord_count);
    mesh_builder_extend(to, part->position_count, part->triangle_count);
    if (to->status != KD_OK) return 0;
    mesh *made = &to->made;
    for (uint32_t i = 0; i < part->position_count; ++i)
        made->positions[base.position_count + i] = transform_point(placed, part->positions[i]);
    for (uint32_t i = 0; i < part->normal_count; ++i)
        made->normals[base.normal_count + i] = transform_normal(placed, part->normals[i]);
    if (part->texcoord_count)
        memcpy(made->texcoords + base.texcoord_count, part->texcoords,
               part->texcoord_count * sizeof(vec2));
    append_colours(to, part, base.texcoord_count);
    append_second(to, part, base.texcoord_count);
    append_tangents(to, part, base.normal_count, placed);
    append_pictures(to, part);
    if (to->status != KD_OK) return 0;
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

uint32_t mesh_builder_repeat_turned(mesh_builder *to, uint32_t first, uint32_t count) {
    const uint64_t begin = to->made.triangle_count, from = 3 * (uint64_t)first;
    mesh_builder_extend(to, 0, count);
    if (to->status != KD_OK) return 0;
    mesh *made = &to->made;
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

void mesh_turn(mesh *of) {
    for (uint32_t i = 0; i < of->normal_count; ++i) of->normals[i] = vec3_negate(of->normals[i]);
    for (uint32_t i = 0; i < of->normal_count && of->tangents; ++i)
        of->tangents[4 * (size_t)i + 3] = -of->tangents[4 * (size_t)i + 3];
    swap_corners(of->triangles, of->triangle_count);
    swap_corners(of->normal_indices, of->triangle_count);
    swap_corners(of->texcoord_indices, of->triangle_count);
}

kd_status mesh_drop_unused_materials(mesh *of) {
    uint32_t *moved = NULL; /* new index of each material, KD_NONE: unused */
    uint32_t kept = 0;
    KD_TRY(KD_RESERVE(moved, of->material_count));
    memset(moved, 0xff, of->material_count * sizeof *moved);
    for (uint32_t i = 0; i < of->triangle_count; ++i) moved[of->triangle_materials[i]] = 0;
    for (uint32_t i = 0; i < of->material_count; ++i) {
        if (moved[i] == KD_NONE) {
            mesh_material_close(&of->materials[i]);
        } else {
            of->materials[kept] = of->materials[i];
            moved[i] = kept++;
        }
    }
    of->material_count = kept;
    for (uint32_t i = 0; i < of->triangle_count; ++i)
        of->triangle_materials[i] = moved[of->triangle_materials[i]];
    memory_free(moved);
    return KD_OK;
}

kd_status mesh_builder_finish(mesh_builder *from, mesh *out) {
    if (from->made.colours) whiten(from, from->made.texcoord_count);
    if (from->made.texcoords_second) repeat_texcoords(from, from->made.texcoord_count);
    if (from->made.tangents) clear_tangents(from, from->made.normal_count);
    const kd_status status = from->status;
    mesh *made = &from->made;
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
    name_table_close(&from->names);
    memory_free(from->copies);
    memset(from, 0, sizeof *from);
    return status;
}
