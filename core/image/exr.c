/* Reading and writing of EXR files through OpenEXR's C core. Reads half, float and uint channels
   from the first part of scanline and tiled files (full-resolution level), uncompressed or
   compressed with RLE, ZIPS, ZIP, PIZ or PXR24; B44 for half channels only.
   Idea: chunks are decoded on all cores with a decoding pipeline per thread. If several chunks are
         damaged, the first one is reported.
   Differs from other readers: DWAA and DWAB, and B44 for other than half channels, are rejected:
                               the C core (3.1) does not decode the former and returns zeros for
                               the latter. */
#include "core/image/exr.h"

#if KD_HAVE_OPENEXR
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <pthread.h>
#include <string.h>

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
    bool colours_alone;
} exr_reader;

/* Decoding state of a thread. */
typedef struct exr_decoder {
    exr_decode_pipeline_t pipeline;
    exr_inflate inflate;
    int is_open;
} exr_decoder;

/* Converts a result to a status. The size has been validated before, so running out of memory means
   that the file is inconsistent. */
static kd_status understood(const exr_reader *reader, exr_result_t code) {
    return exr_answered(&reader->stream, code, KD_ERROR_INPUT);
}

static int is_colour(const char *name) {
    return strlen(name) == 1 && strchr("RGBAY", name[0]);
}

/* Adds planes for the colours first, then for other channels, as far as the image has slots and the
   names fit. */
static kd_status channels_add(exr_reader *reader, image *out, const exr_attr_chlist_t *list) {
    for (int pass = 0; pass < (reader->colours_alone ? 1 : 2); ++pass)
        for (int i = 0; i < list->num_channels; ++i) {
            const exr_attr_chlist_entry_t *entry = &list->entries[i];
            const char *name = entry->name.str;
            if (is_colour(name) == pass || out->channel_count == IMAGE_CHANNELS ||
                strlen(name) >= sizeof out->names[0] || !*name)
                continue;
            KD_REQUIRE(entry->x_sampling == 1 && entry->y_sampling == 1, KD_ERROR_INPUT,
                       "%s: channel %s is subsampled by %d x %d; expected 1 x 1",
                       reader->stream.path, name, entry->x_sampling, entry->y_sampling);
            float *plane;
            KD_TRY(image_add(out, name, &plane));
        }
    return KD_OK;
}

static kd_status compression_check(const exr_reader *reader, const exr_attr_chlist_t *list) {
    exr_compression_t compression;
    const char *path = reader->stream.path;
    KD_TRY(understood(reader, exr_get_compression(reader->context, 0, &compression)));
    KD_REQUIRE(compression != EXR_COMPRESSION_DWAA && compression != EXR_COMPRESSION_DWAB,
               KD_ERROR_INPUT,
               "%s: %s compression is not supported; expected none, RLE, ZIPS, ZIP, PIZ, PXR24, or "
               "B44 of half channels",
               path, compression == EXR_COMPRESSION_DWAA ? "DWAA" : "DWAB");
    if (compression != EXR_COMPRESSION_B44 && compression != EXR_COMPRESSION_B44A) return KD_OK;
    for (int i = 0; i < list->num_channels; ++i)
        KD_REQUIRE(list->entries[i].pixel_type == EXR_PIXEL_HALF, KD_ERROR_INPUT,
                   "%s: channel %s of type %s has B44 compression, which is supported for half "
                   "only; save the image with ZIP or PIZ",
                   path, list->entries[i].name.str,
                   list->entries[i].pixel_type == EXR_PIXEL_FLOAT ? "float" : "uint");
    return KD_OK;
}

/* Validates the size against the length of the file: deflate expands by at most 1032; the rest is a
   margin for the ends of chunks. */
static kd_status header_read(exr_reader *reader, image *out) {
    enum { EXPANSION = 1400 };
    const exr_attr_chlist_t *list = NULL;
    const char *path = reader->stream.path;
    KD_TRY(understood(reader, exr_get_storage(reader->context, 0, &reader->storage)));
    KD_REQUIRE(reader->storage == EXR_STORAGE_SCANLINE || reader->storage == EXR_STORAGE_TILED,
               KD_ERROR_INPUT, "%s: found deep data, expected scanlines or tiles", path);
    KD_TRY(understood(reader, exr_get_data_window(reader->context, 0, &reader->window)));
    KD_TRY(understood(reader, exr_get_channels(reader->context, 0, &list)));
    KD_TRY(compression_check(reader, list));
    const exr_attr_box2i_t window = reader->window;
    const int64_t width = (int64_t)window.max.x - window.min.x + 1;
    const int64_t height = (int64_t)window.max.y - window.min.y + 1;
    KD_REQUIRE(width > 0 && height > 0 && width <= INT32_MAX / 64 && height <= INT32_MAX / 64 &&
                   list->num_channels > 0 &&
                   (uint64_t)(width * height) * (uint64_t)list->num_channels / EXPANSION <=
                       reader->stream.input->count,
               KD_ERROR_INPUT,
               "%s: damaged: found a size of %lld x %lld pixels in an EXR file of only %zu bytes",
               path, (long long)width, (long long)height, reader->stream.input->count);
    KD_TRY(image_open(out, (int32_t)width, (int32_t)height));
    KD_TRY(channels_add(reader, out, list));
    return KD_OK;
}

static void channels_aim(exr_decode_pipeline_t *pipeline, const image *out, int64_t x, int64_t y) {
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
}

/* Decodes a chunk whose first pixel is (x, y) of the image. */
static kd_status chunk_decode(const exr_reader *reader, exr_decoder *decoder, const image *out,
                              const exr_chunk_info_t *chunk, int64_t x, int64_t y) {
    exr_decode_pipeline_t *pipeline = &decoder->pipeline;
    KD_REQUIRE(
        chunk->width > 0 && chunk->height > 0 && x + chunk->width <= out->width &&
            y + chunk->height <= out->height,
        KD_ERROR_INPUT,
        "%s: damaged: a chunk of %d x %d pixels at (%lld, %lld) is outside the image of %d x %d",
        reader->stream.path, chunk->width, chunk->height, (long long)x, (long long)y, out->width,
        out->height);
    const int is_first = !decoder->is_open;
    decoder->is_open = 1;
    KD_TRY(understood(reader, is_first
                                  ? exr_decoding_initialize(reader->context, 0, chunk, pipeline)
                                  : exr_decoding_update(reader->context, 0, chunk, pipeline)));
    channels_aim(pipeline, out, x, y);
    if (is_first)
        KD_TRY(
            understood(reader, exr_decoding_choose_default_routines(reader->context, 0, pipeline)));
    exr_inflate_choose(&decoder->inflate, pipeline);
    KD_TRY(understood(reader, exr_decoding_run(reader->context, 0, pipeline)));
    return KD_OK;
}

typedef struct chunk_work {
    const exr_reader *reader;
    const image *out;
    exr_decoder *decoders; /* one per thread */
    int32_t wide, high;    /* size of a chunk in pixels; chunks of lines span the picture */
    int64_t across;
    pthread_mutex_t lock; /* guards the members below */
    int64_t failed;       /* index of the first damaged chunk; INT64_MAX: none */
    kd_status status;
    char message[512];
} chunk_work;

static kd_status chunk_read(const chunk_work *work, exr_decoder *decoder, int64_t index) {
    const exr_reader *reader = work->reader;
    const int64_t x = index % work->across, y = index / work->across;
    exr_chunk_info_t chunk;
    exr_complaint_forget();
    KD_TRY(understood(
        reader,
        reader->storage == EXR_STORAGE_TILED
            ? exr_read_tile_chunk_info(reader->context, 0, (int)x, (int)y, 0, 0, &chunk)
            : exr_read_scanline_chunk_info(reader->context, 0,
                                           (int)(reader->window.min.y + y * work->high), &chunk)));
    return chunk_decode(reader, decoder, work->out, &chunk, x * work->wide, y * work->high);
}

static void chunks_read(void *context, int64_t begin, int64_t end, int thread) {
    chunk_work *work = (chunk_work *)context;
    for (int64_t i = begin; i < end; ++i) {
        const kd_status status = chunk_read(work, &work->decoders[thread], i);
        if (status == KD_OK) continue;
        pthread_mutex_lock(&work->lock);
        if (i < work->failed) {
            work->failed = i;
            work->status = status;
            snprintf(work->message, sizeof work->message, "%s", kd_last_error());
        }
        pthread_mutex_unlock(&work->lock);
        status_clear();
    }
}

static kd_status chunk_sizes(chunk_work *work) {
    const exr_reader *reader = work->reader;
    work->wide = work->out->width;
    work->high = 0;
    KD_TRY(understood(reader,
                      reader->storage == EXR_STORAGE_TILED
                          ? exr_get_tile_sizes(reader->context, 0, 0, 0, &work->wide, &work->high)
                          : exr_get_scanlines_per_chunk(reader->context, 0, &work->high)));
    KD_REQUIRE(work->wide > 0 && work->high > 0, KD_ERROR_INPUT,
               "%s: damaged: found chunks of %d x %d pixels", reader->stream.path, work->wide,
               work->high);
    work->across = ((int64_t)work->out->width + work->wide - 1) / work->wide;
    return KD_OK;
}

enum { CHUNK_SAMPLES = 1 << 16 }; /* minimum number of samples per work item */

static kd_status pixels_read(const exr_reader *reader, const image *out) {
    chunk_work work = {.reader = reader,
                       .out = out,
                       .lock = PTHREAD_MUTEX_INITIALIZER,
                       .failed = INT64_MAX,
                       .status = KD_OK};
    KD_REQUIRE(out->channel_count > 0, KD_ERROR_INPUT,
               "%s: found no channel with a name of at most 31 characters", reader->stream.path);
    KD_TRY(chunk_sizes(&work));
    const int64_t count = work.across * (((int64_t)out->height + work.high - 1) / work.high);
    KD_TRY(KD_RESERVE_ZEROED(work.decoders, PARALLEL_THREADS_MAX));
    const int64_t chunk = (int64_t)work.wide * work.high * out->channel_count;
    parallel_for(count, 1 + CHUNK_SAMPLES / chunk, chunks_read, &work);
    for (int i = 0; i < PARALLEL_THREADS_MAX; ++i) {
        if (work.decoders[i].is_open)
            exr_decoding_destroy(reader->context, &work.decoders[i].pipeline);
        exr_inflate_close(&work.decoders[i].inflate);
    }
    memory_free(work.decoders);
    KD_REQUIRE(work.status == KD_OK, work.status, "%s", work.message);
    return KD_OK;
}

/* Ensures that R, G and B exist: a luminance image becomes grey. */
static kd_status colours_complete(exr_reader *reader, image *out) {
    static const char *const colours[] = {"R", "G", "B"};
    const float *grey = image_plane(out, "Y");
    for (int i = 0; i < 3; ++i) {
        float *plane = image_plane(out, colours[i]);
        if (plane) continue;
        KD_REQUIRE(grey, KD_ERROR_INPUT, "%s: found no channel %s, expected R, G and B, or Y",
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
        exr_matrix_transpose(out->world_to_camera, matrix.m);
    exr_attr_v3d_t origin;
    if (exr_attr_get_v3d(context, 0, "sceneOrigin", &origin) == EXR_ERR_SUCCESS) {
        out->scene_origin[0] = origin.x;
        out->scene_origin[1] = origin.y;
        out->scene_origin[2] = origin.z;
    }
    if (exr_attr_get_int(context, 0, "samplesPerPixel", &out->samples_per_pixel) != EXR_ERR_SUCCESS)
        out->samples_per_pixel = 0;
    if (exr_attr_get_double(context, 0, "renderTimeSeconds", &out->render_seconds) ==
        EXR_ERR_SUCCESS)
        return;
    out->render_seconds = 0;
    if (exr_attr_get_float(context, 0, "renderTimeSeconds", &seconds) == EXR_ERR_SUCCESS)
        out->render_seconds = (double)seconds;
}

static kd_status read_as(image *out, const char *path, const file_view *file, bool colours_alone) {
    static const uint8_t magic[] = {0x76, 0x2f, 0x31, 0x01};
    KD_REQUIRE(file->count >= 8 && !memcmp(file->bytes, magic, 4), KD_ERROR_INPUT,
               "%s: not an EXR file: the first bytes must be 76 2f 31 01", path);
    exr_reader local, *reader = &local;
    memset(reader, 0, sizeof *reader);
    reader->colours_alone = colours_alone;
    exr_complaint_forget();
    reader->stream.path = path;
    reader->stream.input = file;
    exr_context_initializer_t initializer = EXR_DEFAULT_CONTEXT_INITIALIZER;
    initializer.error_handler_fn = exr_complaint_keep;
    initializer.user_data = &reader->stream;
    initializer.read_fn = bytes_read;
    initializer.size_fn = bytes_count;
    initializer.flags = EXR_CONTEXT_FLAG_DISABLE_CHUNK_RECONSTRUCTION;
    KD_TRY(understood(reader, exr_start_read(&reader->context, path, &initializer)));
    kd_status status = KD_OK;
    KD_TRY_GOTO(header_read(reader, out));
    attributes_read(reader, out);
    KD_TRY_GOTO(pixels_read(reader, out));
    KD_TRY_GOTO(colours_complete(reader, out));
done:
    exr_finish(&reader->context);
    return status;
}

kd_status exr_read(image *out, const char *path, const file_view *file) {
    return read_as(out, path, file, false);
}

kd_status exr_read_colours(image *out, const char *path, const file_view *file) {
    return read_as(out, path, file, true);
}
#endif

/* Shared functions and the writer: float channels with ZIP compression. */

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
    KD_TRY(exr_written(stream,
                       exr_initialize_required_attr_simple(context, part, image->width,
                                                           image->height, EXR_COMPRESSION_ZIP)));
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
    exr_result_t code = exr_write_scanline_chunk_info(context, 0, y, &chunk);
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
    .suffix = ".exr", .read = exr_read, .read_colours = exr_read_colours, .write = exr_write};
#else
const image_format image_format_exr = {.suffix = ".exr", .lacks = "OpenEXR"};
#endif
