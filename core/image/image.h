/* An image in memory: named float channels of one size, and the files it is read from and written
   to by suffix. Rows from the top; every channel is its own plane. */
#ifndef KD_CORE_IMAGE_IMAGE_H
#define KD_CORE_IMAGE_IMAGE_H
#include "core/status.h"
#include <kandela/render.h>
#include <stdint.h>

enum { IMAGE_CHANNELS = 32 };

/* Colours are multiplied by "A" where there is one (PNG files hold them divided; where A is 0 they
   pass as they are). */
typedef struct image {
    int32_t width, height, channel_count;
    char names[IMAGE_CHANNELS][32]; /* "R", "G", "B", "A", "Z", "N.X", "Albedo.R", ... */
    float *planes[IMAGE_CHANNELS];  /* width x height each; owned */
    /* written as EXR attributes */
    float world_to_camera[16]; /* row major; multiplies column vectors */
    int32_t samples_per_pixel;
    double render_seconds;
} image;

kd_status image_open(image *out, int32_t width, int32_t height); /* no channels yet */
kd_status image_add(image *to, const char *name,
                    float **plane);                    /* zeroed; *plane stays the image's */
float *image_plane(const image *of, const char *name); /* NULL if absent */
void image_close(image *owned);                        /* takes a zeroed one */

typedef struct image_encoding { /* for 8-bit files */
    float exposure;             /* stops; NAN: image_exposure() */
    kd_tonemap tonemap;
} image_encoding;

/* By suffix (core/image/formats.h). Written to a temporary file and renamed. */
kd_status image_write(const image *from, const char *path, const image_encoding *encoding);
/* 8 bits come back linear (sRGB decoded), EXR and PFM as they are; at least R, G, B exist after. */
kd_status image_read(image *out, const char *path);
/* The same for those who look at R, G, B and A alone: other planes may be there or not. */
kd_status image_read_colours(image *out, const char *path);
/* mid-grey, a reflectance of 18 %; the share of what is covered that an exposure may cut */
#define IMAGE_GREY 0.18f
#define IMAGE_HIGHLIGHTS 0.05f
/* The exposure of a picture that nobody has chosen one for. A dark picture is raised until the
   weighted log-average of what it covers (A > 0) is IMAGE_GREY, one that is not stays as it is; but
   either is kept so dark that at most IMAGE_HIGHLIGHTS of it, by the largest channel of small
   cells, become brighter than white. Few samples a pixel give nearly the stops that many give. */
kd_status image_exposure(float *stops, const image *of);
/* Whether image_write knows this path's suffix (and it is compiled in): KD_ERROR_USAGE with the
 * list. */
kd_status image_writable(const char *path);

/* The hash of pixel values: channels R, G, B, bit for bit. */
uint64_t image_hash(const image *of);

#endif
