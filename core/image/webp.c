/* WebP through libwebp: writes lossy pictures, with alpha if some pixel is not fully covered; reads
   lossy and lossless ones. */
#include "core/image/formats.h"
#include "core/image/picture.h"
#if KD_HAVE_WEBP
#include "core/image/encode.h"
#include "core/memory.h"
#include <string.h>
#include <webp/decode.h>
#include <webp/encode.h>

enum { WEBP_QUALITY = 90, WEBP_EFFORT = 2 /* 0 to 6: favours speed */ };

/* --- writing --- */

static int bytes_put(const uint8_t *bytes, size_t count, const WebPPicture *picture) {
    return fwrite(bytes, 1, count, (FILE *)picture->custom_ptr) == count;
}

static kd_status webp_write(const uint8_t *bytes, int32_t width, int32_t height, int samples,
                            file_output *file) {
    WebPConfig config;
    WebPPicture packed;
    KD_REQUIRE(
        WebPConfigPreset(&config, WEBP_PRESET_DEFAULT, WEBP_QUALITY) && WebPPictureInit(&packed),
        KD_ERROR_RUNTIME,
        "%s: the installed libwebp does not match the version that this program was built with",
        file->path);
    config.method = WEBP_EFFORT;
    config.thread_level = 1;
    packed.width = width;
    packed.height = height;
    packed.writer = bytes_put;
    packed.custom_ptr = file->stream;
    const int stride = samples * width;
    const int made = (samples == 4 ? WebPPictureImportRGBA(&packed, bytes, stride)
                                   : WebPPictureImportRGB(&packed, bytes, stride)) &&
                     WebPEncode(&config, &packed);
    const WebPEncodingError error = packed.error_code;
    WebPPictureFree(&packed);
    /* file_output_commit reports errors of the stream */
    KD_REQUIRE(made || ferror(file->stream), KD_ERROR_MEMORY, "%s: libwebp: error %d", file->path,
               (int)error);
    return KD_OK;
}

/* --- reading --- */

/* Pictures of up to 8192 x 8192 pixels are always accepted; a larger one must have at least 1/1032
   of the decoded bytes in the file. */
static const uint64_t free_bytes = 1ull << 28, expansion = 1032;

bool picture_reads_webp(void) {
    return true;
}

kd_status picture_inspect_webp(picture_info *out, const char *path, const file_view *file) {
    WebPBitstreamFeatures found;
    memset(out, 0, sizeof *out);
    KD_REQUIRE(WebPGetFeatures((const uint8_t *)file->bytes, file->count, &found) == VP8_STATUS_OK,
               KD_ERROR_INPUT, "%s: not a WebP file", path);
    KD_REQUIRE(!found.has_animation, KD_ERROR_INPUT,
               "%s: found an animated WebP file, expected a still picture", path);
    const uint64_t pixels = (uint64_t)found.width * (uint64_t)found.height;
    KD_REQUIRE(pixels && 4 * pixels <= free_bytes + expansion * file->count, KD_ERROR_INPUT,
               "%s: damaged: found a size of %d x %d pixels in a file of only %zu bytes", path,
               found.width, found.height, file->count);
    out->kind = PICTURE_WEBP;
    out->width = found.width;
    out->height = found.height;
    out->channels = found.has_alpha ? 4 : 3;
    return KD_OK;
}

kd_status picture_decode_webp(picture *out, const char *path, const file_view *file) {
    const uint8_t *bytes = (const uint8_t *)file->bytes;
    uint8_t *texels = NULL;
    memset(out, 0, sizeof *out);
    KD_TRY(picture_inspect_webp(&out->info, path, file));
    out->samples = out->info.channels;
    out->sample_bytes = 1;
    const size_t size = (size_t)out->samples * (size_t)out->info.width * (size_t)out->info.height;
    const int stride = out->samples * out->info.width;
    KD_TRY(KD_RESERVE(texels, size));
    out->texels = texels;
    out->reserved = true;
    KD_REQUIRE(out->samples == 4 ? WebPDecodeRGBAInto(bytes, file->count, texels, size, stride)
                                 : WebPDecodeRGBInto(bytes, file->count, texels, size, stride),
               KD_ERROR_INPUT, "%s: damaged WebP file", path);
    return KD_OK;
}

const image_format image_format_webp = {.suffix = ".webp",
                                        .read_packed = picture_decode_webp,
                                        .write_bytes = webp_write,
                                        .alpha = true,
                                        .side_max = WEBP_MAX_DIMENSION,
                                        .display = true};
#else
bool picture_reads_webp(void) {
    return false;
}

kd_status picture_inspect_webp(picture_info *out, const char *path, const file_view *file) {
    (void)out;
    (void)file;
    KD_FAIL(KD_ERROR_INPUT, "%s: WebP pictures need a build with libwebp", path);
}

kd_status picture_decode_webp(picture *out, const char *path, const file_view *file) {
    return picture_inspect_webp(&out->info, path, file);
}

const image_format image_format_webp = {.suffix = ".webp", .display = true, .lacks = "libwebp"};
#endif
