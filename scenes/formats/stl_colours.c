/* Colours of the facets of binary STL files, which two families of programs keep in the 16 bits of
   a facet's attribute, five bits per channel in sRGB:
     VisCAM, SolidView  bit 15 is 1 where the facet has a colour; red is in bits 10 to 14, blue in
                        bits 0 to 4
     Magics             the header contains "COLOR=" and four bytes, the colour of the whole body;
                        bit 15 is 0 where the facet has a colour of its own; red is in bits 0 to 4,
                        blue in bits 10 to 14
   Idea: there are at most 2^15 colours, so each has one entry of the mesh's colours, which all
     facets of that colour share. */
#include "core/memory.h"
#include "scenes/formats/stl_piece.h"
#include "scenes/mesh/mesh_builder.h"
#include "scenes/mesh/mesh_colours.h"
#include "shaders/texture.h"

enum { OWN = 1 << 15, CODES = 1 << 15, WHOLE = CODES, ENTRIES };

/* The colour of a whole body in the header of Magics. */
typedef struct body_colour {
    bool given;
    uint8_t bytes[3];
} body_colour;

static body_colour body_colour_of(text_span header) {
    static const char key[] = "COLOR=";
    const uint64_t length = sizeof key - 1;
    body_colour found = {false, {0, 0, 0}};
    for (uint64_t i = 0; i + length + 3 <= header.count && !found.given; ++i) {
        if (memcmp(header.begin + i, key, length) != 0) continue;
        found.given = true;
        memcpy(found.bytes, header.begin + i + length, sizeof found.bytes);
    }
    return found;
}

/* Returns the entry of a facet's colour, KD_NONE if it has none. A Magics file without any
   attribute has only the colour of the body. */
static uint32_t code_of(uint32_t attribute, bool is_magics, uint32_t attributes) {
    const bool own = (attribute & OWN) != 0;
    if (is_magics) return own || attributes == 0 ? WHOLE : attribute;
    return own ? attribute & (CODES - 1) : KD_NONE;
}

static float channel_of(uint32_t code, int shift) {
    const uint32_t five = code >> shift & 31;
    return srgb_to_linear((uint8_t)((five * 255 + 15) / 31));
}

static vec3 colour_of(uint32_t code, const body_colour *body) {
    if (code == WHOLE)
        return vec3_make(srgb_to_linear(body->bytes[0]), srgb_to_linear(body->bytes[1]),
                         srgb_to_linear(body->bytes[2]));
    const float low = channel_of(code, 0), middle = channel_of(code, 5);
    const float high = channel_of(code, 10);
    return body->given ? vec3_make(low, middle, high) : vec3_make(high, middle, low);
}

/* Sets the entry of each corner, with numbers in the order of their first use. */
static void facets_paint(mesh *mesh, text_span facets, const body_colour *body, uint32_t attributes,
                         uint32_t *numbers) {
    const char *end = facets.begin + facets.count;
    uint64_t triangle = 0;
    memset(numbers, 0xff, ENTRIES * sizeof *numbers);
    for (const char *at = facets.begin; at < end && triangle < mesh->triangle_count;
         at += STL_FACET) {
        vec3 corners[3];
        if (!stl_corners_read(at, corners)) continue;
        const unsigned char *attribute = (const unsigned char *)at + 48;
        const uint32_t code =
            code_of((uint32_t)(attribute[0] | attribute[1] << 8), body->given, attributes);
        uint32_t entry = KD_NONE;
        if (code != KD_NONE) {
            if (numbers[code] == KD_NONE) numbers[code] = mesh->texcoord_count++;
            entry = numbers[code];
            mesh->triangle_materials[triangle] = mesh->material_count;
        }
        for (uint64_t k = 0; k < 3; ++k) mesh->texcoord_indices[3 * triangle + k] = entry;
        ++triangle;
    }
}

static kd_status entries_write(mesh *mesh, const body_colour *body, const uint32_t *numbers) {
    KD_TRY(KD_RESERVE_ZEROED(mesh->texcoords, mesh->texcoord_count));
    KD_TRY(KD_RESERVE(mesh->colours, 4 * (uint64_t)mesh->texcoord_count));
    for (uint32_t code = 0; code < ENTRIES; ++code) {
        if (numbers[code] == KD_NONE) continue;
        const vec3 colour = colour_of(code, body);
        float *to = mesh->colours + 4 * (uint64_t)numbers[code];
        to[0] = colour.x;
        to[1] = colour.y;
        to[2] = colour.z;
        to[3] = 1;
    }
    return KD_OK;
}

kd_status stl_colours(mesh *mesh, text_span header, text_span facets, uint32_t attributes) {
    const body_colour body = body_colour_of(header);
    uint32_t *numbers = NULL;
    kd_status status = KD_OK;
    if (mesh->triangle_count == 0 || !(body.given || attributes & OWN)) return KD_OK;
    KD_TRY(KD_RESERVE(numbers, ENTRIES));
    KD_TRY_GOTO(KD_RESERVE(mesh->texcoord_indices, 3 * (uint64_t)mesh->triangle_count));
    facets_paint(mesh, facets, &body, attributes, numbers);
    KD_TRY_GOTO(entries_write(mesh, &body, numbers));
    KD_TRY_GOTO(mesh_add_white(mesh));
    status = mesh_drop_unused_materials(mesh);
done:
    memory_free(numbers);
    return status;
}
