/* Colours of the vertices of an OBJ file: "v x y z r g b", and "#MRGB" comments, which ZBrush
   writes after the vertices. Both are sRGB. */
#include "core/memory.h"
#include "scenes/formats/obj_chunk.h"
#include "scenes/mesh/mesh_colours.h"
#include "scenes/text/text.h"
#include "shaders/texture.h"

/* Returns the value of a hexadecimal digit, or -1. */
static int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* Reads the colour at *at and advances past it. Returns false if there is none. The mask, its first
   byte, says which vertices a program protects, and is ignored. */
static bool paint_read(const char **at, vec3 *colour) {
    uint8_t bytes[4];
    while (text_is_blank(**at)) ++*at;
    for (int i = 0; i < 4; ++i) {
        const int high = digit_of((*at)[0]), low = high < 0 ? -1 : digit_of((*at)[1]);
        if (low < 0) return false;
        bytes[i] = (uint8_t)(16 * high + low);
        *at += 2;
    }
    *colour =
        vec3_make(srgb_to_linear(bytes[1]), srgb_to_linear(bytes[2]), srgb_to_linear(bytes[3]));
    return true;
}

/* Lines of colours between the same vertices. They belong to the last vertices before them, so that
   an object may have colours while those before it have none. */
typedef struct paint_block {
    uint64_t done;      /* vertices before those of the block */
    uint64_t positions; /* vertices before its lines */
    uint64_t count;     /* colours in it */
} paint_block;

/* Writes the colours of the lines [first, last) of all lines. */
static void block_write(const paint_block *block, const obj_paint *const *paints, uint64_t first,
                        uint64_t last, vec3 *colours) {
    uint64_t at = block->done;
    if (block->count < block->positions - at) at = block->positions - block->count;
    for (uint64_t i = first; i < last; ++i) {
        const char *digits = paints[i]->at;
        for (vec3 colour; paint_read(&digits, &colour);)
            if (at < block->positions) colours[at++] = colour;
    }
}

static uint64_t paints_count(const obj_paint *paint) {
    uint64_t count = 0;
    const char *digits = paint->at;
    for (vec3 colour; paint_read(&digits, &colour);) ++count;
    return count;
}

static kd_status paints_write(const obj_chunk *chunks, uint64_t chunk_count, vec3 *colours) {
    const obj_paint **paints = NULL;
    uint64_t total = 0, first = 0;
    for (uint64_t c = 0; c < chunk_count; ++c) total += chunks[c].paint_count;
    KD_TRY(KD_RESERVE(paints, total));
    total = 0;
    for (uint64_t c = 0; c < chunk_count; ++c)
        for (uint64_t i = 0; i < chunks[c].paint_count; ++i) paints[total++] = &chunks[c].paints[i];
    paint_block block = {0};
    for (uint64_t i = 0; i < total; ++i) {
        block.positions = paints[i]->positions;
        block.count += paints_count(paints[i]);
        if (i + 1 < total && paints[i + 1]->positions == block.positions) continue;
        block_write(&block, paints, first, i + 1, colours);
        block.done = block.positions;
        block.count = 0;
        first = i + 1;
    }
    memory_free(paints);
    return KD_OK;
}

static bool is_coloured(const mesh *mesh, uint64_t triangle, const vec3 *colours) {
    const uint32_t *corners = mesh->triangles + 3 * triangle;
    for (int k = 0; k < 3; ++k)
        if (!isnan(colours[corners[k]].x)) return true;
    return false;
}

/* Default materials are grey, which would darken the colours. */
static kd_status fallback_whiten(mesh *mesh, const vec3 *colours, uint32_t fallback) {
    const uint32_t white = mesh->material_count;
    bool any = false, all = true;
    for (uint64_t i = 0; i < mesh->triangle_count; ++i) {
        if (mesh->triangle_materials[i] < fallback) continue;
        const bool coloured = is_coloured(mesh, i, colours);
        any = any || coloured;
        all = all && coloured;
    }
    for (uint32_t i = fallback; any && all && i < white; ++i)
        mesh->materials[i].record.diffuse = vec3_all(1);
    if (!any || all) return KD_OK;
    KD_TRY(mesh_add_white(mesh));
    for (uint64_t i = 0; i < mesh->triangle_count; ++i)
        if (mesh->triangle_materials[i] >= fallback && is_coloured(mesh, i, colours))
            mesh->triangle_materials[i] = white;
    return KD_OK;
}

static kd_status colours_take(mesh *mesh, const obj_chunk *chunks, uint64_t chunk_count,
                              vec3 *colours, uint32_t fallback) {
    const uint64_t count = mesh->position_count;
    for (uint64_t i = 0; i < count; ++i) colours[i] = vec3_all(NAN);
    for (uint64_t c = 0; c < chunk_count; ++c)
        if (chunks[c].colours)
            memcpy(colours + chunks[c].before.positions, chunks[c].colours,
                   chunks[c].counts.positions * sizeof *colours);
    colours_decode(colours, count, colour_code_of_reals(colours, count, false));
    KD_TRY(paints_write(chunks, chunk_count, colours));
    KD_TRY(fallback_whiten(mesh, colours, fallback));
    return mesh_colour_vertices(mesh, colours);
}

kd_status obj_colours(mesh *mesh, const obj_chunk *chunks, uint64_t chunk_count,
                      uint32_t fallback) {
    bool any = false;
    vec3 *colours = NULL;
    for (uint64_t c = 0; c < chunk_count; ++c)
        any = any || chunks[c].colours || chunks[c].paint_count;
    if (!any || mesh->triangle_count == 0) return KD_OK;
    KD_TRY(KD_RESERVE(colours, mesh->position_count));
    const kd_status status = colours_take(mesh, chunks, chunk_count, colours, fallback);
    memory_free(colours);
    return status;
}
