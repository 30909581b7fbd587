/* Reading of EXR files through OpenEXR's C core: half, float and uint channels, subsampled ones as
   well, of one layer and part (core/image/exr_colours.c), in scanline and tiled files
   (full-resolution level), uncompressed or compressed with RLE, ZIPS, ZIP, PIZ, PXR24 or B44.
   Source: OpenEXR's technical introduction: windows, chromaticities, luminance and chroma.
   Idea: chunks are decoded on all cores with a decoding pipeline per thread. If several chunks are
         damaged, the first one is reported. Subsampled channels are interpolated linearly between
         their samples. The planes are those of the data window, until image_fill.
   Differs from other readers: DWAA and DWAB are rejected where the C core does not decode them, as
                               in 3.1. */
#include "core/image/exr.h"

#if KD_HAVE_OPENEXR
#include "core/image/picture.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Clears the flag of deep data in the header of a file of several parts, whose types contain it,
   too: with the flag the library (3.1) expects attributes of deep parts in all parts. */
static void deep_flag_hide(uint8_t *bytes, uint64_t count, uint64_t offset) {
    enum { FLAGS_AT = 5, DEEP = 8, PARTS = 16 };
    if (offset > FLAGS_AT || offset + count <= FLAGS_AT) return;
    uint8_t *flags = bytes + (FLAGS_AT - offset);
    if (*flags & PARTS) *flags = (uint8_t)(*flags & ~DEEP);
}

static int64_t bytes_read(exr_const_context_t context, void *user, void *bytes, uint64_t count,
                          uint64_t offset, exr_stream_error_func_ptr_t fail) {
    const file_view *input = ((exr_stream *)user)->input;
    (void)context;
    (void)fail;
    const uint64_t left = offset < input->count ? input->count - offset : 0;
    if (count > left) count = left;
    if (count) memcpy(bytes, input->bytes + offset, (size_t)count);
    deep_flag_hide((uint8_t *)bytes, count, offset);
    return (int64_t)count;
}

static int64_t bytes_count(exr_const_context_t context, void *user) {
    (void)context;
    return (int64_t)((exr_stream *)user)->input->count;
}

/* Destination of a decoded channel: a plane of the image, or a plane of its own. */
typedef struct exr_target {
    float *plane;    /* NULL: the channel is not read */
    float *full;     /* of a subsampled channel: the plane of the image, to be interpolated */
    int32_t width;   /* samples of a line */
    int32_t height;  /* lines */
    int32_t step[2]; /* pixels per sample along x and y */
} exr_target;

typedef struct exr_reader {
    exr_context_t context;
    exr_stream stream;
    const image_reading *reading;
    exr_choice choice;
    const exr_attr_chlist_t *channels;
    exr_target *targets; /* one per channel of the part; owned */
    exr_attr_box2i_t window;
    exr_storage_t storage;
    bool is_subsampled;
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

/* --- the header --- */

enum { STEP_MAX = 4 }; /* pixels per sample of a subsampled channel */

/* Validates the size against the length of the file: deflate expands by at most 1032; the rest is a
   margin for the ends of chunks. */
static kd_status size_check(exr_reader *reader, int64_t width, int64_t height) {
    enum { EXPANSION = 1400 };
    const bool is_sane =
        width > 0 && height > 0 && width <= INT32_MAX / 64 && height <= INT32_MAX / 64;
    uint64_t samples = 0;
    for (int i = 0; is_sane && i < reader->channels->num_channels; ++i) {
        const exr_attr_chlist_entry_t *entry = &reader->channels->entries[i];
        const int x = entry->x_sampling, y = entry->y_sampling;
        KD_REQUIRE(x >= 1 && x <= STEP_MAX && y >= 1 && y <= STEP_MAX, KD_ERROR_INPUT,
                   "%s: channel %s has one sample per %d x %d pixels; supported: at most 4 x 4",
                   reader->stream.path, entry->name.str, x, y);
        KD_REQUIRE(reader->window.min.x % x == 0 && reader->window.min.y % y == 0, KD_ERROR_INPUT,
                   "%s: damaged: the data window begins at (%d, %d), between samples of channel %s",
                   reader->stream.path, reader->window.min.x, reader->window.min.y,
                   entry->name.str);
        reader->is_subsampled |= x > 1 || y > 1;
        samples += (uint64_t)(width * height) / (uint64_t)(x * y);
    }
    KD_REQUIRE(is_sane && reader->channels->num_channels > 0 &&
                   samples / EXPANSION <= reader->stream.input->count,
               KD_ERROR_INPUT,
               "%s: damaged: found a size of %lld x %lld pixels in an EXR file of only %zu bytes",
               reader->stream.path, (long long)width, (long long)height,
               reader->stream.input->count);
    return KD_OK;
}

/* Sets the place of the planes in the display window, whose size no data confirm. */
static kd_status windows_take(const exr_reader *reader, image *out) {
    exr_attr_box2i_t shown;
    KD_TRY(
        understood(reader, exr_get_display_window(reader->context, reader->choice.part, &shown)));
    const int64_t width = (int64_t)shown.max.x - shown.min.x + 1;
    const int64_t height = (int64_t)shown.max.y - shown.min.y + 1;
    const int64_t left = (int64_t)reader->window.min.x - shown.min.x;
    const int64_t top = (int64_t)reader->window.min.y - shown.min.y;
    if (shown.min.x == 0 && shown.min.y == 0 && left == 0 && top == 0 && width == out->width &&
        height == out->height)
        return KD_OK;
    out->corner[0] = shown.min.x;
    out->corner[1] = shown.min.y;
    KD_REQUIRE(width > 0 && height > 0 && width <= INT32_MAX / 64 && height <= INT32_MAX / 64 &&
                   (width * height <= PICTURE_PIXELS ||
                    width * height <= (int64_t)out->width * out->height),
               KD_ERROR_INPUT,
               "%s: the display window has %lld x %lld pixels; supported: 1 to %d in all",
               reader->stream.path, (long long)width, (long long)height, PICTURE_PIXELS);
    KD_REQUIRE(left < width && top < height && left + out->width > 0 && top + out->height > 0,
               KD_ERROR_INPUT, "%s: all pixels are outside of the display window of %d x %d pixels",
               reader->stream.path, (int)width, (int)height);
    out->left = (int32_t)left;
    out->top = (int32_t)top;
    out->whole_width = (int32_t)width;
    out->whole_height = (int32_t)height;
    if (!reader->reading->keeps_window &&
        (left < 0 || top < 0 || left + out->width > width || top + out->height > height))
        log_message(LOG_INFO, "%s: pixels outside of the display window of %d x %d are left out",
                    reader->stream.path, out->whole_width, out->whole_height);
    return KD_OK;
}

static kd_status header_read(exr_reader *reader, image *out) {
    const int part = reader->choice.part;
    KD_TRY(understood(reader, exr_get_storage(reader->context, part, &reader->storage)));
    KD_TRY(understood(reader, exr_get_data_window(reader->context, part, &reader->window)));
    KD_TRY(understood(reader, exr_get_channels(reader->context, part, &reader->channels)));
    const exr_attr_box2i_t window = reader->window;
    const int64_t width = (int64_t)window.max.x - window.min.x + 1;
    const int64_t height = (int64_t)window.max.y - window.min.y + 1;
    KD_TRY(size_check(reader, width, height));
    KD_TRY(image_open(out, (int32_t)width, (int32_t)height));
    return windows_take(reader, out);
}

/* --- planes --- */

static kd_status target_open(exr_reader *reader, image *out, int channel, const char *name) {
    const exr_attr_chlist_entry_t *entry = &reader->channels->entries[channel];
    exr_target *target = &reader->targets[channel];
    float *plane;
    KD_TRY(image_add(out, name, &plane));
    target->plane = plane;
    target->step[0] = entry->x_sampling;
    target->step[1] = entry->y_sampling;
    target->width = (out->width + target->step[0] - 1) / target->step[0];
    target->height = (out->height + target->step[1] - 1) / target->step[1];
    if (entry->x_sampling == 1 && entry->y_sampling == 1) return KD_OK;
    target->full = plane;
    KD_TRY(KD_RESERVE_ZEROED(target->plane, (uint64_t)target->width * (uint64_t)target->height));
    return KD_OK;
}

/* Adds planes for the colours, then for other channels. */
static kd_status targets_open(exr_reader *reader, image *out) {
    static const char *const colours[] = {"R", "G", "B", "A"};
    int left_out = 0;
    KD_TRY(KD_RESERVE_ZEROED(reader->targets, (uint64_t)reader->channels->num_channels));
    for (int c = 0; c < 4; ++c)
        if (reader->choice.channel[c] >= 0)
            KD_TRY(target_open(reader, out, reader->choice.channel[c], colours[c]));
    for (int c = 1; c < 3; ++c) { /* grey has equal channels */
        float *plane;
        if (reader->choice.channel[c] < 0) KD_TRY(image_add(out, colours[c], &plane));
    }
    for (int i = 0; !reader->reading->colours_alone && i < reader->channels->num_channels; ++i) {
        const char *name = reader->channels->entries[i].name.str;
        if (reader->targets[i].plane || image_plane(out, name)) continue;
        if (out->channel_count < IMAGE_CHANNELS && *name && strlen(name) < sizeof out->names[0])
            KD_TRY(target_open(reader, out, i, name));
        else
            ++left_out;
    }
    if (left_out)
        log_message(LOG_INFO,
                    "%s: %d of the channels are left out: supported are %d, with names of at most "
                    "%zu characters",
                    reader->stream.path, left_out, IMAGE_CHANNELS, sizeof out->names[0] - 1);
    return KD_OK;
}

static float interpolate(float a, float b, float share) {
    return share == 0 ? a : a + share * (b - a);
}

/* Samples are at the pixels whose coordinates are multiples of the step. */
static void channel_spread(const exr_target *from, int64_t width, int64_t height) {
    const int64_t across = from->step[0], down = from->step[1];
    for (int64_t y = 0; y < height; ++y) {
        const int64_t y0 = y / down, y1 = y0 + 1 < from->height ? y0 + 1 : y0;
        const float below = (float)(y % down) / (float)down;
        const float *row0 = from->plane + y0 * from->width, *row1 = from->plane + y1 * from->width;
        for (int64_t x = 0; x < width; ++x) {
            const int64_t x0 = x / across, x1 = x0 + 1 < from->width ? x0 + 1 : x0;
            const float right = (float)(x % across) / (float)across;
            from->full[y * width + x] = interpolate(interpolate(row0[x0], row0[x1], right),
                                                    interpolate(row1[x0], row1[x1], right), below);
        }
    }
}

static void targets_close(exr_reader *reader, const image *out) {
    for (int i = 0; reader->targets && i < reader->channels->num_channels; ++i) {
        exr_target *target = &reader->targets[i];
        if (!target->full) continue;
        if (target->plane && out) channel_spread(target, out->width, out->height);
        memory_free(target->plane);
    }
    memory_free(reader->targets);
    reader->targets = NULL;
}

/* --- chunks --- */

/* Directs the channels of a chunk whose first pixel is (x, y) of the image. The library counts the
   lines of a subsampled channel from the chunk's first one that has samples. */
static void channels_aim(const exr_reader *reader, exr_decode_pipeline_t *pipeline, int64_t x,
                         int64_t y) {
    for (int16_t c = 0; c < pipeline->channel_count; ++c) {
        exr_coding_channel_info_t *channel = &pipeline->channels[c];
        const exr_target *target = &reader->targets[c];
        channel->decode_to_ptr = NULL;
        if (target->plane) {
            const int64_t line = (y + target->step[1] - 1) / target->step[1];
            channel->decode_to_ptr =
                (uint8_t *)(target->plane + line * target->width + x / target->step[0]);
        }
        channel->user_bytes_per_element = sizeof(float);
        channel->user_pixel_stride = sizeof(float);
        channel->user_line_stride = target->width * (int32_t)sizeof(float);
        channel->user_data_type = EXR_PIXEL_FLOAT;
    }
}

static float half_value(uint16_t bits) {
    const uint32_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const float sign = bits >> 15 ? -1 : 1;
    if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * ldexpf((float)mantissa, -24);
    return sign * ldexpf((float)(1024 + mantissa), (int)exponent - 25);
}

/* Converts little-endian samples to float. */
static void samples_convert(float *to, const uint8_t *from, int32_t count, uint16_t type) {
    for (int32_t i = 0; i < count; ++i) {
        if (type == EXR_PIXEL_HALF) {
            to[i] = half_value((uint16_t)(from[2 * i] | from[2 * i + 1] << 8));
            continue;
        }
        const uint32_t bits = (uint32_t)from[4 * i] | (uint32_t)from[4 * i + 1] << 8 |
                              (uint32_t)from[4 * i + 2] << 16 | (uint32_t)from[4 * i + 3] << 24;
        if (type == EXR_PIXEL_UINT)
            to[i] = (float)bits;
        else
            memcpy(&to[i], &bits, sizeof bits);
    }
}

/* Distributes the lines of a chunk with subsampled channels, for which the library's functions
   (3.1) write beyond the planes. */
static exr_result_t chunk_unpack(exr_decode_pipeline_t *pipeline) {
    const uint8_t *from = (const uint8_t *)pipeline->unpacked_buffer;
    const uint8_t *end = from + pipeline->chunk.unpacked_size;
    for (int32_t y = 0; y < pipeline->chunk.height; ++y)
        for (int16_t c = 0; c < pipeline->channel_count; ++c) {
            const exr_coding_channel_info_t *channel = &pipeline->channels[c];
            if ((pipeline->chunk.start_y + y) % channel->y_samples) continue;
            const ptrdiff_t bytes = (ptrdiff_t)channel->width * channel->bytes_per_element;
            const int32_t capacity = channel->user_line_stride / (int32_t)sizeof(float);
            if (!from || end - from < bytes) return EXR_ERR_CORRUPT_CHUNK;
            if (channel->decode_to_ptr)
                samples_convert(
                    (float *)(void *)(channel->decode_to_ptr + (ptrdiff_t)(y / channel->y_samples) *
                                                                   channel->user_line_stride),
                    from, channel->width < capacity ? channel->width : capacity,
                    channel->data_type);
            from += bytes;
        }
    return EXR_ERR_SUCCESS;
}

/* Decodes a chunk whose first pixel is (x, y) of the image. */
static kd_status chunk_decode(const exr_reader *reader, exr_decoder *decoder, const image *out,
                              const exr_chunk_info_t *chunk, int64_t x, int64_t y) {
    exr_decode_pipeline_t *pipeline = &decoder->pipeline;
    const int part = reader->choice.part;
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
                                  ? exr_decoding_initialize(reader->context, part, chunk, pipeline)
                                  : exr_decoding_update(reader->context, part, chunk, pipeline)));
    KD_REQUIRE(pipeline->channel_count == reader->channels->num_channels, KD_ERROR_INPUT,
               "%s: damaged: a chunk has %d channels, expected %d", reader->stream.path,
               pipeline->channel_count, reader->channels->num_channels);
    channels_aim(reader, pipeline, x, y);
    if (is_first)
        KD_TRY(understood(reader,
                          exr_decoding_choose_default_routines(reader->context, part, pipeline)));
    exr_inflate_choose(&decoder->inflate, pipeline);
    if (reader->is_subsampled && pipeline->unpack_and_convert_fn)
        pipeline->unpack_and_convert_fn = chunk_unpack;
    const exr_result_t code = exr_decoding_run(reader->context, part, pipeline);
    KD_REQUIRE(code != EXR_ERR_FEATURE_NOT_IMPLEMENTED, KD_ERROR_INPUT,
               "%s: %s compression is not supported; expected none, RLE, ZIPS, ZIP, PIZ, PXR24 or "
               "B44",
               reader->stream.path,
               chunk->compression == EXR_COMPRESSION_DWAA   ? "DWAA"
               : chunk->compression == EXR_COMPRESSION_DWAB ? "DWAB"
                                                            : "this");
    return understood(reader, code);
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
    const int part = reader->choice.part;
    const int64_t x = index % work->across, y = index / work->across;
    exr_chunk_info_t chunk;
    exr_complaint_forget();
    KD_TRY(understood(
        reader,
        reader->storage == EXR_STORAGE_TILED
            ? exr_read_tile_chunk_info(reader->context, part, (int)x, (int)y, 0, 0, &chunk)
            : exr_read_scanline_chunk_info(reader->context, part,
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
    const int part = reader->choice.part;
    work->wide = work->out->width;
    work->high = 0;
    KD_TRY(understood(
        reader, reader->storage == EXR_STORAGE_TILED
                    ? exr_get_tile_sizes(reader->context, part, 0, 0, &work->wide, &work->high)
                    : exr_get_scanlines_per_chunk(reader->context, part, &work->high)));
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

/* --- the file --- */

static void attributes_read(const exr_reader *reader, image *out) {
    exr_attr_m44f_t matrix;
    exr_envmap_t envmap;
    float seconds, aspect;
    int32_t length;
    const char *text;
    const exr_const_context_t context = reader->context;
    const int part = reader->choice.part;
    if (exr_attr_get_m44f(context, part, "worldToCamera", &matrix) == EXR_ERR_SUCCESS)
        exr_matrix_transpose(out->world_to_camera, matrix.m);
    exr_attr_v3d_t origin;
    if (exr_attr_get_v3d(context, part, "sceneOrigin", &origin) == EXR_ERR_SUCCESS) {
        out->scene_origin[0] = origin.x;
        out->scene_origin[1] = origin.y;
        out->scene_origin[2] = origin.z;
    }
    if (exr_attr_get_string(context, part, "renderMethod", &length, &text) == EXR_ERR_SUCCESS)
        snprintf(out->method, sizeof out->method, "%.*s", (int)length, text);
    out->is_cube = exr_attr_get_envmap(context, part, "envmap", &envmap) == EXR_ERR_SUCCESS &&
                   envmap == EXR_ENVMAP_CUBE;
    if (exr_get_pixel_aspect_ratio(context, part, &aspect) == EXR_ERR_SUCCESS &&
        !(fabsf(aspect - 1) < 1e-3f))
        log_message(LOG_INFO,
                    "%s: its pixels are %g times as wide as high; they are read as squares",
                    reader->stream.path, (double)aspect);
    if (exr_attr_get_int(context, part, "samplesPerPixel", &out->samples_per_pixel) !=
        EXR_ERR_SUCCESS)
        out->samples_per_pixel = 0;
    if (exr_attr_get_double(context, part, "renderTimeSeconds", &out->render_seconds) ==
        EXR_ERR_SUCCESS)
        return;
    out->render_seconds = 0;
    if (exr_attr_get_float(context, part, "renderTimeSeconds", &seconds) == EXR_ERR_SUCCESS)
        out->render_seconds = (double)seconds;
}

kd_status exr_read(image *out, const char *path, const file_view *file,
                   const image_reading *reading) {
    static const uint8_t magic[] = {0x76, 0x2f, 0x31, 0x01};
    KD_REQUIRE(file->count >= 8 && !memcmp(file->bytes, magic, 4), KD_ERROR_INPUT,
               "%s: not an EXR file: the first bytes must be 76 2f 31 01", path);
    exr_reader local, *reader = &local;
    memset(reader, 0, sizeof *reader);
    reader->reading = reading;
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
    KD_TRY_GOTO(exr_choose(&reader->choice, reader->context, path, reading->layer));
    KD_TRY_GOTO(header_read(reader, out));
    attributes_read(reader, out);
    KD_TRY_GOTO(targets_open(reader, out));
    KD_TRY_GOTO(pixels_read(reader, out));
    targets_close(reader, out);
    KD_TRY_GOTO(exr_colours_finish(out, &reader->choice, reader->context, path));
    if (!reading->keeps_window) KD_TRY_GOTO(image_fill(out));
done:
    targets_close(reader, NULL);
    exr_finish(&reader->context);
    return status;
}

#endif
