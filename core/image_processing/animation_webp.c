/* Animated WebP through libwebpmux. */
#include "core/image_processing/animation.h"
#if KD_HAVE_WEBP
#include "core/memory.h"
#include <webp/encode.h>
#include <webp/mux.h>

enum { WEBP_QUALITY = 90 };

struct webp_frames {
    WebPAnimEncoder *encoder;
};

bool webp_frames_supported(void) {
    return true;
}

static kd_status add(struct webp_frames *frames, const char *path, WebPPicture *picture,
                     int milliseconds) {
    WebPConfig config;
    KD_REQUIRE(WebPConfigPreset(&config, WEBP_PRESET_DEFAULT, WEBP_QUALITY), KD_ERROR_RUNTIME,
               "%s: the installed libwebp does not match the version that this program was built "
               "with",
               path);
    config.thread_level = 1;
    KD_REQUIRE(WebPAnimEncoderAdd(frames->encoder, picture, milliseconds, &config),
               KD_ERROR_RUNTIME, "%s: libwebp: %s", path, WebPAnimEncoderGetError(frames->encoder));
    return KD_OK;
}

static kd_status frames_open(struct webp_frames **out, const char *path, int32_t width,
                             int32_t height) {
    WebPAnimEncoderOptions options;
    KD_REQUIRE(width <= WEBP_MAX_DIMENSION && height <= WEBP_MAX_DIMENSION, KD_ERROR_USAGE,
               "%s: the image has %d x %d pixels; .webp files have at most %d per side", path,
               (int)width, (int)height, WEBP_MAX_DIMENSION);
    KD_TRY(KD_RESERVE_ZEROED(*out, 1));
    if (WebPAnimEncoderOptionsInit(&options))
        (*out)->encoder = WebPAnimEncoderNew(width, height, &options);
    KD_REQUIRE((*out)->encoder, KD_ERROR_MEMORY, "%s: libwebp: no memory for the frames", path);
    return KD_OK;
}

kd_status webp_frames_add(struct webp_frames **frames, const char *path, const uint8_t *bytes,
                          int32_t width, int32_t height, int samples, int milliseconds) {
    WebPPicture picture;
    if (!*frames) KD_TRY(frames_open(frames, path, width, height));
    KD_REQUIRE(WebPPictureInit(&picture), KD_ERROR_RUNTIME, "%s: libwebp: wrong version", path);
    picture.use_argb = 1;
    picture.width = width;
    picture.height = height;
    const int stride = samples * width;
    const int taken = samples == 4 ? WebPPictureImportRGBA(&picture, bytes, stride)
                                   : WebPPictureImportRGB(&picture, bytes, stride);
    const kd_status status =
        taken ? add(*frames, path, &picture, milliseconds)
              : status_fail(KD_ERROR_MEMORY, __FILE__, __LINE__, "%s: libwebp: no memory", path);
    WebPPictureFree(&picture);
    return status;
}

kd_status webp_frames_write(struct webp_frames *frames, const char *path, int milliseconds,
                            FILE *stream) {
    WebPData made;
    WebPDataInit(&made);
    KD_TRY(add(frames, path, NULL, milliseconds)); /* the end of the last frame */
    KD_REQUIRE(WebPAnimEncoderAssemble(frames->encoder, &made), KD_ERROR_RUNTIME, "%s: libwebp: %s",
               path, WebPAnimEncoderGetError(frames->encoder));
    fwrite(made.bytes, 1, made.size, stream); /* file_output_commit reports errors of the stream */
    WebPDataClear(&made);
    return KD_OK;
}

void webp_frames_close(struct webp_frames *owned) {
    if (!owned) return;
    WebPAnimEncoderDelete(owned->encoder);
    memory_free(owned);
}
#else
bool webp_frames_supported(void) {
    return false;
}

/* animation_check refuses such files. */
kd_status webp_frames_add(struct webp_frames **frames, const char *path, const uint8_t *bytes,
                          int32_t width, int32_t height, int samples, int milliseconds) {
    (void)frames, (void)bytes, (void)width, (void)height, (void)samples, (void)milliseconds;
    KD_FAIL(KD_ERROR_USAGE, "%s: this build lacks libwebp", path);
}

kd_status webp_frames_write(struct webp_frames *frames, const char *path, int milliseconds,
                            FILE *stream) {
    (void)stream;
    return webp_frames_add(&frames, path, NULL, 0, 0, 0, milliseconds);
}

void webp_frames_close(struct webp_frames *owned) {
    (void)owned;
}
#endif
