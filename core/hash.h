/* XXH3 (64 bits, seed 0) of bytes: the hash of trees, photon maps and images in stats files. */
#ifndef KD_CORE_HASH_H
#define KD_CORE_HASH_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

uint64_t hash_bytes(const void *bytes, size_t count);
uint64_t hash_combine(uint64_t hash, const void *bytes, size_t count); /* order matters */

#ifdef __cplusplus
}
#endif
#endif
