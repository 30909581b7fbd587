/* WebP through libwebp: writes lossy pictures, with alpha if some pixel is not fully covered; reads
   lossy and lossless ones. */
#include "core/image/formats.h"
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

static kd_status webp_open(picture *out, const char *path, const file_view *file) {
    const uint8_t *bytes = (const uint8_t *)file->bytes;
    picture_info *info = &out->info;
    WebPBitstreamFeatures webpbitstreamfeatures;
    uint8_t *texels = NULL;
    memset(out, 0, sizeof *out);
    KD_REQUIRE(WebPGetFeatures(bytes, file->count, &webpbitstreamfeatures) == VP8_STATUS_OK,
               KD_ERROR_INPUT, "%s: not a WebP file", path);
    const uint64_t pixels =
        (uint64_t)webpbitstreamfeatures.width * (uint64_t)webpbitstreamfeatures.height;
    KD_REQUIRE(pixels && 4 * pixels <= free_bytes + expansion * file->count, KD_ERROR_INPUT,
               "%s: damaged: found a size of %d x %d pixels in a file of only %zu bytes", path,
               webpbitstreamfeatures.width, webpbitstreamfeatures.height, file->count);
    info->width = webpbitstreamfeatures.width;
    info->height = webpbitstreamfeatures.height;
    info->channels = out->samples = webpbitstreamfeatures.has_alpha ? 4 : 3;
    out->sample_bytes = 1;
    const size_t size = (size_t)out->samples * pixels;
    const int stride = out->samples * webpbitstreamfeatures.width;
    KD_TRY(KD_RESERVE(texels, size));
    out->texels = texels;
    out->reserved = true;
    KD_REQUIRE(webpbitstreamfeatures.has_alpha
                   ? WebPDecodeRGBAInto(bytes, file->count, texels, size, stride)
                   : WebPDecodeRGBInto(bytes, file->count, texels, size, stride),
               KD_ERROR_INPUT, "%s: damaged WebP file", path);
    return KD_OK;
}

const image_format image_format_webp = {.suffix = ".webp",
                                        .read_packed = webp_open,
                                        .write_bytes = webp_write,
                                        .alpha = true,
                                        .side_max = WEBP_MAX_DIMENSION,
                                        .display = true};
#else
const image_format image_format_webp = {.suffix = ".webp", .display = true, .lacks = "libwebp"};
#endif
