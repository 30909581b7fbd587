/* The film: sums of samples per pixel, in double precision and in the order of sample numbers, so
   that the image does not depend on threads, tiles or passes. Also its saved state and the
   connection to a viewer. */
#ifndef KD_RENDER_FRAME_FILM_H
#define KD_RENDER_FRAME_FILM_H
#include "core/image/image.h"
#include "render/frame/integrator.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct film {
    int32_t x0, y0, width, height; /* the crop of the full image that the film holds */
    film_pixel *pixels;
    bool resumed; /* holds samples of an earlier run or call of frame_run */
} film;

kd_status film_open(film *out, const int32_t crop[4]); /* x0, y0, x1, y1, half open */
void film_close(film *owned);                          /* `owned` may be zeroed */

/* Adds a sample to pixel (x, y) of the full image. A sample that is not finite is added as black,
   and the function returns false. */
bool film_add(film *film, int32_t x, int32_t y, const pixel_sample *sample);

uint32_t film_samples(const film *film, int32_t x, int32_t y);

/* Smallest number of samples of any pixel. */
uint32_t film_min_samples(const film *film);

/* Returns true if every pixel has `samples` samples. */
bool film_is_even(const film *film, uint32_t samples);

/* Estimates the square root of the relMSE (compare.h) of the film's means against the picture
   without noise; the same for a scene in other units of radiance. INFINITY if a pixel has fewer
   than two samples. This is the error for what the samples have met: light that no sample of any
   pixel has met so far, and errors that all samples share, as those of one photon map, are not
   included. May return KD_ERROR_MEMORY, for a double per pixel; the result does not depend on the
   number of threads. film_error.c has the method. */
kd_status film_error(double *error, const film *film);

/* Mean colour of the pixels; pixels without samples count as black. */
kd_status film_mean(float mean[3], const film *film);

/* Divides the sums by the sample counts, into the channels R G B A, Z, N.X N.Y N.Z, Albedo.R
   Albedo.G Albedo.B. Pixels without samples become black and transparent. */
kd_status film_resolve(const film *film, image *out);

/* Bytes of a film of `pixels` pixels, and of the image that film_resolve makes of it. */
uint64_t film_bytes_of(uint64_t pixels);
uint64_t film_picture_bytes(uint64_t pixels);

/* The state file of a rendering, from which a later run resumes with the same bits as an
   uninterrupted one.

   File format, little endian: a header of 64-bit words, then the film's pixels.
     0  "KDSTATE\0"          8  version            16 hash of the program's version
     24 scene_hash           32 hash of the camera and of the options that a sample depends on
     40 crop x0 y0 x1 y1 (int32)
     56 frame_statistics: rays, photon_rays, nan_samples, photons_emitted, photons_stored,
        caustics_stored, photon_hash, volume_stored, watts emitted, absorbed, escaped, ended,
        media, cut (double)
     168 frame.carried, 16 doubles
     296 hash of the pixels  304 hash of the 304 bytes before
   Each pixel: radiance (3 doubles), squares (double), sums over its samples; first (3), a sum over
   some of them (pixel.h), and the sums alpha, depth, normal (3), albedo (3) (floats); samples,
   hits, 0 (uint32). Hashes are XXH3. */

/* Hash of the scene, the options that a sample depends on, the camera and the program's version. */
uint64_t state_identity(const frame *frame);

/* Sets frame->identity, before the scene and the camera change from sample to sample. `ending`:
   hash of the scene at the end of the exposure. */
void state_identify(frame *frame, uint64_t ending);

/* Writes to a temporary file, then renames it. */
kd_status state_write(const char *path, const frame *frame, const film *film);

/* Sets the film, and the frame's statistics and `carried`. Returns KD_ERROR_INPUT, with a message
   that says what differs, if the file is not a state, is damaged, or belongs to another scene,
   other options or another version. */
kd_status state_read(const char *path, frame *frame, film *film);

/* Shows the image while it is rendered, in a viewer that supports tev's protocol over TCP.
   Source: tev's src/Ipc.cpp (github.com/Tom94/tev); pbrt-v4 is another client.
   Packets, little endian: u32 size of the whole packet in bytes, u8 type, then
     2 close   name
     4 create  u8 grab focus, name, i32 width, height, number of channels, their names
     5 update  u8 grab focus, name, i32 number of channels, their names, i32 x, y, width, height of
               a tile, f32 values, one channel after the other, rows from the top
   Strings are zero-terminated. An image of the same name is closed first; the last update stays in
   the viewer after the connection has ended. */

enum { DISPLAY_TILE = 128 }; /* pixels a side */

typedef struct display {
    intptr_t socket; /* -1: not connected */
    char address[256], title[256];
    uint8_t *packet; /* buffer for one packet */
    bool created;
    double next; /* timing_now() before which nothing is sent */
} display;

/* Returns KD_ERROR_USAGE unless `address` is "host:port" or "host" (with port 14158). */
kd_status display_check(const char *address);

/* Connects. A viewer that cannot be reached, or disconnects later, is logged as a warning; it is
   not an error. */
kd_status display_open(display *out, const char *address, const char *title);

/* Sends the current image, at most four times a second unless `last` is set. */
void display_show(display *display, const film *film, bool last);

void display_close(display *owned); /* `owned` may be zeroed */

#ifdef __cplusplus
}
#endif

#endif
