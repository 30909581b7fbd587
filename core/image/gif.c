/* GIF: the first frame of a file, as RGB, or RGBA if a part of the picture is transparent.
   Source: CompuServe, "Graphics Interchange Format, version 89a" (1990), and its appendix F (LZW).
   Work: each code gives at least one pixel, and decoding ends with the last pixel of the frame. */
#include "core/image/picture.h"
#include "core/memory.h"
#include <string.h>

enum { CODES = 4096, CODE_BITS = 12, MARK_FRAME = 0x2c, MARK_MORE = 0x21, LABEL_CONTROL = 0xf9 };

typedef struct gif_frame {
    uint32_t width, height;           /* size of the picture */
    uint32_t left, top, across, down; /* rectangle of the frame */
    size_t palette;                   /* position of the colours; 0: there are none */
    uint32_t colours;
    int32_t transparent; /* index of the transparent colour; -1: none */
    bool interlaced;
    size_t data; /* position of the first code's width */
} gif_frame;

static uint32_t byte_at(const file_view *file, size_t at) {
    return at < file->count ? (uint8_t)file->bytes[at] : 0;
}

static uint32_t word_at(const file_view *file, size_t at) {
    return byte_at(file, at) | byte_at(file, at + 1) << 8;
}

/* Returns the position behind the blocks at `at`, each a length and as many bytes, of which one of
   length 0 is the last. */
static size_t blocks_skip(const file_view *file, size_t at) {
    while (at < file->count && byte_at(file, at)) at += 1 + byte_at(file, at);
    return at + 1;
}

static size_t palette_take(gif_frame *out, uint32_t flags, size_t at) {
    if (!(flags & 0x80)) return at;
    out->palette = at;
    out->colours = 2u << (flags & 7);
    return at + 3 * (size_t)out->colours;
}

static kd_status frame_find(gif_frame *out, const char *path, const file_view *file) {
    memset(out, 0, sizeof *out);
    out->transparent = -1;
    out->width = word_at(file, 6);
    out->height = word_at(file, 8);
    size_t at = palette_take(out, byte_at(file, 10), 13);
    while (byte_at(file, at) == MARK_MORE) {
        if (byte_at(file, at + 1) == LABEL_CONTROL && byte_at(file, at + 2) == 4)
            out->transparent = byte_at(file, at + 3) & 1 ? (int32_t)byte_at(file, at + 6) : -1;
        at = blocks_skip(file, at + 2);
    }
    KD_REQUIRE(at + 11 < file->count && byte_at(file, at) == MARK_FRAME, KD_ERROR_INPUT,
               "%s: damaged: found no frame in the GIF file", path);
    out->left = word_at(file, at + 1);
    out->top = word_at(file, at + 3);
    out->across = word_at(file, at + 5);
    out->down = word_at(file, at + 7);
    out->interlaced = byte_at(file, at + 9) & 0x40;
    out->data = palette_take(out, byte_at(file, at + 9), at + 10);
    KD_REQUIRE(out->left + out->across <= out->width && out->top + out->down <= out->height,
               KD_ERROR_INPUT,
               "%s: damaged: found a frame that exceeds the picture of %u x %u pixels", path,
               out->width, out->height);
    KD_REQUIRE(out->palette && out->palette + 3 * (size_t)out->colours <= file->count,
               KD_ERROR_INPUT, "%s: damaged: found a GIF file without its colours", path);
    return KD_OK;
}

static bool has_alpha(const gif_frame *frame) {
    return frame->transparent >= 0 || frame->across < frame->width || frame->down < frame->height;
}

kd_status picture_inspect_gif(picture_info *out, const char *path, const file_view *file) {
    gif_frame frame;
    KD_TRY(frame_find(&frame, path, file));
    out->kind = PICTURE_GIF;
    out->width = (int32_t)frame.width;
    out->height = (int32_t)frame.height;
    out->channels = has_alpha(&frame) ? 4 : 3;
    return KD_OK;
}

/* --- codes ------------------------------------------------------------------------------------ */

typedef struct gif_reader {
    const file_view *file;
    size_t at;           /* next byte */
    uint32_t left;       /* bytes of the block at `at` */
    uint32_t bits, kept; /* bits read ahead, and how many */
} gif_reader;

/* Returns false at the end of the data. */
static bool code_take(gif_reader *reader, uint32_t width, uint32_t *code) {
    while (reader->kept < width) {
        if (reader->left == 0) reader->left = byte_at(reader->file, reader->at++);
        if (reader->left == 0 || reader->at >= reader->file->count) return false;
        reader->bits |= byte_at(reader->file, reader->at++) << reader->kept;
        reader->kept += 8;
        --reader->left;
    }
    *code = reader->bits & ((1u << width) - 1);
    reader->bits >>= width;
    reader->kept -= width;
    return true;
}

typedef struct gif_codes {
    uint16_t before[CODES];          /* code of all pixels but the last */
    uint8_t last[CODES], run[CODES]; /* last pixel of a code; the pixels of one, backwards */
} gif_codes;

/* Writes the colour numbers of the frame, row by row as stored. Returns how many there are. */
static uint64_t frame_decode(gif_codes *codes, gif_reader *reader, uint32_t first, uint8_t *out,
                             uint64_t pixels) {
    const uint32_t clear = 1u << first;
    uint32_t count = clear + 2, width = first + 1, code = 0, previous = CODES;
    uint64_t done = 0;
    while (done < pixels && code_take(reader, width, &code) && code != clear + 1) {
        if (code == clear) {
            count = clear + 2;
            width = first + 1;
            previous = CODES;
            continue;
        }
        if (code > count || (code == count && previous == CODES)) break;
        /* A code that is not known yet is the previous one, followed by its first pixel. */
        uint32_t length = code == count, from = length ? previous : code;
        for (; from >= clear; from = codes->before[from]) codes->run[length++] = codes->last[from];
        codes->run[length++] = (uint8_t)from;
        if (code == count) codes->run[0] = (uint8_t)from;
        if (previous < CODES && count < CODES) {
            codes->before[count] = (uint16_t)previous;
            codes->last[count++] = (uint8_t)from;
        }
        if (count == 1u << width && width < CODE_BITS) ++width;
        while (length && done < pixels) out[done++] = codes->run[--length];
        previous = code;
    }
    return done;
}

/* Returns the row of the frame that is stored as number `stored`. */
static uint32_t row_of(const gif_frame *frame, uint32_t stored) {
    static const uint32_t begin[4] = {0, 4, 2, 1}, step[4] = {8, 8, 4, 2};
    if (!frame->interlaced) return stored;
    for (int pass = 0; pass < 4; ++pass) {
        const uint32_t rows = frame->down > begin[pass]
                                  ? (frame->down - begin[pass] + step[pass] - 1) / step[pass]
                                  : 0;
        if (stored < rows) return begin[pass] + step[pass] * stored;
        stored -= rows;
    }
    return 0;
}

static void colours_put(picture *out, const gif_frame *frame, const file_view *file,
                        const uint8_t *numbers) {
    const size_t samples = (size_t)out->samples;
    uint8_t *texels = (uint8_t *)out->texels;
    for (uint32_t y = 0; y < frame->down; ++y)
        for (uint32_t x = 0; x < frame->across; ++x) {
            const uint32_t number = numbers[(size_t)y * frame->across + x];
            const size_t row = frame->top + row_of(frame, y);
            uint8_t *to = texels + samples * (row * frame->width + frame->left + x);
            for (uint32_t c = 0; c < 3 && number < frame->colours; ++c)
                to[c] = (uint8_t)byte_at(file, frame->palette + 3 * (size_t)number + c);
            if (samples == 4) to[3] = (int32_t)number == frame->transparent ? 0 : 255;
        }
}

kd_status picture_decode_gif(picture *out, const char *path, const file_view *file) {
    gif_frame frame;
    gif_codes *codes = NULL;
    uint8_t *numbers = NULL, *texels = NULL;
    kd_status status = KD_OK;
    KD_TRY(frame_find(&frame, path, file));
    const uint32_t first = byte_at(file, frame.data);
    const uint64_t pixels = (uint64_t)frame.across * frame.down;
    gif_reader reader = {file, frame.data + 1, 0, 0, 0};
    out->samples = out->info.channels;
    KD_TRY_GOTO(
        KD_RESERVE_ZEROED(texels, (uint64_t)out->samples * frame.width * (uint64_t)frame.height));
    out->texels = texels;
    out->reserved = true;
    KD_TRY_GOTO(KD_RESERVE(numbers, pixels + 1));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(codes, 1));
    const uint64_t done =
        first >= 1 && first <= 8 ? frame_decode(codes, &reader, first, numbers, pixels) : 0;
    if (done < pixels)
        status = status_fail(KD_ERROR_INPUT, __FILE__, __LINE__,
                             "%s: damaged: found %llu of the %llu pixels of the GIF file", path,
                             (unsigned long long)done, (unsigned long long)pixels);
    else
        colours_put(out, &frame, file, numbers);
done:
    memory_free(codes);
    memory_free(numbers);
    return status;
}
