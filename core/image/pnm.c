/* Netpbm's pictures: PBM, PGM and PPM, as text or binary, and PAM; the first picture of a file.
   Source: the manual pages pbm(5), pgm(5), ppm(5) and pam(5) of Netpbm. */
#include "core/image/picture.h"
#include "core/memory.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct pnm_header {
    char kind; /* '1' to '7' */
    int32_t width, height, samples;
    uint32_t maximum;
    size_t pixels; /* position of the first pixel */
} pnm_header;

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Reads the next word, truncated to the buffer; comments run from '#' to the end of the line. */
static void word_take(const file_view *file, size_t *at, char word[16]) {
    size_t length = 0;
    while (*at < file->count && (is_space(file->bytes[*at]) || file->bytes[*at] == '#')) {
        if (file->bytes[*at] == '#')
            while (*at < file->count && file->bytes[*at] != '\n') ++*at;
        else
            ++*at;
    }
    for (; *at < file->count && !is_space(file->bytes[*at]) && file->bytes[*at] != '#'; ++*at)
        if (length < 15) word[length++] = file->bytes[*at];
    word[length] = '\0';
}

static kd_status number_take(const char *path, const file_view *file, size_t *at, const char *name,
                             int32_t maximum, int32_t *number) {
    char word[16];
    word_take(file, at, word);
    const size_t digits = strspn(word, "0123456789");
    KD_REQUIRE(digits && digits < 10 && !word[digits] && atoi(word) > 0 && atoi(word) <= maximum,
               KD_ERROR_INPUT, "%s: found the PNM %s \"%s\", expected a whole number from 1 to %d",
               path, name, word, maximum);
    *number = atoi(word);
    return KD_OK;
}

enum { SIDE = 999999999, SAMPLE = 65535 };

static kd_status pam_read(pnm_header *out, const char *path, const file_view *file, size_t *at) {
    static const char *const names[] = {"WIDTH", "HEIGHT", "DEPTH", "MAXVAL"};
    int32_t values[4] = {0, 0, 0, 0};
    for (;;) {
        char word[16];
        word_take(file, at, word);
        KD_REQUIRE(*word, KD_ERROR_INPUT, "%s: damaged: found no ENDHDR in the PAM file", path);
        if (strcmp(word, "ENDHDR") == 0) break;
        for (int i = 0; i < 4; ++i)
            if (strcmp(word, names[i]) == 0)
                KD_TRY(number_take(path, file, at, names[i],
                                   i < 2    ? SIDE
                                   : i == 2 ? 4
                                            : SAMPLE,
                                   &values[i]));
        if (strcmp(word, "TUPLTYPE") == 0) /* the type follows from the depth */
            while (*at < file->count && file->bytes[*at] != '\n') ++*at;
    }
    for (int i = 0; i < 4; ++i)
        KD_REQUIRE(values[i] > 0, KD_ERROR_INPUT, "%s: damaged: found no %s in the PAM file", path,
                   names[i]);
    out->width = values[0];
    out->height = values[1];
    out->samples = values[2];
    out->maximum = (uint32_t)values[3];
    return KD_OK;
}

static kd_status header_read(pnm_header *out, const char *path, const file_view *file) {
    size_t at = 2;
    int32_t maximum = 1;
    out->kind = file->bytes[1];
    out->samples = out->kind == '3' || out->kind == '6' ? 3 : 1;
    if (out->kind == '7') {
        KD_TRY(pam_read(out, path, file, &at));
    } else {
        KD_TRY(number_take(path, file, &at, "width", SIDE, &out->width));
        KD_TRY(number_take(path, file, &at, "height", SIDE, &out->height));
        if (out->kind != '1' && out->kind != '4')
            KD_TRY(number_take(path, file, &at, "maximum", SAMPLE, &maximum));
        out->maximum = (uint32_t)maximum;
    }
    out->pixels = at < file->count ? at + 1 : at; /* one white-space character */
    return KD_OK;
}

/* Returns the least number of bytes of the pixels; a sample of a text takes a digit and, but for
   bits, a space. */
static uint64_t pixel_bytes(const pnm_header *header) {
    const uint64_t width = (uint64_t)header->width, height = (uint64_t)header->height;
    const uint64_t samples = (uint64_t)header->samples * width * height;
    switch (header->kind) {
    case '1': return samples;
    case '2':
    case '3': return 2 * samples - 1;
    case '4': return (width + 7) / 8 * height;
    default: return samples * (header->maximum > 255 ? 2 : 1);
    }
}

kd_status picture_inspect_pnm(picture_info *out, const char *path, const file_view *file) {
    pnm_header header;
    KD_TRY(header_read(&header, path, file));
    KD_REQUIRE(pixel_bytes(&header) <= file->count - header.pixels, KD_ERROR_INPUT,
               "%s: damaged: found a size of %d x %d pixels in a file of only %zu bytes", path,
               header.width, header.height, file->count);
    out->kind = PICTURE_PNM;
    out->width = header.width;
    out->height = header.height;
    out->channels = header.samples;
    out->is_wide = header.maximum > 255;
    return KD_OK;
}

static void sample_put(picture *out, const pnm_header *header, uint64_t index, uint32_t value) {
    if (value > header->maximum) value = header->maximum;
    const uint64_t white = out->sample_bytes == 2 ? 65535 : 255;
    const uint32_t sample =
        (uint32_t)((2 * white * value + header->maximum) / (2 * header->maximum));
    if (out->sample_bytes == 2)
        ((uint16_t *)out->texels)[index] = (uint16_t)sample;
    else
        ((uint8_t *)out->texels)[index] = (uint8_t)sample;
}

/* Bits are 1 for black. A text of them needs no spaces. */
static kd_status text_decode(picture *out, const pnm_header *header, const char *path,
                             const file_view *file, uint64_t samples) {
    size_t at = header->pixels;
    for (uint64_t i = 0; i < samples; ++i) {
        char word[16];
        if (header->kind == '1') {
            while (at < file->count && is_space(file->bytes[at])) ++at;
            word[0] = at < file->count ? file->bytes[at++] : '\0';
            word[1] = '\0';
        } else {
            word_take(file, &at, word);
        }
        const size_t digits = strspn(word, "0123456789");
        KD_REQUIRE(digits && digits < 10 && !word[digits], KD_ERROR_INPUT,
                   "%s: damaged: found \"%s\" as sample %llu of the PNM file, expected a number",
                   path, word, (unsigned long long)i);
        const uint32_t value = (uint32_t)atoi(word);
        sample_put(out, header, i, header->kind == '1' ? value == 0 : value);
    }
    return KD_OK;
}

static void bytes_decode(picture *out, const pnm_header *header, const file_view *file,
                         uint64_t samples) {
    const unsigned char *at = (const unsigned char *)file->bytes + header->pixels;
    const uint64_t width = (uint64_t)header->width;
    for (uint64_t i = 0; i < samples; ++i) {
        uint32_t value;
        if (header->kind == '4')
            value = !(at[i / width * ((width + 7) / 8) + i % width / 8] >> (7 - i % width % 8) & 1);
        else if (header->maximum > 255)
            value = (uint32_t)at[2 * i] << 8 | at[2 * i + 1];
        else
            value = at[i];
        sample_put(out, header, i, value);
    }
}

kd_status picture_decode_pnm(picture *out, const char *path, const file_view *file) {
    pnm_header header;
    KD_TRY(header_read(&header, path, file));
    const uint64_t samples =
        (uint64_t)header.samples * (uint64_t)header.width * (uint64_t)header.height;
    uint8_t *texels = NULL;
    out->samples = header.samples;
    KD_TRY(KD_RESERVE(texels, (uint64_t)out->sample_bytes * samples));
    out->texels = texels;
    out->reserved = true;
    if (header.kind < '4') return text_decode(out, &header, path, file, samples);
    bytes_decode(out, &header, file, samples);
    return KD_OK;
}
