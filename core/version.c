#include "core/version.h"
#include <kandela/version.h>
#include <string.h>

const char *kd_version(void) {
    return KD_VERSION;
}

void sized_give(void *out, size_t size, const void *ours, size_t our_size) {
    if (!out || size < sizeof size) return;
    const size_t known = size < our_size ? size : our_size;
    memcpy(out, ours, known);
    memset((char *)out + known, 0, size - known);
    memcpy(out, &size, sizeof size);
}

kd_status sized_take(void *ours, size_t our_size, const void *given, const char *filler) {
    size_t size = 0;
    memcpy(&size, given, sizeof size);
    KD_REQUIRE(size >= sizeof size && size <= SIZED_MAX, KD_ERROR_USAGE,
               "`struct_size` is %zu, which is not the size of such a struct; call %s first", size,
               filler);
    for (size_t i = our_size; i < size; ++i)
        KD_REQUIRE(((const char *)given)[i] == 0, KD_ERROR_USAGE,
                   "the struct field at byte %zu (see %s) is set, but this version of the library "
                   "supports only the first %zu bytes",
                   i, filler, our_size);
    memcpy(ours, given, size < our_size ? size : our_size);
    memcpy(ours, &our_size, sizeof our_size);
    return KD_OK;
}
