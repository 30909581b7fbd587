#include "core/hash.h"
#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wcast-qual"
#include <xxhash.h>
#pragma GCC diagnostic pop

uint64_t hash_bytes(const void *bytes, size_t count) {
    return XXH3_64bits(bytes, count);
}

uint64_t hash_combine(uint64_t hash, const void *bytes, size_t count) {
    return XXH3_64bits_withSeed(bytes, count, hash);
}
