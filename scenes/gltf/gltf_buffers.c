/* Buffers and stretches of them, opened when somebody asks. */
#include "core/memory.h"
#include "scenes/gltf/gltf_file.h"

static kd_status from_uri(gltf_file *of, const json_place *at, const char *uri, gltf_buffer *to) {
    const json_place place = json_place_key(at, "uri");
    if (gltf_uri_is_data(uri)) {
        KD_TRY(gltf_uri_decode(of, &place, uri, &to->owned, &to->found.count));
        to->found.bytes = to->owned;
        return KD_OK;
    }
    char *path = NULL;
    KD_TRY(gltf_uri_path(of, &place, uri, &path));
    const kd_status status = file_open(&to->file, path);
    memory_free(path);
    if (status == KD_ERROR_INPUT) {
        status_clear();
        return gltf_fail(of, "missing-buffer", &place,
                         "found \"%.60s\", expected a file that can be read", uri);
    }
    KD_TRY(status);
    to->found.bytes = (const unsigned char *)to->file.bytes;
    to->found.count = to->file.count;
    return KD_OK;
}

static kd_status buffer_open(gltf_file *of, uint32_t index, gltf_buffer *to) {
    const json_place at = gltf_place(of, GLTF_BUFFERS, index);
    const cJSON *from = gltf_item(of, GLTF_BUFFERS, index);
    const char *uri = NULL;
    uint64_t said = 0;
    KD_TRY(gltf_text(of, &at, from, "uri", &uri));
    KD_TRY(gltf_count(of, &at, from, "byteLength", &said));
    if (uri)
        KD_TRY(from_uri(of, &at, uri, to));
    else if (index == 0 && of->has_binary)
        to->found = of->binary;
    else
        return gltf_fail(of, "missing-buffer", &at, "found no uri, expected one");
    if (to->found.count < said)
        return gltf_fail(of, "truncated", &at, "found %llu bytes, expected the %llu of byteLength",
                         (unsigned long long)to->found.count, (unsigned long long)said);
    to->found.count = said;
    of->bytes_there += said;
    to->is_open = true;
    return KD_OK;
}

kd_status gltf_buffer_part(gltf_file *of, const json_place *at, uint32_t buffer, uint64_t offset,
                           uint64_t count, gltf_bytes *found) {
    gltf_buffer *from = &of->buffers[buffer];
    if (!from->is_open) KD_TRY(buffer_open(of, buffer, from));
    if (offset > from->found.count || count > from->found.count - offset)
        return gltf_fail(of, "index-range", at,
                         "found bytes %llu to %llu of buffer %u, expected at most its %llu",
                         (unsigned long long)offset, (unsigned long long)(offset + count), buffer,
                         (unsigned long long)from->found.count);
    found->bytes = from->found.bytes + offset;
    found->count = count;
    return KD_OK;
}

kd_status gltf_view_part(gltf_file *of, const json_place *at, const cJSON *from,
                         gltf_bytes *found) {
    uint64_t offset = 0, count = 0;
    uint32_t buffer = KD_NONE;
    KD_TRY(gltf_index(of, at, from, "buffer", GLTF_BUFFERS, &buffer));
    KD_TRY(gltf_count(of, at, from, "byteOffset", &offset));
    KD_TRY(gltf_count(of, at, from, "byteLength", &count));
    if (buffer == KD_NONE) return gltf_fail(of, "bad-value", at, "found no buffer, expected one");
    KD_TRY(gltf_buffer_part(of, at, buffer, offset, count, found));
    return KD_OK;
}

kd_status gltf_view_bytes(gltf_file *of, uint32_t view, gltf_bytes *found, uint32_t *stride) {
    const json_place at = gltf_place(of, GLTF_VIEWS, view);
    const json_place inner = json_place_key(&at, "extensions");
    const json_place place = json_place_key(&inner, "EXT_meshopt_compression");
    const cJSON *from = gltf_item(of, GLTF_VIEWS, view), *packed = NULL;
    gltf_view *kept = &of->views[view];
    double step = 0;
    KD_TRY(gltf_number(of, &at, from, "byteStride", 0, 252, &step));
    *stride = (uint32_t)step;
    KD_TRY(gltf_extension(of, &at, from, "EXT_meshopt_compression", &packed));
    if (!packed) return gltf_view_part(of, &at, from, found);
    if (!kept->unpacked) KD_TRY(gltf_meshopt_unpack(of, &place, packed, kept));
    found->bytes = kept->unpacked;
    found->count = kept->count;
    return KD_OK;
}
