/* FLIP for display-referred pictures.
   Source: Andersson, Nilsson, Akenine-Moller, Oskarsson, Astrom, Fairchild 2020, "FLIP: A
           Difference Evaluator for Alternating Images", Proc. ACM CGIT 3(2), section 4; all
           constants are from the paper.
   Idea: filters colours by the contrast sensitivity of the eye, computes their distance in a
         perceptually uniform colour space, and amplifies it where edges or points differ.
   Work: O(pixels x radius of the filters, 10 and 9 pixels).
   Memory: 15 floats per pixel.
   Differs from the paper in: 2D filters are computed as sums of separable filters, which only
                              changes the order of summation. */
#include "core/image_processing/compare.h"
#include "core/math/geometry.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <string.h>

#define FLIP_PI 3.14159265358979323846f
enum { FLIP_ROWS = 8 };

/* --- colour spaces with the primaries of sRGB; white is RGB (1, 1, 1) --- */

static vec3 xyz_of_rgb(vec3 c) {
    return vec3_make(0.412386563f * c.x + 0.357591491f * c.y + 0.180450491f * c.z,
                     0.212636822f * c.x + 0.715182982f * c.y + 0.072180196f * c.z,
                     0.019330620f * c.x + 0.119197164f * c.y + 0.950372587f * c.z);
}

static vec3 rgb_of_xyz(vec3 c) {
    return vec3_make(3.241003233f * c.x - 1.537398969f * c.y - 0.498615882f * c.z,
                     -0.969224252f * c.x + 1.875929984f * c.y + 0.041554226f * c.z,
                     0.055639420f * c.x - 0.204011206f * c.y + 1.057148977f * c.z);
}

static const float white_x = 0.950428545f, white_z = 1.088900371f;

/* Opponent colour space, linear in RGB: achromatic, red-green, blue-yellow. */
static vec3 ycxcz_of_rgb(vec3 rgb) {
    const vec3 c = xyz_of_rgb(rgb);
    return vec3_make(116 * c.y - 16, 500 * (c.x / white_x - c.y), 200 * (c.y - c.z / white_z));
}

static vec3 rgb_of_ycxcz(vec3 c) {
    const float y = (c.x + 16) / 116;
    return rgb_of_xyz(vec3_make(white_x * (y + c.y / 500), y, white_z * (y - c.z / 200)));
}

static float lab_curve(float t) {
    const float delta = 6.0f / 29;
    return t > delta * delta * delta ? cbrtf(t) : t / (3 * delta * delta) + 4.0f / 29;
}

/* CIELAB adjusted for the Hunt effect: chroma increases with lightness. */
static vec3 hunt_lab_of_rgb(vec3 rgb) {
    const vec3 c = xyz_of_rgb(rgb);
    const float fx = lab_curve(c.x / white_x), fy = lab_curve(c.y), fz = lab_curve(c.z / white_z);
    const float lightness = 116 * fy - 16;
    return vec3_make(lightness, 0.01f * lightness * 500 * (fx - fy),
                     0.01f * lightness * 200 * (fy - fz));
}

static float hyab(vec3 a, vec3 b) {
    const vec3 d = vec3_sub(a, b);
    return fabsf(d.x) + sqrtf(d.y * d.y + d.z * d.z);
}

static vec3 rgb_clamp(vec3 c) {
    return vec3_max(vec3_all(0), vec3_min(vec3_all(1), c));
}

/* --- separable filters; border pixels are replicated --- */

typedef struct flip_kernel {
    int32_t reach;
    float weight[2 * FLIP_REACH + 1];
} flip_kernel;

typedef struct flip_filter {
    float *out;
    float *half_way;
    const float *in;
    const flip_kernel *along_x, *along_y;
    int32_t width, height;
    float scale;
    int adds; /* adds to `out` instead of overwriting it */
} flip_filter;

static int32_t index_clamp(int32_t i, int32_t count) {
    return i < 0 ? 0 : i < count ? i : count - 1;
}

/* out[x] += weight * in[x + shift] */
static void row_add(float *out, const float *in, int32_t width, int32_t shift, float weight) {
    const int32_t first = shift < 0 ? (-shift < width ? -shift : width) : 0;
    const int32_t last = shift > 0 ? (shift < width ? width - shift : 0) : width;
    for (int32_t x = 0; x < first; ++x) out[x] += weight * in[0];
    for (int32_t x = first; x < last; ++x) out[x] += weight * in[x + shift];
    for (int32_t x = last; x < width; ++x) out[x] += weight * in[width - 1];
}

static void filter_rows(void *context, int64_t begin, int64_t end, int thread) {
    const flip_filter *f = (const flip_filter *)context;
    const int32_t reach = f->along_x->reach;
    (void)thread;
    for (int64_t y = begin; y < end; ++y) {
        float *out = f->half_way + y * f->width;
        memset(out, 0, (size_t)f->width * sizeof *out);
        for (int32_t k = -reach; k <= reach; ++k)
            row_add(out, f->in + y * f->width, f->width, k, f->along_x->weight[k + reach]);
    }
}

static void filter_columns(void *context, int64_t begin, int64_t end, int thread) {
    const flip_filter *f = (const flip_filter *)context;
    const int32_t reach = f->along_y->reach;
    (void)thread;
    for (int64_t y = begin; y < end; ++y) {
        float *out = f->out + y * f->width;
        if (!f->adds) memset(out, 0, (size_t)f->width * sizeof *out);
        for (int32_t k = -reach; k <= reach; ++k) {
            const float *in =
                f->half_way + (size_t)index_clamp((int32_t)y + k, f->height) * (size_t)f->width;
            const float weight = f->scale * f->along_y->weight[k + reach];
            for (int32_t x = 0; x < f->width; ++x) out[x] += weight * in[x];
        }
    }
}

static void filter_apply(flip_filter *f) {
    parallel_for(f->height, FLIP_ROWS, filter_rows, f);
    parallel_for(f->height, FLIP_ROWS, filter_columns, f);
}

/* Samples exp(-factor x^2) at integers, normalised to a sum of 1; returns the sum before
   normalisation. */
static double kernel_gaussian(flip_kernel *kernel, int32_t reach, double factor) {
    double sum = 0;
    kernel->reach = reach;
    for (int32_t k = -reach; k <= reach; ++k) sum += exp(-factor * k * k);
    for (int32_t k = -reach; k <= reach; ++k)
        kernel->weight[k + reach] = (float)(exp(-factor * k * k) / sum);
    return sum;
}

/* First or second derivative of a Gaussian; positive weights sum to 1, negative ones to -1 (section
   4.2.1). */
static void kernel_derivative(flip_kernel *kernel, int32_t reach, double deviation, int order) {
    double value[2 * FLIP_REACH + 1], positive = 0, negative = 0;
    kernel->reach = reach;
    for (int32_t k = -reach; k <= reach; ++k) {
        const double x = k / deviation, bell = exp(-x * x / 2);
        const double v = order == 1 ? -x * bell : (x * x - 1) * bell;
        value[k + reach] = v;
        if (v > 0)
            positive += v;
        else
            negative -= v;
    }
    for (int32_t k = 0; k <= 2 * reach; ++k)
        kernel->weight[k] = (float)(value[k] / (value[k] > 0 ? positive : negative));
}

/* --- section 4.1: colour --- */

/* Contrast sensitivity of a channel as a sum of two Gaussians a sqrt(pi / b) exp(-pi^2 x^2 / b), x
   in degrees. */
typedef struct flip_sensitivity {
    double a1, b1, a2, b2;
} flip_sensitivity;
static const flip_sensitivity sensitivity[3] = {
    {1, 0.0047, 0, 1e-5}, {1, 0.0053, 0, 1e-5}, {34.1, 0.04, 13.5, 0.025}};

static void sensitivity_apply(flip_filter *f, const flip_sensitivity *s) {
    const double pi = (double)FLIP_PI, degree = (double)FLIP_PIXELS_PER_DEGREE;
    const int32_t reach = (int32_t)ceil(3 * sqrt(0.04 / (2 * pi * pi)) * degree);
    flip_kernel first, second;
    const double factor = pi * pi / (degree * degree);
    const double sum1 = kernel_gaussian(&first, reach, factor / s->b1);
    const double sum2 = kernel_gaussian(&second, reach, factor / s->b2);
    const double weight1 = s->a1 * sqrt(pi / s->b1) * sum1 * sum1;
    const double weight2 = s->a2 * sqrt(pi / s->b2) * sum2 * sum2;
    f->along_x = f->along_y = &first;
    f->scale = (float)(weight1 / (weight1 + weight2));
    f->adds = 0;
    filter_apply(f);
    if (s->a2 > 0) {
        f->along_x = f->along_y = &second;
        f->scale = (float)(weight2 / (weight1 + weight2));
        f->adds = 1;
        filter_apply(f);
    }
}

/* Maps the colour distance to [0, 1], compressing large distances (section 4.1.4). */
static float colour_error(vec3 test, vec3 reference, float largest) {
    const float cut = 0.4f * largest; /* p_c */
    const float distance = powf(hyab(test, reference), 0.7f);
    const float target = 0.95f; /* p_t */
    if (distance < cut) return target / cut * distance;
    return target + (distance - cut) / (largest - cut) * (1 - target);
}

/* --- section 4.2: edges and points in the achromatic channel --- */

static void features_find(flip_filter *f, float *out, int order) {
    const double deviation = 0.5 * 0.082 * (double)FLIP_PIXELS_PER_DEGREE; /* w / 2, in pixels */
    const int32_t reach = (int32_t)ceil(3 * deviation);
    flip_kernel bell, slope;
    kernel_gaussian(&bell, reach, 1 / (2 * deviation * deviation));
    kernel_derivative(&slope, reach, deviation, order);
    float *const along[2] = {f->out, out};
    f->scale = 1;
    f->adds = 0;
    for (int axis = 0; axis < 2; ++axis) {
        f->out = along[axis];
        f->along_x = axis == 0 ? &slope : &bell;
        f->along_y = axis == 0 ? &bell : &slope;
        filter_apply(f);
    }
    const size_t count = (size_t)f->width * (size_t)f->height;
    for (size_t i = 0; i < count; ++i)
        out[i] = sqrtf(along[0][i] * along[0][i] + along[1][i] * along[1][i]);
    f->out = along[0];
}

/* --- the metric --- */

typedef struct flip_seen { /* filtered picture and its features */
    float *colour[3];      /* opponent space, filtered */
    float *edges, *points;
} flip_seen;

enum { FLIP_SEEN_PLANES = 5, FLIP_SCRATCH_PLANES = 5 };

/* `scratch` holds FLIP_SCRATCH_PLANES planes. */
static void picture_see(flip_seen *seen, const flip_picture *picture, int32_t width, int32_t height,
                        float *scratch) {
    const size_t count = (size_t)width * (size_t)height;
    float *opponent[3], *achromatic = scratch + 4 * count;
    for (size_t c = 0; c < 3; ++c) opponent[c] = scratch + c * count;
    for (size_t i = 0; i < count; ++i) {
        const vec3 c = ycxcz_of_rgb(rgb_clamp(
            vec3_make(picture->planes[0][i], picture->planes[1][i], picture->planes[2][i])));
        opponent[0][i] = c.x;
        opponent[1][i] = c.y;
        opponent[2][i] = c.z;
        achromatic[i] = (c.x + 16) / 116; /* to [0, 1] */
    }
    flip_filter filter = {.half_way = scratch + 3 * count, .width = width, .height = height};
    for (int c = 0; c < 3; ++c) {
        filter.in = opponent[c];
        filter.out = seen->colour[c];
        sensitivity_apply(&filter, &sensitivity[c]);
    }
    filter.in = achromatic;
    filter.out = opponent[0];
    features_find(&filter, seen->edges, 1);
    features_find(&filter, seen->points, 2);
}

static vec3 lab_seen(const flip_seen *seen, size_t i) {
    const vec3 opponent = vec3_make(seen->colour[0][i], seen->colour[1][i], seen->colour[2][i]);
    return hunt_lab_of_rgb(rgb_clamp(rgb_of_ycxcz(opponent)));
}

typedef struct flip_comparison {
    float *error;
    flip_seen test, reference;
    int32_t width;
    float largest; /* colour distance between pure green and pure blue */
} flip_comparison;

static void errors_combine(void *context, int64_t begin, int64_t end, int thread) {
    const flip_comparison *comparison = (const flip_comparison *)context;
    (void)thread;
    for (size_t i = (size_t)(begin * comparison->width); i < (size_t)(end * comparison->width);
         ++i) {
        const float colour = colour_error(lab_seen(&comparison->test, i),
                                          lab_seen(&comparison->reference, i), comparison->largest);
        const float edges = fabsf(comparison->test.edges[i] - comparison->reference.edges[i]);
        const float points = fabsf(comparison->test.points[i] - comparison->reference.points[i]);
        const float feature = sqrtf(sqrtf(0.5f) * float_max(edges, points)); /* q_f = 1/2 */
        comparison->error[i] = powf(colour, 1 - float_min(feature, 1));      /* section 4.3 */
    }
}

kd_status flip_errors(float *error, const flip_picture *test, const flip_picture *reference,
                      int32_t width, int32_t height) {
    const size_t count = (size_t)width * (size_t)height;
    float *block = NULL;
    KD_TRY(KD_RESERVE(block, count * (2 * FLIP_SEEN_PLANES + FLIP_SCRATCH_PLANES)));
    flip_comparison comparison = {.error = error, .width = width};
    float *next = block;
    flip_seen *const images[2] = {&comparison.test, &comparison.reference};
    for (int p = 0; p < 2; ++p) {
        for (int c = 0; c < 3; ++c, next += count) images[p]->colour[c] = next;
        images[p]->edges = next;
        images[p]->points = next + count;
        next += 2 * count;
    }
    picture_see(&comparison.test, test, width, height, next);
    picture_see(&comparison.reference, reference, width, height, next);
    comparison.largest =
        powf(hyab(hunt_lab_of_rgb(vec3_make(0, 1, 0)), hunt_lab_of_rgb(vec3_make(0, 0, 1))), 0.7f);
    parallel_for(height, FLIP_ROWS, errors_combine, &comparison);
    memory_free(block);
    return KD_OK;
}
