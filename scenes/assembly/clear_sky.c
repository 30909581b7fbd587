/* Source: Preetham, Shirley and Smits 1999, "A practical analytic model for daylight": the sky's
     distribution (appendix A.2: coefficients of Perez's formula, luminance and chromaticity of the
     zenith), transmittance of the atmosphere for sunlight (A.1: Rayleigh, aerosols, ozone); Wyman,
     Sloan and Shirley 2013 for the colour matching functions; Hestroffer and Magnan 1998,
     "Wavelength dependency of the solar limb darkening": brightness of the sun's disc; Clarberg
   2008, "Fast equal-area mapping of the (hemi)sphere using SIMD".
   Differs from the paper in: the extraterrestrial sun is a black body of 5778 K with an
     illuminance of 128 klx; absorption by water vapour and mixed gases is ignored, because it is
     outside the visible range. */
#include "scenes/assembly/clear_sky.h"
#include "core/math/photometry.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;
static const double sun_lux = 128000, sun_degrees = 0.2666;

static void colour_of(double rgb[3], double x, double y, double z) { /* from CIE XYZ, D65 */
    rgb[0] = fmax(0, 3.2404542 * x - 1.5371385 * y - 0.4985314 * z);
    rgb[1] = fmax(0, -0.9692660 * x + 1.8760108 * y + 0.0415560 * z);
    rgb[2] = fmax(0, 0.0556434 * x - 0.2040259 * y + 1.0572252 * z);
}

/* --- the sun ---------------------------------------------------------------------------------- */

static double lobe(double nm, double centre, double left, double right) {
    const double t = (nm - centre) * (nm < centre ? left : right);
    return exp(-0.5 * t * t);
}

static void observer(double xyz[3], double nm) {
    xyz[0] = 0.362 * lobe(nm, 442.0, 0.0624, 0.0374) + 1.056 * lobe(nm, 599.8, 0.0264, 0.0323) -
             0.065 * lobe(nm, 501.1, 0.0490, 0.0382);
    xyz[1] = 0.821 * lobe(nm, 568.8, 0.0213, 0.0247) + 0.286 * lobe(nm, 530.9, 0.0613, 0.0322);
    xyz[2] = 1.217 * lobe(nm, 437.0, 0.0845, 0.0278) + 0.681 * lobe(nm, 459.0, 0.0385, 0.0725);
}

enum { NM_FIRST = 380, NM_LAST = 750, NM_STEP = 10 };

/* Absorption coefficient of ozone in 1/cm; the table begins at 450 nm. */
static double ozone(int nm) {
    static const double table[] = {0.003, 0.006, 0.009, 0.014, 0.021, 0.030, 0.040, 0.048,
                                   0.063, 0.075, 0.085, 0.103, 0.120, 0.120, 0.115, 0.125,
                                   0.120, 0.105, 0.090, 0.079, 0.067, 0.057, 0.048, 0.036,
                                   0.028, 0.023, 0.018, 0.014, 0.011, 0.010, 0.009};
    return nm < 450 ? 0 : table[(nm - 450) / 10];
}

static void sun_open(clear_sky_model *out, double turbidity) {
    const double angle = acos(out->sun[1]);
    const double mass = 1 / (out->sun[1] + 0.15 * pow(93.885 - angle * 180 / pi, -1.253));
    const double volume = 0.04608 * turbidity - 0.04586;
    double seen[3] = {0, 0, 0}, above = 0;
    for (int nm = NM_FIRST; nm <= NM_LAST; nm += NM_STEP) {
        const double um = nm * 1e-3;
        const double sent = pow(um, -5) / (exp(14387.77 / (um * 5778)) - 1);
        const double passes = exp(-0.008735 * pow(um, -4.08) * mass -
                                  volume * pow(um, -1.3) * mass - ozone(nm) * 0.35 * mass);
        double xyz[3];
        observer(xyz, nm);
        above += sent * xyz[1];
        for (int c = 0; c < 3; ++c) seen[c] += sent * passes * xyz[c];
    }
    const double scale = sun_lux / KD_LUMENS_PER_WATT / above;
    colour_of(out->sun_irradiance, scale * seen[0], scale * seen[1], scale * seen[2]);
}

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

void clear_sky_open(clear_sky_model *out, const clear_sky *sky) {
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
    for (int c = 0; c < 3; ++c) {
        out->sun[c] = sun[c] / length;
        for (int k = 0; k < 5; ++k) out->perez[c][k] = slopes[c][k] * t + constants[c][k];
    }
    const double a = acos(fmin(out->sun[1], 1));
    const double chi = (4.0 / 9 - t / 120) * (pi - 2 * a);
    out->zenith[0] = (4.0453 * t - 4.9710) * tan(chi) - 0.2155 * t + 2.4192;
    out->zenith[1] = zenith_chromaticity(zenith_x, t, a);
    out->zenith[2] = zenith_chromaticity(zenith_y, t, a);
    sun_open(out, t);
}

void clear_sky_radiance(double rgb[3], const clear_sky_model *sky, const double direction[3]) {
    const double *sun = sky->sun;
    const double cosine = sun[0] * direction[0] + sun[1] * direction[1] + sun[2] * direction[2];
    const double angle = acos(fmax(-1, fmin(1, cosine))), sun_angle = acos(fmin(sun[1], 1));
    double seen[3];
    for (int c = 0; c < 3; ++c)
        seen[c] = sky->zenith[c] * perez(sky->perez[c], direction[1], angle) /
                  perez(sky->perez[c], 1, sun_angle);
    const double radiance = fmax(0, seen[0]) * 1000 / KD_LUMENS_PER_WATT;
    colour_of(rgb, radiance * seen[1] / seen[2], radiance,
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
    clear_sky_open(&work.model, sky);
    KD_TRY_GOTO(KD_RESERVE(work.rows, CLEAR_SKY_HEIGHT / 2));
    KD_TRY_GOTO(KD_RESERVE(work.floats, 3 * CLEAR_SKY_WIDTH * CLEAR_SKY_HEIGHT));
    parallel_for(CLEAR_SKY_HEIGHT / 2, 8, sky_rows, &work);
    ground_add(&work, sky);
    if (sky->disc) sun_add(&work);
    *floats = work.floats;
done:
    memory_free(work.rows);
    return status;
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
