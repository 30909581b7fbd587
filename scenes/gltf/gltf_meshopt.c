/* EXT_meshopt_compression: buffer views that meshoptimizer packs; its decoder bears any bytes. */
#include "core/memory.h"
#include "scenes/gltf/gltf_file.h"
#if KD_HAVE_MESHOPT
#include <meshoptimizer.h>

enum { UNPACKED_FACTOR = 1024, UNPACKED_LEAST = 1 << 16 }; /* of a packed byte; more is no mesh */

typedef struct packed_view {
    gltf_bytes from;
    uint64_t count, stride;
    const char *mode, *filter;
} packed_view;

static kd_status packed_read(gltf_file *of, const json_place *at, const cJSON *packed,
                             packed_view *out) {
    out->mode = "";
    out->filter = "NONE";
    KD_TRY(gltf_view_part(of, at, packed, &out->from));
    KD_TRY(gltf_count(of, at, packed, "count", &out->count));
    KD_TRY(gltf_count(of, at, packed, "byteStride", &out->stride));
    KD_TRY(gltf_text(of, at, packed, "mode", &out->mode));
    KD_TRY(gltf_text(of, at, packed, "filter", &out->filter));
    const bool is_attributes = strcmp(out->mode, "ATTRIBUTES") == 0;
    const bool is_triangles = strcmp(out->mode, "TRIANGLES") == 0;
    const bool fits = is_attributes ? out->stride % 4 == 0 && out->stride > 0 && out->stride <= 256
                                    : out->stride == 2 || out->stride == 4;
    if (!is_attributes && !is_triangles && strcmp(out->mode, "INDICES") != 0)
        return gltf_fail(of, "bad-value", at,
                         "found the mode \"%.20s\", expected ATTRIBUTES, TRIANGLES or INDICES",
                         out->mode);
    if (!fits || (is_triangles && out->count % 3))
        return gltf_fail(
            of, "bad-value", at, "found %llu elements of %llu bytes, expected what the mode %s has",
            (unsigned long long)out->count, (unsigned long long)out->stride, out->mode);
    if (out->count > (UNPACKED_LEAST + UNPACKED_FACTOR * out->from.count) / out->stride)
        return gltf_fail(of, "bad-value", at, "found %llu elements in %llu bytes, expected fewer",
                         (unsigned long long)out->count, (unsigned long long)out->from.count);
    return KD_OK;
}

/* False if there is no such filter for such elements. */
static bool filter_undo(const packed_view *from, unsigned char *unpacked) {
    const bool is_attributes = strcmp(from->mode, "ATTRIBUTES") == 0;
    if (strcmp(from->filter, "NONE") == 0) return true;
    if (!is_attributes) return false;
    if (strcmp(from->filter, "OCTAHEDRAL") == 0 && (from->stride == 4 || from->stride == 8))
        meshopt_decodeFilterOct(unpacked, from->count, from->stride);
    else if (strcmp(from->filter, "QUATERNION") == 0 && from->stride == 8)
        meshopt_decodeFilterQuat(unpacked, from->count, from->stride);
    else if (strcmp(from->filter, "EXPONENTIAL") == 0)
        meshopt_decodeFilterExp(unpacked, from->count, from->stride);
    else
        return false;
    return true;
}

static int packed_decode(const packed_view *from, unsigned char *to) {
    const unsigned char *bytes = from->from.bytes;
    const size_t count = from->from.count;
    if (strcmp(from->mode, "ATTRIBUTES") == 0)
        return meshopt_decodeVertexBuffer(to, from->count, from->stride, bytes, count);
    if (strcmp(from->mode, "TRIANGLES") == 0)
        return meshopt_decodeIndexBuffer(to, from->count, from->stride, bytes, count);
    return meshopt_decodeIndexSequence(to, from->count, from->stride, bytes, count);
}

kd_status gltf_meshopt_unpack(gltf_file *of, const json_place *at, const cJSON *packed,
                              gltf_view *to) {
    packed_view from;
    memset(&from, 0, sizeof from);
    KD_TRY(packed_read(of, at, packed, &from));
    to->count = from.count * from.stride;
    /* one byte at least: an unpacked view is told by its pointer */
    KD_TRY(KD_RESERVE_ZEROED(to->unpacked, to->count + 1));
    if (from.count == 0) return KD_OK;
    if (packed_decode(&from, to->unpacked) != 0)
        return gltf_fail(of, "bad-value", at,
                         "found bytes that meshoptimizer cannot unpack, expected %llu elements",
                         (unsigned long long)from.count);
    if (!filter_undo(&from, to->unpacked))
        return gltf_fail(of, "bad-value", at,
                         "found the filter \"%.20s\", which it has not for "
                         "such elements",
                         from.filter);
    of->bytes_there += to->count;
    return KD_OK;
}

#else

kd_status gltf_meshopt_unpack(gltf_file *of, const json_place *at, const cJSON *packed,
                              gltf_view *to) {
    (void)packed;
    (void)to;
    return gltf_fail(of, "unsupported", at,
                     "found bytes packed by meshoptimizer, expected a build with that library");
}

#endif
