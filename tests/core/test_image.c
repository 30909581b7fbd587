/* core/image/image.h and core/image/picture.h: written pictures are read back; damaged files are
   rejected. */
#include "core/files/file.h"
#include "core/image/image.h"
#include "core/image/tonemap.h"
#include "core/math/rng.h"
#include "tests/test.h"
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static char folder[] = "/tmp/kandela-image-XXXXXX";
static char path[256];

static const char *in_folder(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int folder_entries(void) {
    int count = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing));) count += entry->d_name[0] != '.';
    closedir(listing);
    return count;
}

static void file_fill(const char *name, const void *bytes, size_t count) {
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static void add_channel(image *image, const char *name) {
    float *plane;
    assert_int_equal(image_add(image, name, &plane), KD_OK);
}

/* Fills every channel with random bits: NaNs with payloads, infinities, denormals, both zeros. */
static void fill_with_bits(image *image, uint32_t seed) {
    const size_t count = (size_t)image->width * (size_t)image->height;
    for (int32_t c = 0; c < image->channel_count; ++c)
        for (size_t i = 0; i < count; ++i) {
            const rng_block r = rng_draw(rng_key_make(seed, (uint32_t)c, i), 0, 0);
            const uint32_t bits =
                (uint32_t)(r.value[0] * 65536) << 16 | (uint32_t)(r.value[1] * 65536);
            memcpy(&image->planes[c][i], &bits, 4);
        }
}

static void fill_with_ramp(image *image) {
    const size_t count = (size_t)image->width * (size_t)image->height;
    for (int32_t c = 0; c < image->channel_count; ++c)
        for (size_t i = 0; i < count; ++i)
            image->planes[c][i] = (float)(i + 1) / (float)(count + (size_t)c);
}

static image colour_image(int32_t width, int32_t height) {
    image made;
    assert_int_equal(image_open(&made, width, height), KD_OK);
    add_channel(&made, "R");
    add_channel(&made, "G");
    add_channel(&made, "B");
    return made;
}

static void assert_same_planes(const image *a, const image *b) {
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->height, b->height);
    assert_int_equal(a->channel_count, b->channel_count);
    for (int32_t c = 0; c < a->channel_count; ++c) {
        const float *other = image_plane(b, a->names[c]);
        assert_non_null(other);
        assert_memory_equal(a->planes[c], other,
                            (size_t)a->width * (size_t)a->height * sizeof *other);
    }
}

static void test_channel_names(void **state) {
    (void)state;
    image made = colour_image(3, 2);
    float *plane = NULL;
    assert_int_equal(image_add(&made, "G", &plane), KD_ERROR_USAGE);
    assert_int_equal(image_add(&made, "", &plane), KD_ERROR_USAGE);
    assert_int_equal(image_add(&made, "a name that is longer than 31 chars", &plane),
                     KD_ERROR_USAGE);
    assert_null(image_plane(&made, "Z"));
    for (int i = 3; i < IMAGE_CHANNELS; ++i) {
        char name[16];
        snprintf(name, sizeof name, "c%d", i);
        add_channel(&made, name);
    }
    assert_int_equal(image_add(&made, "one", &plane), KD_ERROR_USAGE);
    for (int i = 0; i < 6; ++i) assert_true(image_plane(&made, "G")[i] == 0);
    image_close(&made);
    image_close(&made);
    assert_int_equal(image_open(&made, 0, 5), KD_ERROR_USAGE);
    assert_int_equal(image_open(&made, 5, -1), KD_ERROR_USAGE);
}

static void test_suffix_selects_format(void **state) {
    (void)state;
    assert_int_equal(image_writable("a.png"), KD_OK);
    assert_int_equal(image_writable("a.b/c.PFM"), KD_OK);
    assert_int_equal(image_writable("a.gif"), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), ".pfm"));
    assert_int_equal(image_writable("png"), KD_ERROR_USAGE);
#if KD_HAVE_OPENEXR
    assert_int_equal(image_writable("a.exr"), KD_OK);
#else
    assert_int_equal(image_writable("a.exr"), KD_ERROR_USAGE);
#endif
    image none;
    assert_int_equal(image_read(&none, "a.gif"), KD_ERROR_INPUT);
    assert_int_equal(image_read(&none, in_folder("absent.png")), KD_ERROR_INPUT);
}

static void test_hash_depends_on_every_bit(void **state) {
    (void)state;
    image a = colour_image(5, 4);
    fill_with_ramp(&a);
    const uint64_t before = image_hash(&a);
    add_channel(&a, "Z");
    assert_true(image_hash(&a) == before);
    uint32_t bits;
    memcpy(&bits, &a.planes[2][19], 4);
    bits ^= 1;
    memcpy(&a.planes[2][19], &bits, 4);
    assert_true(image_hash(&a) != before);
    image_close(&a);
}

static void test_pfm_round_trip_is_bit_exact(void **state) {
    (void)state;
    for (int32_t width = 1; width < 40; width += 7)
        for (int32_t height = 1; height < 10; height += 4) {
            image a = colour_image(width, height), b;
            fill_with_bits(&a, (uint32_t)(width * 100 + height));
            assert_int_equal(image_write(&a, in_folder("a.pfm"), NULL), KD_OK);
            assert_int_equal(image_read(&b, path), KD_OK);
            assert_same_planes(&a, &b);
            assert_true(image_hash(&a) == image_hash(&b));
            image_close(&a);
            image_close(&b);
        }
    unlink(path);
}

/* Two rows of one pixel, the lower row first; 1.0f is 3f800000, 2.0f is 40000000. */
static void test_pfm_byte_order_and_grey(void **state) {
    (void)state;
    static const char little[] = "Pf\n1 2\n-1.0\n\0\0\x80\x3f\0\0\0\x40";
    static const char big[] = "Pf\r1\t2 1\n\x3f\x80\0\0\x40\0\0\0";
    for (int i = 0; i < 2; ++i) {
        if (i)
            file_fill(in_folder("grey.pfm"), big, sizeof big - 1);
        else
            file_fill(in_folder("grey.pfm"), little, sizeof little - 1);
        image read;
        assert_int_equal(image_read(&read, path), KD_OK);
        for (int c = 0; c < 3; ++c) {
            assert_true(read.planes[c][0] == 2);
            assert_true(read.planes[c][1] == 1);
        }
        image_close(&read);
    }
    unlink(path);
}

/* Independent of tonemap.h: the curve of IEC 61966-2-1 in double precision. */
static double srgb_to_linear(int byte) {
    const double v = byte / 255.0;
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static void test_png_round_trip_is_exact(void **state) {
    (void)state;
    image a = colour_image(256, 3), b;
    for (int i = 0; i < 256; ++i)
        for (int c = 0; c < 3; ++c) a.planes[c][256 * c + i] = (float)srgb_to_linear(i);
    assert_int_equal(image_write(&a, in_folder("a.png"), NULL), KD_OK);
    assert_int_equal(image_read(&b, path), KD_OK);
    assert_int_equal(b.channel_count, 3);
    for (int c = 0; c < 3; ++c)
        for (int i = 0; i < 768; ++i) {
            const double expected = i / 256 == c ? srgb_to_linear(i % 256) : 0;
            assert_true(fabs((double)b.planes[c][i] - expected) <= 1e-6 * expected);
        }
    assert_int_equal(image_write(&b, in_folder("b.png"), NULL), KD_OK);
    file_view first, second;
    assert_int_equal(file_open(&second, path), KD_OK);
    assert_int_equal(file_open(&first, in_folder("a.png")), KD_OK);
    assert_int_equal(first.count, second.count);
    assert_memory_equal(first.bytes, second.bytes, first.count);
    file_close(&first);
    file_close(&second);
    unlink(path);
    unlink(in_folder("b.png"));
    image_close(&a);
    image_close(&b);
}

static void test_png_preserves_alpha(void **state) {
    (void)state;
    image a = colour_image(256, 1), b;
    add_channel(&a, "A");
    for (int i = 0; i < 256; ++i) {
        a.planes[3][i] = (float)i / 255;
        a.planes[0][i] = a.planes[3][i] * 0.25f; /* colours are premultiplied by alpha */
        a.planes[1][i] = a.planes[3][i];
        a.planes[2][i] = i ? 0 : 1; /* where nothing is hit: an environment */
    }
    assert_int_equal(image_write(&a, in_folder("a.png"), NULL), KD_OK);
    assert_int_equal(image_read(&b, path), KD_OK);
    assert_int_equal(b.channel_count, 4);
    for (int i = 0; i < 256; ++i)
        for (int c = 0; c < 4; ++c)
            assert_true(fabsf(a.planes[c][i] - b.planes[c][i]) <= 0.004f * a.planes[c][i]);
    for (int i = 0; i < 256; ++i) a.planes[3][i] = 1;
    assert_int_equal(image_write(&a, path, NULL), KD_OK);
    image_close(&b);
    assert_int_equal(image_read(&b, path), KD_OK);
    assert_null(image_plane(&b, "A"));
    unlink(path);
    image_close(&a);
    image_close(&b);
}

/* Two pixels of 16 bits (8000 ffff 0000, 0101 1234 bcdf) and three of a palette of 2 bits (red, 188
   green at coverage 51, 64 blue), made by another program. */
static const uint8_t wide_png[] = {
    137, 80,  78,  71,  13,  10, 26,  10,  0,   0,   0,   13,  73,  72,  68,  82,  0,   0,  0,  2,
    0,   0,   0,   1,   16,  2,  0,   0,   0,   43,  208, 52,  158, 0,   0,   0,   21,  73, 68, 65,
    84,  120, 218, 99,  104, 96, 248, 255, 159, 129, 129, 145, 81,  200, 100, 207, 125, 0,  28, 64,
    4,   98,  122, 212, 67,  70, 0,   0,   0,   0,   73,  69,  78,  68,  174, 66,  96,  130};
static const uint8_t palette_png[] = {
    137, 80, 78,  71,  13,  10,  26, 10, 0,   0,   0,   13, 73, 72,  68,  82, 0,   0,  0,  3,  0,
    0,   0,  1,   2,   3,   0,   0,  0,  102, 142, 252, 39, 0,  0,   0,   9,  80,  76, 84, 69, 255,
    0,   0,  0,   188, 0,   0,   0,  64, 105, 199, 65,  14, 0,  0,   0,   2,  116, 82, 78, 83, 255,
    51,  90, 103, 81,  92,  0,   0,  0,  10,  73,  68,  65, 84, 120, 218, 99, 144, 0,  0,  0,  26,
    0,   25, 128, 0,   142, 187, 0,  0,  0,   0,   73,  69, 78, 68,  174, 66, 96,  130};

static void test_foreign_png_is_read(void **state) {
    (void)state;
    static const float wide[3][2] = {
        {0.21404820f, 0.00030352698f}, {1, 0.0061089773f}, {0, 0.50370044f}};
    static const float palette[4][3] = {
        {1, 0, 0}, {0, 0.100577292f, 0}, {0, 0, 0.0512694584f}, {1, 0.2f, 1}};
    image read;
    file_fill(in_folder("wide.png"), wide_png, sizeof wide_png);
    assert_int_equal(image_read(&read, path), KD_OK);
    assert_int_equal(read.channel_count, 3);
    for (int c = 0; c < 3; ++c)
        for (int i = 0; i < 2; ++i)
            assert_true(fabsf(read.planes[c][i] - wide[c][i]) <= 2e-6f * wide[c][i]);
    image_close(&read);
    file_fill(path, palette_png, sizeof palette_png);
    assert_int_equal(image_read(&read, path), KD_OK);
    assert_int_equal(read.channel_count, 4);
    for (int c = 0; c < 4; ++c)
        for (int i = 0; i < 3; ++i)
            assert_true(fabsf(read.planes[c][i] - palette[c][i]) <= 2e-6f * palette[c][i]);
    image_close(&read);
    unlink(path);
}

static int shown_byte(float radiance, float exposure, kd_tonemap curve) {
    const image_encoding encoding = {.exposure = exposure, .tonemap = curve};
    image a = colour_image(1, 1), b;
    for (int c = 0; c < 3; ++c) a.planes[c][0] = radiance;
    assert_int_equal(image_write(&a, in_folder("one.png"), &encoding), KD_OK);
    assert_int_equal(image_read(&b, path), KD_OK);
    const int byte = unit_to_byte(srgb_encode(b.planes[0][0]));
    image_close(&a);
    image_close(&b);
    unlink(path);
    return byte;
}

/* Grey values computed by hand: sRGB(0.5) = 188, sRGB(0.25) = 137, sRGB(0.8038) = 232 (ACES of 1 is
   (2.51 + 0.03) / (2.43 + 0.59 + 0.14)). */
static void test_png_exposure_and_tone_mapping(void **state) {
    (void)state;
    assert_int_equal(shown_byte(0.5f, 0, KD_TONEMAP_LINEAR), 188);
    assert_int_equal(shown_byte(0.125f, 2, KD_TONEMAP_LINEAR), 188);
    assert_int_equal(shown_byte(1, -2, KD_TONEMAP_LINEAR), 137);
    assert_int_equal(shown_byte(1, 0, KD_TONEMAP_REINHARD), 188);
    assert_int_equal(shown_byte(1, 0, KD_TONEMAP_ACES), 232);
    for (int curve = KD_TONEMAP_LINEAR; curve <= KD_TONEMAP_ACES; ++curve) {
        assert_int_equal(shown_byte(NAN, 0, (kd_tonemap)curve), 0);
        assert_int_equal(shown_byte(-INFINITY, 0, (kd_tonemap)curve), 0);
        assert_int_equal(shown_byte(-1, 0, (kd_tonemap)curve), 0);
        assert_int_equal(shown_byte(INFINITY, 0, (kd_tonemap)curve), 255);
        assert_int_equal(shown_byte(FLT_MAX, 40, (kd_tonemap)curve), 255);
    }
}

/* A file truncated after each byte gives an error with its name, never a picture. With one byte
   changed at a time, any result is allowed, but no memory error. */
static void damage_is_survived(const char *name) {
    file_view whole;
    assert_int_equal(file_open(&whole, in_folder(name)), KD_OK);
    char bad[272];
    snprintf(bad, sizeof bad, "%s/bad-%s", folder, name);
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
    file_close(&whole);
}

static void test_damaged_files_are_rejected(void **state) {
    (void)state;
    static const char *const names[] = {"a.png", "a.pfm"};
    for (int i = 0; i < 2; ++i) {
        image a = colour_image(9, 5);
        if (!i) add_channel(&a, "A");
        fill_with_ramp(&a);
        assert_int_equal(image_write(&a, in_folder(names[i]), NULL), KD_OK);
        image_close(&a);
        damage_is_survived(names[i]);
        unlink(in_folder(names[i]));
    }
}

static void test_hostile_sizes_are_rejected(void **state) {
    (void)state;
    static const char *const bad[] = {"PF\n999999999 999999999\n-1.0\nabcdabcdabcd",
                                      "PF\n1 1\n0\nabcdabcdabcd",
                                      "PF\n1 1\nnan\nabcdabcdabcd",
                                      "PF\n-1 1\n-1\nabcdabcdabcd",
                                      "PF\n1 1\n-1\nabcdabcdabcde",
                                      "PF\n18446744073709551617 1\n-1\nabcdabcdabcd",
                                      "PF 0 0 -1\n",
                                      "P6\n1 1\n255\nabc",
                                      ""};
    image read;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        file_fill(in_folder("bad.pfm"), bad[i], strlen(bad[i]));
        assert_int_equal(image_read(&read, path), KD_ERROR_INPUT);
        file_fill(in_folder("bad.png"), bad[i], strlen(bad[i]));
        assert_int_equal(image_read(&read, path), KD_ERROR_INPUT);
    }
    unlink(in_folder("bad.pfm"));
    unlink(in_folder("bad.png"));
}

static void test_failed_writes_keep_the_old_file(void **state) {
    (void)state;
    static const char *const names[] = {"old.png", "old.pfm", "old.exr"};
    const int before = folder_entries();
    for (int i = 0; i < 3; ++i) {
        if (image_writable(names[i]) != KD_OK) continue;
        file_fill(in_folder(names[i]), "old", 3);
        image a;
        assert_int_equal(image_open(&a, 4, 4), KD_OK);
        add_channel(&a, "R");
        assert_int_equal(image_write(&a, path, NULL), KD_ERROR_USAGE); /* no G, no B */
        image_close(&a);
        file_view view;
        assert_int_equal(file_open(&view, path), KD_OK);
        assert_int_equal(view.count, 3);
        file_close(&view);
        unlink(path);
    }
    image a = colour_image(4, 4);
    assert_int_equal(image_write(&a, in_folder("no/such/folder.png"), NULL), KD_ERROR_RUNTIME);
    image_close(&a);
    assert_int_equal(folder_entries(), before);
}

/* The disk is full after 4 KiB: the status reports it, the old file is kept, and no temporary file
   remains. */
static void test_full_disk_keeps_the_old_file(void **state) {
    (void)state;
    static const char *const names[] = {"old.png", "old.pfm", "old.exr"};
    image a = colour_image(128, 128);
    fill_with_bits(&a, 3);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit usual, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    for (int i = 0; i < 3; ++i) {
        if (image_writable(names[i]) != KD_OK) continue;
        file_fill(in_folder(names[i]), "old", 3);
        const int before = folder_entries();
        small = usual;
        small.rlim_cur = 4096;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        const kd_status status = image_write(&a, path, NULL);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
        assert_int_equal(status, KD_ERROR_RUNTIME);
        assert_non_null(strstr(kd_last_error(), path));
        assert_int_equal(folder_entries(), before);
        file_view view;
        assert_int_equal(file_open(&view, path), KD_OK);
        assert_int_equal(view.count, 3);
        assert_memory_equal(view.bytes, "old", 3);
        file_close(&view);
        unlink(path);
    }
    image_close(&a);
}

static int folder_make(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int folder_remove(void **state) {
    (void)state;
    return rmdir(folder); /* fails if a test left a file behind */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_channel_names),
        cmocka_unit_test(test_suffix_selects_format),
        cmocka_unit_test(test_hash_depends_on_every_bit),
        cmocka_unit_test(test_pfm_round_trip_is_bit_exact),
        cmocka_unit_test(test_pfm_byte_order_and_grey),
        cmocka_unit_test(test_png_round_trip_is_exact),
        cmocka_unit_test(test_png_preserves_alpha),
        cmocka_unit_test(test_foreign_png_is_read),
        cmocka_unit_test(test_png_exposure_and_tone_mapping),
        cmocka_unit_test(test_damaged_files_are_rejected),
        cmocka_unit_test(test_hostile_sizes_are_rejected),
        cmocka_unit_test(test_failed_writes_keep_the_old_file),
        cmocka_unit_test(test_full_disk_keeps_the_old_file),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
