/* Backgrounds of displayed images, and colours given as text. */
#include "core/files/file.h"
#include "core/image/tonemap.h"
#include "core/image_processing/develop.h"
#include "core/image_processing/finish.h"
#include "core/math/geometry.h"
#include "core/memory.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const channels[] = {"R", "G", "B"};

/* --- colours ---------------------------------------------------------------------------------- */

static bool read_hex(float colour[3], const char *text) {
    unsigned bytes[3];
    int used = 0;
    if (strspn(text, "0123456789abcdefABCDEF") != 6 ||
        sscanf(text, "%2x%2x%2x%n", &bytes[0], &bytes[1], &bytes[2], &used) != 3 || text[used])
        return false;
    for (int c = 0; c < 3; ++c) colour[c] = srgb_decode((float)bytes[c] / 255);
    return true;
}

static bool read_numbers(float colour[3], const char *text) {
    for (int c = 0; c < 3; ++c) {
        char *end;
        colour[c] = strtof(text, &end);
        if (end == text || !(colour[c] >= 0 && colour[c] <= 1)) return false;
        if (*end != (c < 2 ? ',' : '\0')) return false;
        text = end + 1;
    }
    return true;
}

bool image_colour_read(float colour[3], const char *text) {
    static const struct {
        const char *name, *hex;
    } names[] = {{"white", "ffffff"}, {"grey", "808080"}, {"black", "000000"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(text, names[i].name) == 0) text = names[i].hex;
    return read_hex(colour, text[0] == '#' ? text + 1 : text) || read_numbers(colour, text);
}

/* --- backgrounds ------------------------------------------------------------------------------ */

/* Reads one colour, or two with a colon between them. */
static bool read_colours(float top[3], float bottom[3], const char *text) {
    char first[IMAGE_BACKGROUND_BYTES];
    const char *colon = strchr(text, ':');
    snprintf(first, sizeof first, "%.*s", colon ? (int)(colon - text) : (int)strlen(text), text);
    return image_colour_read(top, first) && image_colour_read(bottom, colon ? colon + 1 : first);
}

const char *image_background_file(const char *text) {
    float top[3], bottom[3];
    const char *suffix = file_suffix(text);
    const bool named = suffix[0] && isalpha((unsigned char)suffix[1]);
    return named && !read_colours(top, bottom, text) ? text : NULL;
}

/* Keeps the largest rectangle in the middle that has the shape of the picture. */
static kd_status fill_picture(image *behind, int32_t width, int32_t height) {
    const double w = behind->width, h = behind->height, shape = (double)width / height;
    const int32_t across = (int32_t)fmax(1, fmin(w, floor(h * shape + 0.5)));
    const int32_t down = (int32_t)fmax(1, fmin(h, floor(w / shape + 0.5)));
    const int32_t left = (behind->width - across) / 2, top = (behind->height - down) / 2;
    const int32_t crop[4] = {left, top, left + across, top + down};
    KD_TRY(image_crop(behind, crop));
    KD_TRY(image_resize(behind, width, height));
    for (int c = 0; c < 3; ++c) {
        float *plane = image_plane(behind, channels[c]);
        for (size_t i = 0; i < (size_t)width * (size_t)height; ++i)
            plane[i] = plane[i] > 0 ? float_min(plane[i], 1) : 0;
    }
    return KD_OK;
}

/* Makes a column that is interpolated as it is displayed, after the transfer function. */
static kd_status make_column(image *out, const float top[3], const float bottom[3],
                             int32_t height) {
    KD_TRY(image_open(out, 1, height));
    for (int c = 0; c < 3; ++c) {
        const float from = srgb_encode(top[c]), to = srgb_encode(bottom[c]);
        float *plane;
        KD_TRY(image_add(out, channels[c], &plane));
        for (int32_t y = 0; y < height; ++y)
            plane[y] = height > 1 && from != to
                           ? srgb_decode(from + (to - from) * (float)y / (float)(height - 1))
                           : top[c];
    }
    return KD_OK;
}

static kd_status open_background(image *out, const char *text, int32_t width, int32_t height) {
    float top[3], bottom[3];
    if (image_background_file(text)) {
        KD_TRY(image_read(out, text));
        KD_TRY(fill_picture(out, width, height));
        return KD_OK;
    }
    KD_REQUIRE(read_colours(top, bottom, text), KD_ERROR_USAGE,
               "the background is \"%.60s\"; expected environment, transparent, #rrggbb, r,g,b (0 "
               "to 1), white, grey, black, TOP:BOTTOM (two colours) or a picture file",
               text);
    KD_TRY(make_column(out, top, bottom, height));
    return KD_OK;
}

kd_status image_background_open(image **opened, const char *text, int32_t width, int32_t height) {
    *opened = NULL;
    if (strcmp(text, "transparent") == 0) return KD_OK;
    KD_TRY(KD_RESERVE_ZEROED(*opened, 1));
    const kd_status status = open_background(*opened, text, width, height);
    if (status != KD_OK) {
        image_background_close(*opened);
        *opened = NULL;
    }
    return status;
}

void image_background_close(image *owned) {
    if (owned) image_close(owned);
    memory_free(owned);
}
