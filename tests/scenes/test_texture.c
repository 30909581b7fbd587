/* shaders/texture.h against double precision, and scenes/assembly/scene_textures.c: how files
   become textures. */
#include "core/math/rng.h"
#include "core/memory.h"
#include "core/status.h"
#include "scenes/assembly/scene_parts.h"
#include "tests/scenes/files.h"
#include <stb/stb_image_write.h>

static const double pi = 3.14159265358979323846;

static void test_srgb_follows_the_standard(void **state) {
    (void)state;
    for (int i = 0; i < 256; ++i) {
        const double c = i / 255.0;
        const double expected = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
        assert_true(fabs((double)srgb_to_linear((uint8_t)i) - expected) <= 1e-7 * expected);
    }
}

/* --- lookups ---------------------------------------------------------------------------------- */

enum { WIDE = 5, HIGH = 3 };

static float texels[HIGH][WIDE][3];

static texture_view numbered_image(bool clamp) {
    texture_view image;
    memset(&image, 0, sizeof image);
    for (uint32_t i = 0; i < HIGH * WIDE; ++i) {
        const rng_block r = rng_draw(rng_key_make(7, 0, i), 0, 0);
        memcpy(texels[i / WIDE][i % WIDE], r.value, 3 * sizeof(float));
    }
    image.floats = &texels[0][0][0];
    image.width = WIDE;
    image.height = HIGH;
    image.clamp = clamp;
    image.scale = vec2_make(1, 1);
    return image;
}

static int fold(int i, int size, bool clamp) {
    if (clamp) return i < 0 ? 0 : i >= size ? size - 1 : i;
    return ((i % size) + size) % size;
}

/* Channel c at (u, v): bilinear interpolation of the texels, in double precision. */
static double slow_sample(double u, double v, bool clamp, int c) {
    if (clamp) {
        u = fmin(fmax(u, 0), 1);
        v = fmin(fmax(v, 0), 1);
    }
    const double x = u * WIDE - 0.5, y = (1 - v) * HIGH - 0.5;
    double sum = 0;
    for (int i = (int)floor(x); i <= (int)floor(x) + 1; ++i)
        for (int j = (int)floor(y); j <= (int)floor(y) + 1; ++j)
            sum += (1 - fabs(x - i)) * (1 - fabs(y - j)) *
                   (double)texels[fold(j, HIGH, clamp)][fold(i, WIDE, clamp)][c];
    return sum;
}

static void test_samples_are_bilinear(void **state) {
    (void)state;
    for (int clamp = 0; clamp < 2; ++clamp) {
        const texture_view image = numbered_image(clamp != 0);
        for (uint32_t i = 0; i < 20000; ++i) {
            const rng_block r = rng_draw(rng_key_make(9, 1, i), 0, 0);
            const vec2 at = vec2_make(6 * r.value[0] - 3, 6 * r.value[1] - 3);
            const vec3 actual = texture_sample(&image, at);
            const double u = (double)at.x, v = (double)at.y;
            assert_true(fabs((double)actual.x - slow_sample(u, v, clamp != 0, 0)) < 1e-5);
            assert_true(fabs((double)actual.z - slow_sample(u, v, clamp != 0, 2)) < 1e-5);
        }
    }
}

static double mirrored(double x) {
    const double turn = x - 2 * floor(x / 2);
    return turn > 1 ? 2 - turn : turn;
}

/* Each axis has its own wrap mode, and u and v may be sheared. */
static void test_wrap_modes_per_axis_and_shear(void **state) {
    (void)state;
    for (uint32_t u_wrap = 0; u_wrap < 3; ++u_wrap)
        for (uint32_t v_wrap = 0; v_wrap < 3; ++v_wrap) {
            texture_view image = numbered_image(false);
            image.clamp = texture_wraps(u_wrap, v_wrap);
            assert_true(u_wrap != v_wrap || u_wrap == 2 || image.clamp == u_wrap);
            image.shear = vec2_make(0.75f, -1.5f);
            for (uint32_t i = 0; i < 4000; ++i) {
                const rng_block r = rng_draw(rng_key_make(9, 2, i), 0, 0);
                const vec2 at = vec2_make(4 * r.value[0] - 2, 4 * r.value[1] - 2);
                double u = (double)at.x + 0.75 * (double)at.y,
                       v = (double)at.y - 1.5 * (double)at.x;
                /* the reference repeats, so for the other modes coordinates are mirrored and
                   clamped to the texel centres at the borders */
                if (u_wrap == TEXTURE_MIRROR) u = mirrored(u);
                if (v_wrap == TEXTURE_MIRROR) v = mirrored(v);
                if (u_wrap) u = fmin(fmax(u, 0.5 / WIDE), 1 - 0.5 / WIDE);
                if (v_wrap) v = fmin(fmax(v, 0.5 / HIGH), 1 - 0.5 / HIGH);
                const double actual = (double)texture_sample(&image, at).y;
                assert_true(fabs(actual - slow_sample(u, v, false, 1)) < 1e-5);
            }
        }
}

static void test_texel_centres_and_v_direction(void **state) {
    (void)state;
    const texture_view image = numbered_image(false);
    for (int y = 0; y < HIGH; ++y)
        for (int x = 0; x < WIDE; ++x) {
            const vec2 at = vec2_make(((float)x + 0.5f) / WIDE, 1 - ((float)y + 0.5f) / HIGH);
            assert_true(fabsf(texture_sample(&image, at).y - texels[y][x][1]) < 1e-6f);
        }
}

static void test_extreme_coordinates_stay_in_range(void **state) {
    (void)state;
    static const float extreme[] = {NAN,       INFINITY,   -INFINITY,  FLT_MAX, -FLT_MAX,
                                    0x1p-149f, -0x1p-149f, 1e10f,      -1e10f,  0.99999994f,
                                    1.0f,      -0.0f,      16777217.0f};
    for (int clamp = 0; clamp < 2; ++clamp) {
        texture_view image = numbered_image(clamp != 0);
        for (size_t i = 0; i < sizeof extreme / sizeof *extreme; ++i)
            for (size_t j = 0; j < sizeof extreme / sizeof *extreme; ++j) {
                const vec3 actual = texture_sample(&image, vec2_make(extreme[i], extreme[j]));
                assert_true(actual.x >= 0 && actual.x <= 1);
            }
        image.scale = vec2_make(2, -3);
        image.offset = vec2_make(0.25f, 0.5f);
        const texture_view plain = numbered_image(clamp != 0);
        const vec3 scaled = texture_sample(&image, vec2_make(0.1f, 0.2f));
        const vec3 same = texture_sample(&plain, vec2_make(0.45f, -0.1f));
        assert_true(fabsf(scaled.x - same.x) < 1e-5f);
    }
}

static void test_sky_directions(void **state) {
    (void)state;
    const vec2 centre = latlong_from_direction(vec3_make(0, 0, -1), 0);
    assert_true(fabsf(centre.x - 0.5f) < 1e-6f && fabsf(centre.y - 0.5f) < 1e-6f);
    const vec2 right = latlong_from_direction(vec3_make(1, 0, 0), 0);
    assert_true(fabsf(right.x - 0.75f) < 1e-6f);
    assert_true(latlong_from_direction(vec3_make(0, 1, 0), 0).y == 0);
    /* a quarter turn to the left moves the centre to -x */
    const vec3 turned = latlong_to_direction(vec2_make(0.5f, 0.5f), KD_PI / 2);
    assert_true(turned.x < -0.9999f);
    for (uint32_t i = 0; i < 10000; ++i) {
        const rng_block r = rng_draw(rng_key_make(3, 2, i), 0, 0);
        const vec2 at = vec2_make(r.value[0], 0.01f + 0.98f * r.value[1]);
        const float rotation = 12 * r.value[2] - 6;
        const vec3 direction = latlong_to_direction(at, rotation);
        assert_true(fabsf(vec3_length2(direction) - 1) < 1e-5f);
        const vec2 back = latlong_from_direction(direction, rotation);
        const float gap = fabsf(back.x - at.x);
        assert_true(float_min(gap, 1 - gap) < 1e-4f && fabsf(back.y - at.y) < 1e-4f);
    }
}

/* The mean over the sphere of an image of cos^2(theta) is one third. */
static void test_sky_lookups_integrate(void **state) {
    (void)state;
    enum { W = 64, H = 128, STEPS = 256 };
    static float sky[H][W][3];
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x)
            sky[y][x][0] = float_square(cosf(((float)y + 0.5f) / H * KD_PI));
    texture_view image;
    memset(&image, 0, sizeof image);
    image.floats = &sky[0][0][0];
    image.width = W;
    image.height = H;
    image.scale = vec2_make(1, 1);
    double sum = 0;
    for (int i = 0; i < STEPS; ++i)
        for (int j = 0; j < STEPS; ++j) {
            const double theta = (i + 0.5) / STEPS * pi;
            const vec3 direction = latlong_to_direction(
                vec2_make(((float)j + 0.5f) / STEPS, ((float)i + 0.5f) / STEPS), 1);
            sum += (double)texture_latlong(&image, direction, 1).x * sin(theta) * pi / 2 / STEPS /
                   STEPS;
        }
    assert_true(fabs(sum - 1.0 / 3) < 1e-3);
}

/* --- files ------------------------------------------------------------------------------------ */

typedef struct bytes_out {
    char *bytes;
    size_t count;
} bytes_out;

static void take_bytes(void *context, void *data, int size) {
    bytes_out *to = (bytes_out *)context;
    to->bytes = (char *)realloc(to->bytes, to->count + (size_t)size);
    memcpy(to->bytes + to->count, data, (size_t)size);
    to->count += (size_t)size;
}

static void write_png(const char *name, int width, int height, int channels, const uint8_t *data) {
    bytes_out out = {NULL, 0};
    assert_true(
        stbi_write_png_to_func(take_bytes, &out, width, height, channels, data, width * channels));
    file_put(name, out.bytes, out.count);
    free(out.bytes);
}

static texture_view load_one(texture_store *store, const char *path, texture_role role) {
    const texture_request request = {
        path,           role,        vec2_make(1, 1), vec2_make(0, 0), vec2_make(0, 0),
        TEXTURE_REPEAT, {0, 0, 0, 0}};
    uint32_t index = KD_NONE;
    memset(store, 0, sizeof *store);
    assert_int_equal(texture_store_add(store, &request, &index), KD_OK);
    assert_int_equal(texture_store_load(store), KD_OK);
    return store->views[index];
}

static void test_texture_use_selects_channels(void **state) {
    (void)state;
    static const uint8_t rgba[] = {10, 20, 30, 40, 50, 60, 70, 80};
    static const struct {
        texture_role role;
        int first[3];
        bool srgb;
    } expected[] = {{TEXTURE_COLOUR, {10, 20, 30}, true},  {TEXTURE_NORMAL, {10, 20, 30}, false},
                    {TEXTURE_GREY, {10, 10, 10}, false},   {TEXTURE_GREEN, {20, 20, 20}, false},
                    {TEXTURE_BLUE, {30, 30, 30}, false},   {TEXTURE_ALPHA, {40, 40, 40}, false},
                    {TEXTURE_OPACITY, {40, 40, 40}, false}};
    write_png("rgba.png", 2, 1, 4, rgba);
    write_png("rgb.png", 2, 1, 3, rgba);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; ++i) {
        texture_store store;
        const texture_view view = load_one(&store, file_in("rgba.png"), expected[i].role);
        assert_int_equal(view.width, 2);
        assert_int_equal(view.srgb, expected[i].srgb);
        for (int c = 0; c < 3; ++c)
            assert_int_equal(view.bytes[view.samples > 2 ? c : 0], expected[i].first[c]);
        texture_store_close(&store);
    }
    texture_store store;
    texture_view view = load_one(&store, file_in("rgb.png"), TEXTURE_OPACITY);
    assert_int_equal(view.bytes[0], 10); /* without alpha: grey */
    texture_store_close(&store);
    static const uint8_t opaque[8] = {10, 20, 30, 255, 50, 60, 70, 255};
    write_png("opaque.png", 2, 1, 4, opaque);
    view = load_one(&store, file_in("opaque.png"), TEXTURE_OPACITY);
    assert_int_equal(view.bytes[1], 50); /* alpha is constant, so grey is used */
    texture_store_close(&store);
}

/* Normal maps are distinguished from height maps by their colours. */
static void test_normal_maps_are_distinguished_from_height_maps(void **state) {
    (void)state;
    static const uint8_t normals[12] = {128, 128, 255, 190, 128, 239, 128, 66, 239, 110, 140, 252};
    static const uint8_t heights[12] = {9, 9, 9, 128, 128, 128, 200, 200, 200, 90, 90, 255};
    write_png("normals.png", 4, 1, 3, normals);
    write_png("heights.png", 4, 1, 3, heights);
    for (int flat = 0; flat < 2; ++flat) {
        texture_store store;
        load_one(&store, file_in(flat ? "heights.png" : "normals.png"), TEXTURE_GREY);
        assert_true(store.images[0].shows_normals == !flat);
        texture_store_close(&store);
    }
}

static void test_hdr_files_stay_linear(void **state) {
    (void)state;
    /* mantissas and an exponent: 128 and 129 are 0.5 and 1 */
    static const char head[] = "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 2\n";
    static const uint8_t rgbe[] = {32, 64, 128, 129, 100, 200, 0, 137};
    static const float bright[] = {0.25f, 0.5f, 1, 200, 400, 0};
    char file[sizeof head - 1 + sizeof rgbe];
    memcpy(file, head, sizeof head - 1);
    memcpy(file + sizeof head - 1, rgbe, sizeof rgbe);
    file_put("bright.hdr", file, sizeof file);
    texture_store store;
    const texture_view view = load_one(&store, file_in("bright.hdr"), TEXTURE_SKY);
    assert_non_null(view.floats);
    for (int i = 0; i < 6; ++i) assert_true(view.floats[i] == bright[i]);
    texture_store_close(&store);
}

static void test_equal_images_are_read_once(void **state) {
    (void)state;
    static const uint8_t grey[] = {1, 2, 3};
    texture_store store;
    uint32_t index[4];
    memset(&store, 0, sizeof store);
    write_png("grey.png", 1, 1, 3, grey);
    texture_request request = {file_in("grey.png"), TEXTURE_COLOUR,  vec2_make(1, 1),
                               vec2_make(0, 0),     vec2_make(0, 0), TEXTURE_REPEAT,
                               {0, 0, 0, 0}};
    for (int i = 0; i < 4; ++i) {
        if (i == 2) request.scale.x = 2;
        if (i == 3) request.role = TEXTURE_GREY;
        assert_int_equal(texture_store_add(&store, &request, &index[i]), KD_OK);
    }
    assert_int_equal(index[0], index[1]);
    assert_int_equal(store.view_count, 3);
    assert_int_equal(store.image_count, 2);
    assert_int_equal(texture_store_load(&store), KD_OK);
    assert_true(store.views[index[0]].bytes == store.views[index[2]].bytes);
    texture_store_close(&store);
}

/* A texture keeps as many channels as its file has; a map of single values keeps one. */
static void test_channel_count_is_preserved(void **state) {
    (void)state;
    static const uint8_t rgb[] = {10, 20, 30, 200, 100, 0};
    static const struct {
        texture_role role;
        uint32_t samples;
    } rows[] = {{TEXTURE_COLOUR, 3}, {TEXTURE_NORMAL, 3}, {TEXTURE_SKY, 3},
                {TEXTURE_GREY, 1},   {TEXTURE_ALPHA, 1},  {TEXTURE_OPACITY, 1}};
    write_png("deep.png", 2, 1, 3, rgb);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        texture_store store;
        const texture_view view = load_one(&store, file_in("deep.png"), rows[i].role);
        assert_null(view.floats);
        assert_int_equal(view.samples, rows[i].samples);
        texture_store_close(&store);
    }
    texture_store store;
    const texture_view sky = load_one(&store, file_in("deep.png"), TEXTURE_SKY);
    const vec3 seen = texture_texel(&sky, 1, 0);
    assert_true(seen.x == srgb_to_linear(200) && seen.y == srgb_to_linear(100) && seen.z == 0);
    texture_store_close(&store);
}

/* One budget applies to all images together, before any is decoded. */
static void test_textures_share_one_budget(void **state) {
    (void)state;
    enum { SIDE = 64, BYTES = 3 * SIDE * SIDE };
    static const uint8_t black[BYTES] = {0};
    texture_request request = {
        NULL,           TEXTURE_COLOUR, vec2_make(1, 1), vec2_make(0, 0), vec2_make(0, 0),
        TEXTURE_REPEAT, {0, 0, 0, 0}};
    char names[3][32];
    for (int fits = 0; fits < 2; ++fits) {
        texture_store store;
        memset(&store, 0, sizeof store);
        for (int i = 0; i < 3; ++i) {
            uint32_t index;
            snprintf(names[i], sizeof names[i], "part%d.png", i);
            write_png(names[i], SIDE, SIDE, 3, black);
            request.path = file_in(names[i]);
            assert_int_equal(texture_store_add(&store, &request, &index), KD_OK);
        }
        store.budget = fits ? 1 << 20 : 3 * BYTES;
        assert_int_equal(texture_store_load(&store), fits ? KD_OK : KD_ERROR_MEMORY);
        if (!fits) assert_non_null(strstr(kd_last_error(), "--max-texture-memory"));
        for (int i = 0; i < 3; ++i) assert_true(store.images[i].loaded == fits);
        texture_store_close(&store);
    }
}

static int warnings;

static void count_warnings(void *context, log_level level, const char *message) {
    (void)context, (void)message;
    warnings += level == LOG_WARNING;
}

/* The header of a PNG that claims 60000 x 60000 texels. */
static const char huge_png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xea\x60\0\0\xea\x60\x08\2\0\0\0"
                               "\0\0\0\0\0\0\0\0IDAT";

static void test_unusable_images_become_neutral(void **state) {
    (void)state;
    static const uint8_t grey[3 * 64] = {7};
    write_png("cut.png", 8, 8, 3, grey);
    FILE *file = fopen(file_in("cut.png"), "r+b");
    assert_int_equal(ftruncate(fileno(file), 60), 0);
    fclose(file);
    file_put("huge.png", huge_png, sizeof huge_png);
    file_put_text("text.png", "no image");
    file_put_text("empty.png", "");
    static const char *const names[] = {"cut.png", "huge.png", "text.png", "empty.png", "none.png"};
    log_set_sink(count_warnings, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        for (int role = TEXTURE_COLOUR; role <= TEXTURE_OPACITY; ++role) {
            texture_store store;
            warnings = 0;
            const texture_view view = load_one(&store, file_in(names[i]), (texture_role)role);
            assert_int_equal(warnings, 1);
            const vec3 actual = texture_sample(&view, vec2_make(0.3f, 0.8f));
            if (role == TEXTURE_NORMAL)
                assert_true(fabsf(actual.x - 0.5f) < 0.01f && actual.z == 1);
            else
                assert_true(actual.x == 1 && actual.y == 1 && actual.z == 1);
            assert_non_null(strstr(store.images[0].message, names[i]));
            texture_store_close(&store);
        }
    log_set_sink(NULL, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srgb_follows_the_standard),
        cmocka_unit_test(test_samples_are_bilinear),
        cmocka_unit_test(test_wrap_modes_per_axis_and_shear),
        cmocka_unit_test(test_texel_centres_and_v_direction),
        cmocka_unit_test(test_extreme_coordinates_stay_in_range),
        cmocka_unit_test(test_sky_directions),
        cmocka_unit_test(test_sky_lookups_integrate),
        cmocka_unit_test(test_texture_use_selects_channels),
        cmocka_unit_test(test_normal_maps_are_distinguished_from_height_maps),
        cmocka_unit_test(test_hdr_files_stay_linear),
        cmocka_unit_test(test_equal_images_are_read_once),
        cmocka_unit_test(test_channel_count_is_preserved),
        cmocka_unit_test(test_textures_share_one_budget),
        cmocka_unit_test(test_unusable_images_become_neutral),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
