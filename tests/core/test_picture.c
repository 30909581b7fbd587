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

/* --- PNM and TIFF ----------------------------------------------------------------------------- */

static void expect_samples(const char *bytes_at, size_t count, int samples, int sample_bytes,
                           const uint32_t *values, size_t value_count) {
    const file_view view = {bytes_at, count, NULL};
    picture opened;
    if (picture_open(&opened, "some.file", &view, PICTURE_DEEP) != KD_OK)
        fail_msg("%s", kd_last_error());
    assert_int_equal(opened.samples, samples);
    assert_int_equal(opened.sample_bytes, sample_bytes);
    for (size_t i = 0; i < value_count; ++i)
        if (picture_value(&opened, i) != values[i])
            fail_msg("sample %zu is %u, not %u", i, picture_value(&opened, i), values[i]);
    picture_close(&opened);
}

/* Two pixels each; comments and spaces where the formats allow them. */
static void test_pnm(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t count;
        int samples, sample_bytes;
        uint32_t values[8];
    } rows[] = {
#define FILE_OF(text) text, sizeof text - 1
        {FILE_OF("P1\n# a comment\n2 1\n10"), 1, 1, {0, 255}},
        {FILE_OF("P1 2 1 1 0\n"), 1, 1, {0, 255}},
        {FILE_OF("P2\n2 1 # size\n15\n15 3"), 1, 1, {255, 51}},
        {FILE_OF("P2 2 1 1000 1000 250"), 1, 2, {65535, 16384}},
        {FILE_OF("P3\n2 1\n255\n1 2 3\n# between\n4 5 6\n"), 3, 1, {1, 2, 3, 4, 5, 6}},
        {FILE_OF("P4\n2 1\n\x40"), 1, 1, {255, 0}},
        {FILE_OF("P5\n2 1\n255\n\7\xff"), 1, 1, {7, 255}},
        {FILE_OF("P5 2 1 65535\n\1\2\xff\xfe"), 1, 2, {258, 65534}},
        {FILE_OF("P6\n2 1\n100\n\0\x32\x64\1\2\3"), 3, 1, {0, 128, 255, 3, 5, 8}},
        {FILE_OF("P7\nWIDTH 2\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n"
                 "abcdefgh"),
         4,
         1,
         {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        expect_samples(rows[i].text, rows[i].count, rows[i].samples, rows[i].sample_bytes,
                       rows[i].values, 2 * (size_t)rows[i].samples);
    static const struct {
        const char *text, *word;
    } bad[] = {{"P6 2 1 255\nabc", "in a file of only"},
               {"P5 2 0 255\n", "height"},
               {"P5 2 1 70000\nabcd", "maximum"},
               {"P2 2 1 255 1 x", "found \"x\""},
               {"P7\nWIDTH 2\n", "ENDHDR"},
               {"P7\nWIDTH 2\nENDHDR\n", "HEIGHT"},
               {"P6 99999999 99999999 255\n", "only"},
               {"P5 2", "height"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        const file_view view = {bad[i].text, strlen(bad[i].text), NULL};
        picture opened;
        assert_int_equal(picture_open(&opened, "bad.ppm", &view, PICTURE_DEEP), KD_ERROR_INPUT);
        if (!strstr(kd_last_error(), bad[i].word)) fail_msg("%s", kd_last_error());
        picture_close(&opened);
    }
}

static void tiff_tag(bytes *to, bool big, uint32_t tag, uint32_t type, uint32_t count,
                     uint32_t value) {
    append_value(to, tag, 2, big);
    append_value(to, type, 2, big);
    append_value(to, count, 4, big);
    append_value(to, value, type == 3 && count == 1 ? 2 : 4, big);
    if (type == 3 && count == 1) append_value(to, 0, 2, big);
}

/* Makes a TIFF of two pixels in one row with the data behind 8 bytes of header. */
static bytes tiff(bool big, uint32_t bits, uint32_t samples, uint32_t photometric, bool apart,
                  const char *data, size_t count) {
    bytes made = {0};
    const uint32_t sizes = 8 + (uint32_t)count, planes = apart ? samples : 1;
    append(&made, big ? "MM\0*" : "II*\0", 4);
    append_value(&made, sizes + 10 * samples, 4, big);
    append(&made, data, count);
    for (uint32_t i = 0; i < samples; ++i) append_value(&made, bits, 2, big);
    for (uint32_t i = 0; i < samples; ++i) append_value(&made, 8 + 2 * i, 4, big); /* of planes */
    for (uint32_t i = 0; i < samples; ++i) append_value(&made, 2, 4, big);         /* their bytes */
    append_value(&made, 10 + (samples == 4), 2, big);
    tiff_tag(&made, big, 256, 3, 1, 2);
    tiff_tag(&made, big, 257, 3, 1, 1);
    tiff_tag(&made, big, 258, 3, samples, samples == 1 ? bits : sizes);
    tiff_tag(&made, big, 259, 3, 1, 1);
    tiff_tag(&made, big, 262, 3, 1, photometric);
    tiff_tag(&made, big, 273, 4, planes, planes > 1 ? sizes + 2 * samples : 8);
    tiff_tag(&made, big, 277, 3, 1, samples);
    tiff_tag(&made, big, 278, 3, 1, 1);
    tiff_tag(&made, big, 279, 4, planes, planes > 1 ? sizes + 6 * samples : (uint32_t)count);
    tiff_tag(&made, big, 284, 3, 1, apart ? 2 : 1);
    if (samples == 4) tiff_tag(&made, big, 338, 3, 1, 1); /* colours are multiplied by alpha */
    append_zeros(&made, 4);
    return made;
}

static void test_tiff(void **state) {
    (void)state;
    if (!picture_reads_tiff()) skip();
    static const struct {
        uint32_t bits, samples, photometric;
        bool big, apart;
        const char *data;
        size_t count;
        int sample_bytes;
        uint32_t values[8];
    } rows[] = {
#define DATA_OF(text) text, sizeof text - 1
        {8, 1, 1, false, false, DATA_OF("\7\xff"), 1, {7, 255}},
        {8, 1, 0, false, false, DATA_OF("\7\xff"), 1, {248, 0}}, /* 0 is white */
        {8, 3, 2, true, false, DATA_OF("abcdef"), 1, {'a', 'b', 'c', 'd', 'e', 'f'}},
        {8, 3, 2, false, true, DATA_OF("adbecf"), 1, {'a', 'b', 'c', 'd', 'e', 'f'}},
        {16, 1, 1, false, false, DATA_OF("\2\1\xfe\xff"), 2, {258, 65534}},
        {16, 1, 1, true, false, DATA_OF("\1\2\xff\xfe"), 2, {258, 65534}},
        {8,
         4,
         2,
         false,
         false,
         DATA_OF("\10\20\30\x80\1\2\3\xff"),
         1,
         {16, 32, 48, 128, 1, 2, 3, 255}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        bytes made = tiff(rows[i].big, rows[i].bits, rows[i].samples, rows[i].photometric,
                          rows[i].apart, rows[i].data, rows[i].count);
        expect_samples((const char *)made.at, made.count, (int)rows[i].samples,
                       rows[i].sample_bytes, rows[i].values, 2 * rows[i].samples);
        free(made.at);
    }
    bytes cut = tiff(false, 8, 3, 2, false, DATA_OF("abcdef"));
    cut.count -= 40;
    expect_rejected(&cut, "TIFF");
}

/* A picture of three columns and two rows, stored in each of the orientations of TIFF: grey of 8
   bits as it is stored, of 4 bits through the library's conversion to RGBA. */
static void test_tiff_orientations(void **state) {
    (void)state;
    if (!picture_reads_tiff()) skip();
    static const char *const upright[8] = {"012345", "210543", "543210", "345012",
                                           "031425", "304152", "524130", "251403"};
    for (uint32_t i = 0; i < 16; ++i) {
        const uint32_t orientation = i % 8 + 1, bits = i < 8 ? 8 : 4;
        bytes made = {0};
        append(&made, "II*\0\16\0\0\0", 8);
        append(&made, bits == 8 ? "\0\1\2\3\4\5" : "\1\40\64\120\0\0", 6);
        append_value(&made, 9, 2, false);
        tiff_tag(&made, false, 256, 3, 1, 3);
        tiff_tag(&made, false, 257, 3, 1, 2);
        tiff_tag(&made, false, 258, 3, 1, bits);
        tiff_tag(&made, false, 259, 3, 1, 1);
        tiff_tag(&made, false, 262, 3, 1, 1);
        tiff_tag(&made, false, 273, 4, 1, 8);
        tiff_tag(&made, false, 274, 3, 1, orientation);
        tiff_tag(&made, false, 278, 3, 1, 2);
        tiff_tag(&made, false, 279, 4, 1, bits == 8 ? 6 : 4);
        append_zeros(&made, 4);
        const file_view view = view_of(&made);
        picture opened;
        if (picture_open(&opened, "turned.tif", &view, PICTURE_DEEP) != KD_OK)
            fail_msg("%s", kd_last_error());
        assert_int_equal(opened.info.width, orientation < 5 ? 3 : 2);
        assert_int_equal(opened.info.height, orientation < 5 ? 2 : 3);
        for (uint64_t at = 0; at < 6; ++at)
            assert_int_equal(picture_value(&opened, at * (uint64_t)opened.samples),
                             (upright[orientation - 1][at] - '0') * (bits == 8 ? 1 : 17));
        picture_close(&opened);
        free(made.at);
    }
}

/* What cannot be read is named, and how to convert it. */
static void test_other_pictures_are_named(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        const char *name;
    } rows[] = {{FILE_OF("DDS \x7c\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "found a DDS image"},
                {FILE_OF("\0\0\0\x20"
                         "ftypavif\0\0\0\0\0\0\0\0"),
                 "found an AVIF image"},
                {FILE_OF("\0\0\0\x20"
                         "ftypheic\0\0\0\0\0\0\0\0"),
                 "found a HEIF image"},
                {FILE_OF("8BPS\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "found a Photoshop image"},
                {FILE_OF("PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "found a zip archive"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        bytes made = {0};
        append(&made, rows[i].bytes, rows[i].count);
        const file_view view = view_of(&made);
        assert_non_null(picture_foreign_name(&view));
        expect_rejected(&made, rows[i].name);
        assert_non_null(strstr(kd_last_error(), "magick"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_impossible_sizes_are_rejected),
        cmocka_unit_test(test_smallest_valid_files_are_accepted),
        cmocka_unit_test(test_samples_match_file),
        cmocka_unit_test(test_overlong_huffman_tables_are_rejected),
        cmocka_unit_test(test_pnm),
        cmocka_unit_test(test_tiff),
        cmocka_unit_test(test_tiff_orientations),
        cmocka_unit_test(test_other_pictures_are_named),
        cmocka_unit_test(test_decoding_respects_its_budget),
        cmocka_unit_test(test_exhausted_budget_ends_compression),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
