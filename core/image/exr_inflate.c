/* ZIP chunks of EXR files by libdeflate.
   Idea: a chunk's bytes were split into those at even and those at odd places, one half behind the
         other, each byte less the one before it. Both halves are summed up side by side.
   Differs from the library: what libdeflate does not take is left to it, complaints included. */
#include "core/image/exr.h"
#ifdef KD_HAVE_OPENEXR
#include "core/memory.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#ifdef KD_HAVE_DEFLATE
#include <libdeflate.h>

/* `from` holds count > 1 bytes. */
static void halves_join(unsigned char *to, const unsigned char *from, uint64_t count) {
    const uint64_t half = (count + 1) / 2;
    unsigned total = 0;
    for (uint64_t i = 0; i < half; ++i) total += from[i];
    unsigned even = from[0], odd = total - 128 * (unsigned)(half - 1) + from[half] - 128;
    for (uint64_t i = 0; i + 1 < count - half; ++i) {
        to[2 * i] = (unsigned char)even;
        to[2 * i + 1] = (unsigned char)odd;
        even += from[i + 1] - 128u;
        odd += from[half + i + 1] - 128u;
    }
    const uint64_t last = count - half - 1;
    to[2 * last] = (unsigned char)even;
    to[2 * last + 1] = (unsigned char)odd;
    if (half > count - half) to[count - 1] = (unsigned char)(even + from[half - 1] - 128u);
}

static exr_result_t chunk_inflate(exr_decode_pipeline_t *pipeline) {
    exr_inflate *by = (exr_inflate *)pipeline->decoding_user_data;
    const exr_chunk_info_t *chunk = &pipeline->chunk;
    const uint64_t count = chunk->unpacked_size;
    const bool zipped =
        chunk->compression == EXR_COMPRESSION_ZIP || chunk->compression == EXR_COMPRESSION_ZIPS;
    if (!zipped || chunk->packed_size == count || count < 2 || !pipeline->packed_buffer)
        return by->usual(pipeline);
    if (!by->inflater) by->inflater = libdeflate_alloc_decompressor();
    if (by->room < count && KD_GROW(by->bytes, 0, count) == KD_OK) by->room = count;
    if (pipeline->unpacked_alloc_size < count) {
        free(pipeline->unpacked_buffer); /* by the library's own allocator: none is set */
        pipeline->unpacked_buffer = malloc(count);
        pipeline->unpacked_alloc_size = pipeline->unpacked_buffer ? count : 0;
    }
    if (!by->inflater || by->room < count || !pipeline->unpacked_buffer ||
        libdeflate_zlib_decompress((struct libdeflate_decompressor *)by->inflater,
                                   pipeline->packed_buffer, chunk->packed_size, by->bytes, count,
                                   NULL) != LIBDEFLATE_SUCCESS)
        return by->usual(pipeline);
    halves_join((unsigned char *)pipeline->unpacked_buffer, by->bytes, count);
    return EXR_ERR_SUCCESS;
}

void exr_inflate_choose(exr_inflate *by, exr_decode_pipeline_t *pipeline) {
    if (!pipeline->decompress_fn || pipeline->decompress_fn == chunk_inflate) return;
    by->usual = pipeline->decompress_fn;
    pipeline->decoding_user_data = by;
    pipeline->decompress_fn = chunk_inflate;
}

void exr_inflate_close(exr_inflate *owned) {
    if (owned->inflater)
        libdeflate_free_decompressor((struct libdeflate_decompressor *)owned->inflater);
    memory_free(owned->bytes);
    memset(owned, 0, sizeof *owned);
}
#else
void exr_inflate_choose(exr_inflate *by, exr_decode_pipeline_t *pipeline) {
    (void)by;
    (void)pipeline;
}

void exr_inflate_close(exr_inflate *owned) {
    (void)owned;
}
#endif
#endif
