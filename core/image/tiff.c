/* TIFF through libtiff: the first picture of a file, of 8 or 16 bits. Grey, RGB and RGBA are read
   as they are stored; what else the library can convert (palettes, bits, YCbCr, CMYK), as RGBA of 8
   bits. */
#include "core/image/picture.h"
#if KD_HAVE_TIFF
#include "core/memory.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <tiffio.h>

/* A larger picture than 8192 x 8192 must have at least 1/1400 of the decoded bytes in the file. */
static const uint64_t free_bytes = 1ull << 28, expansion = 1400;

typedef struct tiff_reader {
    TIFF *tiff;
    const file_view *file;
    uint64_t at;
    char message[160]; /* the library's last error, or "" */
    uint32_t width, height;
    uint16_t bits, samples, photometric, planar, format, orientation;
    bool has_alpha, direct; /* direct: read as it is stored */
} tiff_reader;

bool picture_reads_tiff(void) {
    return true;
}

static tmsize_t bytes_read(thandle_t handle, void *to, tmsize_t count) {
    tiff_reader *reader = (tiff_reader *)handle;
    const uint64_t size = reader->file->count, left = reader->at < size ? size - reader->at : 0;
    const uint64_t take = count > 0 && (uint64_t)count < left ? (uint64_t)count : left;
    if (count <= 0) return 0;
    memcpy(to, reader->file->bytes + reader->at, (size_t)take);
    reader->at += take;
    return (tmsize_t)take;
}

static tmsize_t bytes_write(thandle_t handle, void *from, tmsize_t count) {
    (void)handle;
    (void)from;
    (void)count;
    return 0;
}

static toff_t bytes_seek(thandle_t handle, toff_t offset, int from) {
    tiff_reader *reader = (tiff_reader *)handle;
    reader->at = offset + (from == SEEK_CUR   ? reader->at
                           : from == SEEK_END ? reader->file->count
                                              : 0);
    return reader->at;
}

static int nothing_closed(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t bytes_count(thandle_t handle) {
    return ((const tiff_reader *)handle)->file->count;
}

static int error_keep(TIFF *tiff, void *to, const char *module, const char *format,
                      va_list arguments) __attribute__((format(printf, 4, 0)));
static int error_keep(TIFF *tiff, void *to, const char *module, const char *format,
                      va_list arguments) {
    tiff_reader *reader = (tiff_reader *)to;
    (void)tiff;
    (void)module;
    if (!*reader->message) vsnprintf(reader->message, sizeof reader->message, format, arguments);
    return 1;
}

static int warning_drop(TIFF *tiff, void *to, const char *module, const char *format,
                        va_list arguments) {
    (void)tiff;
    (void)to;
    (void)module;
    (void)format;
    (void)arguments;
    return 1;
}

static uint16_t tag(const tiff_reader *reader, uint32_t which) {
    uint16_t value = 0;
    return TIFFGetFieldDefaulted(reader->tiff, which, &value) ? value : 0;
}

static bool is_associated(const tiff_reader *reader) {
    uint16_t count = 0, *kinds = NULL;
    return TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) && count > 0 &&
           kinds[0] == EXTRASAMPLE_ASSOCALPHA;
}

static void form_find(tiff_reader *reader) {
    TIFFGetField(reader->tiff, TIFFTAG_IMAGEWIDTH, &reader->width);
    TIFFGetField(reader->tiff, TIFFTAG_IMAGELENGTH, &reader->height);
    reader->bits = tag(reader, TIFFTAG_BITSPERSAMPLE);
    reader->samples = tag(reader, TIFFTAG_SAMPLESPERPIXEL);
    reader->photometric = tag(reader, TIFFTAG_PHOTOMETRIC);
    reader->planar = tag(reader, TIFFTAG_PLANARCONFIG);
    reader->format = tag(reader, TIFFTAG_SAMPLEFORMAT);
    reader->orientation = tag(reader, TIFFTAG_ORIENTATION);
    const bool grey = reader->photometric == PHOTOMETRIC_MINISBLACK ||
                      reader->photometric == PHOTOMETRIC_MINISWHITE;
    const uint16_t colours = grey ? 1 : 3;
    reader->has_alpha = reader->samples > colours;
    reader->direct = (grey || reader->photometric == PHOTOMETRIC_RGB) &&
                     (reader->bits == 8 || reader->bits == 16) && reader->samples >= colours &&
                     reader->samples <= colours + 1;
}

/* True if the rows of the file are columns of the picture. */
static bool is_sideways(const tiff_reader *reader) {
    return reader->orientation >= ORIENTATION_LEFTTOP && reader->orientation <= ORIENTATION_LEFTBOT;
}

/* Texel of the upright picture that has column x of row y of the file. */
static uint64_t texel_at(const tiff_reader *reader, uint64_t x, uint64_t y) {
    const uint64_t width = reader->width, height = reader->height;
    const uint64_t x_back = width - 1 - x, y_back = height - 1 - y;
    switch (reader->orientation) {
    case ORIENTATION_TOPRIGHT: return y * width + x_back;
    case ORIENTATION_BOTRIGHT: return y_back * width + x_back;
    case ORIENTATION_BOTLEFT: return y_back * width + x;
    case ORIENTATION_LEFTTOP: return x * height + y;
    case ORIENTATION_RIGHTTOP: return x * height + y_back;
    case ORIENTATION_RIGHTBOT: return x_back * height + y_back;
    case ORIENTATION_LEFTBOT: return x_back * height + y;
    default: return y * width + x;
    }
}

static kd_status reader_open(tiff_reader *reader, const char *path, const file_view *file) {
    memset(reader, 0, sizeof *reader);
    reader->file = file;
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    KD_REQUIRE(options, KD_ERROR_MEMORY, "%s: out of memory for the TIFF file", path);
    TIFFOpenOptionsSetErrorHandlerExtR(options, error_keep, reader);
    TIFFOpenOptionsSetWarningHandlerExtR(options, warning_drop, reader);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)(free_bytes + expansion * file->count));
    reader->tiff = TIFFClientOpenExt(path, "rm", (thandle_t)reader, bytes_read, bytes_write,
                                     bytes_seek, nothing_closed, bytes_count, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    KD_REQUIRE(reader->tiff, KD_ERROR_INPUT, "%s: damaged TIFF file: %s", path,
               *reader->message ? reader->message : "found no picture in it");
    form_find(reader);
    return KD_OK;
}

static kd_status form_check(const tiff_reader *reader, picture_info *out, const char *path) {
    char reason[1024] = "";
    const uint64_t decoded =
        (uint64_t)reader->width * reader->height * 4 * (reader->bits / 8u + 1u);
    KD_REQUIRE(reader->width > 0 && reader->height > 0 && reader->width < 1u << 24 &&
                   reader->height < 1u << 24 &&
                   decoded <= free_bytes + expansion * reader->file->count,
               KD_ERROR_INPUT, "%s: damaged: found a size of %u x %u pixels in a file of %zu bytes",
               path, reader->width, reader->height, reader->file->count);
    KD_REQUIRE(reader->format == SAMPLEFORMAT_UINT || reader->bits <= 8, KD_ERROR_INPUT,
               "%s: found TIFF samples of %u bits that are not unsigned integers, expected 8 or 16 "
               "bits; convert the image to EXR or PNG",
               path, reader->bits);
    KD_REQUIRE(reader->direct || TIFFRGBAImageOK(reader->tiff, reason), KD_ERROR_INPUT,
               "%s: found a TIFF file that libtiff cannot convert (%s); convert it to PNG", path,
               reason);
    out->kind = PICTURE_TIFF;
    out->width = (int32_t)(is_sideways(reader) ? reader->height : reader->width);
    out->height = (int32_t)(is_sideways(reader) ? reader->width : reader->height);
    out->channels = reader->direct ? reader->samples : 4;
    out->is_wide = reader->direct && reader->bits == 16;
    return KD_OK;
}

kd_status picture_inspect_tiff(picture_info *out, const char *path, const file_view *file) {
    tiff_reader reader;
    KD_TRY(reader_open(&reader, path, file));
    const kd_status status = form_check(&reader, out, path);
    TIFFClose(reader.tiff);
    return status;
}

/* --- pixels as they are stored --- */

/* Stores `count` samples of a row from column x on; `plane` is the first sample. */
static void samples_put(const tiff_reader *reader, picture *out, const uint8_t *from, uint64_t x,
                        uint64_t y, uint64_t count, uint64_t plane, uint64_t step) {
    const uint32_t white = reader->bits == 16 ? 65535 : 255;
    for (uint64_t i = 0; i < count * step; ++i) {
        uint32_t value = from[i];
        if (reader->bits == 16) {
            uint16_t wide;
            memcpy(&wide, from + 2 * i, sizeof wide);
            value = wide;
        }
        const uint64_t sample = step > 1 ? i % step : plane;
        if (reader->photometric == PHOTOMETRIC_MINISWHITE && sample == 0) value = white - value;
        const uint64_t at = texel_at(reader, x + i / step, y) * (uint64_t)out->samples + sample;
        if (out->sample_bytes == 2)
            ((uint16_t *)out->texels)[at] = (uint16_t)value;
        else
            ((uint8_t *)out->texels)[at] = (uint8_t)(reader->bits == 16 ? value >> 8 : value);
    }
}

static bool tiles_read(tiff_reader *reader, picture *out, uint8_t *buffer, uint16_t plane,
                       uint64_t step) {
    uint32_t wide = 0, high = 0;
    TIFFGetField(reader->tiff, TIFFTAG_TILEWIDTH, &wide);
    TIFFGetField(reader->tiff, TIFFTAG_TILELENGTH, &high);
    if (!wide || !high) return false;
    for (uint32_t y = 0; y < reader->height; y += high)
        for (uint32_t x = 0; x < reader->width; x += wide) {
            const uint32_t columns = reader->width - x < wide ? reader->width - x : wide;
            if (TIFFReadTile(reader->tiff, buffer, x, y, 0, plane) < 0) return false;
            for (uint32_t row = 0; row < high && y + row < reader->height; ++row)
                samples_put(reader, out, buffer + (uint64_t)row * wide * step * (reader->bits / 8u),
                            x, y + row, columns, plane, step);
        }
    return true;
}

static bool rows_read(tiff_reader *reader, picture *out, uint8_t *buffer, uint16_t plane,
                      uint64_t step) {
    for (uint32_t y = 0; y < reader->height; ++y) {
        if (TIFFReadScanline(reader->tiff, buffer, y, plane) < 0) return false;
        samples_put(reader, out, buffer, 0, y, reader->width, plane, step);
    }
    return true;
}

static bool direct_read(tiff_reader *reader, picture *out, uint8_t *buffer) {
    const bool apart = reader->planar == PLANARCONFIG_SEPARATE && reader->samples > 1;
    const uint64_t step = apart ? 1 : reader->samples;
    for (uint16_t plane = 0; plane < (apart ? reader->samples : 1); ++plane)
        if (!(TIFFIsTiled(reader->tiff) ? tiles_read(reader, out, buffer, plane, step)
                                        : rows_read(reader, out, buffer, plane, step)))
            return false;
    return true;
}

/* Colours may be stored multiplied by alpha; textures are not. */
static void alpha_divide(picture *out, uint64_t texels) {
    const uint64_t samples = (uint64_t)out->samples;
    const uint32_t white = picture_white(out);
    for (uint64_t i = 0; i < texels; ++i) {
        const uint32_t alpha = picture_value(out, samples * i + samples - 1);
        for (uint64_t c = 0; c + 1 < samples && alpha; ++c) {
            const uint64_t value =
                ((uint64_t)picture_value(out, samples * i + c) * white + alpha / 2) / alpha;
            const uint64_t kept = value < white ? value : white;
            if (out->sample_bytes == 2)
                ((uint16_t *)out->texels)[samples * i + c] = (uint16_t)kept;
            else
                ((uint8_t *)out->texels)[samples * i + c] = (uint8_t)kept;
        }
    }
}

/* The library returns pixels as 32-bit numbers with red in the lowest byte, and colours multiplied
   by alpha. It mirrors pictures but does not turn them, so it is asked for rows as in the file. */
static bool converted_read(tiff_reader *reader, picture *out, uint32_t *pixels) {
    if (!TIFFReadRGBAImageOriented(reader->tiff, reader->width, reader->height, pixels,
                                   reader->orientation, 1))
        return false;
    for (uint64_t y = 0; y < reader->height; ++y)
        for (uint64_t x = 0; x < reader->width; ++x) {
            const uint32_t pixel = pixels[y * reader->width + x];
            const uint8_t bytes[4] = {(uint8_t)TIFFGetR(pixel), (uint8_t)TIFFGetG(pixel),
                                      (uint8_t)TIFFGetB(pixel), (uint8_t)TIFFGetA(pixel)};
            memcpy((uint8_t *)out->texels + 4 * texel_at(reader, x, y), bytes, sizeof bytes);
        }
    return true;
}

static kd_status pixels_read(tiff_reader *reader, picture *out, const char *path) {
    const uint64_t texels = (uint64_t)reader->width * reader->height;
    const bool tiled = reader->direct && TIFFIsTiled(reader->tiff);
    const tmsize_t size = tiled ? TIFFTileSize(reader->tiff) : TIFFScanlineSize(reader->tiff);
    uint8_t *buffer = NULL, *pixels = NULL;
    KD_REQUIRE(size > 0 && (uint64_t)size <= free_bytes + expansion * reader->file->count,
               KD_ERROR_INPUT, "%s: damaged TIFF file: the rows are too long", path);
    out->samples = reader->direct ? reader->samples : 4;
    if (!reader->direct) out->sample_bytes = 1;
    KD_TRY(
        KD_RESERVE_ZEROED(pixels, (uint64_t)out->sample_bytes * (uint64_t)out->samples * texels));
    out->texels = pixels;
    out->reserved = true;
    KD_TRY(KD_RESERVE_ZEROED(buffer, reader->direct ? (uint64_t)size : 4 * texels));
    const bool reads = reader->direct ? direct_read(reader, out, buffer)
                                      : converted_read(reader, out, (uint32_t *)(void *)buffer);
    memory_free(buffer);
    KD_REQUIRE(reads, KD_ERROR_INPUT, "%s: damaged TIFF file: %s", path, reader->message);
    if (reader->has_alpha && (!reader->direct || is_associated(reader))) alpha_divide(out, texels);
    return KD_OK;
}

kd_status picture_decode_tiff(picture *out, const char *path, const file_view *file) {
    tiff_reader reader;
    KD_TRY(reader_open(&reader, path, file));
    const kd_status status = pixels_read(&reader, out, path);
    TIFFClose(reader.tiff);
    return status;
}
#else
bool picture_reads_tiff(void) {
    return false;
}

kd_status picture_inspect_tiff(picture_info *out, const char *path, const file_view *file) {
    (void)out;
    (void)file;
    KD_FAIL(KD_ERROR_INPUT,
            "%s: TIFF pictures need a build with libtiff; convert it, for example by: magick FILE "
            "FILE.png",
            path);
}

kd_status picture_decode_tiff(picture *out, const char *path, const file_view *file) {
    return picture_inspect_tiff(&out->info, path, file);
}
#endif
