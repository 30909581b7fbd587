/* JPEG: through libjpeg(-turbo) out, colours over black, no chroma subsampling; in by the decoder
   of textures (core/image/picture.h). */
#include "core/image/formats.h"
#if KD_HAVE_JPEG
#include "core/image/encode.h"
#include "core/image/picture.h"
#include "core/memory.h"
#include <jpeglib.h> /* wants stdio.h */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

enum { JPEG_QUALITY = 92 };

typedef struct jpeg_writer {
    struct jpeg_compress_struct state;
    struct jpeg_error_mgr errors;
    jmp_buf failed;
    char trouble[JMSG_LENGTH_MAX];
} jpeg_writer;

static void fail(j_common_ptr state) {
    jpeg_writer *writer = (jpeg_writer *)state->client_data;
    state->err->format_message(state, writer->trouble);
    longjmp(writer->failed, 1);
}

static void ignore(j_common_ptr state, int level) {
    (void)state;
    (void)level;
}

static void rows_write(jpeg_writer *writer, const image *from, const uint8_t *bytes, FILE *to) {
    struct jpeg_compress_struct *state = &writer->state;
    jpeg_create_compress(state);
    jpeg_stdio_dest(state, to);
    state->image_width = (JDIMENSION)from->width;
    state->image_height = (JDIMENSION)from->height;
    state->input_components = 3;
    state->in_color_space = JCS_RGB;
    jpeg_set_defaults(state);
    jpeg_set_quality(state, JPEG_QUALITY, TRUE);
    for (int c = 0; c < 3; ++c)
        state->comp_info[c].h_samp_factor = state->comp_info[c].v_samp_factor = 1;
    jpeg_start_compress(state, TRUE);
    while (state->next_scanline < state->image_height) {
        JSAMPROW row = NULL;
        const uint8_t *at = bytes + 3 * (size_t)state->next_scanline * (size_t)from->width;
        memcpy(&row, &at,
               sizeof row); /* the library takes rows that it may write to, and does not */
        jpeg_write_scanlines(state, &row, 1);
    }
    jpeg_finish_compress(state);
}

static kd_status bytes_write(const image *from, const uint8_t *bytes, file_output *file) {
    jpeg_writer writer;
    memset(&writer, 0, sizeof writer);
    writer.state.err = jpeg_std_error(&writer.errors);
    writer.state.client_data = &writer;
    writer.errors.error_exit = fail;
    writer.errors.emit_message = ignore;
    const int failed = setjmp(writer.failed);
    if (!failed) rows_write(&writer, from, bytes, file->stream);
    jpeg_destroy_compress(&writer.state);
    /* a stream that cannot be written is named by the commit */
    KD_REQUIRE(!failed || ferror(file->stream), KD_ERROR_MEMORY, "%s: libjpeg: %s", file->path,
               writer.trouble);
    return KD_OK;
}

static kd_status jpeg_write(const image *from, const image_encoding *encoding, file_output *file) {
    uint8_t *bytes = NULL;
    int samples = 0;
    KD_REQUIRE(from->width <= JPEG_MAX_DIMENSION && from->height <= JPEG_MAX_DIMENSION,
               KD_ERROR_USAGE, "%s: %d x %d pixels, a JPEG file may have %ld a side", file->path,
               from->width, from->height, JPEG_MAX_DIMENSION);
    KD_TRY(image_encode(&bytes, &samples, from, encoding, false));
    const kd_status status = bytes_write(from, bytes, file);
    memory_free(bytes);
    KD_TRY(status);
    return KD_OK;
}

static kd_status jpeg_read(image *out, const char *path, const file_view *file) {
    picture decoded;
    KD_REQUIRE(picture_kind_of(file) == PICTURE_JPEG, KD_ERROR_INPUT,
               "%s: not a JPEG file: expected it to begin with ff d8", path);
    kd_status status = picture_open(&decoded, path, file, PICTURE_WORDS);
    const picture_info *info = &decoded.info;
    if (status == KD_OK)
        status =
            image_decode(out, info->width, info->height, (const uint16_t *)decoded.texels, 65535);
    picture_close(&decoded);
    KD_TRY(status);
    return KD_OK;
}

const image_format image_format_jpg = {
    .suffix = ".jpg", .read = jpeg_read, .write = jpeg_write, .display = true};
const image_format image_format_jpeg = {
    .suffix = ".jpeg", .read = jpeg_read, .write = jpeg_write, .display = true};
#else
const image_format image_format_jpg = {.suffix = ".jpg", .display = true, .lacks = "libjpeg"};
const image_format image_format_jpeg = {.suffix = ".jpeg", .display = true, .lacks = "libjpeg"};
#endif
