/* EXR files through OpenEXR's C core: the shared functions and the writer, of float channels with
   ZIP compression. The reader is in core/image/exr_read.c. */
#include "core/image/exr.h"

#if KD_HAVE_OPENEXR
#include <errno.h>
#include <string.h>

static _Thread_local char complaint[200];

void exr_complaint_keep(exr_const_context_t context, exr_result_t code, const char *text) {
    (void)context;
    (void)code;
    snprintf(complaint, sizeof complaint, "%s", text);
}

void exr_complaint_forget(void) {
    complaint[0] = '\0';
}

const char *exr_complaint(exr_result_t code) {
    return complaint[0] ? complaint : exr_get_default_error_message(code);
}

kd_status exr_answered(const exr_stream *stream, exr_result_t code, kd_status failure) {
    KD_REQUIRE(code == EXR_ERR_SUCCESS, failure, "%s: OpenEXR: %s", stream->path,
               exr_complaint(code));
    return KD_OK;
}

void exr_matrix_transpose(float to[16], const float from[16]) {
    for (int i = 0; i < 16; ++i) to[i] = from[i % 4 * 4 + i / 4];
}

/* --- writing --- */

static int64_t bytes_write(exr_const_context_t context, void *user, const void *bytes,
                           uint64_t count, uint64_t offset, exr_stream_error_func_ptr_t fail) {
    exr_stream *stream = (exr_stream *)user;
    (void)context;
    (void)fail; /* must not be called: it takes the lock that is held here */
    if (stream->reason) return -1;
    errno = 0;
    if (fseeko(stream->output, (off_t)offset, SEEK_SET) == 0 &&
        fwrite(bytes, 1, count, stream->output) == count)
        return (int64_t)count;
    stream->reason = errno ? errno : EIO;
    return -1;
}

kd_status exr_written(const exr_stream *stream, exr_result_t code) {
    KD_REQUIRE(!stream->reason, KD_ERROR_RUNTIME, "%s: cannot write: %s", stream->path,
               strerror(stream->reason));
    /* compression of valid data fails as corrupt only if zlib is out of memory */
    KD_REQUIRE(code != EXR_ERR_OUT_OF_MEMORY && code != EXR_ERR_CORRUPT_CHUNK, KD_ERROR_MEMORY,
               "%s: out of memory: OpenEXR: %s", stream->path, exr_complaint(code));
    return exr_answered(stream, code, KD_ERROR_RUNTIME);
}

static kd_status header_write(exr_context_t context, const exr_stream *stream, const image *image) {
    int part = 0;
    KD_TRY(exr_written(stream, exr_add_part(context, "image", EXR_STORAGE_SCANLINE, &part)));
    const int32_t x = image->corner[0], y = image->corner[1];
    const bool is_part = image->whole_width > 0;
    const exr_attr_box2i_t data = {
        {.x = x + image->left, .y = y + image->top},
        {.x = x + image->left + image->width - 1, .y = y + image->top + image->height - 1}};
    const exr_attr_box2i_t shown = {{.x = x, .y = y},
                                    {.x = x + (is_part ? image->whole_width : image->width) - 1,
                                     .y = y + (is_part ? image->whole_height : image->height) - 1}};
    const exr_attr_v2f_t centre = {.x = 0, .y = 0};
    KD_TRY(exr_written(stream, exr_initialize_required_attr(context, part, &shown, &data, 1,
                                                            &centre, 1, EXR_LINEORDER_INCREASING_Y,
                                                            EXR_COMPRESSION_ZIP)));
    for (int32_t c = 0; c < image->channel_count; ++c)
        KD_TRY(exr_written(stream, exr_add_channel(context, part, image->names[c], EXR_PIXEL_FLOAT,
                                                   EXR_PERCEPTUALLY_LOGARITHMIC, 1, 1)));
    exr_attr_m44f_t matrix;
    exr_matrix_transpose(matrix.m, image->world_to_camera);
    KD_TRY(exr_written(stream, exr_attr_set_m44f(context, part, "worldToCamera", &matrix)));
    KD_TRY(exr_written(
        stream, exr_attr_set_int(context, part, "samplesPerPixel", image->samples_per_pixel)));
    KD_TRY(exr_written(
        stream, exr_attr_set_double(context, part, "renderTimeSeconds", image->render_seconds)));
    if (image->method[0])
        KD_TRY(
            exr_written(stream, exr_attr_set_string(context, part, "renderMethod", image->method)));
    const exr_attr_v3d_t origin = {
        .x = image->scene_origin[0], .y = image->scene_origin[1], .z = image->scene_origin[2]};
    if (origin.x != 0 || origin.y != 0 || origin.z != 0)
        KD_TRY(exr_written(stream, exr_attr_set_v3d(context, part, "sceneOrigin", &origin)));
    KD_TRY(exr_written(stream, exr_write_header(context)));
    return KD_OK;
}

#if !KD_HAVE_DEFLATE /* otherwise core/image/exr_zip.c */
static exr_result_t chunk_encode(exr_context_t context, exr_encode_pipeline_t *pipeline,
                                 const image *image, int32_t y) {
    exr_chunk_info_t chunk;
    exr_result_t code =
        exr_write_scanline_chunk_info(context, 0, image->corner[1] + image->top + y, &chunk);
    if (code != EXR_ERR_SUCCESS) return code;
    code = y ? exr_encoding_update(context, 0, &chunk, pipeline)
             : exr_encoding_initialize(context, 0, &chunk, pipeline);
    if (code != EXR_ERR_SUCCESS) return code;
    for (int16_t c = 0; c < pipeline->channel_count; ++c) {
        exr_coding_channel_info_t *channel = &pipeline->channels[c];
        const float *plane = image_plane(image, channel->channel_name);
        channel->encode_from_ptr = (const uint8_t *)(plane + (size_t)y * (size_t)image->width);
        channel->user_bytes_per_element = sizeof(float);
        channel->user_pixel_stride = sizeof(float);
        channel->user_line_stride = image->width * (int32_t)sizeof(float);
        channel->user_data_type = EXR_PIXEL_FLOAT;
    }
    if (!y) code = exr_encoding_choose_default_routines(context, 0, pipeline);
    return code != EXR_ERR_SUCCESS ? code : exr_encoding_run(context, 0, pipeline);
}

kd_status exr_deflate(exr_context_t context, const exr_stream *stream, const image *image) {
    int32_t lines = 0;
    KD_TRY(exr_written(stream, exr_get_scanlines_per_chunk(context, 0, &lines)));
    exr_encode_pipeline_t pipeline;
    memset(&pipeline, 0, sizeof pipeline);
    exr_result_t code = EXR_ERR_SUCCESS;
    for (int32_t y = 0; y < image->height && code == EXR_ERR_SUCCESS; y += lines)
        code = chunk_encode(context, &pipeline, image, y);
    exr_encoding_destroy(context, &pipeline);
    KD_TRY(exr_written(stream, code));
    return KD_OK;
}
#endif

static kd_status exr_write(const image *image, const image_encoding *encoding, file_output *file) {
    (void)encoding;
    KD_REQUIRE(image->width <= INT32_MAX / 64 && image->height <= INT32_MAX / 64, KD_ERROR_USAGE,
               "%s: the image has %d x %d pixels; EXR supports at most %d per side", file->path,
               image->width, image->height, INT32_MAX / 64);
    exr_stream stream = {.path = file->path, .output = file->stream};
    exr_complaint_forget();
    exr_context_initializer_t initializer = EXR_DEFAULT_CONTEXT_INITIALIZER;
    initializer.error_handler_fn = exr_complaint_keep;
    initializer.user_data = &stream;
    initializer.write_fn = bytes_write;
    initializer.zip_level = 4; /* 10 % less work than 6, 15 % more than 1; sizes within 0.5 % */
    exr_context_t context = NULL;
    KD_TRY(exr_written(
        &stream, exr_start_write(&context, file->path, EXR_WRITE_FILE_DIRECTLY, &initializer)));
    kd_status status = KD_OK;
    KD_TRY_GOTO(header_write(context, &stream, image));
    KD_TRY_GOTO(exr_deflate(context, &stream, image));
done:;
    const exr_result_t code = exr_finish(&context);
    if (status == KD_OK) KD_TRY(exr_written(&stream, code));
    return status;
}

const image_format image_format_exr = {
    .suffix = ".exr", .read_as = exr_read, .write = exr_write, .windows = true};
#else
const image_format image_format_exr = {.suffix = ".exr", .windows = true, .lacks = "OpenEXR"};
#endif
