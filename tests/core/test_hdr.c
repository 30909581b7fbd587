/* core/image/hdr.h: every orientation, every run-length encoding, the header's colours; truncated
   or damaged files are rejected promptly, with the file's name; written files are read back. */
#include "core/files/file.h"
#include "core/image/hdr.h"
#include "core/image/image.h"
#include "core/image/picture.h"
#include "core/memory.h"
#include "tests/test.h"
#include <math.h>
#include <unistd.h>

typedef struct bytes {
    uint8_t at[1 << 16];
    size_t count;
} bytes;

static void append(bytes *buffer, const void *from, size_t count) {
    assert_true(buffer->count + count <= sizeof buffer->at);
    memcpy(buffer->at + buffer->count, from, count);
    buffer->count += count;
}

static void append_text(bytes *buffer, const char *text) {
    append(buffer, text, strlen(text));
}

static bytes begin_file(const char *lines, const char *resolution) {
    bytes made;
    made.count = 0;
    append_text(&made, "#?RADIANCE\n");
    append_text(&made, lines);
    append_text(&made, "\n");
    append_text(&made, resolution);
    append_text(&made, "\n");
    return made;
}

static file_view view_of(const bytes *buffer) {
    const file_view view = {(const char *)buffer->at, buffer->count, NULL};
    return view;
}

static float *decoded(const bytes *buffer, int32_t width, int32_t height) {
    const file_view view = view_of(buffer);
    int32_t size[2];
    float *texels = NULL;
    if (hdr_inspect(&size[0], &size[1], "some.hdr", &view) != KD_OK ||
        hdr_decode(&texels, "some.hdr", &view) != KD_OK)
        fail_msg("%s", kd_last_error());
    assert_int_equal(size[0], width);
    assert_int_equal(size[1], height);
    return texels;
}

static void expect_rejected(const bytes *buffer, const char *word) {
    const file_view view = view_of(buffer);
    float *texels = NULL;
    assert_int_equal(hdr_decode(&texels, "some.hdr", &view), KD_ERROR_INPUT);
    assert_null(texels);
    if (!strstr(kd_last_error(), word) || !strstr(kd_last_error(), "some.hdr"))
        fail_msg("\"%s\" lacks \"%s\" or the file's name", kd_last_error(), word);
}

/* --- scanlines -------------------------------------------------------------------------------- */

enum { WIDE = 9, HIGH = 3 };

/* Computes the pixel shown in column x of row y, which its red value identifies. */
static void pixel_at(uint8_t rgbe[4], int x, int y) {
    rgbe[0] = (uint8_t)(128 + y * WIDE + x);
    rgbe[1] = (uint8_t)(y * 16);
    rgbe[2] = 7;
    rgbe[3] = 136;
}

typedef enum packing { FLAT, BY_PLANES, BY_PIXELS, PACKINGS } packing;

static void append_scanline(bytes *buffer, uint8_t (*pixels)[4], int length, packing packing) {
    const uint8_t head[] = {2, 2, 0, (uint8_t)length};
    if (packing == BY_PLANES && length >= 8) {
        append(buffer, head, 4);
        for (int c = 0; c < 4; ++c) {
            const uint8_t run[] = {(uint8_t)(128 + length), pixels[0][c]}, copy = (uint8_t)length;
            if (c >= 2) {
                append(buffer, run, 2);
                continue;
            }
            append(buffer, &copy, 1);
            for (int i = 0; i < length; ++i) append(buffer, &pixels[i][c], 1);
        }
        return;
    }
    for (int i = 0; i < length; ++i) append(buffer, pixels[i], 4);
    if (packing == BY_PIXELS) { /* no runs; a run of length zero is invalid */
        const uint8_t none[] = {1, 1, 1, 0};
        buffer->count -= 4;
        append(buffer, none, 4);
        append(buffer, pixels[length - 1], 4);
    }
}

static const struct {
    const char *resolution;
    bool by_columns, from_right, from_bottom;
} orientations[8] = {
    {"-Y 3 +X 9", false, false, false}, {"-Y 3 -X 9", false, true, false},
    {"+Y 3 +X 9", false, false, true},  {"+Y 3 -X 9", false, true, true},
    {"+X 9 -Y 3", true, false, false},  {"-X 9 -Y 3", true, true, false},
    {"+X 9 +Y 3", true, false, true},   {"-X 9 +Y 3", true, true, true},
};

static void test_every_orientation_and_encoding(void **state) {
    (void)state;
    for (int o = 0; o < 8; ++o)
        for (int how = 0; how < PACKINGS; ++how) {
            bytes made = begin_file("FORMAT=32-bit_rle_rgbe\n", orientations[o].resolution);
            const int lines = orientations[o].by_columns ? WIDE : HIGH;
            const int length = orientations[o].by_columns ? HIGH : WIDE;
            for (int line = 0; line < lines; ++line) {
                uint8_t pixels[WIDE][4];
                for (int i = 0; i < length; ++i) {
                    int x = orientations[o].by_columns ? line : i;
                    int y = orientations[o].by_columns ? i : line;
                    if (orientations[o].from_right) x = WIDE - 1 - x;
                    if (orientations[o].from_bottom) y = HIGH - 1 - y;
                    pixel_at(pixels[i], x, y);
                }
                append_scanline(&made, pixels, length, (packing)how);
            }
            float *texels = decoded(&made, WIDE, HIGH);
            for (int i = 0; i < WIDE * HIGH; ++i) {
                uint8_t expected[4];
                pixel_at(expected, i % WIDE, i / WIDE);
                for (int c = 0; c < 3; ++c) assert_true(texels[3 * i + c] == (float)expected[c]);
            }
            memory_free(texels);
            made.count -= 1;
            expect_rejected(&made, "truncated");
        }
}

/* Run lengths of the old encoding: each following count is worth 256 times more. 2 + 256 + 3 pixels
   of one colour, the last one of another. */
static void test_old_run_lengths_are_shifted_by_eight_bits(void **state) {
    (void)state;
    bytes made = begin_file("", "-Y 1 +X 263");
    append(&made, "\x80\x40\x20\x81\1\1\1\5\1\1\1\1\x20\x20\x20\x81", 16);
    float *texels = decoded(&made, 263, 1);
    for (int i = 0; i < 262; ++i) assert_true(texels[3 * i] == 1 && texels[3 * i + 2] == 0.25f);
    assert_true(texels[3 * 262] == 0.25f);
    memory_free(texels);
    made.at[made.count - 5] = 2; /* 2 x 256 pixels */
    expect_rejected(&made, "exceeds its scanline");
    made = begin_file("", "-Y 1 +X 2");
    append(&made, "\1\1\1\1\x20\x20\x20\x81", 8);
    expect_rejected(&made, "exceeds its scanline"); /* there is no pixel to repeat */
}

static void test_damaged_files_are_rejected(void **state) {
    (void)state;
    bytes made = begin_file("", "-Y 1 +X 8");
    append(&made, "\2\2\0\x8", 4); /* truncated within the first scanline */
    expect_rejected(&made, "truncated: the file ends in scanline 1 of 1");
    append(&made, "\0\1\2\3", 4); /* copies nothing, for ever */
    expect_rejected(&made, "exceeds its scanline");
    made = begin_file("", "-Y 1 +X 8");
    append(&made, "\2\2\0\x9\x89\1\x89\1\x89\1\x89\1", 12);
    expect_rejected(&made, "9 pixels; expected 8");
    made = begin_file("", "-Y 1 +X 8");
    append(&made, "\2\2\0\x8\x89\1\x88\1\x88\1\x88\1", 12);
    expect_rejected(&made, "exceeds its scanline");
    static const char *const resolutions[] = {"-Y 1 -Y 8", "-Y 0 +X 8",          "Y 1 +X 8",
                                              "-Y 1",      "-Y 1 +X 1234567890", "-Y 1 +X 8 9"};
    for (size_t i = 0; i < sizeof resolutions / sizeof *resolutions; ++i) {
        made = begin_file("", resolutions[i]);
        expect_rejected(&made, "resolution");
    }
    made = begin_file("", "-Y 999999999 +X 999999999");
    expect_rejected(&made, "in a file of only");
    made = begin_file("FORMAT=32-bit_rle_luv\n", "-Y 1 +X 8");
    expect_rejected(&made, "FORMAT");
    made = begin_file("EXPOSURE=bright\n", "-Y 1 +X 8");
    expect_rejected(&made, "EXPOSURE");
    made.count = 0;
    append_text(&made, "#?RADIANCE\nFORMAT=32-bit_rle_rgbe");
    expect_rejected(&made, "truncated");
    made.count = 0;
    expect_rejected(&made, "not a Radiance image");
}

/* --- the header ------------------------------------------------------------------------------- */

static void one_pixel(const char *lines, const char *pixel, float r, float g, float b) {
    bytes made = begin_file(lines, "-Y 1 +X 1");
    append(&made, pixel, 4);
    float *texels = decoded(&made, 1, 1);
    const float expected[3] = {r, g, b};
    for (int c = 0; c < 3; ++c)
        if (!(fabsf(texels[c] - expected[c]) <= 0.005f * (1 + expected[c])))
            fail_msg("%s: channel %d is %g, expected %g", lines, c, (double)texels[c],
                     (double)expected[c]);
    memory_free(texels);
}

static void test_header_scales_values(void **state) {
    (void)state;
    static const char warm[] = "\x80\x40\x20\x81"; /* 1, 0.5, 0.25 */
    one_pixel("", warm, 1, 0.5f, 0.25f);
    one_pixel("FORMAT=32-bit_rle_rgbe\r\n", warm, 1, 0.5f, 0.25f);
    one_pixel("EXPOSURE=2\n", warm, 0.5f, 0.25f, 0.125f);
    one_pixel("EXPOSURE= 2.0e0\nEXPOSURE=+.25\n", warm, 2, 1, 0.5f);
    one_pixel("COLORCORR=2 1 0.5\nEXPOSURE=2\n", warm, 0.25f, 0.25f, 0.25f);
    one_pixel("FORMAT=32-bit_rle_xyze\n", "\xa2\x96\x51\x80", 1, 0.5f, 0.25f);
    one_pixel("FORMAT=32-bit_rle_xyze\nEXPOSURE=4\n", "\xa2\x96\x51\x80", 0.25f, 0.125f, 0.0625f);
    one_pixel("GAMMA=2.2\nPRIMARIES=0.64 0.33 0.3 0.6 0.15 0.06 0.3127 0.329\n", warm, 1, 0.5f,
              0.25f);
    /* white stays white; pure green of Rec. 2020 has a negative red in Rec. 709 */
    one_pixel("PRIMARIES=0.64 0.33 0.29 0.6 0.15 0.06 0.3333 0.3333\n", "\x80\x80\x80\x81", 1, 1,
              1);
    one_pixel("PRIMARIES=0.708 0.292 0.17 0.797 0.131 0.046 0.3127 0.329\n", "\0\x80\0\x81",
              -0.5876f, 1.1329f, -0.1006f);
}

/* --- as pictures, and from files -------------------------------------------------------------- */

static void test_data_textures_use_gamma_2_2(void **state) {
    (void)state;
    bytes made = begin_file("", "-Y 1 +X 1");
    append(&made, "\x80\x40\0\x81", 4);
    const file_view view = view_of(&made);
    picture opened;
    assert_int_equal(picture_open(&opened, "some.hdr", &view, PICTURE_BYTES), KD_OK);
    const uint8_t *texel = (const uint8_t *)opened.texels;
    assert_int_equal(texel[0], 255);
    assert_int_equal(texel[1], 186); /* 255 x 0.5^(1 / 2.2) */
    assert_int_equal(texel[2], 0);
    picture_close(&opened);
}

static void test_write_read_round_trip(void **state) {
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/kandela-hdr-%d.hdr", getpid());
    for (int32_t width = 1; width < 600; width += width < 20 ? 1 : 97) {
        image from, read;
        float *planes[3];
        assert_int_equal(image_open(&from, width, 5), KD_OK);
        for (int c = 0; c < 3; ++c) {
            char name[2] = {"RGB"[c], 0};
            assert_int_equal(image_add(&from, name, &planes[c]), KD_OK);
            for (int i = 0; i < 5 * width; ++i)
                planes[c][i] = i % 7 < 4 ? (float)c : ldexpf((float)(i * i % 251), i % 90 - 60);
        }
        assert_int_equal(image_write(&from, path, NULL), KD_OK);
        assert_int_equal(image_read(&read, path), KD_OK);
        assert_int_equal(read.width, width);
        assert_int_equal(read.height, 5);
        for (int i = 0; i < 5 * width; ++i) {
            const float largest = fmaxf(planes[0][i], fmaxf(planes[1][i], planes[2][i]));
            for (int c = 0; c < 3; ++c)
                assert_true(fabsf(read.planes[c][i] - planes[c][i]) <= largest / 128);
        }
        image_close(&from);
        image_close(&read);
    }
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_orientation_and_encoding),
        cmocka_unit_test(test_old_run_lengths_are_shifted_by_eight_bits),
        cmocka_unit_test(test_damaged_files_are_rejected),
        cmocka_unit_test(test_header_scales_values),
        cmocka_unit_test(test_data_textures_use_gamma_2_2),
        cmocka_unit_test(test_write_read_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
