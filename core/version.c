#include "core/version.h"
#include <kandela/version.h>
#include <string.h>

const char *kd_version(void) {
    return KD_VERSION;
}

void sized_give(void *out, size_t size, const void *library_struct, size_t our_size) {
    if (!out || size < sizeof size) return;
    const size_t copied = size < our_size ? size : our_size;
    memcpy(out, library_struct, copied);
    memset((char *)out + copied, 0, size - copied);
    memcpy(out, &size, sizeof size);
}

kd_status sized_take(void *library_struct, size_t our_size, const void *caller_struct,
                     const char *filler) {
    size_t size = 0;
    memcpy(&size, caller_struct, sizeof size);
    KD_REQUIRE(size >= sizeof size && size <= SIZED_MAX, KD_ERROR_USAGE,
               "`struct_size` is %zu, which is not the size of such a struct; call %s first", size,
               filler);
    for (size_t i = our_size; i < size; ++i)
        KD_REQUIRE(((const char *)caller_struct)[i] == 0, KD_ERROR_USAGE,
                   "the struct field at byte %zu (see %s) is set, but this version of the library "
                   "supports only the first %zu bytes",
                   i, filler, our_size);
    memcpy(library_struct, caller_struct, size < our_size ? size : our_size);
    memcpy(library_struct, &our_size, sizeof our_size);
    return KD_OK;
}
