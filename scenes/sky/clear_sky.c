/* Source: Preetham, Shirley and Smits 1999, "A practical analytic model for daylight": the sky's
     distribution (appendix A.2: coefficients of Perez's formula, luminance and chromaticity of the
     zenith); Hestroffer and Magnan 1998, "Wavelength dependency of the solar limb darkening":
     brightness of the sun's disc. */
#include "scenes/sky/clear_sky.h"
#include "core/math/photometry.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/sky/sunlight.h"
#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;
static const double sun_degrees = 0.2666; /* radius of the disc */

/* --- the sky ---------------------------------------------------------------------------------- */

static double perez(const double coefficients[5], double cosine, double angle) {
    return (1 + coefficients[0] * exp(coefficients[1] / fmax(cosine, 1e-3))) *
           (1 + coefficients[2] * exp(coefficients[3] * angle) +
            coefficients[4] * cos(angle) * cos(angle));
}

static double zenith_chromaticity(const double coefficients[3][4], double t, double a) {
    double sum = 0;
    for (int i = 0; i < 3; ++i)
        sum = sum * t +
              ((coefficients[i][0] * a + coefficients[i][1]) * a + coefficients[i][2]) * a +
              coefficients[i][3];
    return sum;
}

kd_status clear_sky_open(clear_sky_model *out, const clear_sky *sky) {
    static const double slopes[3][5] = {{0.1787, -0.3554, -0.0227, 0.1206, -0.0670},
                                        {-0.0193, -0.0665, -0.0004, -0.0641, -0.0033},
                                        {-0.0167, -0.0950, -0.0079, -0.0441, -0.0109}};
    static const double constants[3][5] = {{-1.4630, 0.4275, 5.3251, -2.5771, 0.3703},
                                           {-0.2592, 0.0008, 0.2125, -0.8989, 0.0452},
                                           {-0.2608, 0.0092, 0.2102, -1.6537, 0.0529}};
    static const double zenith_x[3][4] = {{0.00166, -0.00375, 0.00209, 0},
                                          {-0.02903, 0.06377, -0.03202, 0.00394},
                                          {0.11693, -0.21196, 0.06052, 0.25886}};
    static const double zenith_y[3][4] = {{0.00275, -0.00610, 0.00317, 0},
                                          {-0.04214, 0.08970, -0.04153, 0.00516},
                                          {0.15346, -0.26756, 0.06670, 0.26688}};
    const double t = (double)sky->turbidity;
    const double sun[3] = {(double)sky->sun.x, (double)sky->sun.y, (double)sky->sun.z};
    const double length = sqrt(sun[0] * sun[0] + sun[1] * sun[1] + sun[2] * sun[2]);
    memset(out, 0, sizeof *out);
    for (int c = 0; c < 3; ++c) out->sun[c] = sun[c] / length;
    if (sky->atmosphere)
        return atmosphere_open(&out->atmosphere, out->sun[1], t, sky->ground, out->sun_irradiance);
    for (int c = 0; c < 3; ++c)
        for (int k = 0; k < 5; ++k) out->perez[c][k] = slopes[c][k] * t + constants[c][k];
    const double a = acos(fmin(out->sun[1], 1));
    const double chi = (4.0 / 9 - t / 120) * (pi - 2 * a);
    out->zenith[0] = (4.0453 * t - 4.9710) * tan(chi) - 0.2155 * t + 2.4192;
    out->zenith[1] = zenith_chromaticity(zenith_x, t, a);
    out->zenith[2] = zenith_chromaticity(zenith_y, t, a);
    const double mass = 1 / (out->sun[1] + 0.15 * pow(93.885 - a * 180 / pi, -1.253));
    const double masses[3] = {mass, mass, mass};
    sun_irradiance(out->sun_irradiance, t, masses);
    return KD_OK;
}

void clear_sky_close(clear_sky_model *model) {
    memory_free(model->atmosphere);
    model->atmosphere = NULL;
}

void clear_sky_radiance(double rgb[3], const clear_sky_model *sky, const double direction[3]) {
    const double *sun = sky->sun;
    const double cosine = sun[0] * direction[0] + sun[1] * direction[1] + sun[2] * direction[2];
    if (sky->atmosphere) {
        atmosphere_radiance(rgb, sky->atmosphere, direction[1], cosine);
        return;
    }
    const double angle = acos(fmax(-1, fmin(1, cosine))), sun_angle = acos(fmin(sun[1], 1));
    double seen[3];
    for (int c = 0; c < 3; ++c)
        seen[c] = sky->zenith[c] * perez(sky->perez[c], direction[1], angle) /
                  perez(sky->perez[c], 1, sun_angle);
    const double radiance = fmax(0, seen[0]) * 1000 / KD_LUMENS_PER_WATT;
    sky_colour(rgb, radiance * seen[1] / seen[2], radiance,
               radiance * (1 - seen[1] - seen[2]) / seen[2]);
}

/* --- images ----------------------------------------------------------------------------------- */

static void texel_direction(double direction[3], double x, double y) {
    const double phi = (x / CLEAR_SKY_WIDTH - 0.5) * 2 * pi, theta = y / CLEAR_SKY_HEIGHT * pi;
    direction[0] = sin(theta) * sin(phi);
    direction[1] = cos(theta);
    direction[2] = -sin(theta) * cos(phi);
}

/* Solid angle in sr of a texel in row y. */
static double texel_size(int64_t y) {
    const double step = pi / CLEAR_SKY_HEIGHT;
    return 2 * pi / CLEAR_SKY_WIDTH * (cos((double)y * step) - cos((double)(y + 1) * step));
}

typedef struct picture_work {
    clear_sky_model model;
    float *floats;
    double (*rows)[3]; /* irradiance on the ground from each row of the sky */
} picture_work;

static void sky_rows(void *context, int64_t begin, int64_t end, int thread) {
    const picture_work *work = (const picture_work *)context;
    (void)thread;
    for (int64_t y = begin; y < end; ++y) {
        double *sum = work->rows[y];
        sum[0] = sum[1] = sum[2] = 0;
        for (int64_t x = 0; x < CLEAR_SKY_WIDTH; ++x) {
            double direction[3], rgb[3];
            texel_direction(direction, (double)x + 0.5, (double)y + 0.5);
            clear_sky_radiance(rgb, &work->model, direction);
            for (int c = 0; c < 3; ++c) {
                work->floats[3 * (y * CLEAR_SKY_WIDTH + x) + c] = (float)rgb[c];
                sum[c] += rgb[c] * direction[1] * texel_size(y);
            }
        }
    }
}

/* Adds to `share` the mean over texel (x, y), estimated from 8 x 8 points, of the sun's radiance
   relative to the centre of its disc; 0 outside. Where the line of sight makes an angle of cosine m
   with the sun's vertical, that is m^(-0.023 + 0.292 / wavelength in micrometres). The channels
   have dominant wavelengths of about 611, 549 and 464 nm. */
static void sun_share(double share[3], const clear_sky_model *sky, int64_t x, int64_t y) {
    enum { POINTS = 8 };
    static const double wavelength[3] = {0.611, 0.549, 0.464};
    const double radius = sun_degrees * pi / 180, edge = sin(radius) * sin(radius);
    for (int i = 0; i < POINTS * POINTS; ++i) {
        double direction[3], across = 0;
        texel_direction(direction, (double)x + (i % POINTS + 0.5) / POINTS,
                        (double)y + (i / POINTS + 0.5) / POINTS);
        const double cosine =
            direction[0] * sky->sun[0] + direction[1] * sky->sun[1] + direction[2] * sky->sun[2];
        /* |direction x sun|^2, which is more accurate than 1 - cosine^2 */
        for (int c = 0; c < 3; ++c) {
            const int d = (c + 1) % 3;
            const double part = direction[c] * sky->sun[d] - direction[d] * sky->sun[c];
            across += part * part;
        }
        if (!(cosine > 0) || !(across < edge)) continue;
        for (int c = 0; c < 3; ++c)
            share[c] +=
                pow(1 - across / edge, 0.5 * (-0.023 + 0.292 / wavelength[c])) / (POINTS * POINTS);
    }
}

/* Pass 0 sums the radiance of the disc as the texels resolve it, relative to its centre; pass 1
   divides the irradiance by that, so that the energy is exact. */
static void sun_add(const picture_work *work) {
    const double radius = sun_degrees * pi / 180;
    const int64_t middle = (int64_t)(acos(work->model.sun[1]) / pi * CLEAR_SKY_HEIGHT);
    const int64_t reach = (int64_t)(radius / pi * CLEAR_SKY_HEIGHT) + 2;
    const int64_t top = middle > reach ? middle - reach : 0;
    const int64_t bottom =
        middle + reach < CLEAR_SKY_HEIGHT / 2 ? middle + reach : CLEAR_SKY_HEIGHT / 2 - 1;
    double solid[3] = {0, 0, 0};
    for (int pass = 0; pass < 2; ++pass)
        for (int64_t y = top; y <= bottom; ++y)
            for (int64_t x = 0; x < CLEAR_SKY_WIDTH; ++x) {
                double share[3] = {0, 0, 0};
                float *rgb = work->floats + 3 * (y * CLEAR_SKY_WIDTH + x);
                sun_share(share, &work->model, x, y);
                for (int c = 0; c < 3 && share[0] > 0; ++c)
                    if (pass == 0)
                        solid[c] += share[c] * texel_size(y);
                    else
                        rgb[c] += (float)(share[c] * work->model.sun_irradiance[c] / solid[c]);
            }
}

/* A Lambertian ground, lit by sky and sun. */
static void ground_add(const picture_work *work, const clear_sky *sky) {
    const double albedo[3] = {(double)sky->ground.x, (double)sky->ground.y, (double)sky->ground.z};
    float sent[3];
    for (int c = 0; c < 3; ++c) {
        double sum = sky->disc ? work->model.sun_irradiance[c] * work->model.sun[1] : 0;
        for (int y = 0; y < CLEAR_SKY_HEIGHT / 2; ++y) sum += work->rows[y][c];
        sent[c] = (float)(albedo[c] * sum / pi);
    }
    for (int64_t i = CLEAR_SKY_HEIGHT / 2 * CLEAR_SKY_WIDTH;
         i < (int64_t)CLEAR_SKY_HEIGHT * CLEAR_SKY_WIDTH; ++i)
        memcpy(work->floats + 3 * i, sent, sizeof sent);
}

kd_status clear_sky_picture(float **floats, const clear_sky *sky) {
    picture_work work;
    kd_status status = KD_OK;
    memset(&work, 0, sizeof work);
    *floats = NULL;
    KD_TRY_GOTO(clear_sky_open(&work.model, sky));
    KD_TRY_GOTO(KD_RESERVE(work.rows, CLEAR_SKY_HEIGHT / 2));
    KD_TRY_GOTO(KD_RESERVE(work.floats, 3 * CLEAR_SKY_WIDTH * CLEAR_SKY_HEIGHT));
    parallel_for(CLEAR_SKY_HEIGHT / 2, 8, sky_rows, &work);
    ground_add(&work, sky);
    if (sky->disc) sun_add(&work);
    *floats = work.floats;
done:
    clear_sky_close(&work.model);
    memory_free(work.rows);
    return status;
}
