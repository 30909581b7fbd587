/* Buffers and buffer views, loaded on first use: from a data URI, or from a file that is not
   outside the directory; plain or compressed by meshoptimizer (EXT_meshopt_compression), whose
   decoder is safe on untrusted data. */
#include "core/memory.h"
#include "scenes/import/gltf_file.h"
#include "scenes/text/paths.h"
#include <strings.h>

/* --- base64 ----------------------------------------------------------------------------------- */

static int digit_of(char c) { /* -1: not a digit */
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+' || c == '-') return 62;
    if (c == '/' || c == '_') return 63;
    return -1;
}

static int hex_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Returns the character at a position of a URI, with %XX decoded, and its length. */
static char uri_char(const char *at, int *length) {
    const int high = *at == '%' ? hex_of(at[1]) : -1, low = high >= 0 ? hex_of(at[2]) : -1;
    *length = low >= 0 ? 3 : 1;
    return low >= 0 ? (char)(high * 16 + low) : *at;
}

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Skips blanks, which some programs write to break lines. Stops at the first other character that
   is neither a base64 digit nor padding behind the digits; *end points to it. */
static uint64_t base64_decode(const char *at, unsigned char *to, const char **end) {
    uint32_t held = 0;
    int bits = 0, length = 1;
    uint64_t count = 0;
    for (bool is_padded = false; *at; at += length) {
        const char c = uri_char(at, &length);
        const int digit = digit_of(c);
        if (is_blank(c)) continue;
        is_padded = is_padded || c == '=';
        if (is_padded && c == '=') continue;
        if (is_padded || digit < 0) break;
        held = held << 6 | (uint32_t)digit;
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        to[count++] = (unsigned char)(held >> bits);
    }
    *end = at;
    return count;
}

/* The scheme and ";base64" may be in upper case, with blanks around them. */
bool gltf_uri_is_data(const char *uri) {
    while (is_blank(*uri)) ++uri;
    return strncasecmp(uri, "data:", 5) == 0;
}

static bool says_base64(const char *uri, const char *comma) {
    while (comma > uri && is_blank(comma[-1])) --comma;
    if (comma - uri < 6 || strncasecmp(comma - 6, "base64", 6) != 0) return false;
    comma -= 6;
    while (comma > uri && is_blank(comma[-1])) --comma;
    return comma > uri && comma[-1] == ';';
}

kd_status gltf_uri_decode(gltf_file *gltf, const json_place *at, const char *uri,
                          unsigned char **bytes, uint64_t *count) {
    const char *comma = strchr(uri, ','), *end = NULL;
    *bytes = NULL;
    if (!comma || !says_base64(uri, comma))
        return gltf_fail(gltf, "bad-uri", at, "found \"%.40s...\", expected data in base64", uri);
    KD_TRY(KD_RESERVE(*bytes, strlen(comma) / 4 * 3 + 3));
    *count = base64_decode(comma + 1, *bytes, &end);
    if (!*end) return KD_OK;
    memory_free(*bytes);
    *bytes = NULL;
    return gltf_fail(
        gltf, "bad-uri", at,
        "found an invalid base64 character at byte %lld, expected A-Z, a-z, 0-9, + and /",
        (long long)(end - comma - 1));
}

/* --- files ------------------------------------------------------------------------------------ */

/* Decodes %XX sequences. Returns false if the result contains a zero byte. */
static bool name_decode(const char *uri, char *name) {
    for (int length; *uri; uri += length) {
        *name = uri_char(uri, &length);
        if (!*name++) return false;
    }
    *name = '\0';
    return true;
}

/* Returns true for a relative path without scheme or drive that never leaves the directory. */
static bool stays_below(const char *name) {
    int depth = 0;
    if (strcspn(name, "/\\") == 0 || strchr(name, ':')) return false;
    while (*name) {
        const size_t length = strcspn(name, "/\\");
        if (length == 2 && name[0] == '.' && name[1] == '.')
            --depth;
        else if (length && !(length == 1 && name[0] == '.'))
            ++depth;
        if (depth < 0) return false;
        name += length + (name[length] != '\0');
    }
    return depth > 0;
}

/* Searches for the file as a name that other programs write: in other case, with a drive. */
static kd_status file_find(gltf_file *gltf, const json_place *at, const char *uri,
                           const char *decoded, char **path) {
    const text_span name = {decoded, strlen(decoded)};
    path_found found;
    KD_TRY(path_find(gltf->path, name, &found));
    if (!found.path) return KD_OK;
    if (found.is_other)
        gltf_warn(gltf, "other-name", at, "found the file \"%.400s\" as %.400s", uri, found.name);
    memory_free(*path);
    *path = found.path;
    return KD_OK;
}

kd_status gltf_uri_path(gltf_file *gltf, const json_place *at, const char *uri, char **path) {
    char *name = NULL;
    kd_status status = KD_OK;
    *path = NULL;
    KD_TRY(KD_RESERVE(name, strlen(uri) + 1));
    const bool decodes = name_decode(uri, name), sound = decodes && stays_below(name);
    if (sound) *path = file_path_beside(gltf->path, name);
    if (decodes && !(*path && file_exists(*path))) status = file_find(gltf, at, uri, name, path);
    memory_free(name);
    KD_TRY(status);
    if (!sound && !*path)
        return gltf_fail(gltf, "bad-uri", at,
                         "found \"%.400s\", expected a file in the folder of this one, or below it",
                         uri);
    KD_REQUIRE(*path, KD_ERROR_MEMORY, "%s: out of memory for a file name", gltf->path);
    return KD_OK;
}

#if KD_HAVE_MESHOPT
#include <meshoptimizer.h>

/* limit on decoded bytes, per compressed byte */
enum { UNPACKED_FACTOR = 1024, UNPACKED_MIN = 1 << 16 };

typedef struct packed_view {
    gltf_bytes from;
    uint64_t count, stride;
    const char *mode, *filter;
} packed_view;

static kd_status packed_read(gltf_file *gltf, const json_place *at, const cJSON *packed,
                             packed_view *out) {
    out->mode = "";
    out->filter = "NONE";
    KD_TRY(gltf_view_part(gltf, at, packed, &out->from));
    KD_TRY(gltf_count(gltf, at, packed, "count", &out->count));
    KD_TRY(gltf_count(gltf, at, packed, "byteStride", &out->stride));
    KD_TRY(gltf_text(gltf, at, packed, "mode", &out->mode));
    KD_TRY(gltf_text(gltf, at, packed, "filter", &out->filter));
    const bool is_attributes = strcmp(out->mode, "ATTRIBUTES") == 0;
    const bool is_triangles = strcmp(out->mode, "TRIANGLES") == 0;
    const bool fits = is_attributes ? out->stride % 4 == 0 && out->stride > 0 && out->stride <= 256
                                    : out->stride == 2 || out->stride == 4;
    if (!is_attributes && !is_triangles && strcmp(out->mode, "INDICES") != 0)
        return gltf_fail(gltf, "bad-value", at,
                         "found the mode \"%.20s\", expected ATTRIBUTES, TRIANGLES or INDICES",
                         out->mode);
    if (!fits || (is_triangles && out->count % 3))
        return gltf_fail(gltf, "bad-value", at,
                         "found %llu elements of %llu bytes, which the mode %s does not support",
                         (unsigned long long)out->count, (unsigned long long)out->stride,
                         out->mode);
    if (out->count > (UNPACKED_MIN + UNPACKED_FACTOR * out->from.count) / out->stride)
        return gltf_fail(gltf, "bad-value", at, "found %llu elements in %llu bytes, expected fewer",
                         (unsigned long long)out->count, (unsigned long long)out->from.count);
    return KD_OK;
}

/* Returns false if the filter does not exist for these elements. */
static bool filter_undo(const packed_view *view, unsigned char *unpacked) {
    const bool is_attributes = strcmp(view->mode, "ATTRIBUTES") == 0;
    if (strcmp(view->filter, "NONE") == 0) return true;
    if (!is_attributes) return false;
    if (strcmp(view->filter, "OCTAHEDRAL") == 0 && (view->stride == 4 || view->stride == 8))
        meshopt_decodeFilterOct(unpacked, view->count, view->stride);
    else if (strcmp(view->filter, "QUATERNION") == 0 && view->stride == 8)
        meshopt_decodeFilterQuat(unpacked, view->count, view->stride);
    else if (strcmp(view->filter, "EXPONENTIAL") == 0)
        meshopt_decodeFilterExp(unpacked, view->count, view->stride);
    else
        return false;
    return true;
}

static int packed_decode(const packed_view *view, unsigned char *to) {
    const unsigned char *bytes = view->from.bytes;
    const size_t count = view->from.count;
    if (strcmp(view->mode, "ATTRIBUTES") == 0)
        return meshopt_decodeVertexBuffer(to, view->count, view->stride, bytes, count);
    if (strcmp(view->mode, "TRIANGLES") == 0)
        return meshopt_decodeIndexBuffer(to, view->count, view->stride, bytes, count);
    return meshopt_decodeIndexSequence(to, view->count, view->stride, bytes, count);
}

kd_status gltf_meshopt_unpack(gltf_file *gltf, const json_place *at, const cJSON *packed,
                              gltf_view *view) {
    packed_view from;
    memset(&from, 0, sizeof from);
    KD_TRY(packed_read(gltf, at, packed, &from));
    view->count = from.count * from.stride;
    /* Allocates at least one byte, because a NULL pointer means that the view is not decoded
       yet. */
    KD_TRY(KD_RESERVE_ZEROED(view->unpacked, view->count + 1));
    if (from.count == 0) return KD_OK;
    if (packed_decode(&from, view->unpacked) != 0)
        return gltf_fail(gltf, "bad-value", at,
                         "found bytes that meshoptimizer cannot decode, expected %llu elements",
                         (unsigned long long)from.count);
    if (!filter_undo(&from, view->unpacked))
        return gltf_fail(gltf, "bad-value", at,
                         "found the filter \"%.20s\", which is not defined for such elements",
                         from.filter);
    gltf->bytes_available += view->count;
    return KD_OK;
}

#else

kd_status gltf_meshopt_unpack(gltf_file *gltf, const json_place *at, const cJSON *packed,
                              gltf_view *view) {
    (void)packed;
    (void)view;
    return gltf_fail(
        gltf, "unsupported", at,
        "found data compressed by meshoptimizer, but this build does not have that library");
}

#endif

static kd_status from_uri(gltf_file *gltf, const json_place *at, const char *uri,
                          gltf_buffer *buffer) {
    const json_place place = json_place_key(at, "uri");
    if (gltf_uri_is_data(uri)) {
        KD_TRY(gltf_uri_decode(gltf, &place, uri, &buffer->owned, &buffer->bytes.count));
        buffer->bytes.bytes = buffer->owned;
        return KD_OK;
    }
    char *path = NULL;
    KD_TRY(gltf_uri_path(gltf, &place, uri, &path));
    const kd_status status = file_open(&buffer->file, path);
    memory_free(path);
    if (status == KD_ERROR_INPUT)
        return gltf_fail(gltf, "missing-buffer", &place, "%s", kd_last_error());
    KD_TRY(status);
    buffer->bytes.bytes = (const unsigned char *)buffer->file.bytes;
    buffer->bytes.count = buffer->file.count;
    return KD_OK;
}

static kd_status buffer_open(gltf_file *gltf, uint32_t index, gltf_buffer *buffer) {
    const json_place at = gltf_place(gltf, GLTF_BUFFERS, index);
    const cJSON *from = gltf_item(gltf, GLTF_BUFFERS, index);
    const char *uri = NULL;
    uint64_t said = 0;
    KD_TRY(gltf_text(gltf, &at, from, "uri", &uri));
    KD_TRY(gltf_count(gltf, &at, from, "byteLength", &said));
    if (uri)
        KD_TRY(from_uri(gltf, &at, uri, buffer));
    else if (index == 0 && gltf->has_binary)
        buffer->bytes = gltf->binary;
    else
        return gltf_fail(gltf, "missing-buffer", &at, "`uri` is missing");
    if (buffer->bytes.count < said)
        return gltf_fail(gltf, "truncated", &at,
                         "found %llu bytes, expected the %llu of byteLength",
                         (unsigned long long)buffer->bytes.count, (unsigned long long)said);
    buffer->bytes.count = said;
    gltf->bytes_available += said;
    buffer->is_open = true;
    return KD_OK;
}

kd_status gltf_buffer_part(gltf_file *gltf, const json_place *at, uint32_t buffer, uint64_t offset,
                           uint64_t count, gltf_bytes *bytes) {
    gltf_buffer *from = &gltf->buffers[buffer];
    if (!from->is_open) KD_TRY(buffer_open(gltf, buffer, from));
    if (offset > from->bytes.count || count > from->bytes.count - offset)
        return gltf_fail(gltf, "index-range", at,
                         "found bytes %llu to %llu of buffer %u, expected at most its %llu",
                         (unsigned long long)offset, (unsigned long long)(offset + count), buffer,
                         (unsigned long long)from->bytes.count);
    bytes->bytes = from->bytes.bytes + offset;
    bytes->count = count;
    return KD_OK;
}

kd_status gltf_view_part(gltf_file *gltf, const json_place *at, const cJSON *json,
                         gltf_bytes *bytes) {
    uint64_t offset = 0, count = 0;
    uint32_t buffer = KD_NONE;
    KD_TRY(gltf_index(gltf, at, json, "buffer", GLTF_BUFFERS, &buffer));
    KD_TRY(gltf_count(gltf, at, json, "byteOffset", &offset));
    KD_TRY(gltf_count(gltf, at, json, "byteLength", &count));
    if (buffer == KD_NONE) return gltf_fail(gltf, "bad-value", at, "`buffer` is missing");
    KD_TRY(gltf_buffer_part(gltf, at, buffer, offset, count, bytes));
    return KD_OK;
}

kd_status gltf_view_bytes(gltf_file *gltf, uint32_t view, gltf_bytes *bytes, uint32_t *stride) {
    const json_place at = gltf_place(gltf, GLTF_VIEWS, view);
    const json_place inner = json_place_key(&at, "extensions");
    const json_place place = json_place_key(&inner, "EXT_meshopt_compression");
    const cJSON *from = gltf_item(gltf, GLTF_VIEWS, view), *packed = NULL;
    gltf_view *kept = &gltf->views[view];
    double step = 0;
    KD_TRY(gltf_number(gltf, &at, from, "byteStride", 0, 252, &step));
    *stride = (uint32_t)step;
    KD_TRY(gltf_extension(gltf, &at, from, "EXT_meshopt_compression", &packed));
    if (!packed) return gltf_view_part(gltf, &at, from, bytes);
    if (!kept->unpacked) KD_TRY(gltf_meshopt_unpack(gltf, &place, packed, kept));
    bytes->bytes = kept->unpacked;
    bytes->count = kept->count;
    return KD_OK;
}
