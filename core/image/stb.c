/* The only translation unit that compiles stb_image and stb_image_write: core/image/picture.c and
   core/image/png.c include their declarations. Both work on memory and callbacks only; files are
   opened by core/files/file.h. Formats that are not used for textures are disabled. */
#include "core/image/stb.h"
#if KD_HAVE_DEFLATE
#include <libdeflate.h>
#endif
#include <limits.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- memory ----------------------------------------------------------------------------------- */

typedef struct stb_block {
    _Alignas(max_align_t) struct stb_block *next;
    struct stb_block *previous;
    size_t bytes;
    bool counted; /* listed, and freed at the end of the run */
} stb_block;

typedef struct stb_arena {
    stb_block *first;
    uint64_t used, budget;
    bool runs;
    jmp_buf ended;
} stb_arena;

enum { ENDED_NO_MEMORY = 1, ENDED_BEYOND_BUDGET };

static _Thread_local stb_arena arena;

static void block_unlink(stb_block *block) {
    if (!block->counted) return;
    if (block->previous)
        block->previous->next = block->next;
    else
        arena.first = block->next;
    if (block->next) block->next->previous = block->previous;
    arena.used -= block->bytes;
    block->counted = false;
}

static void *stb_take(size_t bytes) {
    if (arena.runs && bytes > arena.budget - arena.used) longjmp(arena.ended, ENDED_BEYOND_BUDGET);
    stb_block *block =
        bytes <= SIZE_MAX - sizeof *block ? (stb_block *)malloc(sizeof *block + bytes) : NULL;
    if (!block && arena.runs) longjmp(arena.ended, ENDED_NO_MEMORY);
    if (!block) return NULL;
    memset(block, 0, sizeof *block);
    block->bytes = bytes;
    if (arena.runs) {
        block->counted = true;
        block->next = arena.first;
        if (arena.first) arena.first->previous = block;
        arena.first = block;
        arena.used += bytes;
    }
    return block + 1;
}

static void stb_give(void *pointer) {
    if (!pointer) return;
    stb_block *block = (stb_block *)pointer - 1;
    block_unlink(block);
    free(block);
}

static void *stb_retake(void *pointer, size_t kept, size_t bytes) {
    void *larger = stb_take(bytes);
    if (larger && pointer) memcpy(larger, pointer, kept < bytes ? kept : bytes);
    if (larger) stb_give(pointer);
    return larger;
}

void stb_keep(void *block) {
    if (block) block_unlink((stb_block *)block - 1);
}

kd_status stb_run(void (*work)(void *context), void *context, uint64_t budget, const char *path) {
    arena.budget = budget;
    arena.runs = true;
    const int ended = setjmp(arena.ended);
    if (ended == 0) work(context);
    arena.runs = false;
    while (arena.first) stb_give(arena.first + 1);
    KD_REQUIRE(ended != ENDED_NO_MEMORY, KD_ERROR_MEMORY, "%s: out of memory for the image", path);
    KD_REQUIRE(ended != ENDED_BEYOND_BUDGET, KD_ERROR_INPUT,
               "%s: damaged: decoding needs more than the %llu bytes expected for its size", path,
               (unsigned long long)arena.budget);
    return KD_OK;
}

/* --- libraries -------------------------------------------------------------------------------- */

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#endif
/* An empty IDAT chunk before any other makes stb add 0 to NULL, which is undefined in C but
   harmless on all supported machines. */
#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((no_sanitize("pointer-overflow", "nonnull-attribute"))), apply_to = function)
#endif
#define STBI_MALLOC(bytes) stb_take(bytes)
#define STBI_FREE(pointer) stb_give(pointer)
#define STBI_REALLOC_SIZED(pointer, kept, bytes) stb_retake(pointer, kept, bytes)
#define STBIW_MALLOC(bytes) stb_take(bytes)
#define STBIW_FREE(pointer) stb_give(pointer)
#define STBIW_REALLOC_SIZED(pointer, kept, bytes) stb_retake(pointer, kept, bytes)
#define STBI_NO_STDIO
#if KD_HAVE_JPEG
#define STBI_NO_JPEG /* libjpeg decodes JPEG */
#endif
#define STBI_NO_GIF
#define STBI_NO_HDR
#define STBI_NO_LINEAR
#define STBI_NO_PIC
#define STBI_NO_PNM
#define STBI_NO_PSD
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#if KD_HAVE_DEFLATE
/* Replaces stb's compressor and is four times as fast. Ignores `quality`, since speed matters more
   for display. Returns NULL if memory is exhausted, in which case stb's writer returns 0. */
static unsigned char *deflated(const unsigned char *bytes, int count, int *out_count, int quality) {
    enum { LEVEL = 1 };
    (void)quality;
    const size_t capacity = libdeflate_zlib_compress_bound(NULL, (size_t)count);
    unsigned char *out = (unsigned char *)stb_take(capacity);
    struct libdeflate_compressor *compressor = out ? libdeflate_alloc_compressor(LEVEL) : NULL;
    size_t made = 0;
    if (compressor)
        made = libdeflate_zlib_compress(compressor, bytes, (size_t)count, out, capacity);
    libdeflate_free_compressor(compressor);
    if (made == 0 || made > INT_MAX) {
        stb_give(out);
        return NULL;
    }
    *out_count = (int)made;
    return out;
}
#define STBIW_ZLIB_COMPRESS(bytes, count, out_count, quality)                                      \
    deflated(bytes, count, out_count, quality)
#endif
#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>
#if defined(__clang__)
#pragma clang attribute pop
#endif
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
