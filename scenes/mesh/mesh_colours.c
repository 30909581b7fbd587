/* Decodes colours, and gives each pair of a vertex and a texture coordinate an entry of its own. */
#include "scenes/mesh/mesh_colours.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/text/text.h"
#include "shaders/texture.h"
#include <stdio.h>
#include <string.h>

enum { BLOCK = 1 << 13 };

float colours_largest(const vec3 *colours, uint64_t count) {
    float largest = 0;
    for (uint64_t i = 0; i < count; ++i) {
        const float most = vec3_largest(colours[i]);
        if (most > largest) largest = most; /* false for NaN */
    }
    return largest;
}

colour_code colour_code_of_reals(const vec3 *colours, uint64_t count, bool is_linear) {
    const bool is_bytes = colours_largest(colours, count) > 2;
    const colour_code code = {is_bytes ? 255.0f : 1.0f, is_linear && !is_bytes};
    return code;
}

typedef struct decoder {
    vec3 *colours;
    uint64_t count;
    colour_code code;
} decoder;

static float unit_clamp(float value) {
    return value > 0 ? (value < 1 ? value : 1) : 0; /* maps NaN to 0 */
}

/* Integral bytes give the value of an 8-bit texel. */
static float number_decode(float number, colour_code code) {
    const float share = unit_clamp(number / code.white);
    if (code.is_linear) return share;
    const float level = 255 * share, whole = rintf(level);
    if (fabsf(level - whole) < 1e-4f) return srgb_to_linear((uint8_t)whole);
    const double v = (double)share;
    return (float)(v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
}

static void decode_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const decoder *in = (const decoder *)context;
    for (uint64_t i = (uint64_t)begin * BLOCK; i < (uint64_t)end * BLOCK && i < in->count; ++i) {
        const vec3 c = in->colours[i];
        if (isnan(c.x)) continue;
        in->colours[i] = vec3_make(number_decode(c.x, in->code), number_decode(c.y, in->code),
                                   number_decode(c.z, in->code));
    }
}

void colours_decode(vec3 *colours, uint64_t count, colour_code code) {
    decoder in = {colours, count, code};
    parallel_for((int64_t)((count + BLOCK - 1) / BLOCK), 1, decode_body, &in);
}

static void colour_write(float *to, vec3 colour) {
    const vec3 seen = isnan(colour.x) ? vec3_all(1) : colour;
    to[0] = seen.x;
    to[1] = seen.y;
    to[2] = seen.z;
    to[3] = 1;
}

static kd_status count_check(uint64_t count) {
    KD_REQUIRE(count < KD_NONE, KD_ERROR_INPUT,
               "the mesh has %llu texture coordinates and colours; supported: at most 4294967294",
               (unsigned long long)count);
    return KD_OK;
}

/* --- colours of vertices --------------------------------------------------------------------- */

/* An entry is owned by the first vertex that uses it. Another vertex that uses it, and a vertex
   without texture coordinate, get an added entry, which a hash table finds by both numbers. */
typedef struct colour_writer {
    struct mesh *mesh;
    uint32_t *owners;  /* vertex of each entry, KD_NONE: none yet */
    uint32_t *sources; /* texture coordinate of each added entry, KD_NONE: none */
    uint32_t *table;   /* numbers of added entries, KD_NONE: free; a power of two */
    uint64_t given, count, capacity, table_size;
} colour_writer;

static uint64_t slot_of(const colour_writer *writer, uint32_t vertex, uint32_t source) {
    const uint64_t mask = writer->table_size - 1;
    uint64_t at = hash_scatter((uint64_t)vertex << 32 | source) & mask;
    for (;; at = (at + 1) & mask) {
        const uint32_t entry = writer->table[at];
        if (entry == KD_NONE ||
            (writer->owners[entry] == vertex && writer->sources[entry - writer->given] == source))
            return at;
    }
}

static kd_status table_grow(colour_writer *writer) {
    const uint64_t added = writer->count - writer->given;
    if (2 * (added + 1) <= writer->table_size) return KD_OK;
    writer->table_size = writer->table_size ? 2 * writer->table_size : 1024;
    memory_free(writer->table);
    writer->table = NULL;
    KD_TRY(KD_RESERVE(writer->table, writer->table_size));
    memset(writer->table, 0xff, writer->table_size * sizeof *writer->table);
    for (uint64_t i = writer->given; i < writer->count; ++i)
        writer->table[slot_of(writer, writer->owners[i], writer->sources[i - writer->given])] =
            (uint32_t)i;
    return KD_OK;
}

static kd_status entry_add(colour_writer *writer, uint32_t vertex, uint32_t source,
                           uint32_t *entry) {
    KD_TRY(table_grow(writer));
    const uint64_t slot = slot_of(writer, vertex, source);
    *entry = writer->table[slot];
    if (*entry != KD_NONE) return KD_OK;
    KD_TRY(count_check(writer->count + 1));
    if (writer->count == writer->capacity) {
        const uint64_t more = writer->capacity / 2 + 1024, capacity = writer->capacity + more;
        KD_TRY(KD_GROW(writer->owners, writer->count, capacity));
        KD_TRY(KD_GROW(writer->sources, writer->count - writer->given, capacity - writer->given));
        writer->capacity = capacity;
    }
    *entry = (uint32_t)writer->count++;
    writer->owners[*entry] = vertex;
    writer->sources[*entry - writer->given] = source;
    writer->table[slot] = *entry;
    return KD_OK;
}

/* A triangle with a corner without texture coordinate has none: textures are sampled at (0, 0). */
static kd_status triangle_write(colour_writer *writer, uint64_t triangle) {
    const uint32_t *corners = writer->mesh->triangles + 3 * triangle;
    uint32_t *entries = writer->mesh->texcoord_indices + 3 * triangle;
    const bool whole = entries[0] != KD_NONE && entries[1] != KD_NONE && entries[2] != KD_NONE;
    for (int k = 0; k < 3; ++k) {
        const uint32_t source = whole ? entries[k] : KD_NONE;
        if (whole && writer->owners[source] == KD_NONE) writer->owners[source] = corners[k];
        if (!whole || writer->owners[source] != corners[k])
            KD_TRY(entry_add(writer, corners[k], source, &entries[k]));
    }
    return KD_OK;
}

static kd_status entries_write(colour_writer *writer, const vec3 *vertices) {
    mesh *into = writer->mesh;
    writer->given = writer->count = writer->capacity = into->texcoord_count;
    KD_TRY(KD_RESERVE(writer->owners, writer->count));
    memset(writer->owners, 0xff, writer->count * sizeof *writer->owners);
    for (uint64_t i = 0; i < into->triangle_count; ++i) KD_TRY(triangle_write(writer, i));
    KD_TRY(KD_GROW(into->texcoords, writer->given, writer->count));
    KD_TRY(KD_RESERVE(into->colours, 4 * writer->count));
    for (uint64_t i = 0; i < writer->count; ++i) {
        const uint32_t owner = writer->owners[i];
        colour_write(into->colours + 4 * i, owner == KD_NONE ? vec3_all(NAN) : vertices[owner]);
    }
    for (uint64_t i = writer->given; i < writer->count; ++i) {
        const uint32_t source = writer->sources[i - writer->given];
        into->texcoords[i] = source == KD_NONE ? vec2_make(0, 0) : into->texcoords[source];
    }
    into->texcoord_count = (uint32_t)writer->count;
    return KD_OK;
}

/* One entry per vertex, for a mesh without texture coordinates. */
static kd_status plain_entries_write(mesh *mesh, const vec3 *vertices) {
    const uint64_t corners = 3 * (uint64_t)mesh->triangle_count, count = mesh->position_count;
    memory_free(mesh->texcoords);
    mesh->texcoords = NULL;
    mesh->texcoord_count = 0;
    KD_TRY(KD_RESERVE_ZEROED(mesh->texcoords, count));
    KD_TRY(KD_RESERVE(mesh->texcoord_indices, corners));
    KD_TRY(KD_RESERVE(mesh->colours, 4 * count));
    memcpy(mesh->texcoord_indices, mesh->triangles, corners * sizeof *mesh->triangles);
    for (uint64_t i = 0; i < count; ++i) colour_write(mesh->colours + 4 * i, vertices[i]);
    mesh->texcoord_count = (uint32_t)count;
    return KD_OK;
}

kd_status mesh_colour_vertices(mesh *mesh, const vec3 *vertices) {
    if (mesh->triangle_count == 0) return KD_OK;
    if (!mesh->texcoord_indices) return plain_entries_write(mesh, vertices);
    colour_writer writer = {.mesh = mesh};
    const kd_status status = entries_write(&writer, vertices);
    memory_free(writer.owners);
    memory_free(writer.sources);
    memory_free(writer.table);
    return status;
}

/* --- colours of triangles and corners -------------------------------------------------------- */

/* Gives each triangle `per` entries of its own, 1 or 3; each has a colour, or three have one. */
static kd_status entries_split(mesh *mesh, const vec3 *colours, uint64_t per, bool by_corner) {
    const bool textured = mesh->texcoord_indices != NULL;
    const uint64_t corners = 3 * (uint64_t)mesh->triangle_count;
    const uint64_t count = per * mesh->triangle_count;
    vec2 *texcoords = NULL;
    if (count == 0) return KD_OK;
    KD_TRY(count_check(count));
    if (!textured) KD_TRY(KD_RESERVE(mesh->texcoord_indices, corners));
    KD_TRY(KD_RESERVE(mesh->colours, 4 * count));
    KD_TRY(KD_RESERVE_ZEROED(texcoords, count));
    for (uint64_t i = 0; i < corners; ++i) {
        const uint32_t from = textured ? mesh->texcoord_indices[i] : KD_NONE;
        if (from != KD_NONE) texcoords[i] = mesh->texcoords[from];
        mesh->texcoord_indices[i] = (uint32_t)(per == 3 ? i : i / 3);
    }
    for (uint64_t i = 0; i < count; ++i)
        colour_write(mesh->colours + 4 * i, colours[by_corner ? i : i / per]);
    memory_free(mesh->texcoords);
    mesh->texcoords = texcoords;
    mesh->texcoord_count = (uint32_t)count;
    return KD_OK;
}

kd_status mesh_colour_triangles(mesh *mesh, const vec3 *triangles) {
    return entries_split(mesh, triangles, mesh->texcoord_indices ? 3 : 1, false);
}

kd_status mesh_colour_corners(mesh *mesh, const vec3 *corners) {
    return entries_split(mesh, corners, 3, true);
}

/* --- materials ------------------------------------------------------------------------------- */

static bool has_material(const mesh *mesh, const char *name) {
    for (uint32_t i = 0; i < mesh->material_count; ++i)
        if (strcmp(mesh->materials[i].name, name) == 0) return true;
    return false;
}

kd_status mesh_add_white(mesh *mesh) {
    char name[32] = "coloured";
    for (int i = 2; has_material(mesh, name); ++i) snprintf(name, sizeof name, "coloured-%d", i);
    KD_TRY(KD_GROW(mesh->materials, mesh->material_count, mesh->material_count + 1ull));
    mesh_material *made = &mesh->materials[mesh->material_count];
    mesh_material_default(made);
    made->record.diffuse = vec3_all(1);
    KD_TRY(text_copy(&made->name, name));
    ++mesh->material_count;
    return KD_OK;
}
