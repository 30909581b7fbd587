/* Bloom, vignette, white balance, contrast and saturation of displayed images.
   Sources: Spencer, Shirley, Zimmerman and Greenberg 1995, "Physically-based glare effects for
   digital images" (bloom); Lam 1985 (Bradford's adaptation); CIE 015 (daylight); Kim et al. 2002
   (black bodies below 4000 K).
   Idea: bloom is a share of the light, spread by a sum of Gaussians whose widths are powers of 1/2.
   The sum falls off about as 1 / distance^2, as the glare of lenses and eyes does. Each Gaussian is
   three box filters. The picture is mirrored at its edges, so that its sum stays the same.
   Work: 30 passes over each channel with bloom, whatever its radius. */
#include "core/image_processing/finish.h"
#include "core/image/formats.h"
#include "core/math/elementary.h"
#include "core/math/geometry.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- bloom ------------------------------------------------------------------------------------ */

enum { BLOOM_SCALES = 5, BLOOM_BOXES = 3, BLOOM_COLUMNS = 16 };

typedef struct box_pass {
    const float *from;
    float *to;
    int64_t width, height;
    int64_t radius; /* the box has 2 radius + 1 pixels */
    bool down;      /* along columns, else along rows */
} box_pass;

/* Returns the index of element i in a line of `count` that is mirrored repeatedly at both ends. */
static int64_t mirrored(int64_t i, int64_t count) {
    int64_t at = i % (2 * count);
    if (at < 0) at += 2 * count;
    return at < count ? at : 2 * count - 1 - at;
}

/* Filters one line of elements that are `step` apart. */
static void box_line(const box_pass *pass, int64_t first, int64_t step, int64_t count) {
    const int64_t radius = pass->radius;
    const double share = 1 / (double)(2 * radius + 1);
    const float *from = pass->from + first;
    float *to = pass->to + first;
    double sum = 0;
    for (int64_t i = -radius; i <= radius; ++i) sum += (double)from[mirrored(i, count) * step];
    for (int64_t i = 0; i < count; ++i) {
        to[i * step] = float_max((float)(sum * share), 0);
        sum += (double)from[mirrored(i + radius + 1, count) * step] -
               (double)from[mirrored(i - radius, count) * step];
    }
}

static void box_lines(void *context, int64_t begin, int64_t end, int thread) {
    const box_pass *pass = (const box_pass *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        if (pass->down)
            box_line(pass, i, pass->width, pass->height);
        else
            box_line(pass, i * pass->width, 1, pass->width);
    }
}

/* Radius of box number `box` of three, which together have about this standard deviation. */
static int64_t box_radius(double deviation, int box) {
    const double ideal = sqrt(12 * deviation * deviation / BLOOM_BOXES + 1);
    int64_t small = (int64_t)floor(ideal);
    if (small % 2 == 0) --small;
    const double w = (double)small;
    const double count = (12 * deviation * deviation - BLOOM_BOXES * (w * w + 4 * w + 3)) /
                         (-4 * w - 4); /* boxes of size w; the others have w + 2 */
    return ((double)box < round(count) ? small : small + 2) / 2;
}

/* Filters plane[0] by a Gaussian; plane[1] is scratch memory. The result is in plane[0]. */
static void blur(float *planes[2], const image *source, double deviation) {
    for (int box = 0; box < BLOOM_BOXES; ++box) {
        const int64_t radius = box_radius(deviation, box);
        for (int down = 0; radius > 0 && down < 2; ++down) {
            box_pass pass = {planes[down],   planes[1 - down], source->width,
                             source->height, radius,           down};
            parallel_for(down ? source->width : source->height, BLOOM_COLUMNS, box_lines, &pass);
        }
    }
}

/* Spreads a share of the light of one plane. */
static kd_status bloom_plane(float *plane, const image *source, const image_finish *finish) {
    const uint64_t count = (uint64_t)source->width * (uint64_t)source->height;
    const int32_t whole = source->whole_width ? source->whole_height : source->height;
    float *scratch[2] = {NULL, NULL}, *sum = NULL;
    kd_status status = KD_OK;
    for (int i = 0; i < 2; ++i) KD_TRY_GOTO(KD_RESERVE(scratch[i], count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(sum, count));
    double deviation = (double)finish->bloom_radius * whole;
    for (int scale = 0; scale < BLOOM_SCALES; ++scale, deviation /= 2) {
        memcpy(scratch[0], plane, count * sizeof *plane);
        blur(scratch, source, deviation);
        for (uint64_t i = 0; i < count; ++i) sum[i] += scratch[0][i];
    }
    for (uint64_t i = 0; i < count; ++i)
        plane[i] += finish->bloom * (sum[i] * (1.0f / BLOOM_SCALES) - plane[i]);
done:
    memory_free(scratch[0]);
    memory_free(scratch[1]);
    memory_free(sum);
    return status;
}

/* --- white balance ---------------------------------------------------------------------------- */

/* Chromaticity of the light of a temperature in kelvin. */
static void white_of_temperature(double xy[2], double kelvin) {
    const double t = 1000 / kelvin;
    if (kelvin >= 4000) {
        const bool blue = kelvin > 7000;
        const double x = blue ? ((-2.0064 * t + 1.9018) * t + 0.24748) * t + 0.23704
                              : ((-4.6070 * t + 2.9678) * t + 0.09911) * t + 0.244063;
        xy[0] = x;
        xy[1] = (-3 * x + 2.870) * x - 0.275;
        return;
    }
    const double x = ((-0.2661239 * t - 0.2343589) * t + 0.8776956) * t + 0.179910;
    xy[0] = x;
    xy[1] = kelvin < 2222 ? ((-1.1063814 * x - 1.34811020) * x + 2.18555832) * x - 0.20219683
                          : ((-0.9549476 * x - 1.37418593) * x + 2.09137015) * x - 0.16748867;
}

typedef struct matrix3 {
    double m[3][3];
} matrix3;

static matrix3 product(const matrix3 *a, const matrix3 *b) {
    matrix3 made;
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k)
            made.m[i][k] =
                a->m[i][0] * b->m[0][k] + a->m[i][1] * b->m[1][k] + a->m[i][2] * b->m[2][k];
    return made;
}

static matrix3 inverse(const matrix3 *matrix) {
    matrix3 made;
    double determinant = 0;
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) {
            const int a = (k + 1) % 3, b = (k + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
            made.m[i][k] = matrix->m[a][c] * matrix->m[b][d] - matrix->m[a][d] * matrix->m[b][c];
        }
    for (int i = 0; i < 3; ++i) determinant += matrix->m[0][i] * made.m[i][0];
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) made.m[i][k] /= determinant;
    return made;
}

/* Rec. 709 to XYZ, and XYZ to the responses of Bradford's cones. */
static const matrix3 rec709 = {{{0.4123908, 0.3575843, 0.1804808},
                                {0.2126390, 0.7151687, 0.0721923},
                                {0.0193308, 0.1191948, 0.9505322}}};
static const matrix3 bradford = {
    {{0.8951, 0.2664, -0.1614}, {-0.7502, 1.7135, 0.0367}, {0.0389, -0.0685, 1.0296}}};

/* Reads the white as XYZ. */
static kd_status read_white(double xyz[3], const char *text) {
    char *end = NULL;
    const double kelvin = strtod(text, &end);
    if (end != text && strcmp(end, "K") == 0) {
        KD_REQUIRE(kelvin >= 1700 && kelvin <= 25000, KD_ERROR_USAGE,
                   "the white balance is %.60s; expected 1700K to 25000K", text);
        double xy[2];
        white_of_temperature(xy, kelvin);
        xyz[0] = xy[0] / xy[1];
        xyz[1] = 1;
        xyz[2] = (1 - xy[0] - xy[1]) / xy[1];
        return KD_OK;
    }
    float colour[3];
    KD_REQUIRE(image_colour_read(colour, text), KD_ERROR_USAGE,
               "the white balance is \"%.60s\"; expected none, a temperature such as 3200K, "
               "#rrggbb or r,g,b (0 to 1)",
               text);
    for (int i = 0; i < 3; ++i) {
        xyz[i] = 0;
        for (int k = 0; k < 3; ++k) xyz[i] += rec709.m[i][k] * (double)colour[k];
    }
    for (int k = 0; k < 3; ++k)
        KD_REQUIRE(colour[k] > 0, KD_ERROR_USAGE,
                   "the white balance is %.60s; expected a colour without a channel of 0", text);
    xyz[0] /= xyz[1];
    xyz[2] /= xyz[1];
    xyz[1] = 1;
    return KD_OK;
}

static bool has_white(const image_finish *finish) {
    return finish->white_balance[0] && strcmp(finish->white_balance, "none") != 0;
}

/* Sets the matrix that turns the white into that of Rec. 709, at the same luminance. */
static kd_status white_matrix(float out[3][3], const image_finish *finish) {
    double white[3];
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) out[i][k] = i == k;
    if (!has_white(finish)) return KD_OK;
    KD_TRY(read_white(white, finish->white_balance));
    const matrix3 cones = product(&bradford, &rec709), back = inverse(&cones);
    matrix3 scaled;
    for (int i = 0; i < 3; ++i) {
        double seen = 0, shown = 0;
        for (int k = 0; k < 3; ++k) {
            seen += bradford.m[i][k] * white[k];
            shown += cones.m[i][k];
        }
        for (int k = 0; k < 3; ++k) scaled.m[i][k] = cones.m[i][k] * (shown / seen);
    }
    const matrix3 all = product(&back, &scaled);
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) out[i][k] = (float)all.m[i][k];
    return KD_OK;
}

/* --- pixels ----------------------------------------------------------------------------------- */

typedef struct finish_work {
    const image_finish *finish;
    const image *source;
    float *planes[3];
    const float *alpha; /* coverage; may be NULL */
    float scale;        /* factor of the exposure */
    float white[3][3];
    bool whitens;
} finish_work;

static float contrasted(float value, float contrast) {
    if (!(value > 0)) return value;
    return IMAGE_GREY * float_exp(contrast * float_log(value / IMAGE_GREY));
}

static vec3 finish_colour(const finish_work *work, vec3 c) {
    const image_finish *finish = work->finish;
    if (work->whitens) {
        vec3 made;
        made.x = work->white[0][0] * c.x + work->white[0][1] * c.y + work->white[0][2] * c.z;
        made.y = work->white[1][0] * c.x + work->white[1][1] * c.y + work->white[1][2] * c.z;
        made.z = work->white[2][0] * c.x + work->white[2][1] * c.y + work->white[2][2] * c.z;
        c = vec3_max(made, vec3_all(0));
    }
    if (finish->contrast > 0 && finish->contrast != 1)
        c = vec3_make(contrasted(c.x, finish->contrast), contrasted(c.y, finish->contrast),
                      contrasted(c.z, finish->contrast));
    if (finish->colourless != 0) {
        const vec3 grey = vec3_all(vec3_luminance(c));
        c = vec3_max(vec3_along(c, finish->colourless, vec3_sub(grey, c)), vec3_all(0));
    }
    return c;
}

static void finish_rows(void *context, int64_t begin, int64_t end, int thread) {
    const finish_work *work = (const finish_work *)context;
    const image *source = work->source;
    const bool part = source->whole_width > 0;
    const float width = (float)(part ? source->whole_width : source->width);
    const float height = (float)(part ? source->whole_height : source->height);
    const float per_corner = 4 / (width * width + height * height);
    (void)thread;
    for (int64_t y = begin; y < end; ++y) {
        const float up = (float)(y + (part ? source->top : 0)) + 0.5f - 0.5f * height;
        for (int64_t x = 0; x < source->width; ++x) {
            const int64_t i = y * source->width + x;
            const float right = (float)(x + (part ? source->left : 0)) + 0.5f - 0.5f * width;
            const float far = float_min((right * right + up * up) * per_corner, 1);
            /* colours are premultiplied */
            const float covered =
                work->alpha && work->alpha[i] > 0 && work->alpha[i] < 1 ? work->alpha[i] : 1;
            const float scale = work->scale * (1 - work->finish->vignette * far) / covered;
            const vec3 c = finish_colour(work, vec3_make(scale * work->planes[0][i],
                                                         scale * work->planes[1][i],
                                                         scale * work->planes[2][i]));
            work->planes[0][i] = covered * c.x;
            work->planes[1][i] = covered * c.y;
            work->planes[2][i] = covered * c.z;
        }
    }
}

/* --- images ----------------------------------------------------------------------------------- */

bool image_finish_is_none(const image_finish *finish) {
    return !(finish->bloom > 0 && finish->bloom_radius > 0) && !(finish->vignette > 0) &&
           !(finish->contrast > 0 && finish->contrast != 1) && !(finish->colourless < 0) &&
           !(finish->colourless > 0) && !has_white(finish);
}

kd_status image_finish_check(const image_finish *finish) {
    float matrix[3][3];
    KD_TRY(white_matrix(matrix, finish));
    return KD_OK;
}

/* Copies a plane; numbers that are not finite become 0, as they would spread. */
static kd_status copy_plane(float **plane, image *out, const image *from, const char *name) {
    const float *read = image_plane(from, name);
    const uint64_t count = (uint64_t)from->width * (uint64_t)from->height;
    *plane = NULL;
    if (!read) return KD_OK;
    KD_TRY(image_add(out, name, plane));
    for (uint64_t i = 0; i < count; ++i) (*plane)[i] = isfinite(read[i]) ? read[i] : 0;
    return KD_OK;
}

static kd_status make_finished(image *out, const image *from, float exposure,
                               const image_finish *finish) {
    static const char *const names[] = {"R", "G", "B"};
    finish_work work = {.finish = finish, .source = out, .scale = exp2f(exposure)};
    float *alpha = NULL;
    for (int c = 0; c < 3; ++c) {
        KD_TRY(copy_plane(&work.planes[c], out, from, names[c]));
        KD_REQUIRE(work.planes[c], KD_ERROR_USAGE,
                   "an image without the channels R, G and B cannot be finished");
        if (finish->bloom > 0) KD_TRY(bloom_plane(work.planes[c], out, finish));
    }
    KD_TRY(copy_plane(&alpha, out, from, "A"));
    work.alpha = alpha;
    work.whitens = has_white(finish);
    KD_TRY(white_matrix(work.white, finish));
    parallel_for(out->height, 16, finish_rows, &work);
    return KD_OK;
}

kd_status image_finish_make(image *out, const image *from, float exposure,
                            const image_finish *finish) {
    KD_TRY(image_open(out, from->width, from->height));
    out->left = from->left;
    out->top = from->top;
    out->whole_width = from->whole_width;
    out->whole_height = from->whole_height;
    const kd_status status = make_finished(out, from, exposure, finish);
    if (status != KD_OK) image_close(out);
    KD_TRY(status);
    return KD_OK;
}

kd_status finish_write(const image *from, const char *path, const image_encoding *encoding,
                       const image_finish *finish) {
    const image_format *format = image_format_find(path);
    if (image_finish_is_none(finish) || !format || !format->display) {
        KD_TRY(image_write(from, path, encoding));
        return KD_OK;
    }
    image_encoding exposed = *encoding;
    image made;
    if (isnan(exposed.exposure)) KD_TRY(image_exposure(&exposed.exposure, from));
    KD_TRY(image_finish_make(&made, from, exposed.exposure, finish));
    exposed.exposure = 0;
    const kd_status status = image_write(&made, path, &exposed);
    image_close(&made);
    KD_TRY(status);
    return KD_OK;
}
