/* The finish of displayed images: background, bloom, vignette, white balance, contrast,
   saturation. */
#ifndef KD_CORE_IMAGE_PROCESSING_FINISH_H
#define KD_CORE_IMAGE_PROCESSING_FINISH_H
#include "core/image/image.h"

enum { IMAGE_BACKGROUND_BYTES = 256 }; /* of the text of a background */

/* Reads "#rrggbb" (sRGB), "r,g,b" (linear, 0 to 1), "white", "grey" or "black". Returns false for
   other texts. */
bool image_colour_read(float colour[3], const char *text);
/* Returns the text if it names a picture: it has a suffix, and is neither a colour nor two; NULL
   otherwise. */
const char *image_background_file(const char *text);
/* Makes the background of a picture of that size: of a colour, two colours "top:bottom", or a
   picture file, which fills it and is cut at the sides; "transparent" gives NULL. Close it by
   image_background_close. */
kd_status image_background_open(image **opened, const char *text, int32_t width, int32_t height);
void image_background_close(image *owned); /* may be NULL */

/* For 8-bit files. A zeroed struct changes nothing. */
typedef struct image_finish {
    float bloom;        /* fraction of the light that the lens scatters around each pixel */
    float bloom_radius; /* standard deviation of the widest part, in heights of the picture */
    float vignette;     /* darkening of the corners, 0 to 1 */
    float contrast;     /* exponent of the exposed values about middle grey; 0 or 1: unchanged */
    float colourless;   /* 1 - saturation */
    /* the colour that is shown as white: "none"; "3200K"; or as a background's */
    char white_balance[24];
} image_finish;

/* Returns true if the finish changes nothing. */
bool image_finish_is_none(const image_finish *finish);
/* Returns KD_ERROR_USAGE if the white balance cannot be read. */
kd_status image_finish_check(const image_finish *finish);

/* As image_write; files that are not displayed are written without the finish. */
kd_status finish_write(const image *image, const char *path, const image_encoding *encoding,
                       const image_finish *finish);
/* Makes `out`, with R, G, B and, if `from` has it, A: the image with exposure and finish applied.
   The exposure must not be NAN. The result does not depend on the number of threads. On failure
   `out` is closed. */
kd_status image_finish_make(image *out, const image *from, float exposure,
                            const image_finish *finish);

/* Rows of options whose fields have the same names in both structs. */
#define IMAGE_FINISH_ROWS(type)                                                                    \
    {OPTION_ROW(type, "bloom", OPTION_FLOAT, bloom),                                               \
     .argument = "SHARE",                                                                          \
     .initial = "0",                                                                               \
     .maximum = 1,                                                                                 \
     .resume = OPTION_RESUME_FREE,                                                                 \
     .help = "glow around bright places of 8-bit pictures: the share of light that is spread, "    \
             "such as 0.05"},                                                                      \
        {OPTION_ROW(type, "bloom-radius", OPTION_FLOAT, bloom_radius),                             \
         .argument = "R",                                                                          \
         .initial = "0.05",                                                                        \
         .maximum = 1,                                                                             \
         .unit = "heights of the picture",                                                         \
         .resume = OPTION_RESUME_FREE,                                                             \
         .help = "radius of the widest part of the glow"},                                         \
        {OPTION_ROW(type, "vignette", OPTION_FLOAT, vignette),                                     \
         .argument = "V",                                                                          \
         .initial = "0",                                                                           \
         .maximum = 1,                                                                             \
         .resume = OPTION_RESUME_FREE,                                                             \
         .help = "darken the corners of 8-bit pictures by this share"},                            \
        {OPTION_ROW(type, "white-balance", OPTION_NAME, white_balance), .argument = "WHITE",       \
         .initial = "none", .resume = OPTION_RESUME_FREE,                                          \
         .help = "colour that 8-bit pictures show as white: a temperature (3200K), "               \
                 "#rrggbb or r,g,b"},                                                              \
        {OPTION_ROW(type, "contrast", OPTION_FLOAT, contrast),                                     \
         .argument = "C",                                                                          \
         .initial = "1",                                                                           \
         .minimum = 0.1,                                                                           \
         .maximum = 10,                                                                            \
         .resume = OPTION_RESUME_FREE,                                                             \
         .help = "contrast of 8-bit pictures about middle grey, before the tone curve"},           \
    {                                                                                              \
        OPTION_ROW(type, "saturation", OPTION_FLOAT, saturation),                                  \
            .argument = "S", .initial = "1", .maximum = 10, .resume = OPTION_RESUME_FREE,          \
            .help = "saturation of 8-bit "                                                         \
                    "pictures; 0: grey"                                                            \
    }

/* Sets the finish from the fields of such a struct. */
#define IMAGE_FINISH_TAKE(out, from)                                                               \
    do {                                                                                           \
        (out)->bloom = (from)->bloom;                                                              \
        (out)->bloom_radius = (from)->bloom_radius;                                                \
        (out)->vignette = (from)->vignette;                                                        \
        (out)->contrast = (from)->contrast;                                                        \
        (out)->colourless = 1 - (from)->saturation;                                                \
        memcpy((out)->white_balance, (from)->white_balance, sizeof(out)->white_balance);           \
    } while (0)

#endif
