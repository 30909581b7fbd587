/* core/image/exr.c: our files are read back bit for bit, files of other programs (tiles, half and
   uint channels, other compressions) are read, and damaged files are rejected. */
#include "core/files/file.h"
#include "core/image/image.h"
#include "core/math/rng.h"
#include "tests/test.h"
#include <math.h>
#include <unistd.h>

#if KD_HAVE_OPENEXR
#include "tests/core/foreign_exr.h"

static const char *const render_channels[] = {
    "R", "G", "B", "A", "Z", "N.X", "N.Y", "N.Z", "Albedo.R", "Albedo.G", "Albedo.B"};
enum { RENDER_CHANNELS = sizeof render_channels / sizeof *render_channels };

static uint32_t some_bits(uint32_t channel, size_t i) {
    const rng_block r = rng_draw(rng_key_make(7, channel, i), 0, 0);
    return (uint32_t)(r.value[0] * 65536) << 16 | (uint32_t)(r.value[1] * 65536);
}

/* Decodes our file by the OpenEXR library's own pipeline and compares the bits of every channel. */
static void library_reads(const image *expected) {
    exr_context_initializer_t initializer = EXR_DEFAULT_CONTEXT_INITIALIZER;
    exr_context_t context;
    exr_decode_pipeline_t pipeline = EXR_DECODE_PIPELINE_INITIALIZER;
    exr_chunk_info_t chunk;
    int32_t lines = 0;
    const size_t width = (size_t)expected->width, line = width * sizeof(float);
    float *got = (float *)malloc((size_t)expected->height * RENDER_CHANNELS * line);
    assert_non_null(got);
    assert_int_equal(exr_start_read(&context, path, &initializer), EXR_ERR_SUCCESS);
    assert_int_equal(exr_get_scanlines_per_chunk(context, 0, &lines), EXR_ERR_SUCCESS);
    for (int32_t y = 0; y < expected->height; y += lines) {
        assert_int_equal(exr_read_scanline_chunk_info(context, 0, y, &chunk), EXR_ERR_SUCCESS);
        assert_int_equal(y ? exr_decoding_update(context, 0, &chunk, &pipeline)
                           : exr_decoding_initialize(context, 0, &chunk, &pipeline),
                         EXR_ERR_SUCCESS);
        assert_int_equal(pipeline.channel_count, RENDER_CHANNELS);
        for (int32_t c = 0; c < RENDER_CHANNELS; ++c) {
            exr_coding_channel_info_t *channel = &pipeline.channels[c];
            float *plane = got + (size_t)c * (size_t)expected->height * width;
            channel->decode_to_ptr = (uint8_t *)(plane + (size_t)y * width);
            channel->user_bytes_per_element = sizeof(float);
            channel->user_pixel_stride = sizeof(float);
            channel->user_line_stride = (int32_t)line;
            channel->user_data_type = EXR_PIXEL_FLOAT;
        }
        if (!y)
            assert_int_equal(exr_decoding_choose_default_routines(context, 0, &pipeline),
                             EXR_ERR_SUCCESS);
        assert_int_equal(exr_decoding_run(context, 0, &pipeline), EXR_ERR_SUCCESS);
    }
    for (int32_t c = 0; c < RENDER_CHANNELS; ++c)
        assert_memory_equal(got + (size_t)c * (size_t)expected->height * width,
                            image_plane(expected, pipeline.channels[c].channel_name),
                            (size_t)expected->height * line);
    exr_decoding_destroy(context, &pipeline);
    assert_int_equal(exr_finish(&context), EXR_ERR_SUCCESS);
    free(got);
}

/* Random, incompressible bits, few distinct values, or alternating lines of both. */
static uint32_t bits_of(size_t kind, uint32_t channel, size_t i, size_t width) {
    const bool noise = kind == 0 || (kind == 2 && i / width / 16 % 2);
    return noise ? some_bits(channel, i) : 0x3f800000u + (uint32_t)(i / 5 % 3) * channel;
}

static void test_channels_round_trip_bit_exact(void **state) {
    (void)state;
    const int32_t large[2] = {(int32_t)test_size(1031, 131), (int32_t)test_size(777, 97)};
    const int32_t sizes[][2] = {
        {1, 1}, {1, 40}, {37, 1}, {37, 15}, {20, 16}, {64, 33}, {large[0], large[1]}};
    for (size_t s = 0; s < 3 * sizeof sizes / sizeof *sizes; ++s) {
        image a, b;
        assert_int_equal(image_open(&a, sizes[s / 3][0], sizes[s / 3][1]), KD_OK);
        const size_t count = (size_t)a.width * (size_t)a.height;
        for (uint32_t c = 0; c < RENDER_CHANNELS; ++c) {
            float *plane;
            assert_int_equal(image_add(&a, render_channels[c], &plane), KD_OK);
            for (size_t i = 0; i < count; ++i) {
                const uint32_t bits = bits_of(s % 3, c, i, (size_t)a.width);
                memcpy(&plane[i], &bits, 4);
            }
        }
        for (int i = 0; i < 16; ++i) a.world_to_camera[i] = (float)i + 0.5f;
        a.samples_per_pixel = 1024;
        a.render_seconds = 1.0 / 3;
        assert_int_equal(image_write(&a, path, NULL), KD_OK);
        library_reads(&a);
        assert_int_equal(image_read(&b, path), KD_OK);
        assert_int_equal(a.width, b.width);
        assert_int_equal(a.height, b.height);
        assert_int_equal(b.channel_count, RENDER_CHANNELS);
        for (int c = 0; c < RENDER_CHANNELS; ++c)
            assert_memory_equal(a.planes[c], image_plane(&b, render_channels[c]), 4 * count);
        assert_memory_equal(a.world_to_camera, b.world_to_camera, sizeof a.world_to_camera);
        assert_int_equal(b.samples_per_pixel, 1024);
        assert_true(b.render_seconds == a.render_seconds);
        image_close(&a);
        image_close(&b);
    }
    unlink(path);
}

/* --- files as other programs write them ---------------------------------------------------- */

/* Every storage form with every type. */
static void test_every_storage_form_is_read(void **state) {
    (void)state;
    static const exr_compression_t codes[] = {EXR_COMPRESSION_NONE, EXR_COMPRESSION_RLE,
                                              EXR_COMPRESSION_ZIPS, EXR_COMPRESSION_ZIP,
                                              EXR_COMPRESSION_PIZ,  EXR_COMPRESSION_PXR24};
    static const exr_pixel_type_t types[] = {EXR_PIXEL_HALF, EXR_PIXEL_FLOAT, EXR_PIXEL_UINT};
    for (int code = 0; code < 6; ++code)
        for (int type = 0; type < 3; ++type)
            for (int32_t tile = 0; tile <= 16; tile += 8)
                for (int32_t origin = -5; origin <= 3; origin += 4) {
                    const foreign layout = {.compression = codes[code],
                                            .type = types[type],
                                            .tile = tile,
                                            .origin = origin,
                                            .channels = {"A", "B", "G", "R", "a.b"}};
                    foreign_write(path, &layout);
                    image read;
                    assert_int_equal(image_read(&read, path), KD_OK);
                    assert_int_equal(read.width, FOREIGN_WIDTH);
                    assert_int_equal(read.height, FOREIGN_HEIGHT);
                    assert_true(read.render_seconds == 2.5);
                    for (int c = 0; c < 5; ++c) {
                        const float *plane = image_plane(&read, layout.channels[c]);
                        assert_non_null(plane);
                        for (int32_t i = 0; i < FOREIGN_WIDTH * FOREIGN_HEIGHT; ++i)
                            assert_true(plane[i] ==
                                        foreign_value(c, i % FOREIGN_WIDTH, i / FOREIGN_WIDTH));
                    }
                    image_close(&read);
                }
    unlink(path);
}

static void test_luminance_and_unusual_channels(void **state) {
    (void)state;
    image read;
    const foreign grey = {
        .compression = EXR_COMPRESSION_ZIP, .type = EXR_PIXEL_HALF, .channels = {"Y"}};
    foreign_write(path, &grey);
    assert_int_equal(image_read(&read, path), KD_OK);
    for (int32_t i = 0; i < FOREIGN_WIDTH * FOREIGN_HEIGHT; ++i)
        assert_true(image_plane(&read, "B")[i] ==
                    foreign_value(0, i % FOREIGN_WIDTH, i / FOREIGN_WIDTH));
    image_close(&read);
    const foreign wordy = {
        .compression = EXR_COMPRESSION_ZIP,
        .type = EXR_PIXEL_FLOAT,
        .tile = 16,
        .channels = {"A", "B", "G", "R", "a channel name of more than 31 characters"}};
    foreign_write(path, &wordy);
    assert_int_equal(image_read(&read, path), KD_OK);
    assert_int_equal(read.channel_count, 4); /* the file's fifth channel is skipped */
    for (int32_t i = 0; i < FOREIGN_WIDTH * FOREIGN_HEIGHT; ++i)
        assert_true(image_plane(&read, "R")[i] ==
                    foreign_value(3, i % FOREIGN_WIDTH, i / FOREIGN_WIDTH));
    image_close(&read);
    const foreign lonely = {.compression = EXR_COMPRESSION_ZIP,
                            .type = EXR_PIXEL_FLOAT,
                            .tile = 16,
                            .channels = {"a channel name of more than 31 characters"}};
    foreign_write(path, &lonely);
    assert_int_equal(image_read(&read, path), KD_OK);
    assert_true(image_plane(&read, "B")[1] == foreign_value(0, 1, 0));
    image_close(&read);
    const foreign blueless = {
        .compression = EXR_COMPRESSION_ZIP, .type = EXR_PIXEL_HALF, .channels = {"G", "R"}};
    foreign_write(path, &blueless);
    assert_int_equal(image_read(&read, path), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "no colours"));
    assert_non_null(strstr(kd_last_error(), "the file has G, R"));
    unlink(path);
}

static void file_fill(const char *name, const void *bytes, size_t count) {
    unlink(name); /* some file systems wait for the disk when a file with data is truncated */
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

/* B44 compresses 4 x 4 half values to 14 bytes: blocks of one value are exact, others have errors
   of up to a sixteenth of the block's largest difference. */
static void test_half_b44_is_read(void **state) {
    (void)state;
    static const exr_compression_t codes[] = {EXR_COMPRESSION_B44, EXR_COMPRESSION_B44A};
    for (int code = 0; code < 2; ++code)
        for (int32_t tile = 0; tile <= 16; tile += 16) {
            const foreign layout = {.compression = codes[code],
                                    .type = EXR_PIXEL_HALF,
                                    .tile = tile,
                                    .channels = {"B", "G", "R"}};
            foreign_write(path, &layout);
            image read;
            assert_int_equal(image_read(&read, path), KD_OK);
            for (int c = 0; c < 3; ++c)
                for (int32_t i = 0; i < FOREIGN_WIDTH * FOREIGN_HEIGHT; ++i) {
                    const float made = image_plane(&read, layout.channels[c])[i];
                    const float meant = foreign_value(c, i % FOREIGN_WIDTH, i / FOREIGN_WIDTH);
                    assert_true(fabsf(made - meant) <= 2);
                }
            image_close(&read);
        }
    unlink(path);
}

/* Files that the OpenEXR core library can neither write nor decode: the reader recognises them by
   their header. */
static void test_undecodable_files_are_reported(void **state) {
    (void)state;
    static const struct {
        exr_compression_t claimed;
        exr_pixel_type_t type;
        const char *says;
    } cases[] = {{EXR_COMPRESSION_DWAA, EXR_PIXEL_HALF, "DWAA compression"},
                 {EXR_COMPRESSION_DWAB, EXR_PIXEL_HALF, "DWAB compression"}};
    /* "compression" and the last byte of the attribute's size */
    static const char key[] = "compression\0compression\0\1\0\0";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const foreign layout = {
            .compression = EXR_COMPRESSION_ZIP, .type = cases[i].type, .channels = {"B", "G", "R"}};
        foreign_write(path, &layout);
        file_view whole;
        assert_int_equal(file_open(&whole, path), KD_OK);
        char *copy = (char *)malloc(whole.count);
        assert_non_null(copy);
        memcpy(copy, whole.bytes, whole.count);
        char *at = (char *)memmem(copy, whole.count, key, sizeof key);
        assert_non_null(at);
        at[sizeof key] = (char)cases[i].claimed;
        const size_t count = whole.count;
        file_close(&whole);
        file_fill(path, copy, count);
        free(copy);
        image read;
        assert_int_equal(image_read(&read, path), KD_ERROR_INPUT);
        if (!strstr(kd_last_error(), cases[i].says)) fail_msg("%s", kd_last_error());
        assert_non_null(strstr(kd_last_error(), path));
        assert_null(strchr(kd_last_error(), '\n'));
    }
    unlink(path);
}

/* --- damaged files ---------------------------------------------------------------------------- */

static void damage_is_survived(const foreign *layout) {
    foreign_write(path, layout);
    file_view whole;
    assert_int_equal(file_open(&whole, path), KD_OK);
    char bad[272];
    snprintf(bad, sizeof bad, "%s/bad.exr", folder);
    image read;
    for (size_t cut = 0; cut < whole.count; ++cut) {
        file_fill(bad, whole.bytes, cut);
        assert_int_equal(image_read(&read, bad), KD_ERROR_INPUT);
        assert_non_null(strstr(kd_last_error(), bad));
        assert_null(read.planes[0]);
    }
    char *copy = (char *)malloc(whole.count);
    assert_non_null(copy);
    for (size_t at = 0; at < whole.count; ++at)
        for (int bit = 0; bit < 8; bit += 7) {
            memcpy(copy, whole.bytes, whole.count);
            copy[at] = (char)(copy[at] ^ 1 << bit);
            file_fill(bad, copy, whole.count);
            if (image_read(&read, bad) == KD_OK) image_close(&read);
        }
    free(copy);
    unlink(bad);
    unlink(path);
    file_close(&whole);
}

static void test_damaged_files_are_rejected(void **state) {
    (void)state;
    const foreign lines = {.compression = EXR_COMPRESSION_ZIP,
                           .type = EXR_PIXEL_FLOAT,
                           .origin = -3,
                           .channels = {"B", "G", "R"}};
    const foreign tiles = {.compression = EXR_COMPRESSION_NONE,
                           .type = EXR_PIXEL_HALF,
                           .tile = 16,
                           .channels = {"B", "G", "R"}};
    const foreign waves = {
        .compression = EXR_COMPRESSION_PIZ, .type = EXR_PIXEL_HALF, .channels = {"B", "G", "R"}};
    const foreign blocks = {
        .compression = EXR_COMPRESSION_B44, .type = EXR_PIXEL_HALF, .channels = {"B", "G", "R"}};
    const foreign runs = {
        .compression = EXR_COMPRESSION_RLE, .type = EXR_PIXEL_HALF, .channels = {"B", "G", "R"}};
    damage_is_survived(&lines);
    damage_is_survived(&tiles);
    damage_is_survived(&runs);
    damage_is_survived(&waves);
    damage_is_survived(&blocks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_channels_round_trip_bit_exact),
        cmocka_unit_test(test_every_storage_form_is_read),
        cmocka_unit_test(test_luminance_and_unusual_channels),
        cmocka_unit_test(test_half_b44_is_read),
        cmocka_unit_test(test_undecodable_files_are_reported),
        cmocka_unit_test(test_damaged_files_are_rejected),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
#else
int main(void) {
    return TEST_SKIPPED;
}
#endif
