/* core/image/exr_colours.c and exr_read.c: chromaticities, layers, parts, subsampled channels and
   levels of EXR files as other programs write them. */
#include "core/files/file.h"
#include "core/image/image.h"
#include "tests/test.h"
#include <math.h>
#include <unistd.h>

#if KD_HAVE_OPENEXR
#include "tests/core/foreign_exr.h"

/* --- colours ---------------------------------------------------------------------------------- */

static const float rec709[] = {0.64f, 0.33f, 0.3f, 0.6f, 0.15f, 0.06f, 0.3127f, 0.329f};
static const float rec2020[] = {0.708f, 0.292f, 0.17f, 0.797f, 0.131f, 0.046f, 0.3127f, 0.329f};
static const float aces[] = {0.7347f, 0.2653f, 0, 1, 0.0001f, -0.077f, 0.32168f, 0.33767f};

/* ITU-R BT.2087; and SMPTE ST 2065-1 to Rec. 709 with Bradford's adaptation of its white, as
   published by the Academy. */
static const float of_rec2020[9] = {1.6605f,  -0.5876f, -0.0728f, -0.1246f, 1.1329f,
                                    -0.0083f, -0.0182f, -0.1006f, 1.1187f};
static const float of_aces[9] = {2.5217f,  -1.1341f, -0.3876f, -0.2765f, 1.3727f,
                                 -0.0962f, -0.0154f, -0.1530f, 1.1684f};

static void expect_converted(const image *read, const char *names[3], int blue,
                             const float matrix[9]) {
    for (int32_t i = 0; i < FOREIGN_WIDTH * FOREIGN_HEIGHT; ++i) {
        const int32_t x = i % FOREIGN_WIDTH, y = i / FOREIGN_WIDTH;
        for (int c = 0; c < 3; ++c) {
            float meant = 0;
            for (int k = 0; k < 3; ++k)
                meant += matrix[3 * c + k] * foreign_value(blue + 2 - k, x, y);
            assert_true(fabsf(image_plane(read, names[c])[i] - meant) < 0.02f);
        }
    }
}

static void test_chromaticities_become_rec709(void **state) {
    (void)state;
    static const float none[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const float worthless[8] = {0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f};
    static const float *const places[] = {NULL, rec709, rec2020, aces};
    static const float *const matrices[] = {none, none, of_rec2020, of_aces};
    static const char *names[] = {"R", "G", "B"}, *layer[] = {"a.R", "a.G", "a.B"};
    for (int i = 0; i < 4; ++i) {
        const foreign layout = {.compression = EXR_COMPRESSION_ZIP,
                                .type = EXR_PIXEL_HALF,
                                .channels = {"A", "B", "G", "R", "a.B", "a.G", "a.R", "a.Z"},
                                .chromaticities = places[i]};
        foreign_write(path, &layout);
        image read = reading(path, NULL, false);
        assert_int_equal(strstr(said, "chromaticities") != NULL, i >= 2);
        expect_converted(&read, names, 1, matrices[i]);
        expect_converted(&read, layer, 4, matrices[i]);
        for (int32_t k = 0; k < FOREIGN_WIDTH * FOREIGN_HEIGHT; ++k) {
            const int32_t x = k % FOREIGN_WIDTH, y = k / FOREIGN_WIDTH;
            assert_true(image_plane(&read, "A")[k] == foreign_value(0, x, y));
            assert_true(image_plane(&read, "a.Z")[k] == foreign_value(7, x, y));
        }
        image_close(&read);
    }
    foreign layout = {.compression = EXR_COMPRESSION_ZIP,
                      .type = EXR_PIXEL_HALF,
                      .channels = {"Y"},
                      .chromaticities = aces};
    foreign_write(path, &layout); /* grey stays grey */
    image read = reading(path, NULL, false);
    assert_true(image_plane(&read, "B")[1] == foreign_value(0, 1, 0));
    assert_string_equal(said, "");
    image_close(&read);
    layout.chromaticities = worthless;
    foreign_write(path, &layout);
    expect_refused(path, NULL, "the chromaticities do not define colours");
    unlink(path);
}

/* Each row: the file's channels, the layer asked for, the channels read as R, G, B and A (-1:
   none), and a part of the message, or NULL if nothing is said. */
typedef struct layer_case {
    const char *channels[FOREIGN_CHANNELS];
    const char *layer;
    int rgba[4];
    const char *says;
} layer_case;

static const layer_case layer_cases[] = {
    {{"ViewLayer.Combined.A", "ViewLayer.Combined.B", "ViewLayer.Combined.G",
      "ViewLayer.Combined.R"},
     NULL,
     {3, 2, 1, 0},
     NULL},
    {{"V.Combined.B", "V.Combined.G", "V.Combined.R", "V.Depth.Z", "V.DiffCol.B", "V.DiffCol.G",
      "V.DiffCol.R"},
     NULL,
     {2, 1, 0, -1},
     "using the layer V.Combined of V.Combined, V.DiffCol"},
    {{"A.DiffCol.B", "A.DiffCol.G", "A.DiffCol.R", "V.Combined.B", "V.Combined.G", "V.Combined.R"},
     NULL,
     {5, 4, 3, -1},
     "using the layer V.Combined"},
    {{"Composite.Combined.B", "Composite.Combined.G", "Composite.Combined.R", "A.Combined.B",
      "A.Combined.G", "A.Combined.R"},
     NULL,
     {2, 1, 0, -1},
     "using the layer Composite.Combined"},
    {{"albedo.B", "albedo.G", "albedo.R", "beauty.B", "beauty.G", "beauty.R"},
     NULL,
     {5, 4, 3, -1},
     "using the layer beauty"},
    {{"B", "G", "R", "albedo.B", "albedo.G", "albedo.R"}, NULL, {2, 1, 0, -1}, NULL},
    {{"B", "G", "R", "albedo.B", "albedo.G", "albedo.R"}, "albedo", {5, 4, 3, -1}, NULL},
    {{"N.X", "N.Y", "N.Z", "R", "Z"}, "N", {0, 1, 2, -1}, NULL},
    {{"B", "G", "R", "Z"}, "Z", {3, 3, 3, -1}, "Z"},
    {{"B", "G", "R", "depth.Z"}, "depth", {3, 3, 3, -1}, NULL},
    {{"B", "G", "R", "depth.Z"}, "depth.Z", {3, 3, 3, -1}, NULL},
    {{"R"}, NULL, {0, 0, 0, -1}, NULL},
    {{"A", "R"}, NULL, {1, 1, 1, 0}, NULL},
    {{"A", "Y"}, NULL, {1, 1, 1, 0}, NULL},
    {{"Z"}, NULL, {0, 0, 0, -1}, "using the channel Z as grey"},
    {{"height.V"}, NULL, {0, 0, 0, -1}, "using the channel height.V as grey"},
    {{"a", "b", "g", "r"}, NULL, {3, 2, 1, 0}, NULL},
    {{"Blue", "Green", "Red"}, NULL, {2, 1, 0, -1}, NULL},
    {{"Z", "beauty.B", "beauty.G", "beauty.R"}, NULL, {3, 2, 1, -1}, NULL}};

static void test_layers_are_chosen(void **state) {
    (void)state;
    static const char *const names[] = {"R", "G", "B", "A"};
    for (size_t i = 0; i < sizeof layer_cases / sizeof *layer_cases; ++i) {
        const layer_case *each = &layer_cases[i];
        foreign layout = {.compression = EXR_COMPRESSION_RLE, .type = EXR_PIXEL_UINT};
        memcpy(layout.channels, each->channels, sizeof layout.channels);
        /* the file has its channels in alphabetical order */
        int order[FOREIGN_CHANNELS], count = 0;
        while (count < FOREIGN_CHANNELS && each->channels[count]) ++count;
        for (int c = 0; c < count; ++c) {
            order[c] = 0;
            for (int k = 0; k < count; ++k)
                order[c] += strcmp(each->channels[k], each->channels[c]) < 0;
        }
        foreign_write(path, &layout);
        image read = reading(path, each->layer, false);
        if (each->says ? !strstr(said, each->says) && !each->layer : *said != '\0')
            fail_msg("case %zu says: %s", i, said);
        for (int c = 0; c < 4; ++c) {
            const float *plane = image_plane(&read, names[c]);
            if (each->rgba[c] < 0) assert_null(plane);
            for (int32_t k = 0; each->rgba[c] >= 0 && k < FOREIGN_WIDTH * FOREIGN_HEIGHT; ++k)
                if (plane[k] !=
                    foreign_value(order[each->rgba[c]], k % FOREIGN_WIDTH, k / FOREIGN_WIDTH))
                    fail_msg("case %zu: channel %s is another one", i, names[c]);
        }
        image_close(&read);
    }
    unlink(path);
}

static void test_files_without_colours_are_refused(void **state) {
    (void)state;
    foreign layout = {
        .compression = EXR_COMPRESSION_ZIP, .type = EXR_PIXEL_HALF, .channels = {"X", "Y", "Z"}};
    foreign_write(path, &layout); /* positions, not luminance */
    expect_refused(path, NULL, "the file has X, Y, Z");
    expect_refused(path, "beauty", "found no layer beauty");
    const foreign layers = {.compression = EXR_COMPRESSION_ZIP,
                            .type = EXR_PIXEL_HALF,
                            .channels = {"B", "G", "R", "uv.U", "uv.V"}};
    foreign_write(path, &layers);
    expect_refused(path, "uv", "found no layer uv");
    expect_refused(path, "UV", "the file has B, G, R, uv");
    unlink(path);
}

/* --- parts ------------------------------------------------------------------------------------ */

static void test_parts_are_chosen(void **state) {
    (void)state;
    const foreign albedo = {.compression = EXR_COMPRESSION_ZIP,
                            .type = EXR_PIXEL_HALF,
                            .tile = 16,
                            .channels = {"A", "B", "G", "R", "left.Z"},
                            .name = "albedo"};
    const foreign beauty = {.compression = EXR_COMPRESSION_PIZ,
                            .type = EXR_PIXEL_HALF,
                            .channels = {"B", "G", "R"},
                            .name = "beauty",
                            .next = &albedo};
    const foreign depth = {.compression = EXR_COMPRESSION_ZIP,
                           .type = EXR_PIXEL_FLOAT,
                           .channels = {"Z"},
                           .name = "depth",
                           .next = &beauty};
    foreign_write(path, &depth);
    image read = reading(path, NULL, false);
    assert_non_null(strstr(said, "using the part beauty of depth, beauty, albedo"));
    assert_true(image_plane(&read, "R")[1] == foreign_value(2, 1, 0));
    image_close(&read);
    read = reading(path, "albedo", false);
    assert_true(image_plane(&read, "R")[1] == foreign_value(3, 1, 0));
    image_close(&read);
    read = reading(path, "depth", false);
    assert_true(image_plane(&read, "G")[1] == foreign_value(0, 1, 0));
    image_close(&read);
    read = reading(path, "albedo.left", false);
    assert_true(image_plane(&read, "G")[1] == foreign_value(4, 1, 0));
    image_close(&read);
    expect_refused(path, "normal", "found no layer normal");
    unlink(path);
}

/* Renames the attribute of this name in a part; both names have the same length. */
static void attribute_rename(const char *name, int part, const char *other) {
    file_view whole;
    assert_int_equal(file_open(&whole, path), KD_OK);
    char *bytes = (char *)malloc(whole.count), *at = bytes;
    assert_non_null(bytes);
    memcpy(bytes, whole.bytes, whole.count);
    for (int i = 0; i <= part; ++i) {
        at = (char *)memmem(at + 1, (size_t)(bytes + whole.count - at - 1), name, strlen(name) + 1);
        assert_non_null(at);
    }
    memcpy(at, other, strlen(other));
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, whole.count, file), whole.count);
    fclose(file);
    free(bytes);
    file_close(&whole);
}

static void test_deep_data_are_refused_by_name(void **state) {
    (void)state;
    const foreign deep = {.compression = EXR_COMPRESSION_NONE,
                          .type = EXR_PIXEL_HALF,
                          .channels = {"A", "B", "G", "R", "Z"},
                          .is_deep = true};
    foreign_write(path, &deep);
    expect_refused(path, NULL, "found deep data");
    const foreign flat = {.compression = EXR_COMPRESSION_ZIP,
                          .type = EXR_PIXEL_HALF,
                          .channels = {"B", "G", "R"},
                          .has_version = true,
                          .name = "flat"};
    foreign several = deep;
    several.name = "deep";
    several.next = &flat;
    foreign_write(path, &several);
    attribute_rename("version", 1, "Version"); /* only deep parts must have it */
    image read = reading(path, NULL, false);
    assert_non_null(strstr(said, "using the part flat of deep, flat"));
    assert_true(image_plane(&read, "R")[1] == foreign_value(2, 1, 0));
    image_close(&read);
    expect_refused(path, "deep", "the part deep has deep data");
    unlink(path);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void append(uint8_t *bytes, size_t *count, const void *from, size_t more) {
    memcpy(bytes + *count, from, more);
    *count += more;
}

static float chroma_of(int x) {
    return x < 10 ? 0.5f : -0.25f;
}

/* Luminance and chroma of (R, G, B) in half, one chroma sample per 2 x 2 pixels; without
   compression a chunk is a line: its channels BY, RY (on even lines), Y. */
static void chroma_write(int32_t origin) {
    exr_context_initializer_t initializer = EXR_DEFAULT_CONTEXT_INITIALIZER;
    exr_context_t context;
    int part;
    assert_int_equal(exr_start_write(&context, path, EXR_WRITE_FILE_DIRECTLY, &initializer),
                     EXR_ERR_SUCCESS);
    assert_int_equal(exr_add_part(context, "p", EXR_STORAGE_SCANLINE, &part), EXR_ERR_SUCCESS);
    foreign layout = {
        .compression = EXR_COMPRESSION_NONE, .type = EXR_PIXEL_HALF, .origin = origin};
    foreign_describe(context, part, &layout);
    for (int c = 0; c < 3; ++c)
        assert_int_equal(exr_add_channel(context, part,
                                         c == 0   ? "BY"
                                         : c == 1 ? "RY"
                                                  : "Y",
                                         EXR_PIXEL_HALF, EXR_PERCEPTUALLY_LINEAR, c < 2 ? 2 : 1,
                                         c < 2 ? 2 : 1),
                         EXR_ERR_SUCCESS);
    assert_int_equal(exr_write_header(context), EXR_ERR_SUCCESS);
    const uint16_t half = 0x3800, less = 0xb400; /* 0.5 and -0.25 */
    for (int32_t y = 0; y < FOREIGN_HEIGHT; ++y) {
        uint8_t line[4 * FOREIGN_WIDTH];
        size_t count = 0;
        for (int c = 0; c < 2 && y % 2 == 0; ++c)
            for (int32_t x = 0; x < FOREIGN_WIDTH; x += 2)
                append(line, &count, chroma_of(c ? x : FOREIGN_WIDTH) > 0 ? &half : &less, 2);
        for (int32_t x = 0; x < FOREIGN_WIDTH; ++x) {
            const uint16_t luminance = foreign_half((uint32_t)foreign_value(2, x, y));
            append(line, &count, &luminance, 2);
        }
        assert_int_equal(exr_write_scanline_chunk(context, part, origin + y, line, count),
                         EXR_ERR_SUCCESS);
    }
    exr_finish(&context);
}

static void test_luminance_and_chroma_are_read(void **state) {
    (void)state;
    for (int32_t origin = -4; origin <= 6; origin += 10) {
        chroma_write(origin);
        image read = reading(path, NULL, false);
        for (int32_t i = 0; i < FOREIGN_WIDTH * FOREIGN_HEIGHT; ++i) {
            const int32_t x = i % FOREIGN_WIDTH, y = i / FOREIGN_WIDTH;
            const float luminance = foreign_value(2, x, y);
            const float red = image_plane(&read, "R")[i], green = image_plane(&read, "G")[i],
                        blue = image_plane(&read, "B")[i];
            /* halfway between two samples x = 9 has their mean */
            const float chroma = x == 9 ? 0.125f : chroma_of(x);
            assert_true(fabsf(red - luminance * (1 + chroma)) < 1e-4f);
            assert_true(fabsf(blue - luminance * 0.75f) < 1e-4f);
            assert_true(fabsf(0.2126f * red + 0.7152f * green + 0.0722f * blue - luminance) <
                        0.01f);
        }
        image_close(&read);
    }
    unlink(path);
}

/* B44 does not compress float channels: their chunks of 32 lines are stored as they are. */
static void test_b44_of_floats_is_read(void **state) {
    (void)state;
    exr_context_initializer_t initializer = EXR_DEFAULT_CONTEXT_INITIALIZER;
    exr_context_t context;
    int part;
    assert_int_equal(exr_start_write(&context, path, EXR_WRITE_FILE_DIRECTLY, &initializer),
                     EXR_ERR_SUCCESS);
    assert_int_equal(exr_add_part(context, "p", EXR_STORAGE_SCANLINE, &part), EXR_ERR_SUCCESS);
    const foreign layout = {
        .compression = EXR_COMPRESSION_B44, .type = EXR_PIXEL_FLOAT, .channels = {"B", "G", "R"}};
    foreign_describe(context, part, &layout);
    assert_int_equal(exr_write_header(context), EXR_ERR_SUCCESS);
    static float samples[FOREIGN_HEIGHT][3][FOREIGN_WIDTH];
    for (int32_t y = 0; y < FOREIGN_HEIGHT; ++y)
        for (int c = 0; c < 3; ++c)
            for (int32_t x = 0; x < FOREIGN_WIDTH; ++x) samples[y][c][x] = foreign_value(c, x, y);
    assert_int_equal(exr_write_scanline_chunk(context, part, 0, samples, sizeof samples),
                     EXR_ERR_SUCCESS);
    exr_finish(&context);
    expect_placed(path, 0, 0, FOREIGN_WIDTH, FOREIGN_HEIGHT);
    unlink(path);
}

static void test_largest_level_is_read(void **state) {
    (void)state;
    for (int32_t tile = 8; tile <= 32; tile *= 2) {
        const foreign layout = {.compression = EXR_COMPRESSION_ZIP,
                                .type = EXR_PIXEL_HALF,
                                .tile = tile,
                                .origin = 3,
                                .channels = {"B", "G", "R"},
                                .mips = true};
        foreign_write(path, &layout);
        expect_placed(path, 0, 0, FOREIGN_WIDTH, FOREIGN_HEIGHT);
    }
    unlink(path);
}

static void test_cubes_and_wide_pixels_are_told(void **state) {
    (void)state;
    const foreign layout = {.compression = EXR_COMPRESSION_ZIP,
                            .type = EXR_PIXEL_HALF,
                            .channels = {"B", "G", "R"},
                            .is_cube = true,
                            .aspect = 2};
    foreign_write(path, &layout);
    image read = reading(path, NULL, false);
    assert_true(read.is_cube);
    assert_non_null(strstr(said, "its pixels are 2 times as wide as high"));
    image_close(&read);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chromaticities_become_rec709),
        cmocka_unit_test(test_layers_are_chosen),
        cmocka_unit_test(test_files_without_colours_are_refused),
        cmocka_unit_test(test_parts_are_chosen),
        cmocka_unit_test(test_deep_data_are_refused_by_name),
        cmocka_unit_test(test_luminance_and_chroma_are_read),
        cmocka_unit_test(test_b44_of_floats_is_read),
        cmocka_unit_test(test_largest_level_is_read),
        cmocka_unit_test(test_cubes_and_wide_pixels_are_told),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
#else
int main(void) {
    return TEST_SKIPPED;
}
#endif
