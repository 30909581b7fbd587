/* PNG files compressed in pieces: the pixels are read back, and the bytes do not depend on the
   number of threads. */
#include "core/files/file.h"
#include "core/image/image.h"
#include "core/memory.h"
#include "core/parallel/deflate.h"
#include "core/parallel/parallel.h"
#include "tests/test.h"
#include <math.h>
#include <unistd.h>

static char folder[] = "/tmp/kandela-png-XXXXXX";

static const char *in_folder(const char *name) {
    static char path[4][64];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static double srgb_to_linear(int byte) {
    const double v = byte / 255.0;
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

/* Returns byte c of a pixel: all equal, noise, noise in some rows only, or up to 256 values. */
static int pixel_byte(int kind, int x, int y, int c) {
    const uint32_t noise = ((uint32_t)(x * 3 + c) * 2654435761u ^ (uint32_t)y * 2246822519u) >> 7;
    return kind == 0 ? 77 : kind == 1 || y % 9 < 3 ? (int)(noise % 256) : (x + y) % 256;
}

static image noisy_image(int kind, int width, int height, int samples) {
    static const char *const names[] = {"R", "G", "B", "A"};
    image made;
    float *plane = NULL;
    assert_int_equal(image_open(&made, width, height), KD_OK);
    for (int c = 0; c < samples; ++c) assert_int_equal(image_add(&made, names[c], &plane), KD_OK);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            const int at = y * width + x;
            for (int c = 0; c < 3; ++c)
                made.planes[c][at] = (float)srgb_to_linear(pixel_byte(kind, x, y, c));
            if (samples == 4) made.planes[3][at] = at % 5 ? 1 : 0;
        }
    return made;
}

static void expect_bytes_of(const char *name, int kind, const image *written) {
    image read;
    assert_int_equal(image_read(&read, in_folder(name)), KD_OK);
    assert_int_equal(read.width, written->width);
    assert_int_equal(read.height, written->height);
    for (int y = 0; y < read.height; ++y)
        for (int x = 0; x < read.width; ++x)
            for (int c = 0; c < 3; ++c) {
                const double expected = srgb_to_linear(pixel_byte(kind, x, y, c));
                const double actual = (double)read.planes[c][y * read.width + x];
                assert_true(fabs(actual - expected) <= 1e-6 * expected);
            }
    image_close(&read);
}

/* Filtered rows in pieces that end or begin at a boundary, and in many pieces, with high, low and
   mixed compressibility. */
static void test_png_of_many_blocks(void **state) {
    (void)state;
    static const int sizes[][3] = {{1, 1, 3},     {19999, 1, 3}, {6666, 3, 3},
                                   {14999, 1, 4}, {1999, 10, 3}, {700, 301, 3},
                                   {1, 30000, 3}, {333, 200, 4}, {20000, 2, 4}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (int kind = 0; kind < 3; ++kind) {
            image a = noisy_image(kind, sizes[i][0], sizes[i][1], sizes[i][2]);
            file_view alone, threaded;
            parallel_set_threads(1);
            assert_int_equal(image_write(&a, in_folder("one.png"), NULL), KD_OK);
            parallel_set_threads(3);
            assert_int_equal(image_write(&a, in_folder("three.png"), NULL), KD_OK);
            expect_bytes_of("one.png", kind, &a);
            assert_int_equal(file_open(&alone, in_folder("one.png")), KD_OK);
            assert_int_equal(file_open(&threaded, in_folder("three.png")), KD_OK);
            assert_int_equal(alone.count, threaded.count);
            assert_memory_equal(alone.bytes, threaded.bytes, alone.count);
            file_close(&alone);
            file_close(&threaded);
            image_close(&a);
        }
    parallel_set_threads(0);
    unlink(in_folder("one.png"));
    unlink(in_folder("three.png"));
}

static void test_blocks_form_one_stream(void **state) {
    (void)state;
    uint8_t *bytes = NULL;
    deflated packed;
    assert_int_equal(KD_RESERVE(bytes, 1000000), KD_OK);
    for (int i = 0; i < 1000000; ++i) bytes[i] = (uint8_t)pixel_byte(2, i % 1000, i / 1000, 0);
    assert_int_equal(deflate_open(&packed, bytes, 1000000), KD_OK);
    if (packed.pieces == 0) {
        assert_int_equal(deflate_crc32(0, "123456789", 9), 0); /* 0 if libdeflate is missing */
    } else {
        assert_true(packed.pieces > 1);
        for (uint64_t i = 0; i < packed.pieces; ++i)
            assert_true(packed.made[i] > 0 && packed.made[i] <= packed.capacity);
        assert_int_equal(deflate_crc32(0, "123456789", 9), 0xcbf43926u);
    }
    deflate_close(&packed);
    memory_free(bytes);
}

int main(void) {
    if (!mkdtemp(folder)) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_png_of_many_blocks),
        cmocka_unit_test(test_blocks_form_one_stream),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
