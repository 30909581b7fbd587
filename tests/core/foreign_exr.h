/* EXR files as other programs write them, made by the OpenEXR library: any windows, layers, parts,
   chromaticities and samplings. */
#ifndef KD_TESTS_CORE_FOREIGN_EXR_H
#define KD_TESTS_CORE_FOREIGN_EXR_H
#include "core/image/image.h"
#include "tests/test.h"
#include <openexr.h>
#include <unistd.h>

enum { FOREIGN_WIDTH = 22, FOREIGN_HEIGHT = 20, FOREIGN_CHANNELS = 12 };

typedef struct foreign {
    exr_compression_t compression;
    exr_pixel_type_t type;
    int32_t tile;                           /* 0: scanlines */
    int32_t origin;                         /* origin of the data window, on both axes */
    const char *channels[FOREIGN_CHANNELS]; /* in alphabetical order, as EXR requires */
    int subsampled; /* sampling of the first channel on both axes; the file has no pixels */
    /* 0 for those of most files */
    int32_t shown[4];            /* display window: least and largest x, y; else the data window */
    const float *chromaticities; /* eight */
    bool mips, is_cube, is_deep; /* deep pixels have no samples */
    bool has_version;            /* an attribute of deep parts */
    float aspect;
    const char *name;           /* of the part */
    const struct foreign *next; /* part */
} foreign;

/* Small whole numbers: exact in half, float and uint, and unchanged by the lossless
   compressions. */
static inline float foreign_value(int32_t channel, int32_t x, int32_t y) {
    return (float)((3 * x + 5 * y + 7 * channel) % 32);
}

/* The bits of a whole number below 32 as half. */
static inline uint16_t foreign_half(uint32_t whole) {
    for (uint32_t e = 5; e-- > 0;)
        if (whole >> e) return (uint16_t)((e + 15) << 10 | ((whole << (10 - e)) & 0x3ff));
    return 0;
}

static inline void foreign_feed(exr_encode_pipeline_t *pipeline, const foreign *layout,
                                const exr_chunk_info_t *chunk, int32_t x, int32_t y,
                                uint8_t *samples) {
    const int32_t bytes = layout->type == EXR_PIXEL_HALF ? 2 : 4;
    for (int32_t c = 0; c < pipeline->channel_count; ++c) {
        uint8_t *to = samples + (ptrdiff_t)c * 4 * 32 * 32;
        for (int32_t j = 0; j < chunk->height; ++j)
            for (int32_t i = 0; i < chunk->width; ++i) {
                const float value = foreign_value(c, x + i, y + j);
                const uint32_t whole = (uint32_t)value;
                const uint16_t half = foreign_half(whole);
                uint8_t *at = to + (ptrdiff_t)bytes * (j * chunk->width + i);
                if (layout->type == EXR_PIXEL_HALF) memcpy(at, &half, 2);
                if (layout->type == EXR_PIXEL_FLOAT) memcpy(at, &value, 4);
                if (layout->type == EXR_PIXEL_UINT) memcpy(at, &whole, 4);
            }
        exr_coding_channel_info_t *channel = &pipeline->channels[c];
        channel->encode_from_ptr = to;
        channel->user_bytes_per_element = (int16_t)bytes;
        channel->user_pixel_stride = bytes;
        channel->user_line_stride = bytes * chunk->width;
        channel->user_data_type = (uint16_t)layout->type;
    }
}

static inline void foreign_encode(exr_context_t context, int part, const foreign *layout,
                                  const exr_chunk_info_t *chunk, int32_t x, int32_t y) {
    exr_encode_pipeline_t pipeline;
    memset(&pipeline, 0, sizeof pipeline);
    assert_true(chunk->width <= 32 && chunk->height <= 32);
    static uint8_t samples[FOREIGN_CHANNELS * 4 * 32 * 32];
    assert_int_equal(exr_encoding_initialize(context, part, chunk, &pipeline), EXR_ERR_SUCCESS);
    foreign_feed(&pipeline, layout, chunk, x, y, samples);
    assert_int_equal(exr_encoding_choose_default_routines(context, part, &pipeline),
                     EXR_ERR_SUCCESS);
    assert_int_equal(exr_encoding_run(context, part, &pipeline), EXR_ERR_SUCCESS);
    exr_encoding_destroy(context, &pipeline);
}

/* Smaller levels have other values than the full resolution: they must not be read. */
static inline void foreign_tiles(exr_context_t context, int part, const foreign *layout) {
    const int32_t side = layout->tile;
    exr_chunk_info_t chunk;
    for (int level = 0, w = FOREIGN_WIDTH, h = FOREIGN_HEIGHT;; ++level, w /= 2, h /= 2) {
        w = w ? w : 1;
        h = h ? h : 1;
        for (int32_t y = 0; y < h; y += side)
            for (int32_t x = 0; x < w; x += side) {
                assert_int_equal(exr_write_tile_chunk_info(context, part, x / side, y / side, level,
                                                           level, &chunk),
                                 EXR_ERR_SUCCESS);
                foreign_encode(context, part, layout, &chunk, x + 7 * level, y);
            }
        if (!layout->mips || (w == 1 && h == 1)) return;
    }
}

static inline void foreign_lines(exr_context_t context, int part, const foreign *layout) {
    int32_t lines = 0;
    exr_chunk_info_t chunk;
    assert_int_equal(exr_get_scanlines_per_chunk(context, part, &lines), EXR_ERR_SUCCESS);
    for (int32_t y = 0; y < FOREIGN_HEIGHT; y += lines) {
        assert_int_equal(exr_write_scanline_chunk_info(context, part, layout->origin + y, &chunk),
                         EXR_ERR_SUCCESS);
        foreign_encode(context, part, layout, &chunk, 0, y);
    }
}

static inline void foreign_deep(exr_context_t context, int part, const foreign *layout) {
    static const int32_t counts[FOREIGN_WIDTH] = {0};
    for (int32_t y = 0; y < FOREIGN_HEIGHT; ++y)
        assert_int_equal(exr_write_deep_scanline_chunk(context, part, layout->origin + y, counts, 0,
                                                       0, counts, sizeof counts),
                         EXR_ERR_SUCCESS);
}

static inline void foreign_describe(exr_context_t context, int part, const foreign *layout) {
    const exr_attr_box2i_t window = {
        {.x = layout->origin, .y = layout->origin},
        {.x = layout->origin + FOREIGN_WIDTH - 1, .y = layout->origin + FOREIGN_HEIGHT - 1}};
    const exr_attr_box2i_t shown = {{.x = layout->shown[0], .y = layout->shown[1]},
                                    {.x = layout->shown[2], .y = layout->shown[3]}};
    const exr_attr_v2f_t center = {.x = 0, .y = 0};
    assert_int_equal(
        exr_initialize_required_attr(context, part, shown.max.x > shown.min.x ? &shown : &window,
                                     &window, layout->aspect > 0 ? layout->aspect : 1, &center, 1,
                                     EXR_LINEORDER_INCREASING_Y, layout->compression),
        EXR_ERR_SUCCESS);
    if (layout->tile)
        assert_int_equal(
            exr_set_tile_descriptor(context, part, (uint32_t)layout->tile, (uint32_t)layout->tile,
                                    layout->mips ? EXR_TILE_MIPMAP_LEVELS : EXR_TILE_ONE_LEVEL,
                                    EXR_TILE_ROUND_DOWN),
            EXR_ERR_SUCCESS);
    for (int i = 0; i < FOREIGN_CHANNELS && layout->channels[i]; ++i) {
        const int sampling = layout->subsampled && !i ? layout->subsampled : 1;
        assert_int_equal(exr_add_channel(context, part, layout->channels[i], layout->type,
                                         EXR_PERCEPTUALLY_LINEAR, sampling, sampling),
                         EXR_ERR_SUCCESS);
    }
    if (layout->chromaticities) {
        exr_attr_chromaticities_t at;
        memcpy(&at, layout->chromaticities, sizeof at);
        assert_int_equal(exr_attr_set_chromaticities(context, part, "chromaticities", &at),
                         EXR_ERR_SUCCESS);
    }
    if (layout->is_cube)
        assert_int_equal(exr_attr_set_envmap(context, part, "envmap", EXR_ENVMAP_CUBE),
                         EXR_ERR_SUCCESS);
    if (layout->is_deep || layout->has_version)
        assert_int_equal(exr_set_version(context, part, 1), EXR_ERR_SUCCESS);
    assert_int_equal(exr_attr_set_float(context, part, "renderTimeSeconds", 2.5f), EXR_ERR_SUCCESS);
}

/* Writes the parts from `layout` on. */
static inline void foreign_write(const char *path, const foreign *layout) {
    exr_context_initializer_t initializer = EXR_DEFAULT_CONTEXT_INITIALIZER;
    exr_context_t context;
    int part;
    assert_int_equal(exr_start_write(&context, path, EXR_WRITE_FILE_DIRECTLY, &initializer),
                     EXR_ERR_SUCCESS);
    assert_int_equal(exr_set_longname_support(context, 1), EXR_ERR_SUCCESS);
    for (const foreign *each = layout; each; each = each->next) {
        assert_int_equal(exr_add_part(context, each->name ? each->name : "p",
                                      each->is_deep ? EXR_STORAGE_DEEP_SCANLINE
                                      : each->tile  ? EXR_STORAGE_TILED
                                                    : EXR_STORAGE_SCANLINE,
                                      &part),
                         EXR_ERR_SUCCESS);
        foreign_describe(context, part, each);
    }
    assert_int_equal(exr_write_header(context), EXR_ERR_SUCCESS);
    part = 0;
    for (const foreign *each = layout; each; each = each->next, ++part) {
        if (each->subsampled) continue;
        if (each->is_deep)
            foreign_deep(context, part, each);
        else if (each->tile)
            foreign_tiles(context, part, each);
        else
            foreign_lines(context, part, each);
    }
    exr_finish(&context);
}

/* --- reading ---------------------------------------------------------------------------------- */

static char said[2048]; /* the messages of the last reading */

static inline void note(void *context, log_level level, const char *message) {
    (void)context;
    (void)level;
    const size_t used = strlen(said);
    snprintf(said + used, sizeof said - used, "%s\n", message);
}

static inline image reading(const char *path, const char *layer, bool keeps_window) {
    const image_reading how = {.layer = layer, .keeps_window = keeps_window};
    image made;
    said[0] = '\0';
    if (image_read_as(&made, path, &how) != KD_OK) fail_msg("%s", kd_last_error());
    return made;
}

static inline void expect_refused(const char *path, const char *layer, const char *words) {
    const image_reading how = {.layer = layer};
    image made;
    assert_int_equal(image_read_as(&made, path, &how), KD_ERROR_INPUT);
    if (!strstr(kd_last_error(), words) || !strstr(kd_last_error(), path) ||
        strchr(kd_last_error(), '\n'))
        fail_msg("\"%s\" lacks \"%s\" or the file's name", kd_last_error(), words);
}

/* Expects the pixels of the data window at (left, top) of a picture of this size, and 0 around. */
static inline void expect_placed(const char *path, int32_t left, int32_t top, int32_t width,
                                 int32_t height) {
    image read = reading(path, NULL, false);
    assert_int_equal(read.width, width);
    assert_int_equal(read.height, height);
    assert_int_equal(read.whole_width, 0);
    for (int c = 0; c < 3; ++c)
        for (int32_t i = 0; i < width * height; ++i) {
            const int32_t x = i % width - left, y = i / width - top;
            const bool is_inside = x >= 0 && x < FOREIGN_WIDTH && y >= 0 && y < FOREIGN_HEIGHT;
            const float *plane = image_plane(&read, c == 0 ? "B" : c == 1 ? "G" : "R");
            assert_true(plane[i] == (is_inside ? foreign_value(c, x, y) : 0));
        }
    image_close(&read);
}

static char folder[] = "/tmp/kandela-exr-XXXXXX";
static char path[256]; /* of a file in the folder */

static int folder_make(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/a.exr", folder);
    log_set_sink(note, NULL);
    return 0;
}

static int folder_remove(void **state) {
    (void)state;
    return rmdir(folder); /* fails if a test left a file behind */
}

#endif
