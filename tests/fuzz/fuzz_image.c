/* Arbitrary bytes as a picture, for every format and use: they are rejected, or decoded such that
   every texel can be read. The suffix selects the format of pictures to compare (PNG, PFM, EXR),
   the contents that of textures. */
#include "core/image/formats.h"
#include "core/image/image.h"
#include "core/image/picture.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

/* Reads every texel, so that a sanitizer detects missing or uninitialised ones. */
static unsigned sum_of(const void *texels, size_t bytes) {
    unsigned sum = 0;
    for (size_t i = 0; i < bytes; ++i) sum += ((const uint8_t *)texels)[i];
    return sum;
}

static volatile unsigned sink;

/* Larger pictures are valid, but slow to fuzz. */
enum { PIXELS = 1 << 20 };

static void open_texture(const file_view *file) {
    picture_info info;
    if (picture_inspect(&info, "fuzz", file) != KD_OK) return;
    FUZZ_REQUIRE(info.width > 0 && info.height > 0 && info.channels >= 1 && info.channels <= 4);
    const size_t pixels = (size_t)info.width * (size_t)info.height;
    if (pixels > PIXELS) return;
    for (int form = PICTURE_BYTES; form <= PICTURE_FLOATS; ++form) {
        picture decoded;
        if (picture_open(&decoded, "fuzz", file, (picture_form)form) == KD_OK)
            sink =
                sum_of(decoded.texels, pixels * (size_t)(decoded.samples * decoded.sample_bytes));
        picture_close(&decoded);
    }
}

static void open_image(const file_view *file, const image_format *format) {
    image read;
    memset(&read, 0, sizeof read);
    const image_reading how = {.keeps_window = true}; /* whose size bounds no data */
    if (image_format_read(format, &read, "fuzz", file, &how) == KD_OK) {
        if ((int64_t)read.whole_width * read.whole_height <= PIXELS)
            FUZZ_REQUIRE(image_fill(&read) == KD_OK);
        FUZZ_REQUIRE(image_plane(&read, "R") && image_plane(&read, "G") && image_plane(&read, "B"));
        const size_t bytes = sizeof(float) * (size_t)read.width * (size_t)read.height;
        for (int32_t c = 0; c < read.channel_count; ++c) sink = sum_of(read.planes[c], bytes);
    }
    image_close(&read);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    file_view file;
    if (file_open(&file, fuzz_file(bytes, count)) != KD_OK) return 0;
    open_texture(&file);
    for (const image_format *const *row = image_formats; *row; ++row)
        if (!(*row)->lacks) open_image(&file, *row);
    file_close(&file);
    return 0;
}
