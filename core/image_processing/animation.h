/* Animations: 8-bit pictures of one size, shown one after another at a constant rate, in one file
   that is replaced when it is complete. .webp is written by libwebp; .gif and .mp4 by the program
   ffmpeg, which is started at the end, so that until then the frames lie in a temporary file. */
#ifndef KD_CORE_IMAGE_PROCESSING_ANIMATION_H
#define KD_CORE_IMAGE_PROCESSING_ANIMATION_H
#include "core/image/image.h"
#include <stdbool.h>
#include <stdio.h>

typedef struct animation animation;

/* Returns true if the suffix is that of an animation. `.webp` is also that of a still picture. */
bool animation_has_suffix(const char *path);
/* Returns KD_ERROR_USAGE if this build cannot write such a file, or ffmpeg is needed and not
   installed. */
kd_status animation_check(const char *path);

/* `rate`: frames per second. */
kd_status animation_open(animation **out, const char *path, double rate);
/* Appends a frame; all must have the size of the first. */
kd_status animation_add(animation *frames, const image *image, const image_encoding *encoding);
/* Writes the file. */
kd_status animation_commit(animation *frames);
void animation_close(
    animation *owned); /* accepts NULL; without animation_commit there is no file */

/* animation_webp.c: the frames of a .webp file. */
struct webp_frames;
bool webp_frames_supported(void);
kd_status webp_frames_add(struct webp_frames **frames, const char *path, const uint8_t *bytes,
                          int32_t width, int32_t height, int samples, int milliseconds);
/* Writes the file; `milliseconds` is the end of the last frame. */
kd_status webp_frames_write(struct webp_frames *frames, const char *path, int milliseconds,
                            FILE *stream);
void webp_frames_close(struct webp_frames *owned); /* accepts NULL */

#endif
