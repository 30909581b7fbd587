#include "core/files/sectioned_file.h"
#include "core/hash.h"
#include <assert.h>
#include <string.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file's order is the machine's");

kd_status sectioned_file_write(const char *path, const void *header, size_t header_bytes,
                               const file_part *parts, int part_count) {
    file_output output;
    KD_TRY(file_output_open(&output, path));
    uint64_t hash = hash_bytes(header, header_bytes);
    fwrite(header, header_bytes, 1, output.stream); /* file_output_commit reports write errors */
    for (int i = 0; i < part_count; ++i) {
        if (parts[i].count == 0) continue;
        hash = hash_combine(hash, parts[i].bytes, parts[i].count);
        fwrite(parts[i].bytes, parts[i].count, 1, output.stream);
    }
    fwrite(&hash, sizeof hash, 1, output.stream);
    return file_output_commit(&output);
}

kd_status sectioned_file_header(const file_view *file, const char *path, const char *magic,
                                const char *kind, void *header, size_t header_bytes) {
    KD_REQUIRE(file->count >= header_bytes + sizeof(uint64_t) && memcmp(file->bytes, magic, 8) == 0,
               KD_ERROR_INPUT, "%s: not a %s", path, kind);
    memcpy(header, file->bytes, header_bytes);
    return KD_OK;
}

kd_status sectioned_file_check_size(const file_view *file, const char *path, size_t header_bytes,
                                    uint64_t bytes) {
    const uint64_t expected = header_bytes + bytes + sizeof(uint64_t);
    KD_REQUIRE(file->count == expected, KD_ERROR_INPUT,
               "%s: found %zu bytes, expected %llu; the file is truncated or damaged", path,
               file->count, (unsigned long long)expected);
    return KD_OK;
}

kd_status sectioned_file_read(const file_view *file, const char *path, size_t header_bytes,
                              const file_part *parts, int part_count) {
    uint64_t total = 0, stored;
    for (int i = 0; i < part_count; ++i) total += parts[i].count;
    KD_TRY(sectioned_file_check_size(file, path, header_bytes, total));
    const char *bytes = file->bytes + header_bytes;
    uint64_t hash = hash_bytes(file->bytes, header_bytes);
    for (int i = 0; i < part_count; ++i) {
        if (parts[i].count == 0) continue;
        memcpy(parts[i].bytes, bytes, parts[i].count);
        hash = hash_combine(hash, bytes, parts[i].count);
        bytes += parts[i].count;
    }
    memcpy(&stored, bytes, sizeof stored);
    KD_REQUIRE(hash == stored, KD_ERROR_INPUT, "%s: damaged: the checksum does not match", path);
    return KD_OK;
}
