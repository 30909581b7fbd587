/* OpenEXR through its C core: float channels out (ZIP); half, float and uint channels in, from the
   first part of scanline and tiled files (the full-size level).
   The worldToCamera attribute is transposed on its way: OpenEXR multiplies row vectors with it, an
   image's matrix multiplies column vectors. */
#include "core/image/formats.h"
#ifdef KD_HAVE_OPENEXR
#include <errno.h>
#include <openexr.h>
#include <string.h>

typedef struct exr_stream {
    const char *path;
    FILE *output;
    const file_view *input;
    int reason; /* errno of the first write that failed */
} exr_stream;

/* The library's last complaint to this thread. Its handler is called while the library holds the
   context's lock, so it may call nothing of the library, not even for its user data. */
static _Thread_local char complaint[200];

static void complaint_keep(exr_const_context_t context, exr_result_t code, const char *text) {
    (void)context;
    (void)code;
    snprintf(complaint, sizeof complaint, "%s", text);
}

/* What a call of the library answered, as a status. */
static kd_status answered(const exr_stream *stream, exr_result_t code, kd_status failure) {
    KD_REQUIRE(code == EXR_ERR_SUCCESS, failure, "%s: OpenEXR: %s", stream->path,
               complaint[0] ? complaint : exr_get_default_error_message(code));
    return KD_OK;
}

/* --- out --- */

static int64_t bytes_write(exr_const_context_t context, void *user, const void *bytes,
                           uint64_t count, uint64_t offset, exr_stream_error_func_ptr_t fail) {
    exr_stream *stream = (exr_stream *)user;
    (void)context;
    (void)fail; /* takes the lock that is held here */
    if (stream->reason) return -1;
    errno = 0;
    if (fseeko(stream->output, (off_t)offset, SEEK_SET) == 0 &&
        fwrite(bytes, 1, count, stream->output) == count)
        return (int64_t)count;
    stream->reason = errno ? errno : EIO;
    return -1;
}

static kd_status written(const exr_stream *stream, exr_result_t code) {
    KD_REQUIRE(!stream->reason, KD_ERROR_RUNTIME, "%s: cannot write: %s", stream->path,
               strerror(stream->reason));
    /* what is sound cannot be compressed to something corrupt but where zlib finds no memory */
    KD_REQUIRE(code != EXR_ERR_OUT_OF_MEMORY && code != EXR_ERR_CORRUPT_CHUNK, KD_ERROR_MEMORY,
               "%s: not enough memory: OpenEXR: %s", stream->path,
               complaint[0] ? complaint : exr_get_default_error_message(code));
    return answered(stream, code, KD_ERROR_RUNTIME);
}

static void matrix_transpose(float to[16], const float from[16]) {
    for (int i = 0; i < 16; ++i) to[i] = from[i % 4 * 4 + i / 4];
}

static kd_status header_write(exr_context_t context, const exr_stream *stream, const image *from) {
    int part = 0;
    KD_TRY(written(stream, exr_add_part(context, "image", EXR_STORAGE_SCANLINE, &part)));
    KD_TRY(written(stream, exr_initialize_required_attr_simple(context, part, from->width,
                                                               from->height, EXR_COMPRESSION_ZIP)));
    for (int32_t c = 0; c < from->channel_count; ++c)
        KD_TRY(written(stream, exr_add_channel(context, part, from->names[c], EXR_PIXEL_FLOAT,
                                               EXR_PERCEPTUALLY_LOGARITHMIC, 1, 1)));
    exr_attr_m44f_t matrix;
    matrix_transpose(matrix.m, from->world_to_camera);
    KD_TRY(written(stream, exr_attr_set_m44f(context, part, "worldToCamera", &matrix)));
    KD_TRY(written(stream,
                   exr_attr_set_int(context, part, "samplesPerPixel", from->samples_per_pixel)));
    KD_TRY(written(stream,
                   exr_attr_set_double(context, part, "renderTimeSeconds", from->render_seconds)));
    KD_TRY(written(stream, exr_write_header(context)));
    return KD_OK;
}

static exr_result_t chunk_encode(exr_context_t context, exr_encode_pipeline_t *pipeline,
                                 const image *from, int32_t y) {
    exr_chunk_info_t chunk;
    exr_result_t code = exr_write_scanline_chunk_info(context, 0, y, &chunk);
    if (code != EXR_ERR_SUCCESS) return code;
    code = y ? exr_encoding_update(context, 0, &chunk, pipeline)
             : exr_encoding_initialize(context, 0, &chunk, pipeline);
    if (code != EXR_ERR_SUCCESS) return code;
    for (int16_t c = 0; c < pipeline->channel_count; ++c) {
        exr_coding_channel_info_t *channel = &pipeline->channels[c];
        const float *plane = image_plane(from, channel->channel_name);
        channel->encode_from_ptr = (const uint8_t *)(plane + (size_t)y * (size_t)from->width);
        channel->user_bytes_per_element = sizeof(float);
        channel->user_pixel_stride = sizeof(float);
        channel->user_line_stride = from->width * (int32_t)sizeof(float);
        channel->user_data_type = EXR_PIXEL_FLOAT;
    }
    if (!y) code = exr_encoding_choose_default_routines(context, 0, pipeline);
    return code != EXR_ERR_SUCCESS ? code : exr_encoding_run(context, 0, pipeline);
}

static kd_status chunks_write(exr_context_t context, const exr_stream *stream, const image *from) {
    int32_t lines = 0;
    KD_TRY(written(stream, exr_get_scanlines_per_chunk(context, 0, &lines)));
    exr_encode_pipeline_t pipeline;
    memset(&pipeline, 0, sizeof pipeline);
    exr_result_t code = EXR_ERR_SUCCESS;
    for (int32_t y = 0; y < from->height && code == EXR_ERR_SUCCESS; y += lines)
        code = chunk_encode(context, &pipeline, from, y);
    exr_encoding_destroy(context, &pipeline);
    KD_TRY(written(stream, code));
    return KD_OK;
}

static kd_status exr_write(const image *from, const image_encoding *encoding, file_output *file) {
    (void)encoding;
    KD_REQUIRE(from->width <= INT32_MAX / 64 && from->height <= INT32_MAX / 64, KD_ERROR_USAGE,
               "%s: %d x %d pixels, EXR takes at most %d a side", file->path, from->width,
               from->height, INT32_MAX / 64);
    exr_stream stream = {.path = file->path, .output = file->stream};
    complaint[0] = '\0';
    exr_context_initializer_t how = EXR_DEFAULT_CONTEXT_INITIALIZER;
    how.error_handler_fn = complaint_keep;
    how.user_data = &stream;
    how.write_fn = bytes_write;
    how.zip_level = 4; /* a tenth less work than 6, a seventh more than 1, sizes within 0.5 % */
    exr_context_t context = NULL;
    KD_TRY(written(&stream, exr_start_write(&context, file->path, EXR_WRITE_FILE_DIRECTLY, &how)));
    kd_status status = KD_OK;
    KD_TRY_GOTO(header_write(context, &stream, from));
    KD_TRY_GOTO(chunks_write(context, &stream, from));
done:;
    const exr_result_t code = exr_finish(&context);
    if (status == KD_OK) KD_TRY(written(&stream, code));
    return status;
}

/* --- in --- */

static int64_t bytes_read(exr_const_context_t context, void *user, void *bytes, uint64_t count,
                          uint64_t offset, exr_stream_error_func_ptr_t fail) {
    const file_view *input = ((exr_stream *)user)->input;
    (void)context;
    (void)fail;
    const uint64_t left = offset < input->count ? input->count - offset : 0;
    if (count > left) count = left;
    if (count) memcpy(bytes, input->bytes + offset, (size_t)count);
    return (int64_t)count;
}

static int64_t bytes_count(exr_const_context_t context, void *user) {
    (void)context;
    return (int64_t)((exr_stream *)user)->input->count;
}

typedef struct exr_reader {
    exr_context_t context;
    exr_stream stream;
    exr_attr_box2i_t window;
    exr_storage_t storage;
    exr_decode_pipeline_t pipeline;
    int pipeline_is_open;
} exr_reader;

/* The size was found credible before: what does not fit in memory then is a lie of the file's. */
static kd_status understood(const exr_reader *reader, exr_result_t code) {
    return answered(&reader->stream, code, KD_ERROR_INPUT);
}

static int is_colour(const char *name) {
    return strlen(name) == 1 && strchr("RGBAY", name[0]);
}

/* Planes for the colours first, then for the others as far as the image has room and name. */
static kd_status channels_add(exr_reader *reader, image *out, const exr_attr_chlist_t *list) {
    for (int pass = 0; pass < 2; ++pass)
        for (int i = 0; i < list->num_channels; ++i) {
            const exr_attr_chlist_entry_t *entry = &list->entries[i];
            const char *name = entry->name.str;
            if (is_colour(name) == pass || out->channel_count == IMAGE_CHANNELS ||
                strlen(name) >= sizeof out->names[0] || !*name)
                continue;
            KD_REQUIRE(entry->x_sampling == 1 && entry->y_sampling == 1, KD_ERROR_INPUT,
                       "%s: channel %s is sampled every %d x %d pixels, expected 1 x 1",
                       reader->stream.path, name, entry->x_sampling, entry->y_sampling);
            float *plane;
            KD_TRY(image_add(out, name, &plane));
        }
    return KD_OK;
}

/* The size is believed only if so many pixels can come out of so many bytes: 1032 for one through
   deflate, 64 times that where DWA codes a flat block of 8 x 8 by one number. */
static kd_status header_read(exr_reader *reader, image *out) {
    exr_compression_t compression;
    const exr_attr_chlist_t *list = NULL;
    const char *path = reader->stream.path;
    KD_TRY(understood(reader, exr_get_storage(reader->context, 0, &reader->storage)));
    KD_REQUIRE(reader->storage == EXR_STORAGE_SCANLINE || reader->storage == EXR_STORAGE_TILED,
               KD_ERROR_INPUT, "%s: deep data, expected scanlines or tiles", path);
    KD_TRY(understood(reader, exr_get_data_window(reader->context, 0, &reader->window)));
    KD_TRY(understood(reader, exr_get_compression(reader->context, 0, &compression)));
    KD_TRY(understood(reader, exr_get_channels(reader->context, 0, &list)));
    const exr_attr_box2i_t window = reader->window;
    const int64_t width = (int64_t)window.max.x - window.min.x + 1;
    const int64_t height = (int64_t)window.max.y - window.min.y + 1;
    const uint64_t expansion =
        compression == EXR_COMPRESSION_DWAA || compression == EXR_COMPRESSION_DWAB ? 80000 : 1400;
    KD_REQUIRE(width > 0 && height > 0 && width <= INT32_MAX / 64 && height <= INT32_MAX / 64 &&
                   list->num_channels > 0 &&
                   (uint64_t)(width * height) * (uint64_t)list->num_channels / expansion <=
                       reader->stream.input->count,
               KD_ERROR_INPUT, "%s: %lld x %lld pixels cannot come from an EXR file of %zu bytes",
               path, (long long)width, (long long)height, reader->stream.input->count);
    KD_TRY(image_open(out, (int32_t)width, (int32_t)height));
    KD_TRY(channels_add(reader, out, list));
    return KD_OK;
}

/* Decodes one chunk to pixel (x, y) of the image on. */
static kd_status chunk_decode(exr_reader *reader, image *out, const exr_chunk_info_t *chunk,
                              int64_t x, int64_t y) {
    exr_decode_pipeline_t *pipeline = &reader->pipeline;
    KD_REQUIRE(chunk->width > 0 && chunk->height > 0 && x + chunk->width <= out->width &&
                   y + chunk->height <= out->height,
               KD_ERROR_INPUT, "%s: a chunk of %d x %d pixels at (%lld, %lld) of %d x %d",
               reader->stream.path, chunk->width, chunk->height, (long long)x, (long long)y,
               out->width, out->height);
    const int is_first = !reader->pipeline_is_open;
    reader->pipeline_is_open = 1;
    KD_TRY(understood(reader, is_first
                                  ? exr_decoding_initialize(reader->context, 0, chunk, pipeline)
                                  : exr_decoding_update(reader->context, 0, chunk, pipeline)));
    for (int16_t c = 0; c < pipeline->channel_count; ++c) {
        exr_coding_channel_info_t *channel = &pipeline->channels[c];
        float *plane = image_plane(out, channel->channel_name);
        channel->decode_to_ptr =
            plane ? (uint8_t *)(plane + (size_t)y * (size_t)out->width + (size_t)x) : NULL;
        channel->user_bytes_per_element = sizeof(float);
        channel->user_pixel_stride = sizeof(float);
        channel->user_line_stride = out->width * (int32_t)sizeof(float);
        channel->user_data_type = EXR_PIXEL_FLOAT;
    }
    if (is_first)
        KD_TRY(
            understood(reader, exr_decoding_choose_default_routines(reader->context, 0, pipeline)));
    KD_TRY(understood(reader, exr_decoding_run(reader->context, 0, pipeline)));
    return KD_OK;
}

static kd_status scanlines_read(exr_reader *reader, image *out) {
    int32_t lines = 0;
    KD_TRY(understood(reader, exr_get_scanlines_per_chunk(reader->context, 0, &lines)));
    KD_REQUIRE(lines > 0, KD_ERROR_INPUT, "%s: %d lines a chunk", reader->stream.path, lines);
    for (int32_t y = 0; y < out->height; y += lines) {
        exr_chunk_info_t chunk;
        KD_TRY(understood(reader, exr_read_scanline_chunk_info(reader->context, 0,
                                                               reader->window.min.y + y, &chunk)));
        KD_TRY(chunk_decode(reader, out, &chunk, 0, y));
    }
    return KD_OK;
}

static kd_status tiles_read(exr_reader *reader, image *out) {
    int32_t wide = 0, high = 0;
    KD_TRY(understood(reader, exr_get_tile_sizes(reader->context, 0, 0, 0, &wide, &high)));
    KD_REQUIRE(wide > 0 && high > 0, KD_ERROR_INPUT, "%s: tiles of %d x %d pixels",
               reader->stream.path, wide, high);
    for (int64_t y = 0; y < out->height; y += high)
        for (int64_t x = 0; x < out->width; x += wide) {
            exr_chunk_info_t chunk;
            KD_TRY(understood(reader, exr_read_tile_chunk_info(reader->context, 0, (int)(x / wide),
                                                               (int)(y / high), 0, 0, &chunk)));
            KD_TRY(chunk_decode(reader, out, &chunk, x, y));
        }
    return KD_OK;
}

/* R, G and B exist afterwards: a luminance image is grey. */
static kd_status colours_complete(exr_reader *reader, image *out) {
    static const char *const colours[] = {"R", "G", "B"};
    const float *grey = image_plane(out, "Y");
    for (int i = 0; i < 3; ++i) {
        float *plane = image_plane(out, colours[i]);
        if (plane) continue;
        KD_REQUIRE(grey, KD_ERROR_INPUT, "%s: no channel %s, expected R, G and B, or Y",
                   reader->stream.path, colours[i]);
        KD_TRY(image_add(out, colours[i], &plane));
        memcpy(plane, grey, (size_t)out->width * (size_t)out->height * sizeof *plane);
    }
    return KD_OK;
}

static void attributes_read(const exr_reader *reader, image *out) {
    exr_attr_m44f_t matrix;
    float seconds;
    const exr_const_context_t context = reader->context;
    if (exr_attr_get_m44f(context, 0, "worldToCamera", &matrix) == EXR_ERR_SUCCESS)
        matrix_transpose(out->world_to_camera, matrix.m);
    if (exr_attr_get_int(context, 0, "samplesPerPixel", &out->samples_per_pixel) != EXR_ERR_SUCCESS)
        out->samples_per_pixel = 0;
    if (exr_attr_get_double(context, 0, "renderTimeSeconds", &out->render_seconds) ==
        EXR_ERR_SUCCESS)
        return;
    out->render_seconds = 0;
    if (exr_attr_get_float(context, 0, "renderTimeSeconds", &seconds) == EXR_ERR_SUCCESS)
        out->render_seconds = (double)seconds;
}

static kd_status exr_read(image *out, const char *path, const file_view *file) {
    static const uint8_t magic[] = {0x76, 0x2f, 0x31, 0x01};
    KD_REQUIRE(file->count >= 8 && !memcmp(file->bytes, magic, 4), KD_ERROR_INPUT,
               "%s: not an EXR file: expected it to begin with 76 2f 31 01", path);
    exr_reader local, *reader = &local;
    memset(reader, 0, sizeof *reader);
    complaint[0] = '\0';
    reader->stream.path = path;
    reader->stream.input = file;
    exr_context_initializer_t how = EXR_DEFAULT_CONTEXT_INITIALIZER;
    how.error_handler_fn = complaint_keep;
    how.user_data = &reader->stream;
    how.read_fn = bytes_read;
    how.size_fn = bytes_count;
    how.flags = EXR_CONTEXT_FLAG_DISABLE_CHUNK_RECONSTRUCTION;
    KD_TRY(understood(reader, exr_start_read(&reader->context, path, &how)));
    kd_status status = KD_OK;
    KD_TRY_GOTO(header_read(reader, out));
    attributes_read(reader, out);
    KD_TRY_GOTO(reader->storage == EXR_STORAGE_TILED ? tiles_read(reader, out)
                                                     : scanlines_read(reader, out));
    KD_TRY_GOTO(colours_complete(reader, out));
done:
    if (reader->pipeline_is_open) exr_decoding_destroy(reader->context, &reader->pipeline);
    exr_finish(&reader->context);
    return status;
}

const image_format image_format_exr = {.suffix = ".exr", .read = exr_read, .write = exr_write};
#else
const image_format image_format_exr = {.suffix = ".exr", .lacks = "OpenEXR"};
#endif
