/* core/image/exr_read.c and core/image_processing/merge.c: data and display windows of EXR files,
   and the parts of a picture. */
#include "core/image/image.h"
#include "core/image_processing/develop.h"
#include "core/math/rng.h"
#include "tests/test.h"
#include <unistd.h>

#if KD_HAVE_OPENEXR
#include "tests/core/foreign_exr.h"

/* --- windows ---------------------------------------------------------------------------------- */

static void test_display_window_is_read(void **state) {
    (void)state;
    for (int32_t tile = 0; tile <= 16; tile += 16)
        for (int32_t origin = -7; origin <= 8; origin += 5) {
            foreign layout = {.compression = EXR_COMPRESSION_ZIP,
                              .type = EXR_PIXEL_FLOAT,
                              .tile = tile,
                              .origin = origin,
                              .channels = {"B", "G", "R"},
                              .shown = {-10, -8, 39, 41}};
            foreign_write(path, &layout); /* within the display window */
            expect_placed(path, origin + 10, origin + 8, 50, 50);
            assert_string_equal(said, "");
            const int32_t within[4] = {origin + 3, origin + 2, origin + 12, origin + 15};
            memcpy(layout.shown, within, sizeof within);
            foreign_write(path, &layout); /* overscan on all sides */
            expect_placed(path, -3, -2, 10, 14);
            assert_non_null(strstr(said, "outside of the display window of 10 x 14"));
            const int32_t across[4] = {origin + 20, origin - 5, origin + 30, origin + 4};
            memcpy(layout.shown, across, sizeof across);
            foreign_write(path, &layout); /* at a corner */
            expect_placed(path, -20, 5, 11, 10);
        }
    unlink(path);
}

static void test_unusable_windows_are_refused(void **state) {
    (void)state;
    foreign layout = {.compression = EXR_COMPRESSION_ZIP,
                      .type = EXR_PIXEL_HALF,
                      .channels = {"B", "G", "R"},
                      .shown = {22, 0, 60, 40}};
    foreign_write(path, &layout);
    expect_refused(path, NULL, "all pixels are outside of the display window of 39 x 41");
    const int32_t large[4] = {0, 0, 999999, 999999};
    memcpy(layout.shown, large, sizeof large);
    foreign_write(path, &layout);
    expect_refused(path, NULL, "the display window has 1000000 x 1000000 pixels");
    unlink(path);
}

/* A part that is written and read again keeps its place, and all its bits. */
static void test_windows_round_trip(void **state) {
    (void)state;
    const foreign layout = {.compression = EXR_COMPRESSION_PIZ,
                            .type = EXR_PIXEL_HALF,
                            .origin = 4,
                            .channels = {"A", "B", "G", "R", "Z"},
                            .shown = {-3, 1, 70, 30}};
    foreign_write(path, &layout);
    image first = reading(path, NULL, true);
    assert_int_equal(first.width, FOREIGN_WIDTH);
    assert_int_equal(first.left, 7);
    assert_int_equal(first.top, 3);
    assert_int_equal(first.whole_width, 74);
    assert_int_equal(first.whole_height, 30);
    assert_int_equal(image_write(&first, path, NULL), KD_OK);
    image again = reading(path, NULL, true);
    assert_int_equal(again.channel_count, 5);
    assert_int_equal(again.left, first.left);
    assert_int_equal(again.top, first.top);
    assert_int_equal(again.whole_width, first.whole_width);
    assert_int_equal(again.whole_height, first.whole_height);
    assert_memory_equal(again.corner, first.corner, sizeof again.corner);
    for (int32_t c = 0; c < 5; ++c)
        assert_memory_equal(image_plane(&again, first.names[c]), first.planes[c],
                            sizeof(float) * FOREIGN_WIDTH * FOREIGN_HEIGHT);
    image_close(&first);
    image_close(&again);
    unlink(path);
}

/* --- merging ---------------------------------------------------------------------------------- */

enum { WHOLE_WIDTH = 37, WHOLE_HEIGHT = 23, TILES = 4 };

static const int32_t tile_boxes[TILES][4] = {
    {0, 0, 20, 10}, {20, 0, 37, 23}, {0, 10, 5, 23}, {5, 10, 20, 23}};

static void whole_open(image *whole) {
    static const char *const names[] = {"R", "G", "B", "A", "Z"};
    assert_int_equal(image_open(whole, WHOLE_WIDTH, WHOLE_HEIGHT), KD_OK);
    for (uint32_t c = 0; c < 5; ++c) {
        float *plane;
        assert_int_equal(image_add(whole, names[c], &plane), KD_OK);
        for (uint32_t i = 0; i < WHOLE_WIDTH * WHOLE_HEIGHT; ++i) {
            const rng_block r = rng_draw(rng_key_make(3, c, i), 0, 0);
            const uint32_t bits = (uint32_t)(r.value[0] * 65536) << 16 | i;
            memcpy(&plane[i], &bits, 4); /* any bits, among them NaN */
        }
    }
    whole->world_to_camera[3] = 2.5f;
    whole->samples_per_pixel = 16;
}

static void tile_write(const char *name, const image *whole, const int32_t box[4]) {
    image tile;
    assert_int_equal(image_open(&tile, box[2] - box[0], box[3] - box[1]), KD_OK);
    for (int32_t c = 0; c < whole->channel_count; ++c) {
        float *plane;
        assert_int_equal(image_add(&tile, whole->names[c], &plane), KD_OK);
        for (int32_t y = 0; y < tile.height; ++y)
            memcpy(plane + (ptrdiff_t)y * tile.width,
                   whole->planes[c] + (ptrdiff_t)(box[1] + y) * whole->width + box[0],
                   (size_t)tile.width * sizeof *plane);
    }
    memcpy(tile.world_to_camera, whole->world_to_camera, sizeof tile.world_to_camera);
    tile.samples_per_pixel = whole->samples_per_pixel;
    tile.left = box[0];
    tile.top = box[1];
    tile.whole_width = whole->width;
    tile.whole_height = whole->height;
    assert_int_equal(image_write(&tile, name, NULL), KD_OK);
    image_close(&tile);
}

static void expect_unmerged(char *const *names, int count, const char *words) {
    const image_reading how = {.layer = NULL};
    image merged;
    assert_int_equal(image_merge(&merged, names, count, &how), KD_ERROR_INPUT);
    if (!strstr(kd_last_error(), words) || !strstr(kd_last_error(), names[count - 1]) ||
        strchr(kd_last_error(), '\n'))
        fail_msg("\"%s\" lacks \"%s\" or the file's name", kd_last_error(), words);
}

static void test_tiles_are_merged_bit_for_bit(void **state) {
    (void)state;
    const image_reading how = {.layer = NULL};
    image whole, merged;
    char names[TILES + 1][272], *list[TILES + 1];
    whole_open(&whole);
    for (int i = 0; i <= TILES; ++i) {
        snprintf(names[i], sizeof names[i], "%s/tile%d.exr", folder, i);
        list[i] = names[i];
        if (i < TILES) tile_write(names[i], &whole, tile_boxes[i]);
    }
    assert_int_equal(image_merge(&merged, list, TILES, &how), KD_OK);
    assert_int_equal(merged.whole_width, 0);
    assert_int_equal(merged.width, WHOLE_WIDTH);
    assert_int_equal(merged.samples_per_pixel, 16);
    assert_memory_equal(merged.world_to_camera, whole.world_to_camera, sizeof(float[16]));
    for (int32_t c = 0; c < whole.channel_count; ++c)
        assert_memory_equal(image_plane(&merged, whole.names[c]), whole.planes[c],
                            sizeof(float) * WHOLE_WIDTH * WHOLE_HEIGHT);
    image_close(&merged);
    /* tiles that do not cover the picture are a part of it, and merged again later */
    said[0] = '\0';
    assert_int_equal(image_merge(&merged, list + 2, 2, &how), KD_OK);
    assert_non_null(strstr(said, "591 of the 851 pixels are in no file"));
    assert_int_equal(merged.left, 0);
    assert_int_equal(merged.top, 10);
    assert_int_equal(merged.width, 20);
    assert_int_equal(image_write(&merged, names[TILES], NULL), KD_OK);
    image_close(&merged);
    list[2] = names[TILES];
    assert_int_equal(image_merge(&merged, list, 3, &how), KD_OK);
    assert_memory_equal(image_plane(&merged, "Z"), image_plane(&whole, "Z"),
                        sizeof(float) * WHOLE_WIDTH * WHOLE_HEIGHT);
    image_close(&merged);
    for (int i = 0; i <= TILES; ++i) unlink(names[i]);
    image_close(&whole);
}

static void test_unlike_tiles_are_refused(void **state) {
    (void)state;
    image whole;
    char names[2][272], *list[2] = {names[0], names[1]};
    const int32_t other[4] = {19, 9, 25, 12};
    whole_open(&whole);
    for (int i = 0; i < 2; ++i) snprintf(names[i], sizeof names[i], "%s/tile%d.exr", folder, i);
    tile_write(names[0], &whole, tile_boxes[0]);
    tile_write(names[1], &whole, other); /* one pixel in common */
    expect_unmerged(list, 2, "overlap");
    whole.world_to_camera[3] = 2;
    tile_write(names[1], &whole, tile_boxes[2]);
    expect_unmerged(list, 2, "its camera is not that of");
    whole.world_to_camera[3] = 2.5f;
    strcpy(whole.names[4], "Q");
    tile_write(names[1], &whole, tile_boxes[2]);
    expect_unmerged(list, 2, "found no channel Z");
    whole.height -= 1;
    tile_write(names[1], &whole, tile_boxes[0]);
    expect_unmerged(list, 2, "its display window has 37 x 22 pixels");
    snprintf(names[1], sizeof names[1], "%s/tile.pfm", folder);
    expect_unmerged(list, 2, "do not contain their place");
    unlink(names[0]);
    snprintf(names[1], sizeof names[1], "%s/tile1.exr", folder);
    unlink(names[1]);
    image_close(&whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_display_window_is_read),
        cmocka_unit_test(test_unusable_windows_are_refused),
        cmocka_unit_test(test_windows_round_trip),
        cmocka_unit_test(test_tiles_are_merged_bit_for_bit),
        cmocka_unit_test(test_unlike_tiles_are_refused),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
#else
int main(void) {
    return TEST_SKIPPED;
}
#endif
