#include "core/image/encode.h"
#include "core/image/tonemap.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <pthread.h>
#include <string.h>

static const char *const colours[] = {"R", "G", "B"};

/* --- out --- */

enum { ENCODE_GRAIN = 16384 };

static int alpha_is_used(const float *alpha, size_t count) {
    for (size_t i = 0; alpha && i < count; ++i)
        if (alpha[i] < 1) return 1;
    return 0;
}

/* unit_to_byte(srgb_encode(x)) without its power. Idea: the first six bits of the mantissa and the
   exponent say the byte but for one or two steps, which a comparison takes; steps[b] is the least
   float whose byte is b, found by bisection. */
enum {
    STEP_LEAST = 0x3f800000 - (13 << 23),
    STEP_SHIFT = 17,
    STEP_CELLS = 13 << (23 - STEP_SHIFT)
};
static float steps[257];
static uint8_t cells[STEP_CELLS];
static pthread_once_t steps_once = PTHREAD_ONCE_INIT;

static void steps_make(void) {
    uint32_t least = STEP_LEAST; /* 2^-13: its byte is 0 */
    for (int byte = 1; byte < 256; ++byte) {
        uint32_t below = least, above = 0x3f800000;
        while (above - below > 1) {
            const uint32_t middle = below + (above - below) / 2;
            if (unit_to_byte(srgb_encode(float_from_bits(middle))) >= byte)
                above = middle;
            else
                below = middle;
        }
        steps[byte] = float_from_bits(above);
        least = below;
    }
    steps[256] = INFINITY;
    for (uint32_t i = 0; i < STEP_CELLS; ++i)
        cells[i] = unit_to_byte(srgb_encode(float_from_bits(STEP_LEAST + (i << STEP_SHIFT))));
}

static uint8_t byte_of(float x) {
    uint32_t bits;
    if (!(x >= 0x1p-13f)) return 0;
    if (x >= 1) return 255;
    memcpy(&bits, &x, sizeof bits);
    uint8_t byte = cells[(bits - STEP_LEAST) >> STEP_SHIFT];
    while (x >= steps[byte + 1]) ++byte;
    return byte;
}

typedef struct encode_work {
    uint8_t *to;
    const float *r, *g, *b, *alpha; /* alpha may be NULL */
    float scale;
    kd_tonemap tonemap;
} encode_work;

static void pixels_encode(void *context, int64_t begin, int64_t end, int worker) {
    (void)worker;
    const encode_work *work = (const encode_work *)context;
    const float *alpha = work->alpha, scale = work->scale;
    uint8_t *to = work->to + (alpha ? 4 : 3) * begin;
    for (int64_t i = begin; i < end; ++i) {
        const float covered = alpha && alpha[i] > 0 && alpha[i] < 1 ? alpha[i] : 1;
        const vec3 shown =
            tonemap_apply(vec3_make(scale * work->r[i] / covered, scale * work->g[i] / covered,
                                    scale * work->b[i] / covered),
                          work->tonemap);
        *to++ = byte_of(shown.x);
        *to++ = byte_of(shown.y);
        *to++ = byte_of(shown.z);
        if (alpha) *to++ = unit_to_byte(alpha[i]);
    }
}

kd_status image_encode(uint8_t **bytes, int *samples, const image *from,
                       const image_encoding *encoding, bool alpha) {
    const size_t count = (size_t)from->width * (size_t)from->height;
    const float *covered = alpha ? image_plane(from, "A") : NULL;
    if (!alpha_is_used(covered, count)) covered = NULL;
    *samples = covered ? 4 : 3;
    KD_TRY(KD_RESERVE(*bytes, count * (size_t)*samples));
    encode_work work = {
        *bytes,  image_plane(from, "R"),    image_plane(from, "G"), image_plane(from, "B"),
        covered, exp2f(encoding->exposure), encoding->tonemap};
    pthread_once(&steps_once, steps_make);
    parallel_for((int64_t)count, ENCODE_GRAIN, pixels_encode, &work);
    return KD_OK;
}

/* --- in --- */

kd_status image_linear_open(float **linear, const picture *from) {
    const uint32_t white = picture_white(from);
    KD_TRY(KD_RESERVE(*linear, white + 1));
    for (uint32_t i = 0; i <= white; ++i) (*linear)[i] = srgb_decode((float)i / (float)white);
    return KD_OK;
}

void image_texels_decode(float *const planes[4], const picture *from, uint64_t begin,
                         uint64_t count, const float *linear) {
    const uint32_t white = picture_white(from);
    const uint64_t step = (uint64_t)from->samples;
    const int32_t alpha_sample = picture_sample(from, 3);
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t texel = (begin + i) * step;
        const uint32_t alpha =
            alpha_sample < 0 ? white : picture_value(from, texel + (uint64_t)alpha_sample);
        const float covered = alpha ? (float)alpha / (float)white : 1;
        for (int32_t c = 0; c < 3; ++c)
            planes[c][i] =
                covered * linear[picture_value(from, texel + (uint64_t)picture_sample(from, c))];
        if (planes[3]) planes[3][i] = (float)alpha / (float)white;
    }
}

static bool alpha_is_opaque(const picture *of) {
    const int32_t alpha = picture_sample(of, 3);
    const uint64_t count = (uint64_t)of->info.width * (uint64_t)of->info.height;
    for (uint64_t i = 0; alpha >= 0 && i < count; ++i)
        if (picture_value(of, i * (uint64_t)of->samples + (uint64_t)alpha) < picture_white(of)) return false;
    return true;
}

kd_status image_decode(image *out, const picture *from) {
    const int32_t width = from->info.width, height = from->info.height;
    float *linear = NULL, *planes[4] = {NULL, NULL, NULL, NULL};
    KD_TRY(image_open(out, width, height));
    for (int c = 0; c < 3; ++c) KD_TRY(image_add(out, colours[c], &planes[c]));
    if (!alpha_is_opaque(from)) KD_TRY(image_add(out, "A", &planes[3]));
    KD_TRY(image_linear_open(&linear, from));
    image_texels_decode(planes, from, 0, (uint64_t)width * (uint64_t)height, linear);
    memory_free(linear);
    return KD_OK;
}
