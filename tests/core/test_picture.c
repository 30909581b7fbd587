/* core/image/picture.h: in every format, the sizes that a file claims are checked against its
   length before anything is decoded; the smallest valid file of each format passes.
   core/image/stb.h: running out of memory ends decoding. */
#include "core/image/picture.h"
#include "core/image/stb.h"
#include "tests/test.h"
#include <stb/stb_image_write.h>

typedef struct bytes {
    uint8_t *at;
    size_t count, capacity;
} bytes;

static void append(bytes *buffer, const void *from, size_t count) {
    if (buffer->count + count > buffer->capacity) {
        buffer->capacity = 2 * (buffer->count + count);
        buffer->at = (uint8_t *)realloc(buffer->at, buffer->capacity);
        assert_non_null(buffer->at);
    }
    memcpy(buffer->at + buffer->count, from, count);
    buffer->count += count;
}

static void append_value(bytes *buffer, uint32_t value, int size, bool big) {
    for (int i = 0; i < size; ++i) {
        const uint8_t byte = (uint8_t)(value >> 8 * (big ? size - 1 - i : i));
        append(buffer, &byte, 1);
    }
}

static void append_zeros(bytes *buffer, size_t count) {
    for (size_t i = 0; i < count; ++i) append_value(buffer, 0, 1, false);
}

static file_view view_of(const bytes *buffer) {
    const file_view view = {(const char *)buffer->at, buffer->count, NULL};
    return view;
}

static kd_status inspect(picture_info *info, bytes *buffer) {
    const file_view view = view_of(buffer);
    return picture_inspect(info, "some.file", &view);
}

static void expect_rejected(bytes *buffer, const char *word) {
    picture_info info;
    assert_int_equal(inspect(&info, buffer), KD_ERROR_INPUT);
    if (!strstr(kd_last_error(), word)) fail_msg("\"%s\" lacks \"%s\"", kd_last_error(), word);
    free(buffer->at);
}

static void expect_accepted(bytes *buffer, int32_t width, int32_t height) {
    picture_info info;
    const kd_status status = inspect(&info, buffer);
    if (status != KD_OK) fail_msg("%s", kd_last_error());
    assert_int_equal(info.width, width);
    assert_int_equal(info.height, height);
    free(buffer->at);
}

/* --- files ------------------------------------------------------------------------------------ */

static bytes tga(uint32_t kind, uint32_t side, size_t data) {
    bytes made = {0};
    append_zeros(&made, 2);
    append_value(&made, kind, 1, false);
    append_zeros(&made, 9);
    append_value(&made, side, 2, false);
    append_value(&made, side, 2, false);
    append_value(&made, 24, 2, false);
    append_zeros(&made, data);
    return made;
}

static bytes bmp(uint32_t side, uint32_t bits, size_t data) {
    bytes made = {0};
    append(&made, "BM", 2);
    append_value(&made, 0, 4, false);
    append_value(&made, 0, 4, false);
    append_value(&made, 54 + (bits < 16 ? 8u : 0), 4, false);
    append_value(&made, 40, 4, false);
    append_value(&made, side, 4, false);
    append_value(&made, side, 4, false);
    append_value(&made, 1, 2, false);
    append_value(&made, bits, 2, false);
    append_zeros(&made, 24 + (bits < 16 ? 8u : 0) + data);
    return made;
}

static bytes png(uint32_t side, uint32_t depth, uint32_t colour, size_t data) {
    bytes made = {0};
    append(&made, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
    append_value(&made, side, 4, true);
    append_value(&made, side, 4, true);
    append_value(&made, depth, 1, true);
    append_value(&made, colour, 1, true);
    append_zeros(&made, 3 + 4);
    append_value(&made, (uint32_t)data, 4, true);
    append(&made, "IDAT", 4);
    append_zeros(&made, data + 4);
    return made;
}

static bytes hdr(int side, size_t data) {
    char head[100];
    bytes made = {0};
    snprintf(head, sizeof head, "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y %d +X %d\n", side, side);
    append(&made, head, strlen(head));
    append_zeros(&made, data);
    return made;
}

/* Makes a JPEG of one grey component, with Huffman tables of `codes` codes before the frame. */
static bytes jpeg(uint32_t side, uint32_t codes, size_t data) {
    bytes made = {0};
    append_value(&made, 0xffd8, 2, true);
    append(&made, "\xff\xe0\0\6\xff\xc4",
           6); /* bytes that look like a table, in an application segment */
    append_value(&made, 0xffffffff, 2, true);
    append_value(&made, 0xffc4, 2, true);
    append_value(&made, 2 + 17 + codes, 2, true);
    append_value(&made, 0, 1, true);
    for (uint32_t i = 0, left = codes; i < 16; ++i) {
        const uint32_t share = i == 15 || left < 200 ? left : 200;
        append_value(&made, i < 14 ? 0 : share, 1, true);
        left -= i < 14 ? 0 : share;
    }
    append_zeros(&made, codes);
    append_value(&made, 0xffc0, 2, true);
    append_value(&made, 11, 2, true);
    append_value(&made, 8, 1, true);
    append_value(&made, side, 2, true);
    append_value(&made, side, 2, true);
    append(&made, "\1\1\x11\0", 4);
    append_zeros(&made, data);
    return made;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_impossible_sizes_are_rejected(void **state) {
    (void)state;
    static const char reason[] = "in a file of only";
    bytes made = tga(2, 16384, 0); /* 18 bytes that claim 800 MB */
    expect_rejected(&made, reason);
    made = tga(10, 16384, 1000);
    expect_rejected(&made, reason);
    made = bmp(16384, 24, 10);
    expect_rejected(&made, reason);
    made = bmp(16384, 1, 1000);
    expect_rejected(&made, reason);
    made = png(16384, 1, 0, 1000);
    expect_rejected(&made, reason);
    made = png(16384, 8, 6, 10000);
    expect_rejected(&made, reason);
    made = hdr(16384, 5 * 16384); /* with old run lengths the size would be possible, but there is
                                     no pixel to repeat */
    expect_rejected(&made, "256 pixels per byte");
    made = hdr(8192, 1000);
    expect_rejected(&made, reason);
    made = jpeg(16384, 4, 1000);
    expect_rejected(&made, reason);
    made = png(32767, 1, 0, 1 << 18); /* too large, whether valid or not */
    expect_rejected(&made, "at most 268435456 in all");
}

static void test_smallest_valid_files_are_accepted(void **state) {
    (void)state;
    bytes made = tga(2, 64, 3 * 64 * 64);
    expect_accepted(&made, 64, 64);
    made = tga(10, 8192, 4 * 8192 * 8192 / 128);
    expect_accepted(&made, 8192, 8192);
    made = bmp(64, 24, 3 * 64 * 64);
    expect_accepted(&made, 64, 64);
    made = bmp(64, 1, 64 * 64 / 8);
    expect_accepted(&made, 64, 64);
    made = png(8192, 1, 0, 8192 * (8192 / 8 + 1) / 1032);
    expect_accepted(&made, 8192, 8192);
    made = png(16384, 1, 0, 40000);
    expect_accepted(&made, 16384, 16384);
    made = hdr(1024, 1024 * (4 + 4 * 2 * 9));
    expect_accepted(&made, 1024, 1024);
    made = jpeg(8192, 4, 8192 * 8192 / 64 / 8);
    expect_accepted(&made, 8192, 8192);
    made = jpeg(64, 256, 100); /* the largest Huffman table */
    expect_accepted(&made, 64, 64);
}

/* Two grey values of one bit each, a row of eight pixels. */
static void test_samples_match_file(void **state) {
    (void)state;
    static const uint8_t bits_png[] = {
        137, 80, 78,  71,  13, 10, 26, 10,  0,   0,  0,  13, 73,  72,  68,  82,  0,
        0,   0,  8,   0,   0,  0,  1,  1,   0,   0,  0,  0,  203, 123, 210, 238, 0,
        0,   0,  10,  73,  68, 65, 84, 120, 156, 99, 88, 5,  0,   0,   172, 0,   171,
        102, 11, 228, 107, 0,  0,  0,  0,   73,  69, 78, 68, 174, 66,  96,  130};
    const file_view view = {(const char *)bits_png, sizeof bits_png, NULL};
    picture opened;
    const kd_status status = picture_open(&opened, "bits.png", &view, PICTURE_DEEP);
    if (status != KD_OK) fail_msg("%s", kd_last_error());
    assert_int_equal(opened.samples, 1);
    assert_int_equal(opened.sample_bytes, 1);
    for (int x = 0; x < 8; ++x) /* the bits 10101010 */
        assert_int_equal(((const uint8_t *)opened.texels)[x], x % 2 ? 0 : 255);
    assert_true(picture_bytes(&opened.info, PICTURE_BYTES) < 1 << 16);
    picture_close(&opened);
}

static void test_overlong_huffman_tables_are_rejected(void **state) {
    (void)state;
    bytes made = jpeg(64, 257, 100);
    expect_rejected(&made, "Huffman table of more than 256 codes");
    made = jpeg(64, 4, 0); /* the tables may also follow the frame's header */
    append_value(&made, 0xffc4, 2, true);
    append_value(&made, 400, 2, true);
    for (int i = 0; i < 400; ++i) append_value(&made, 255, 1, true);
    expect_rejected(&made, "Huffman table of more than 256 codes");
}

static void take(void *context, void *data, int count) {
    append((bytes *)context, data, (size_t)count);
}

/* A PNG whose header states one pixel, with 9 MB of data. */
static void test_decoding_respects_its_budget(void **state) {
    (void)state;
    enum { SIDE = 3000 };
    uint8_t *zeros = (uint8_t *)calloc(SIDE, SIDE);
    bytes made = {0};
    assert_non_null(zeros);
    assert_true(stbi_write_png_to_func(take, &made, SIDE, SIDE, 1, zeros, SIDE));
    memcpy(made.at + 16, "\0\0\0\1\0\0\0\1", 8); /* stb does not verify checksums */
    const file_view view = view_of(&made);
    picture opened;
    assert_int_equal(picture_open(&opened, "flood.png", &view, PICTURE_BYTES), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "more than the"));
    picture_close(&opened);
    free(made.at);
    free(zeros);
}

typedef struct compressing {
    const uint8_t *noise;
    bytes made;
    bool ended;
} compressing;

enum { NOISE_WIDE = 100, NOISE_HIGH = 50 };

static void compress(void *context) {
    compressing *work = (compressing *)context;
    stbi_write_png_to_func(take, &work->made, NOISE_WIDE, NOISE_HIGH, 3, work->noise, 0);
    work->ended = true;
}

static void test_exhausted_budget_ends_compression(void **state) {
    (void)state;
    uint8_t noise[3 * NOISE_WIDE * NOISE_HIGH];
    int refusals = 0;
    for (size_t i = 0; i < sizeof noise; ++i) noise[i] = (uint8_t)(i * i >> 3);
    for (uint64_t budget = 0;; budget += 3001) {
        compressing work = {noise, {0}, false};
        const kd_status status = stb_run(compress, &work, budget, "x.png");
        assert_true(work.ended == (status == KD_OK));
        /* the file is complete or empty */
        assert_true(work.ended == (work.made.count > 0));
        free(work.made.at);
        if (work.ended) break;
        assert_int_equal(status, KD_ERROR_INPUT);
        ++refusals;
    }
    assert_true(refusals > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_impossible_sizes_are_rejected),
        cmocka_unit_test(test_smallest_valid_files_are_accepted),
        cmocka_unit_test(test_samples_match_file),
        cmocka_unit_test(test_overlong_huffman_tables_are_rejected),
        cmocka_unit_test(test_decoding_respects_its_budget),
        cmocka_unit_test(test_exhausted_budget_ends_compression),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
