/* JPEG through libjpeg(-turbo): writing with colours over black and without chroma subsampling;
   reading of pictures and textures. Rejects truncated and damaged files, for which the library
   would only warn and fill in grey, and limits the number of scans, each of which processes the
   whole picture. */
#include "core/image/formats.h"
#if KD_HAVE_JPEG
#include "core/image/encode.h"
#include "core/image/picture.h"
#include "core/memory.h"
#include <jpeglib.h> /* requires stdio.h */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
/* requires jpeglib.h */
#include <jerror.h>

enum { JPEG_QUALITY = 92 };

typedef struct jpeg_writer {
    struct jpeg_compress_struct state;
    struct jpeg_error_mgr errors;
    jmp_buf failed;
    char message[JMSG_LENGTH_MAX];
} jpeg_writer;

static void fail(j_common_ptr state) {
    jpeg_writer *writer = (jpeg_writer *)state->client_data;
    state->err->format_message(state, writer->message);
    longjmp(writer->failed, 1);
}

static void ignore(j_common_ptr state, int level) {
    (void)state;
    (void)level;
}

static void rows_write(jpeg_writer *writer, const uint8_t *bytes, int32_t width, int32_t height,
                       FILE *file) {
    struct jpeg_compress_struct *state = &writer->state;
    jpeg_create_compress(state);
    jpeg_stdio_dest(state, file);
    state->image_width = (JDIMENSION)width;
    state->image_height = (JDIMENSION)height;
    state->input_components = 3;
    state->in_color_space = JCS_RGB;
    jpeg_set_defaults(state);
    jpeg_set_quality(state, JPEG_QUALITY, TRUE);
    for (int c = 0; c < 3; ++c)
        state->comp_info[c].h_samp_factor = state->comp_info[c].v_samp_factor = 1;
    jpeg_start_compress(state, TRUE);
    while (state->next_scanline < state->image_height) {
        JSAMPROW row = NULL;
        const uint8_t *at = bytes + 3 * (size_t)state->next_scanline * (size_t)width;
        memcpy(&row, &at,
               /* The library's row type is not const, but rows are not modified. */
               sizeof row);
        jpeg_write_scanlines(state, &row, 1);
    }
    jpeg_finish_compress(state);
}

static kd_status jpeg_write(const uint8_t *bytes, int32_t width, int32_t height, int samples,
                            file_output *file) {
    (void)samples; /* 3 */
    jpeg_writer writer;
    memset(&writer, 0, sizeof writer);
    writer.state.err = jpeg_std_error(&writer.errors);
    writer.state.client_data = &writer;
    writer.errors.error_exit = fail;
    writer.errors.emit_message = ignore;
    const int failed = setjmp(writer.failed);
    if (!failed) rows_write(&writer, bytes, width, height, file->stream);
    jpeg_destroy_compress(&writer.state);
    /* file_output_commit reports errors of the stream */
    KD_REQUIRE(!failed || ferror(file->stream), KD_ERROR_MEMORY, "%s: libjpeg: %s", file->path,
               writer.message);
    return KD_OK;
}

typedef struct jpeg_reader {
    struct jpeg_decompress_struct state;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    int max_scans;
    int code; /* the library's message code; 0: too many scans */
    char message[JMSG_LENGTH_MAX];
} jpeg_reader;

static void reader_fail(j_common_ptr state) {
    jpeg_reader *reader = (jpeg_reader *)state->client_data;
    reader->code = state->err->msg_code;
    state->err->format_message(state, reader->message);
    longjmp(reader->failed, 1);
}

/* Treats warnings about missing or invalid data as errors; other warnings are harmless. */
static void reader_emit_message(j_common_ptr state, int level) {
    const int code = state->err->msg_code;
    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER ||
                      code == JWRN_HUFF_BAD_CODE || code == JWRN_ARITH_BAD_CODE))
        reader_fail(state);
}

static void reader_count(j_common_ptr state) {
    jpeg_reader *reader = (jpeg_reader *)state->client_data;
    if (reader->state.input_scan_number <= reader->max_scans) return;
    reader->code = 0;
    snprintf(reader->message, sizeof reader->message, "found more than %d scans",
             reader->max_scans);
    longjmp(reader->failed, 1);
}

static void reader_begin(jpeg_reader *reader, const picture *out, const file_view *file) {
    struct jpeg_decompress_struct *state = &reader->state;
    jpeg_create_decompress(state);
    state->progress = &reader->progress;
    jpeg_mem_src(state, (const unsigned char *)file->bytes, (unsigned long)file->count);
    jpeg_read_header(state, TRUE);
    if ((int32_t)state->image_width != out->info.width ||
        (int32_t)state->image_height != out->info.height)
        ERREXIT(state, JERR_SOF_DUPLICATE);
    state->dct_method = JDCT_ISLOW;
    if (state->num_components == 1)
        state->out_color_space = JCS_GRAYSCALE;
    else if (state->jpeg_color_space == JCS_CMYK || state->jpeg_color_space == JCS_YCCK)
        state->out_color_space = JCS_CMYK;
    else
        state->out_color_space = JCS_RGB;
    jpeg_start_decompress(state);
}

static uint8_t darkened(uint32_t ink, uint32_t black) {
    const uint32_t product = ink * black + 128;
    return (uint8_t)((product + (product >> 8)) >> 8);
}

/* Converts CMYK to RGB. Inks are stored inverted, as Adobe's programs do: as the remaining fraction
   of white. */
static void inks_convert(uint8_t *rgb, const uint8_t *cmyk, size_t width) {
    for (size_t x = 0; x < width; ++x)
        for (size_t c = 0; c < 3; ++c) rgb[3 * x + c] = darkened(cmyk[4 * x + c], cmyk[4 * x + 3]);
}

/* `inks` is a buffer for a row of four samples per pixel. */
static void rows_decode(jpeg_reader *reader, const picture *out, const file_view *file,
                        uint8_t *inks) {
    struct jpeg_decompress_struct *state = &reader->state;
    const size_t width = (size_t)out->info.width;
    reader_begin(reader, out, file);
    const bool converts = state->out_color_space == JCS_CMYK;
    if (state->output_components != (converts ? 4 : out->samples))
        ERREXIT(state, JERR_BAD_J_COLORSPACE);
    while (state->output_scanline < state->output_height) {
        uint8_t *to =
            (uint8_t *)out->texels + (size_t)out->samples * width * state->output_scanline;
        JSAMPROW row = converts ? inks : to;
        jpeg_read_scanlines(state, &row, 1);
        if (converts) inks_convert(to, inks, width);
    }
    jpeg_finish_decompress(state);
}

static kd_status reader_run(jpeg_reader *reader, const picture *out, const char *path,
                            const file_view *file, uint8_t *inks) {
    reader->state.err = jpeg_std_error(&reader->errors);
    reader->state.client_data = reader;
    reader->errors.error_exit = reader_fail;
    reader->errors.emit_message = reader_emit_message;
    reader->progress.progress_monitor = reader_count;
    const int failed = setjmp(reader->failed);
    if (!failed) rows_decode(reader, out, file, inks);
    jpeg_destroy_decompress(&reader->state);
    KD_REQUIRE(!failed, reader->code == JERR_OUT_OF_MEMORY ? KD_ERROR_MEMORY : KD_ERROR_INPUT,
               "%s: damaged JPEG file: %s", path, reader->message);
    return KD_OK;
}

kd_status picture_decode_jpeg(picture *out, const char *path, const file_view *file) {
    enum { SCANS = 100, SCANS_LARGE = 32, LARGE = 1 << 24 };
    const uint64_t width = (uint64_t)out->info.width, pixels = width * (uint64_t)out->info.height;
    jpeg_reader *reader = NULL;
    uint8_t *texels = NULL, *inks = NULL;
    kd_status status = KD_OK;
    out->samples = out->info.channels;
    out->sample_bytes = 1;
    out->reserved = true;
    KD_TRY_GOTO(KD_RESERVE(texels, (uint64_t)out->samples * pixels));
    out->texels = texels;
    KD_TRY_GOTO(KD_RESERVE(inks, 4 * width));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(reader, 1));
    reader->max_scans = pixels > LARGE ? SCANS_LARGE : SCANS;
    status = reader_run(reader, out, path, file, inks);
done:
    memory_free(reader);
    memory_free(inks);
    return status;
}

static kd_status jpeg_open(picture *out, const char *path, const file_view *file) {
    KD_REQUIRE(picture_kind_of(file) == PICTURE_JPEG, KD_ERROR_INPUT,
               "%s: not a JPEG file: the first bytes must be ff d8", path);
    KD_TRY(picture_open(out, path, file, PICTURE_BYTES));
    return KD_OK;
}

#define JPEG_FORMAT(ending)                                                                        \
    {                                                                                              \
        .suffix = (ending), .read_packed = jpeg_open, .write_bytes = jpeg_write,                   \
        .side_max = JPEG_MAX_DIMENSION, .display = true                                            \
    }
const image_format image_format_jpg = JPEG_FORMAT(".jpg");
const image_format image_format_jpeg = JPEG_FORMAT(".jpeg");
#else
const image_format image_format_jpg = {.suffix = ".jpg", .display = true, .lacks = "libjpeg"};
const image_format image_format_jpeg = {.suffix = ".jpeg", .display = true, .lacks = "libjpeg"};
#endif
