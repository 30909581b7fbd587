#include "scenes/text/text.h"
#include "core/memory.h"

const char *text_foreign_encoding(const char *bytes, uint64_t count) {
    const unsigned char *b = (const unsigned char *)bytes;
    if (count >= 4 && ((b[0] == 0xff && b[1] == 0xfe && b[2] == 0 && b[3] == 0) ||
                       (b[0] == 0 && b[1] == 0 && b[2] == 0xfe && b[3] == 0xff)))
        return "UTF-32";
    if (count >= 2 && b[0] == 0xff && b[1] == 0xfe) return "UTF-16 (little endian)";
    if (count >= 2 && b[0] == 0xfe && b[1] == 0xff) return "UTF-16 (big endian)";
    if (count >= 4 && b[0] && !b[1] && b[2] && !b[3]) return "UTF-16 (little endian, no mark)";
    if (count >= 4 && !b[0] && b[1] && !b[2] && b[3]) return "UTF-16 (big endian, no mark)";
    return NULL;
}

kd_status text_encoding_check(const char *bytes, uint64_t count, const char *path) {
    const char *name = text_foreign_encoding(bytes, count);
    KD_REQUIRE(!name, KD_ERROR_INPUT, "%s:1: found %s text, expected UTF-8 or ASCII", path, name);
    return KD_OK;
}

kd_status text_copy(char **copy, const char *text) {
    const size_t bytes = strlen(text) + 1;
    KD_TRY(KD_RESERVE(*copy, bytes));
    memcpy(*copy, text, bytes);
    return KD_OK;
}
