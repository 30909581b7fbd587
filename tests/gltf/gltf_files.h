/* Makes glTF files for tests: accessors are appended to a buffer, the rest of the JSON is given as
   text, and the file is written as .glb, with base64 data, or with the buffer in a separate
   file. */
#ifndef KD_TESTS_GLTF_GLTF_FILES_H
#define KD_TESTS_GLTF_GLTF_FILES_H
#include "scenes/describe/readers.h"
#include "tests/scenes/files.h"
#include <stdarg.h>

enum { GLTF_BYTE = 5120, GLTF_UBYTE, GLTF_SHORT, GLTF_USHORT, GLTF_UINT = 5125, GLTF_FLOAT };
enum { GLTF_BIN = 1 << 18, GLTF_TEXT = 1 << 20 };

typedef struct gltf_maker {
    unsigned char bin[GLTF_BIN];
    size_t bytes;
    char views[1 << 14], accessors[1 << 14];
    int view_count, accessor_count;
} gltf_maker;

static inline void gltf_say(char *text, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static inline void gltf_say(char *text, size_t bytes, const char *format, ...) {
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text + used, bytes - used, format, arguments);
    va_end(arguments);
    assert_true(length >= 0 && (size_t)length < bytes - used);
}

static inline int gltf_type_bytes(int type) {
    return type <= GLTF_UBYTE ? 1 : type <= GLTF_USHORT ? 2 : 4;
}

/* Appends a buffer view with these bytes; returns its index. */
static inline int gltf_put_view(gltf_maker *maker, const void *bytes, size_t count, int stride) {
    while (maker->bytes % 4) maker->bin[maker->bytes++] = 0;
    assert_true(maker->bytes + count <= GLTF_BIN);
    memcpy(maker->bin + maker->bytes, bytes, count);
    gltf_say(maker->views, sizeof maker->views,
             "%s{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu", maker->view_count ? "," : "",
             maker->bytes, count);
    if (stride) gltf_say(maker->views, sizeof maker->views, ",\"byteStride\":%d", stride);
    gltf_say(maker->views, sizeof maker->views, "}");
    maker->bytes += count;
    return maker->view_count++;
}

/* Appends an accessor of a view; `more` is further JSON (",\"normalized\":true"), or "". */
static inline int gltf_put_accessor(gltf_maker *maker, int view, int offset, int type, int count,
                                    const char *kind, const char *more) {
    gltf_say(maker->accessors, sizeof maker->accessors,
             "%s{\"bufferView\":%d,\"byteOffset\":%d,\"componentType\":%d,\"count\":%d,"
             "\"type\":\"%s\"%s}",
             maker->accessor_count ? "," : "", view, offset, type, count, kind, more);
    return maker->accessor_count++;
}

/* Appends a view and an accessor of its tightly packed values. */
static inline int gltf_put(gltf_maker *maker, const void *values, int type, int components,
                           int count, const char *more) {
    static const char *const kinds[] = {"", "SCALAR", "VEC2", "VEC3", "VEC4"};
    const size_t bytes = (size_t)(gltf_type_bytes(type) * components * count);
    return gltf_put_accessor(maker, gltf_put_view(maker, values, bytes, 0), 0, type, count,
                             kinds[components], more);
}

/* Writes the JSON; `uri` is the location of the buffer. */
static inline void gltf_text_make(char *text, const gltf_maker *maker, const char *rest,
                                  const char *uri) {
    text[0] = '\0';
    gltf_say(text, GLTF_TEXT,
             "{\"asset\":{\"version\":\"2.0\"},%s,\"buffers\":[{\"byteLength\":%zu%s}],"
             "\"bufferViews\":[%s],\"accessors\":[%s]}",
             rest, maker->bytes, uri, maker->views, maker->accessors);
}

static char gltf_text_buffer[GLTF_TEXT], gltf_uri_buffer[GLTF_TEXT];

static inline void gltf_write_beside(const char *name, const gltf_maker *maker, const char *rest) {
    char uri[160], bin[128];
    snprintf(bin, sizeof bin, "%s.bin", name);
    snprintf(uri, sizeof uri, ",\"uri\":\"%s\"", bin);
    file_put(bin, (const char *)maker->bin, maker->bytes);
    gltf_text_make(gltf_text_buffer, maker, rest, uri);
    file_put_text(name, gltf_text_buffer);
}

static inline void gltf_base64(char *to, const unsigned char *from, size_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        uint32_t three = 0;
        for (size_t k = 0; k < 3; ++k) three = three << 8 | (i + k < count ? from[i + k] : 0u);
        for (size_t k = 0; k < 4; ++k)
            *to++ = i + k <= count ? digits[three >> (18 - 6 * k) & 63u] : '=';
    }
    *to = '\0';
}

static inline void gltf_write_inside(const char *name, const gltf_maker *maker, const char *rest) {
    char *uri = gltf_uri_buffer;
    strcpy(uri, ",\"uri\":\"data:application/octet-stream;base64,");
    gltf_base64(uri + strlen(uri), maker->bin, maker->bytes);
    strcat(uri, "\"");
    gltf_text_make(gltf_text_buffer, maker, rest, uri);
    file_put_text(name, gltf_text_buffer);
}

static inline size_t glb_put_u32(unsigned char *to, size_t at, size_t value) {
    for (int k = 0; k < 4; ++k) to[at + (size_t)k] = (unsigned char)(value >> 8 * k);
    return at + 4;
}

/* Writes a .glb with this JSON and these bytes. */
static inline size_t glb_make(unsigned char *to, const char *text, const unsigned char *bin,
                              size_t bytes) {
    const size_t length = strlen(text), padded = (length + 3) / 4 * 4, whole = (bytes + 3) / 4 * 4;
    size_t at = 0;
    memcpy(to, "glTF", 4);
    at = glb_put_u32(to, 4, 2);
    at = glb_put_u32(to, at, 12 + 8 + padded + 8 + whole);
    at = glb_put_u32(to, at, padded);
    at = glb_put_u32(to, at, 0x4e4f534a);
    memset(to + at, ' ', padded);
    memcpy(to + at, text, length);
    at = glb_put_u32(to, at + padded, whole);
    at = glb_put_u32(to, at, 0x004e4942);
    memset(to + at, 0, whole);
    memcpy(to + at, bin, bytes);
    return at + whole;
}

static inline void gltf_write_glb(const char *name, const gltf_maker *maker, const char *rest) {
    static unsigned char whole[GLTF_TEXT + GLTF_BIN];
    gltf_text_make(gltf_text_buffer, maker, rest, "");
    file_put(name, (const char *)whole,
             glb_make(whole, gltf_text_buffer, maker->bin, maker->bytes));
}

/* --- a box ------------------------------------------------------------------------------------ */

static const float corner_places[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                          {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
static const uint8_t box_indices[36] = {0, 2, 1, 0, 3, 2, 4, 5, 6, 4, 6, 7, 0, 1, 5, 0, 5, 4,
                                        1, 2, 6, 1, 6, 5, 2, 3, 7, 2, 7, 6, 3, 0, 4, 3, 4, 7};
#define ONE_NODE "\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0}],"
#define PRIMITIVE(text) "\"meshes\":[{\"primitives\":[{" text "}]}]"

/* A box with texture coordinates and one normal per face corner, with 16-bit indices. */
static inline void add_box(gltf_maker *maker) {
    float texcoords[8][2], normals[8][3];
    uint16_t indices[36];
    memset(maker, 0, sizeof *maker);
    for (int i = 0; i < 8; ++i) {
        for (int k = 0; k < 2; ++k) texcoords[i][k] = 0.25f * (float)((i + k) % 5);
        for (int k = 0; k < 3; ++k) normals[i][k] = corner_places[i][k] > 0 ? 0.6f : -0.6f;
    }
    for (int i = 0; i < 36; ++i) indices[i] = box_indices[i];
    gltf_put(maker, corner_places, GLTF_FLOAT, 3, 8, "");
    gltf_put(maker, normals, GLTF_FLOAT, 3, 8, "");
    gltf_put(maker, texcoords, GLTF_FLOAT, 2, 8, "");
    gltf_put(maker, indices, GLTF_USHORT, 1, 36, "");
}

#define BOX_PRIMITIVE                                                                              \
    PRIMITIVE("\"attributes\":{\"POSITION\":0,\"NORMAL\":1,\"TEXCOORD_0\":2},\"indices\":3")

static inline mesh load(const char *name) {
    mesh read;
    const kd_status status = mesh_load(&read, file_in(name), NULL, NULL);
    if (status != KD_OK) print_error("%s\n", kd_last_error());
    assert_int_equal(status, KD_OK);
    return read;
}

#endif
