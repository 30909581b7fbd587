/* Pictures by stb_image, behind the checks of core/image/picture_check.c and in memory with a
   budget; Radiance pictures by core/image/hdr_read.c. */
#include "core/image/picture.h"
#include "core/image/hdr.h"
#include "core/image/stb.h"
#include "core/memory.h"
#include <limits.h>
#include <math.h>
#include <stb/stb_image.h>
#include <string.h>

typedef struct decoding {
    const stbi_uc *bytes;
    int count;
    picture_form form;
    int width, height, channels, is_known, is_wide;
    void *texels;
} decoding;

static void look(void *context) {
    decoding *of = (decoding *)context;
    of->is_known =
        stbi_info_from_memory(of->bytes, of->count, &of->width, &of->height, &of->channels);
    of->is_wide = of->is_known && stbi_is_16_bit_from_memory(of->bytes, of->count);
}

static void decode(void *context) {
    decoding *of = (decoding *)context;
    int *w = &of->width, *h = &of->height, *c = &of->channels;
    if (of->form == PICTURE_DEEP && of->is_wide)
        of->texels = stbi_load_16_from_memory(of->bytes, of->count, w, h, c, 0);
    else
        of->texels = stbi_load_from_memory(of->bytes, of->count, w, h, c, 0);
    stb_keep(of->texels);
}

enum { LOOK_BYTES = 1 << 20 };

static kd_status look_at_radiance(picture_info *out, const char *path, const file_view *file) {
    KD_TRY(hdr_look(&out->width, &out->height, path, file));
    out->channels = 3;
    KD_TRY(picture_check_size(path, file, out));
    return KD_OK;
}

kd_status picture_look(picture_info *out, const char *path, const file_view *file) {
    memset(out, 0, sizeof *out);
    KD_REQUIRE(file->count <= INT_MAX, KD_ERROR_INPUT, "%s: %zu bytes, an image has at most %d",
               path, file->count, INT_MAX);
    decoding of;
    memset(&of, 0, sizeof of);
    of.bytes = (const stbi_uc *)file->bytes;
    of.count = (int)file->count;
    out->kind = picture_kind_of(file);
    if (out->kind == PICTURE_HDR) return look_at_radiance(out, path, file);
    if (out->kind == PICTURE_JPEG) {
        KD_TRY(picture_check_huffman(path, file));
        KD_TRY(picture_look_jpeg(out, path, file));
        return picture_check_size(path, file, out);
    }
    if (out->kind != PICTURE_UNKNOWN) KD_TRY(stb_run(look, &of, LOOK_BYTES, path));
    KD_REQUIRE(of.is_known, KD_ERROR_INPUT,
               "%s: not an image that can be read (PNG, JPEG, TGA, BMP, HDR)", path);
    if (of.height < 0 && of.height > INT_MIN) of.height = -of.height; /* BMP from the top */
    out->width = of.width;
    out->height = of.height;
    out->channels = of.channels;
    out->is_wide = of.is_wide != 0;
    KD_TRY(picture_check_size(path, file, out));
    return KD_OK;
}

/* Of PNG the bytes without their filters, the picture and one of its forms; of the others all
   channels, coefficients of JPEG. */
uint64_t picture_bytes(const picture_info *of, picture_form form) {
    const uint64_t width = (uint64_t)of->width + 64, height = (uint64_t)of->height + 64;
    const uint64_t texel = ((uint64_t)of->channels + 1) * (of->is_wide ? 2 : 1);
    if (of->kind == PICTURE_HDR) return (form == PICTURE_FLOATS ? 12 : 15) * width * height;
    return (of->kind == PICTURE_PNG ? 3 * texel : 24) * width * height;
}

/* The file's bytes may be joined, too, in blocks that double. */
static uint64_t budget(const picture_info *info, const file_view *file, picture_form form) {
    return LOOK_BYTES + picture_bytes(info, form) + 8 * file->count;
}

/* A display's curve, as data that are no light have been read from such files ever since. */
static uint32_t shown_byte(float radiance) {
    const float shown = radiance > 0 ? (float)pow((double)radiance, (double)(1 / 2.2f)) : 0;
    return (uint32_t)fminf(shown * 255 + 0.5f, 255);
}

static kd_status open_radiance(picture *out, const char *path, const file_view *file,
                               picture_form form) {
    const uint64_t samples = 3 * (uint64_t)out->info.width * (uint64_t)out->info.height;
    float *floats;
    uint8_t *bytes = NULL;
    KD_TRY(hdr_decode(&floats, path, file));
    out->reserved = true;
    out->samples = 3;
    out->sample_bytes = form == PICTURE_FLOATS ? 4 : 1;
    out->texels = floats;
    if (form == PICTURE_FLOATS) return KD_OK;
    const kd_status status = KD_RESERVE(bytes, samples);
    for (uint64_t i = 0; bytes && i < samples; ++i) bytes[i] = (uint8_t)shown_byte(floats[i]);
    out->texels = bytes;
    memory_free(floats);
    KD_TRY(status);
    return KD_OK;
}

kd_status picture_open(picture *out, const char *path, const file_view *file, picture_form form) {
    memset(out, 0, sizeof *out);
    KD_TRY(picture_look(&out->info, path, file));
    if (out->info.kind == PICTURE_HDR) return open_radiance(out, path, file, form);
    KD_REQUIRE(form != PICTURE_FLOATS, KD_ERROR_USAGE, "%s: floats of a picture that has none",
               path);
#if KD_HAVE_JPEG
    if (out->info.kind == PICTURE_JPEG) return picture_decode_jpeg(out, path, file);
#endif
    decoding of;
    memset(&of, 0, sizeof of);
    of.bytes = (const stbi_uc *)file->bytes;
    of.count = (int)file->count;
    of.form = form;
    of.is_wide = out->info.is_wide;
    KD_TRY(stb_run(decode, &of, budget(&out->info, file, form), path));
    KD_REQUIRE(of.texels, KD_ERROR_INPUT, "%s: damaged image: %s", path, stbi_failure_reason());
    out->texels = of.texels;
    out->samples = of.channels;
    out->sample_bytes = form == PICTURE_DEEP && out->info.is_wide ? 2 : 1;
    KD_REQUIRE(of.width == out->info.width && of.height == out->info.height, KD_ERROR_INPUT,
               "%s: damaged image: two sizes", path);
    KD_REQUIRE(of.channels >= 1 && of.channels <= 4, KD_ERROR_INPUT, "%s: %d channels", path,
               of.channels);
    return KD_OK;
}

void picture_close(picture *owned) {
    if (owned->reserved)
        memory_free(owned->texels);
    else if (owned->texels)
        stbi_image_free(owned->texels);
    memset(owned, 0, sizeof *owned);
}
