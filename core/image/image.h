/* An image in memory: named float channels of one size, each a separate plane with rows from the
   top; and reading of image files by contents or suffix, writing in a format chosen by suffix. */
#ifndef KD_CORE_IMAGE_IMAGE_H
#define KD_CORE_IMAGE_IMAGE_H
#include "core/status.h"
#include <kandela/render.h>
#include <stdbool.h>
#include <stdint.h>

enum { IMAGE_CHANNELS = 32 };

/* If there is an "A" channel, colours are premultiplied by it. PNG stores them unpremultiplied;
   where A is 0 colours are stored unchanged. */
typedef struct image {
    int32_t width, height, channel_count;
    char names[IMAGE_CHANNELS][32]; /* "R", "G", "B", "A", "Z", "N.X", "Albedo.R", ... */
    float *planes[IMAGE_CHANNELS];  /* width * height each; owned */
    /* Of a part of a picture, such as a crop: its first pixel in the picture, and the size of the
       picture; a part may extend beyond it. A width of 0: the planes are the whole picture. */
    int32_t left, top, whole_width, whole_height;
    int32_t corner[2]; /* the picture's first pixel in an EXR file's coordinates */
    /* stored as EXR attributes */
    float world_to_camera[16]; /* row major; multiplies column vectors */
    int32_t samples_per_pixel;
    double render_seconds;
    char method[32]; /* integrator of the picture, such as "path"; empty: unknown */
    /* origin of the scene (scene_view.h), for positions made of Z; stored as sceneOrigin if not 0
     */
    double scene_origin[3];
    bool exposed; /* the light suits an exposure of 0 stops, which image_exposure() then gives */
    bool is_cube; /* the six faces of a cube, one below the other: OpenEXR's envmap attribute */
} image;

kd_status image_open(image *out, int32_t width, int32_t height);    /* without channels */
kd_status image_add(image *image, const char *name, float **plane); /* zeroed */
float *image_plane(const image *image, const char *name);           /* returns NULL if absent */
void image_close(image *owned);                                     /* accepts a zeroed struct */

typedef struct image_encoding { /* for 8-bit files */
    float exposure;             /* stops; NAN selects image_exposure() */
    kd_tonemap tonemap;
    /* What is shown where the image is not fully covered: planes R, G, B, linear, 0 to 1, as
       displayed. It lies over the whole picture from the top left; its last row and column
       continue. NULL: the file stores the coverage. */
    const image *background;
} image_encoding;

/* Writes the image in the format of the suffix (core/image/formats.h), atomically through a
   temporary file. */
kd_status image_write(const image *image, const char *path, const image_encoding *encoding);
/* Reads an image of the format that its contents or else its suffix tell: 8-bit formats are
   converted from sRGB to linear, EXR and Radiance files from their primaries to Rec. 709, PFM
   values are unchanged. The result has at least R, G and B, and is the whole picture. */
kd_status image_read(image *out, const char *path);

typedef struct image_reading {
    const char *layer;  /* layer or part of an EXR file to be read as R, G, B; NULL: by its name */
    bool colours_alone; /* planes other than R, G, B and A may be missing */
    bool keeps_window;  /* the result may be a part of a picture */
} image_reading;

kd_status image_read_as(image *out, const char *path, const image_reading *reading);

/* Makes an image that is a part the whole picture: what the part does not cover becomes 0, and what
   is outside of the picture is dropped. May return KD_ERROR_MEMORY. */
kd_status image_fill(image *image);
/* middle grey, a reflectance of 18 %; the fraction of covered pixels that an exposure may clip */
#define IMAGE_GREY 0.18f
#define IMAGE_HIGHLIGHTS 0.05f
/* Computes an automatic exposure. If the weighted log-average luminance of the covered pixels (A >
   0) is below IMAGE_GREY, the exposure raises it to IMAGE_GREY; otherwise it is 0 stops. In both
   cases it is limited so that at most a fraction IMAGE_HIGHLIGHTS of the covered pixels, measured
   by the largest channel of small cells, exceeds white. The result is insensitive to noise. */
kd_status image_exposure(float *stops, const image *image);
/* Makes FILE_STDOUT (core/files/file.h) a picture in the format of this name ("png"), which
   image_write writes to standard output. */
kd_status image_use_stdout(const char *format);
/* Returns KD_ERROR_USAGE, with the list of suffixes, if image_write does not support the path's
   suffix in this build. */
kd_status image_writable(const char *path);

/* Returns a hash of the exact values of channels R, G and B. */
uint64_t image_hash(const image *image);

#endif
