/* WebP through libwebp: lossy out, with alpha where some pixel is not covered; both kinds in. */
#include "core/image/formats.h"
#if KD_HAVE_WEBP
#include "core/image/encode.h"
#include "core/memory.h"
#include <string.h>
#include <webp/decode.h>
#include <webp/encode.h>

enum { WEBP_QUALITY = 90, WEBP_EFFORT = 2 /* of 0 to 6: what is shown is to be seen soon */ };

/* --- out --- */

static int bytes_put(const uint8_t *bytes, size_t count, const WebPPicture *picture) {
    return fwrite(bytes, 1, count, (FILE *)picture->custom_ptr) == count;
}

static kd_status bytes_write(const image *from, const uint8_t *bytes, int samples,
                             file_output *file) {
    WebPConfig how;
    WebPPicture picture;
    KD_REQUIRE(WebPConfigPreset(&how, WEBP_PRESET_DEFAULT, WEBP_QUALITY) &&
                   WebPPictureInit(&picture),
               KD_ERROR_RUNTIME, "%s: libwebp is of another version than its header", file->path);
    how.method = WEBP_EFFORT;
    how.thread_level = 1;
    picture.width = from->width;
    picture.height = from->height;
    picture.writer = bytes_put;
    picture.custom_ptr = file->stream;
    const int stride = samples * from->width;
    const int made = (samples == 4 ? WebPPictureImportRGBA(&picture, bytes, stride)
                                   : WebPPictureImportRGB(&picture, bytes, stride)) &&
                     WebPEncode(&how, &picture);
    const WebPEncodingError error = picture.error_code;
    WebPPictureFree(&picture);
    /* a stream that cannot be written is named by the commit */
    KD_REQUIRE(made || ferror(file->stream), KD_ERROR_MEMORY, "%s: libwebp: error %d", file->path,
               (int)error);
    return KD_OK;
}

static kd_status webp_write(const image *from, const image_encoding *encoding, file_output *file) {
    uint8_t *bytes = NULL;
    int samples = 0;
    KD_REQUIRE(from->width <= WEBP_MAX_DIMENSION && from->height <= WEBP_MAX_DIMENSION,
               KD_ERROR_USAGE, "%s: %d x %d pixels, a WebP file may have %d a side", file->path,
               from->width, from->height, WEBP_MAX_DIMENSION);
    KD_TRY(image_encode(&bytes, &samples, from, encoding, true));
    const kd_status status = bytes_write(from, bytes, samples, file);
    memory_free(bytes);
    KD_TRY(status);
    return KD_OK;
}

/* --- in --- */

/* Up to 8192 x 8192 whatever the file holds; more needs a file of a 1032nd of its memory. */
static const uint64_t free_bytes = 1ull << 28, expansion = 1032;

static kd_status words_decode(image *out, const char *path, const file_view *file,
                              uint16_t *samples) {
    const size_t count = 4 * (size_t)out->width * (size_t)out->height;
    uint8_t *bytes = (uint8_t *)samples + count; /* the upper half: widened from the front */
    KD_REQUIRE(
        WebPDecodeRGBAInto((const uint8_t *)file->bytes, file->count, bytes, count, 4 * out->width),
        KD_ERROR_INPUT, "%s: damaged WebP file", path);
    for (size_t i = 0; i < count; ++i) samples[i] = bytes[i];
    return KD_OK;
}

static kd_status webp_read(image *out, const char *path, const file_view *file) {
    image size;
    uint16_t *samples = NULL;
    memset(&size, 0, sizeof size);
    KD_REQUIRE(WebPGetInfo((const uint8_t *)file->bytes, file->count, &size.width, &size.height),
               KD_ERROR_INPUT, "%s: not a WebP file", path);
    const uint64_t pixels = (uint64_t)size.width * (uint64_t)size.height;
    KD_REQUIRE(pixels && 4 * pixels <= free_bytes + expansion * file->count, KD_ERROR_INPUT,
               "%s: %d x %d pixels cannot come from a file of %zu bytes", path, size.width,
               size.height, file->count);
    KD_TRY(KD_RESERVE(samples, 4 * pixels));
    kd_status status = words_decode(&size, path, file, samples);
    if (status == KD_OK) status = image_decode(out, size.width, size.height, samples, 255);
    memory_free(samples);
    KD_TRY(status);
    return KD_OK;
}

const image_format image_format_webp = {
    .suffix = ".webp", .read = webp_read, .write = webp_write, .display = true};
#else
const image_format image_format_webp = {.suffix = ".webp", .display = true, .lacks = "libwebp"};
#endif
