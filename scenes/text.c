#include "scenes/text.h"

kd_status text_encoding_check(const char *bytes, uint64_t count, const char *path) {
    const unsigned char *b = (const unsigned char *)bytes;
    const char *name = NULL;
    if (count >= 4 && ((b[0] == 0xff && b[1] == 0xfe && b[2] == 0 && b[3] == 0) ||
                       (b[0] == 0 && b[1] == 0 && b[2] == 0xfe && b[3] == 0xff)))
        name = "UTF-32";
    else if (count >= 2 && b[0] == 0xff && b[1] == 0xfe)
        name = "UTF-16 (little endian)";
    else if (count >= 2 && b[0] == 0xfe && b[1] == 0xff)
        name = "UTF-16 (big endian)";
    else if (count >= 4 && b[0] && !b[1] && b[2] && !b[3])
        name = "UTF-16 (little endian, no mark)";
    else if (count >= 4 && !b[0] && b[1] && !b[2] && b[3])
        name = "UTF-16 (big endian, no mark)";
    KD_REQUIRE(!name, KD_ERROR_INPUT, "%s:1: found %s text, expected UTF-8 or ASCII", path, name);
    return KD_OK;
}
