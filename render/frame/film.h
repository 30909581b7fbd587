/* Where samples add up: sums per pixel in double, in sample order, so that the picture does not
   depend on threads, tiles or passes. */
#ifndef KD_RENDER_FRAME_FILM_H
#define KD_RENDER_FRAME_FILM_H
#include "core/image/image.h"
#include "render/frame/integrator.h"

typedef struct film {
    int32_t x0, y0, width, height; /* the part of the full image that is kept */
    film_pixel *pixels;
    bool resumed; /* it holds samples of another run */
} film;

#ifdef __cplusplus
extern "C" {
#endif

kd_status film_open(film *out, const int32_t crop[4]); /* x0, y0, x1, y1, half open */
void film_close(film *owned);                          /* takes a zeroed one */

/* Adds a sample to pixel (x, y) of the full image; one that is not finite counts as black. False if
   it was such a one. */
bool film_add(film *to, int32_t x, int32_t y, const pixel_sample *sample);

uint32_t film_samples(const film *of, int32_t x, int32_t y);

/* Smallest number of samples that any pixel has. */
uint32_t film_least_samples(const film *of);

/* The root of the relMSE (compare.h) that the picture's noise makes, by the samples' own variance:
   of v, the mean of the channels, the root of the mean over the pixels of
   variance(v) / samples / (v^2 + 0.01). INFINITY where a pixel has less than two samples. Samples
   are taken as independent of each other: what all share, as photons of one map, is not seen. */
kd_status film_error(double *error, const film *of);

/* Of the pixels' means; those without a sample are black. */
kd_status film_mean(float mean[3], const film *of);

/* Means as channels R G B A, Z, N.X N.Y N.Z, Albedo.R Albedo.G Albedo.B. Pixels without a sample
   are black and empty. */
kd_status film_resolve(const film *from, image *out);

/* What a film of so many pixels takes, and the picture of it. */
uint64_t film_bytes_of(uint64_t pixels);
uint64_t film_picture_bytes(uint64_t pixels);

#ifdef __cplusplus
}
#endif

#endif
