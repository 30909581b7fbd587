#include "core/hash.h"
#include <assert.h>
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

uint64_t hash_combine_each(uint64_t hash, uint64_t count, size_t bytes,
                           void (*item)(const void *context, uint64_t i, void *out),
                           const void *context) {
    unsigned char record[256];
    XXH3_state_t state;
    assert(bytes <= sizeof record);
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, hash);
    for (uint64_t i = 0; i < count; ++i) {
        item(context, i, record);
        XXH3_64bits_update(&state, record, bytes);
    }
    return XXH3_64bits_digest(&state);
}
