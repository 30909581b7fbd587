/* Where samples add up: sums per pixel in double, in sample order, so that the picture does not
   depend on threads, tiles or passes. */
#ifndef KD_RENDER_FRAME_FILM_H
#define KD_RENDER_FRAME_FILM_H
#include "core/image/image.h"
#include "render/frame/integrator.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct film {
    int32_t x0, y0, width, height; /* the part of the full image that is kept */
    film_pixel *pixels;
    bool resumed; /* it holds samples of another run */
} film;

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

/* A rendering's state beside its picture: from it a later run goes on as if it had never stopped.

   The file, little endian: a header of 64-bit words, then the film's pixels.
     0  "KDSTATE\0"          8  version            16 hash of the program's version
     24 scene_hash           32 hash of the options that a sample depends on, and of the camera
     40 crop x0 y0 x1 y1 (int32)
     56 frame_statistics: rays, photon_rays, nan_samples, photons_emitted, photons_stored,
        caustics_stored, photon_hash, strayed_stored, watts emitted, absorbed, escaped, ended,
        media (double)
     160 frame.carried, 16 doubles
     288 hash of the pixels  296 hash of the 296 bytes before
   A pixel: radiance (3 doubles), squares (double); alpha, depth, normal (3), albedo (3) (floats):
   all sums over its samples; samples, hits (uint32). XXH3 is the hash. */

/* Of the scene, the options that a sample depends on, the camera and the program. */
uint64_t state_identity(const frame *of);

/* Written to a temporary file and renamed. */
kd_status state_write(const char *path, const frame *of, const film *from);

/* Fills film, statistics and carried. KD_ERROR_INPUT, with what differs, for a file that is no
   state, is damaged, or belongs to another scene, other options or another program. */
kd_status state_read(const char *path, frame *of, film *to);

/* The picture while it is made, in a viewer that speaks tev's protocol over TCP.
   Source: tev's src/Ipc.cpp (github.com/Tom94/tev); pbrt-v4 is another client.
   The packets, little endian: u32 bytes of the whole packet, u8 what it is, then
     2 close   name
     4 create  u8 whether to bring it to the front, name, i32 width, height, channels, their names
     5 update  u8 whether to bring it to the front, name, i32 channels, their names, i32 x, y,
   width, height of a tile, f32 its values, one channel after the other, rows from the top Texts end
   with a zero byte. A picture of the same name is closed first; the last state stays on view when
   the connection ends. */

enum { DISPLAY_TILE = 128 }; /* pixels a side */

typedef struct display {
    intptr_t socket; /* -1: nobody looks on */
    char address[256], title[256];
    uint8_t *packet; /* room for one */
    bool created;
    double next; /* timing_now() before which nothing is sent */
} display;

/* KD_ERROR_USAGE if `address` is not "host:port" or "host" (port 14158 then). */
kd_status display_check(const char *address);

/* A viewer that is not there, or goes away later, is a warning (log_message), no failure. */
kd_status display_open(display *out, const char *address, const char *title);

/* Sends the means so far, at most four times a second unless it is the last time. */
void display_show(display *to, const film *from, bool last);

void display_close(display *owned); /* takes a zeroed one */

#ifdef __cplusplus
}
#endif

#endif
