/* Sampling tables for a latitude-longitude environment map; equal-area maps, converted to it.
   Source: Pharr, Jakob, Humphreys, Physically Based Rendering, "Sampling light sources: infinite
     area lights": a marginal distribution over rows, a conditional distribution within each row;
     Clarberg 2008, "Fast equal-area mapping of the (hemi)sphere using SIMD".
   Idea: one table entry per texel. Its weight is the integral of the bilinearly filtered image over
     the texel's solid angle, so that the weight is zero only where the image is black. Along x the
     filter weights are 1/8, 3/4, 1/8 (x wraps around); along y they are the same, but with each
     part weighted by sin(theta) (y is clamped).
   Memory: 4 bytes per texel. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/assembly/scene_parts.h"

static const double pi = 3.14159265358979323846;

typedef struct sky_tables {
    const texture_view *image;
    float *row_cdf;       /* height + 1 */
    float *column_cdf;    /* height x (width + 1) */
    double *row_sums;     /* sum of the weights of each row */
    double (*colours)[3]; /* sum of the RGB values of each row */
} sky_tables;

/* Filter weights, along y, of the rows above, at and below row y, weighted by sin(theta). */
typedef struct row_mix {
    float above, middle, below;
} row_mix;

static row_mix row_mix_at(int32_t y, int32_t height) {
    enum { STEPS = 64 };
    double above = 0, middle = 0, below = 0;
    for (int i = 0; i < STEPS; ++i) {
        const double t = (i + 0.5) / STEPS;
        const double sine = sin(pi * (y + t) / height);
        above += sine * fmax(0.5 - t, 0);
        middle += sine * (1 - fabs(t - 0.5));
        below += sine * fmax(t - 0.5, 0);
    }
    const double sum = above + middle + below;
    const row_mix mix = {(float)(above / sum), (float)(middle / sum), (float)(below / sum)};
    return mix;
}

static vec3 row_texel(const sky_tables *tables, row_mix mix, int32_t x, int32_t y) {
    const texture_view *image = tables->image;
    const int32_t above = y > 0 ? y - 1 : 0, below = y + 1 < image->height ? y + 1 : y;
    const vec3 upper = vec3_scale(texture_texel(image, x, above), mix.above);
    const vec3 lower = vec3_scale(texture_texel(image, x, below), mix.below);
    return vec3_along(vec3_add(upper, lower), mix.middle, texture_texel(image, x, y));
}

static double texel_weight(vec3 colour) {
    return ((double)colour.x + (double)colour.y + (double)colour.z) / 3;
}

static void weigh_row(const sky_tables *tables, int32_t y) {
    const int32_t width = tables->image->width;
    const row_mix mix = row_mix_at(y, tables->image->height);
    float *cdf = tables->column_cdf + (int64_t)y * (width + 1);
    double *colours = tables->colours[y], sum = 0;
    vec3 before = row_texel(tables, mix, width - 1, y), current = row_texel(tables, mix, 0, y);
    colours[0] = colours[1] = colours[2] = 0;
    for (int32_t x = 0; x < width; ++x) {
        /* cdf[x + 1] holds the weight of x until the prefix sum below */
        const vec3 after = row_texel(tables, mix, x + 1 < width ? x + 1 : 0, y);
        const vec3 mean = vec3_along(vec3_scale(vec3_add(before, after), 0.125f), 0.75f, current);
        cdf[x + 1] = (float)texel_weight(mean);
        sum += (double)cdf[x + 1];
        colours[0] += (double)mean.x;
        colours[1] += (double)mean.y;
        colours[2] += (double)mean.z;
        before = current;
        current = after;
    }
    double running = 0;
    cdf[0] = 0;
    for (int32_t x = 0; x < width; ++x) {
        /* a black row gets a uniform distribution; it is never sampled */
        running += sum > 0 ? (double)cdf[x + 1] : 1;
        cdf[x + 1] = (float)(running / (sum > 0 ? sum : (double)width));
    }
    cdf[width] = 1;
    tables->row_sums[y] = sum / width;
}

static void weigh_rows(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    for (int64_t y = begin; y < end; ++y) weigh_row((const sky_tables *)context, (int32_t)y);
}

/* The fraction of the sphere that row y covers: half the integral of sin(theta). */
static double row_share(int32_t y, int32_t height) {
    const double step = pi / height;
    return 0.5 * (cos(y * step) - cos((y + 1) * step));
}

static void finish_rows(const sky_tables *tables, vec3 *mean) {
    const int32_t width = tables->image->width, height = tables->image->height;
    double total = 0, running = 0, colour[3] = {0, 0, 0};
    for (int32_t y = 0; y < height; ++y) {
        const double share = row_share(y, height);
        total += share * tables->row_sums[y];
        for (int c = 0; c < 3; ++c) colour[c] += share * tables->colours[y][c] / width;
    }
    tables->row_cdf[0] = 0;
    for (int32_t y = 0; y < height; ++y) {
        running += total > 0 ? row_share(y, height) * tables->row_sums[y] : 1;
        tables->row_cdf[y + 1] = (float)(running / (total > 0 ? total : (double)height));
    }
    tables->row_cdf[height] = 1;
    *mean = vec3_make((float)colour[0], (float)colour[1], (float)colour[2]);
}

kd_status sky_tables_make(float **row_cdf, float **column_cdf, const texture_view *image,
                          vec3 *mean) {
    sky_tables tables;
    memset(&tables, 0, sizeof tables);
    const uint64_t height = (uint64_t)image->height;
    kd_status status = KD_OK;
    tables.image = image;
    KD_TRY_GOTO(KD_RESERVE(*row_cdf, height + 1));
    KD_TRY_GOTO(KD_RESERVE(*column_cdf, height * ((uint64_t)image->width + 1)));
    KD_TRY_GOTO(KD_RESERVE(tables.row_sums, height));
    KD_TRY_GOTO(KD_RESERVE(tables.colours, height));
    tables.row_cdf = *row_cdf;
    tables.column_cdf = *column_cdf;
    parallel_for(image->height, 8, weigh_rows, &tables);
    finish_rows(&tables, mean);
done:
    memory_free(tables.row_sums);
    memory_free(tables.colours);
    return status;
}

kd_status scene_build_sky_tables(scene *scene, vec3 *mean) {
    const texture_view *image = &scene->textures.views[scene->environment.texture];
    KD_TRY(sky_tables_make(&scene->row_cdf, &scene->column_cdf, image, mean));
    scene->environment.width = image->width;
    scene->environment.height = image->height;
    scene->environment.row_cdf = scene->row_cdf;
    scene->environment.column_cdf = scene->column_cdf;
    return KD_OK;
}

/* Adds a soft studio light: a broad bright lobe from the upper left in front, a pale sky, a dim
   ground. */
kd_status scene_add_default_sky(scene *scene) {
    enum { WIDTH = 128, HEIGHT = 64 };
    const vec3 key = vec3_normalize(vec3_make(-0.55f, 0.75f, 0.6f));
    float *floats = NULL;
    KD_TRY(KD_RESERVE(floats, 3 * WIDTH * HEIGHT));
    for (int32_t y = 0; y < HEIGHT; ++y)
        for (int32_t x = 0; x < WIDTH; ++x) {
            const vec2 at = vec2_make(((float)x + 0.5f) / WIDTH, ((float)y + 0.5f) / HEIGHT);
            const vec3 direction = latlong_to_direction(at, 0);
            const float lobe = 3.2f * expf(9 * (vec3_dot(direction, key) - 1));
            const float sky = 0.35f + 0.25f * direction.y;
            float *rgb = floats + 3 * (y * WIDTH + x);
            rgb[0] = sky + lobe;
            rgb[1] = 1.02f * sky + 0.98f * lobe;
            rgb[2] = 1.08f * sky + 0.93f * lobe;
        }
    KD_TRY(
        texture_store_adopt(&scene->textures, floats, WIDTH, HEIGHT, &scene->environment.texture));
    KD_TRY(texture_store_load(&scene->textures));
    return KD_OK;
}

/* --- equal-area pictures ---------------------------------------------------------------------- */

/* Maps a direction to the square, 0 to 1 from its top left. */
static void square_place(double place[2], const double direction[3]) {
    const double px = direction[0], py = -direction[2],
                 pz = direction[1]; /* z points to the square's centre */
    const double x = fabs(px), y = fabs(py), radius = sqrt(fmax(0, 1 - fabs(pz)));
    double share = x > 0 || y > 0 ? atan2(fmin(x, y), fmax(x, y)) * 2 / pi : 0;
    if (x < y) share = 1 - share;
    double v = share * radius, u = radius - v;
    if (pz < 0) {
        const double swapped = u;
        u = 1 - v;
        v = 1 - swapped;
    }
    place[0] = (copysign(u, px) + 1) / 2;
    place[1] = (copysign(v, py) + 1) / 2;
}

static double square_texel(const float *square, int32_t side, int32_t x, int32_t y, int c) {
    x = x < 0 ? 0 : x >= side ? side - 1 : x;
    y = y < 0 ? 0 : y >= side ? side - 1 : y;
    return (double)square[3 * ((int64_t)y * side + x) + c];
}

static void square_radiance(double rgb[3], const float *square, int32_t side,
                            const double place[2]) {
    const double x = place[0] * side - 0.5, y = place[1] * side - 0.5;
    const int32_t left = (int32_t)floor(x), top = (int32_t)floor(y);
    const double s = x - left, t = y - top;
    for (int c = 0; c < 3; ++c)
        rgb[c] = (1 - t) * ((1 - s) * square_texel(square, side, left, top, c) +
                            s * square_texel(square, side, left + 1, top, c)) +
                 t * ((1 - s) * square_texel(square, side, left, top + 1, c) +
                      s * square_texel(square, side, left + 1, top + 1, c));
}

typedef struct square_work {
    const float *square;
    float *floats;
    int32_t side;
} square_work;

static void square_rows(void *context, int64_t begin, int64_t end, int thread) {
    enum { POINTS = 4 }; /* samples per texel along each axis */
    const square_work *work = (const square_work *)context;
    const int32_t height = work->side, width = 2 * height;
    (void)thread;
    for (int64_t y = begin; y < end; ++y)
        for (int64_t x = 0; x < width; ++x) {
            double sum[3] = {0, 0, 0};
            for (int i = 0; i < POINTS * POINTS; ++i) {
                const double phi =
                    (((double)x + (i % POINTS + 0.5) / POINTS) / width - 0.5) * 2 * pi;
                const double theta = ((double)y + (i / POINTS + 0.5) / POINTS) / height * pi;
                const double direction[3] = {sin(theta) * sin(phi), cos(theta),
                                             -sin(theta) * cos(phi)};
                double place[2], rgb[3];
                square_place(place, direction);
                square_radiance(rgb, work->square, work->side, place);
                for (int c = 0; c < 3; ++c) sum[c] += rgb[c];
            }
            for (int c = 0; c < 3; ++c)
                work->floats[3 * (y * width + x) + c] = (float)(sum[c] / (POINTS * POINTS));
        }
}

kd_status equal_area_to_latlong(float **floats, const float *square, int32_t side) {
    square_work work = {square, NULL, side};
    KD_TRY(KD_RESERVE(work.floats, 6 * (uint64_t)side * (uint64_t)side));
    parallel_for(side, 4, square_rows, &work);
    *floats = work.floats;
    return KD_OK;
}
