/* Compression and decompression of chunks of EXR files: ZIP by libdeflate.
   Idea: OpenEXR splits the bytes of a chunk into those at even and at odd positions, concatenates
         both halves, replaces each byte by its difference to the preceding one, and compresses the
         result. The reader undoes the differences of both halves simultaneously. The writer
         compresses chunks on all cores and writes them in order.
         The library (3.1) reads B44 chunks that are stored without compression, as those without
         half channels are, in the wrong order; they are copied here.
   Differs from the library: OpenEXR compresses one chunk after another with zlib. Chunks that
                             libdeflate does not accept are passed to OpenEXR, which reports their
                             errors.
   Memory: for writing, ROUND_BYTES of chunks or four per thread, whichever is more, and two
           chunks per thread. */
#include "core/image/exr.h"
#if KD_HAVE_OPENEXR
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#if KD_HAVE_DEFLATE
#include <libdeflate.h>

/* --- reading --- */

/* Undoes the split and the differences of `count` > 1 bytes. */
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

static bool chunk_inflate(exr_inflate *inflate, exr_decode_pipeline_t *pipeline) {
    const uint64_t count = pipeline->chunk.unpacked_size;
    if (!inflate->inflater) inflate->inflater = libdeflate_alloc_decompressor();
    if (inflate->capacity < count && KD_GROW(inflate->bytes, 0, count) == KD_OK)
        inflate->capacity = count;
    if (!inflate->inflater || inflate->capacity < count ||
        libdeflate_zlib_decompress((struct libdeflate_decompressor *)inflate->inflater,
                                   pipeline->packed_buffer, pipeline->chunk.packed_size,
                                   inflate->bytes, count, NULL) != LIBDEFLATE_SUCCESS)
        return false;
    halves_join((unsigned char *)pipeline->unpacked_buffer, inflate->bytes, count);
    return true;
}
#else
static bool chunk_inflate(exr_inflate *inflate, exr_decode_pipeline_t *pipeline) {
    (void)inflate;
    (void)pipeline;
    return false;
}
#endif

/* Reserves the buffer of unpacked bytes, which belongs to the library and comes from malloc. */
static bool chunk_reserve(exr_decode_pipeline_t *pipeline) {
    const uint64_t count = pipeline->chunk.unpacked_size;
    if (pipeline->unpacked_alloc_size < count) {
        if (pipeline->unpacked_buffer != pipeline->packed_buffer) free(pipeline->unpacked_buffer);
        pipeline->unpacked_buffer = malloc(count);
        pipeline->unpacked_alloc_size = pipeline->unpacked_buffer ? count : 0;
    }
    return pipeline->unpacked_buffer != NULL;
}

static exr_result_t chunk_expand(exr_decode_pipeline_t *pipeline) {
    exr_inflate *inflate = (exr_inflate *)pipeline->decoding_user_data;
    const exr_chunk_info_t *chunk = &pipeline->chunk;
    const exr_compression_t packing = (exr_compression_t)chunk->compression;
    const bool zipped = packing == EXR_COMPRESSION_ZIP || packing == EXR_COMPRESSION_ZIPS;
    const bool blocks = packing == EXR_COMPRESSION_B44 || packing == EXR_COMPRESSION_B44A;
    const bool is_packed = chunk->packed_size != chunk->unpacked_size;
    if (!is_packed && blocks && pipeline->unpacked_buffer == pipeline->packed_buffer)
        return EXR_ERR_SUCCESS; /* the library has one buffer for both */
    if (!(is_packed ? zipped : blocks) || chunk->unpacked_size < 2 || !pipeline->packed_buffer ||
        !chunk_reserve(pipeline))
        return inflate->usual(pipeline);
    if (is_packed)
        return chunk_inflate(inflate, pipeline) ? EXR_ERR_SUCCESS : inflate->usual(pipeline);
    memcpy(pipeline->unpacked_buffer, pipeline->packed_buffer, chunk->unpacked_size);
    return EXR_ERR_SUCCESS;
}

void exr_inflate_choose(exr_inflate *inflate, exr_decode_pipeline_t *pipeline) {
    if (!pipeline->decompress_fn || pipeline->decompress_fn == chunk_expand) return;
    inflate->usual = pipeline->decompress_fn;
    pipeline->decoding_user_data = inflate;
    pipeline->decompress_fn = chunk_expand;
}

void exr_inflate_close(exr_inflate *owned) {
#if KD_HAVE_DEFLATE
    if (owned->inflater)
        libdeflate_free_decompressor((struct libdeflate_decompressor *)owned->inflater);
#endif
    memory_free(owned->bytes);
    memset(owned, 0, sizeof *owned);
}

#if KD_HAVE_DEFLATE
/* --- writing --- */

enum {
    LEVEL = 1,             /* 1 to 12: up to level 4 the size of float data hardly changes */
    ROUND_BYTES = 16 << 20 /* chunks compressed before they are written */
};

/* Compression state of a thread. */
typedef struct exr_deflater {
    struct libdeflate_compressor *compressor;
    unsigned char *packed, *split; /* each of the size of a chunk */
} exr_deflater;

typedef struct exr_round {
    const struct image *image;
    const float **planes; /* planes in the file's channel order */
    exr_deflater *threads;
    unsigned char *bytes; /* chunk i of this round is at i * capacity */
    uint64_t *counts;
    uint64_t capacity;
    int32_t lines; /* scanlines per chunk; the last one may have fewer */
    int64_t first; /* index of the round's first chunk in the picture */
    atomic_bool failed;
} exr_round;

static uint64_t chunk_pack(const exr_round *round, int64_t chunk, unsigned char *to) {
    const image *from = round->image;
    const int64_t top = chunk * round->lines;
    const size_t width = (size_t)from->width, line = width * sizeof(float);
    const unsigned char *begin = to;
    for (int64_t y = top; y < top + round->lines && y < from->height; ++y)
        for (int32_t c = 0; c < from->channel_count; ++c, to += line)
            memcpy(to, round->planes[c] + (size_t)y * width, line);
    return (uint64_t)(to - begin);
}

/* Splits `count` >= 2 bytes and replaces them by differences; overwrites `between`. */
static void halves_split(unsigned char *to, unsigned char *between, const unsigned char *from,
                         uint64_t count) {
    const uint64_t odd = count / 2, even = count - odd;
    for (uint64_t i = 0; i < odd; ++i) {
        between[i] = from[2 * i];
        between[even + i] = from[2 * i + 1];
    }
    if (even > odd) between[odd] = from[count - 1];
    to[0] = between[0];
    for (uint64_t i = 1; i < count; ++i)
        to[i] = (unsigned char)(between[i] - between[i - 1] + 128u);
}

static bool deflater_open(exr_deflater *deflater, uint64_t capacity) {
    if (deflater->compressor) return true;
    if (KD_RESERVE(deflater->packed, capacity) != KD_OK ||
        KD_RESERVE(deflater->split, capacity) != KD_OK)
        return false;
    deflater->compressor = libdeflate_alloc_compressor(LEVEL);
    return deflater->compressor != NULL;
}

static void chunks_deflate(void *context, int64_t begin, int64_t end, int thread) {
    exr_round *round = (exr_round *)context;
    exr_deflater *deflater = &round->threads[thread];
    for (int64_t i = begin; i < end; ++i) {
        unsigned char *to = round->bytes + (uint64_t)i * round->capacity;
        if (!deflater_open(deflater, round->capacity)) {
            atomic_store(&round->failed, true);
            status_clear();
            return;
        }
        const uint64_t count = chunk_pack(round, round->first + i, to);
        halves_split(deflater->packed, deflater->split, to, count);
        const size_t less = libdeflate_zlib_compress(deflater->compressor, deflater->packed, count,
                                                     deflater->split, count - 1);
        if (less) memcpy(to, deflater->split, less); /* otherwise stored uncompressed */
        round->counts[i] = less ? less : count;
    }
}

static kd_status planes_find(exr_context_t context, exr_round *round) {
    const exr_attr_chlist_t *list = NULL;
    KD_REQUIRE(exr_get_channels(context, 0, &list) == EXR_ERR_SUCCESS &&
                   list->num_channels == round->image->channel_count,
               KD_ERROR_RUNTIME, "OpenEXR wrote a header with other channels than the image");
    KD_TRY(KD_RESERVE(round->planes, (uint64_t)round->image->channel_count));
    for (int32_t c = 0; c < round->image->channel_count; ++c)
        round->planes[c] = image_plane(round->image, list->entries[c].name.str);
    return KD_OK;
}

static kd_status rounds_write(exr_context_t context, const exr_stream *stream, exr_round *round) {
    const int64_t count = ((int64_t)round->image->height + round->lines - 1) / round->lines;
    int64_t group_size = (int64_t)(ROUND_BYTES / round->capacity);
    if (group_size < 4 * parallel_threads()) group_size = 4 * parallel_threads();
    if (group_size > count) group_size = count;
    KD_TRY(planes_find(context, round));
    KD_TRY(KD_RESERVE_ZEROED(round->threads, PARALLEL_THREADS_MAX));
    KD_TRY(KD_RESERVE(round->counts, (uint64_t)group_size));
    KD_TRY(KD_RESERVE(round->bytes, (uint64_t)group_size * round->capacity));
    for (; round->first < count; round->first += group_size) {
        const int64_t count_now =
            group_size < count - round->first ? group_size : count - round->first;
        parallel_for(count_now, 1, chunks_deflate, round);
        KD_REQUIRE(!atomic_load(&round->failed), KD_ERROR_MEMORY, "%s: out of memory for the image",
                   stream->path);
        for (int64_t i = 0; i < count_now; ++i)
            KD_TRY(exr_written(
                stream, exr_write_scanline_chunk(context, 0,
                                                 round->image->corner[1] + round->image->top +
                                                     (int)((round->first + i) * round->lines),
                                                 round->bytes + (uint64_t)i * round->capacity,
                                                 round->counts[i])));
    }
    return KD_OK;
}

kd_status exr_deflate(exr_context_t context, const exr_stream *stream, const image *image) {
    exr_round round = {.image = image};
    KD_TRY(exr_written(stream, exr_get_scanlines_per_chunk(context, 0, &round.lines)));
    round.capacity = (uint64_t)image->width * (uint64_t)image->channel_count * sizeof(float) *
                     (uint64_t)round.lines;
    const kd_status status = rounds_write(context, stream, &round);
    for (int i = 0; round.threads && i < PARALLEL_THREADS_MAX; ++i) {
        libdeflate_free_compressor(round.threads[i].compressor);
        memory_free(round.threads[i].packed);
        memory_free(round.threads[i].split);
    }
    memory_free(round.threads);
    memory_free(round.counts);
    memory_free(round.bytes);
    memory_free(round.planes);
    return status;
}
#endif
#endif
