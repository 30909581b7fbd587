/* A clear sky by scattering in a spherical atmosphere.
   Source: Nishita et al. 1993, "Display of the Earth taking into account atmospheric scattering";
     Bruneton and Neyret 2008, "Precomputed atmospheric scattering": phase functions apart from the
     integrals; Hillaire 2020, "A scalable and production ready sky and atmosphere rendering
     technique": higher orders of scattering as a geometric series; Cornette and Shanks 1992: phase
     function of aerosols; Nakajima and Tanaka 1988, "Algorithms for radiative intensity
     calculations in moderately thick atmospheres": light that aerosols scatter forwards counts as
     not scattered.
   Idea: light that is scattered once is exact but for that approximation. The mean radiance of light
     that is scattered at least once is tabulated over height and the sun's height; it is scattered
     evenly towards the observer, with the coefficient of aerosols reduced by the mean cosine of
     their phase function.
   Work: about a tenth of a second, once for a sky.
   Invariants: the sky's irradiance of the ground at 460 to 620 nm is within 4 % of a Monte Carlo
     computation at turbidities of 2 to 6, and within 6 % at 10 (docs/notebook/render.md). */
#include "scenes/sky/atmosphere.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/sky/sunlight.h"
#include <math.h>
#include <stdbool.h>

static const double pi = 3.14159265358979323846;

/* Lengths in km. The layers are Rayleigh scattering, aerosols and ozone. */
static const double earth = 6360, atmosphere_top = 6460;
static const double aerosol_albedo = 0.9, aerosol_cosine = 0.76;
/* Share of the light scattered by aerosols that counts as not scattered on its further way: about
   the square of the mean cosine. */
static const double aerosol_forward = 0.55;

enum {
    BANDS = 19,     /* wavelengths, from SUN_NM_FIRST on */
    BAND_NM = 20,   /* distance of neighbouring wavelengths */
    STEPS_MAX = 40, /* maximum number of steps of a line of sight */
    STEPS_DIFFUSE = 16,
    STEPS_SUN = 24, /* steps of a path to the sun */
    COSINES = 12,   /* directions of diffuse light */
    TURNS = 4,
    ELEVATIONS = 48, /* directions of the table of the sky */
    AZIMUTHS = 16,
    HEIGHTS = 12, /* places of the table of diffuse light */
    SUNS = 8
};

struct atmosphere_model {
    double sun_cosine;           /* cosine of the sun's zenith angle at the ground */
    double extinction[BANDS][3]; /* extinction per km where a layer is densest */
    double solar[BANDS][3];      /* sunlight above the atmosphere, CIE XYZ, W/m^2 */
    double albedo[BANDS];        /* albedo of the ground */
    /* mean radiance of light that was scattered at least once, by sunlight of 1 W/m^2, over height
       and the cosine of the sun's zenith angle */
    double diffuse[HEIGHTS][SUNS][BANDS];
    /* radiance in CIE XYZ by elevation and angle from the sun's azimuth: of light scattered once by
       air and by aerosols, apart from the phase functions, and of all other light */
    double sky[ELEVATIONS][AZIMUTHS][3][3];
};

static void add_layers(double sum[3], double radius, double length) {
    const double height = radius - earth;
    sum[0] += length * exp(-height / 8);
    sum[1] += length * exp(-height / 1.2);
    sum[2] += length * fmax(0, 1 - fabs(height - 25) / 15);
}

/* Adds the air along a path that rises to space. */
static void add_rising_path(double sum[3], double radius, double cosine, double factor) {
    const double along = radius * cosine;
    const double length =
        sqrt(along * along + atmosphere_top * atmosphere_top - radius * radius) - along;
    for (int i = 0; i < STEPS_SUN; ++i) {
        const double s = (i + 0.5) / STEPS_SUN, t = length * s * s;
        add_layers(sum, sqrt(radius * radius + t * t + 2 * along * t),
                   factor * length * (2 * i + 1) / (STEPS_SUN * STEPS_SUN));
    }
}

/* Sets the air along the path to the sun; returns false if the earth hides the sun. */
static bool path_to_sun(double sum[3], double radius, double cosine) {
    sum[0] = sum[1] = sum[2] = 0;
    if (cosine < 0) { /* two paths from the lowest point, less the part behind the start */
        const double lowest = radius * sqrt(1 - cosine * cosine);
        if (lowest < earth) return false;
        add_rising_path(sum, lowest, 0, 2);
        add_rising_path(sum, radius, -cosine, -1);
    } else
        add_rising_path(sum, radius, cosine, 1);
    return true;
}

/* A part of a line of sight. */
typedef struct sight_step {
    double air[3];    /* air of each layer along the part */
    double to_sun[3]; /* air of each layer from its middle to the sun */
    bool sunlit;
    double height, sun_cosine; /* height of its middle; cosine of the sun's zenith angle there */
} sight_step;

typedef struct sight {
    sight_step steps[STEPS_MAX];
    int count;
    bool ground;          /* the line ends at the ground */
    double ground_cosine; /* cosine of the sun's zenith angle there */
} sight;

/* `up`: cosine with the vertical; `turn`: angle from the sun's azimuth. */
static void sight_open(sight *out, double radius, double sun_cosine, double up, double turn,
                       int count) {
    const double sun_sine = sqrt(fmax(0, 1 - sun_cosine * sun_cosine));
    const double towards_sun = sqrt(fmax(0, 1 - up * up)) * cos(turn) * sun_sine + up * sun_cosine;
    const double along = radius * up, across2 = radius * radius - along * along;
    out->ground = up < 0 && across2 < earth * earth;
    const double length = out->ground
                              ? -along - sqrt(earth * earth - across2)
                              : -along + sqrt(fmax(0, atmosphere_top * atmosphere_top - across2));
    out->count = count;
    for (int i = 0; i < count; ++i) {
        sight_step *step = &out->steps[i];
        const double s = (i + 0.5) / count, t = length * s * s;
        const double at = sqrt(radius * radius + t * t + 2 * along * t);
        step->height = at - earth;
        step->sun_cosine = fmax(-1, fmin(1, (radius * sun_cosine + t * towards_sun) / at));
        step->air[0] = step->air[1] = step->air[2] = 0;
        add_layers(step->air, at, length * (2 * i + 1) / (count * count));
        step->sunlit = path_to_sun(step->to_sun, at, step->sun_cosine);
    }
    out->ground_cosine = (radius * sun_cosine + length * towards_sun) / earth;
}

static double extinction_along(const double extinction[3], const double air[3]) {
    return extinction[0] * air[0] + extinction[1] * air[1] + extinction[2] * air[2];
}

/* Returns the mean, along a step, of the transmittance from its beginning. */
static double mean_transmittance(double depth) {
    return depth > 1e-6 ? -expm1(-depth) / depth : 1;
}

/* Adds the radiance along a line of sight in a band from sunlight that is scattered evenly once,
   and from even light of radiance 1 that is scattered or reflected once. */
static void add_even_light(double *from_sun, double *from_even, const sight *seen,
                           const atmosphere_model *sky, int band) {
    const double *full = sky->extinction[band];
    const double aerosols = full[1] * aerosol_albedo * (1 - aerosol_cosine);
    const double reduced[3] = {full[0], full[1] * (1 - aerosol_albedo) + aerosols, full[2]};
    double passes = 1;
    for (int i = 0; i < seen->count; ++i) {
        const sight_step *step = &seen->steps[i];
        const double depth = extinction_along(reduced, step->air);
        const double scattered =
            passes * mean_transmittance(depth) * (full[0] * step->air[0] + aerosols * step->air[1]);
        *from_even += scattered;
        if (step->sunlit)
            *from_sun += scattered * exp(-extinction_along(reduced, step->to_sun)) / (4 * pi);
        passes *= exp(-depth);
    }
    if (!seen->ground) return;
    *from_even += passes * sky->albedo[band];
    double to_sun[3];
    if (seen->ground_cosine > 0 && path_to_sun(to_sun, earth, seen->ground_cosine))
        *from_sun += passes * sky->albedo[band] / pi * seen->ground_cosine *
                     exp(-extinction_along(reduced, to_sun));
}

/* The sun's zenith angle has about the same cosine wherever the observer sees the air. */
static double table_sun_cosine(const atmosphere_model *sky, int i) {
    return fmin(1, sky->sun_cosine + 0.4 * ((double)i / (SUNS - 1) - 0.5));
}

/* Computes diffuse light for one place: all orders of scattering, as a geometric series. */
static void diffuse_places(void *context, int64_t begin, int64_t end, int thread) {
    atmosphere_model *sky = (atmosphere_model *)context;
    (void)thread;
    for (int64_t place = begin; place < end; ++place) {
        const int at = (int)(place / SUNS), which = (int)(place % SUNS);
        const double u = (double)at / (HEIGHTS - 1);
        double from_sun[BANDS] = {0}, from_even[BANDS] = {0};
        for (int i = 0; i < COSINES * TURNS; ++i) {
            sight seen;
            sight_open(&seen, earth + 1e-3 + (atmosphere_top - earth - 2e-3) * u * u,
                       table_sun_cosine(sky, which), 2 * (i / TURNS + 0.5) / COSINES - 1,
                       (i % TURNS + 0.5) / TURNS * pi, STEPS_DIFFUSE);
            for (int band = 0; band < BANDS; ++band)
                add_even_light(&from_sun[band], &from_even[band], &seen, sky, band);
        }
        for (int band = 0; band < BANDS; ++band)
            sky->diffuse[at][which][band] = from_sun[band] / (COSINES * TURNS - from_even[band]);
    }
}

/* The two entries of a table of `count` around a place, and the share of the second. */
static int table_place(double place, int count, double *share) {
    const double x = fmax(0, fmin(count - 1, place));
    const int first = x < count - 2 ? (int)x : count - 2;
    *share = x - first;
    return first;
}

static double diffuse_at(const atmosphere_model *sky, const sight_step *step, int band) {
    double s, t;
    const double u = sqrt(fmax(0, step->height) / (atmosphere_top - earth));
    const int i = table_place(u * (HEIGHTS - 1), HEIGHTS, &s);
    const int k =
        table_place(((step->sun_cosine - sky->sun_cosine) / 0.4 + 0.5) * (SUNS - 1), SUNS, &t);
    const double(*a)[BANDS] = sky->diffuse[i], (*b)[BANDS] = sky->diffuse[i + 1];
    return (1 - s) * ((1 - t) * a[k][band] + t * a[k + 1][band]) +
           s * ((1 - t) * b[k][band] + t * b[k + 1][band]);
}

static void sky_places(void *context, int64_t begin, int64_t end, int thread) {
    atmosphere_model *sky = (atmosphere_model *)context;
    (void)thread;
    for (int64_t place = begin; place < end; ++place) {
        const double u = (double)(place / AZIMUTHS) / (ELEVATIONS - 1);
        double(*out)[3] = sky->sky[place / AZIMUTHS][place % AZIMUTHS];
        sight seen;
        sight_open(&seen, earth + 1e-3, sky->sun_cosine, sin(u * u * pi / 2),
                   (double)(place % AZIMUTHS) / (AZIMUTHS - 1) * pi, STEPS_MAX);
        for (int band = 0; band < BANDS; ++band) {
            const double *full = sky->extinction[band];
            const double aerosol = full[1] * aerosol_albedo;
            const double extinction[3] = {full[0], full[1] - aerosol * aerosol_forward, full[2]};
            double passes = 1, sum[3] = {0, 0, 0};
            for (int i = 0; i < seen.count; ++i) {
                const sight_step *step = &seen.steps[i];
                const double depth = extinction_along(extinction, step->air);
                const double share = passes * mean_transmittance(depth);
                const double air = share * extinction[0] * step->air[0];
                const double aerosols = share * aerosol * step->air[1];
                const double sun =
                    step->sunlit ? exp(-extinction_along(extinction, step->to_sun)) : 0;
                sum[0] += air * sun;
                sum[1] += aerosols * sun;
                sum[2] += (air + (1 - aerosol_cosine) * aerosols) * diffuse_at(sky, step, band);
                passes *= exp(-depth);
            }
            for (int i = 0; i < 9; ++i) out[i / 3][i % 3] += sum[i / 3] * sky->solar[band][i % 3];
        }
    }
}

kd_status atmosphere_open(atmosphere_model **out, double sun_cosine, double turbidity, vec3 ground,
                          double sun_rgb[3]) {
    static const double heights[3] = {8, 1.2, 15}; /* integrals of the layers' densities */
    atmosphere_model *made = NULL;
    KD_TRY(KD_RESERVE_ZEROED(made, 1));
    *out = made;
    double mass[3], above = 0;
    made->sun_cosine = sun_cosine;
    for (int band = 0; band < BANDS; ++band) {
        const int nm = SUN_NM_FIRST + band * BAND_NM;
        /* the ground's colour by thirds of the visible light */
        made->albedo[band] = (double)(nm < 490 ? ground.z : nm < 580 ? ground.y : ground.x);
        vertical_depths(made->extinction[band], nm, turbidity);
        for (int layer = 0; layer < 3; ++layer) made->extinction[band][layer] /= heights[layer];
        sun_colour(made->solar[band], nm);
        above += made->solar[band][1];
    }
    for (int band = 0; band < BANDS; ++band)
        for (int c = 0; c < 3; ++c) made->solar[band][c] *= SUN_WATTS / above;
    path_to_sun(mass, earth, made->sun_cosine);
    for (int layer = 0; layer < 3; ++layer) mass[layer] /= heights[layer];
    sun_irradiance(sun_rgb, turbidity, mass);
    parallel_for(HEIGHTS * SUNS, 4, diffuse_places, made);
    parallel_for(ELEVATIONS * AZIMUTHS, 16, sky_places, made);
    return KD_OK;
}

void atmosphere_radiance(double rgb[3], const atmosphere_model *sky, double up, double cosine) {
    const double g = aerosol_cosine;
    const double level = sqrt(fmax(0, (1 - up * up) * (1 - sky->sun_cosine * sky->sun_cosine)));
    const double turn =
        level > 0 ? acos(fmax(-1, fmin(1, (cosine - up * sky->sun_cosine) / level))) : 0;
    double s, t, xyz[3] = {0, 0, 0};
    const int i =
        table_place(sqrt(asin(fmax(0, fmin(1, up))) * 2 / pi) * (ELEVATIONS - 1), ELEVATIONS, &s);
    const int k = table_place(turn / pi * (AZIMUTHS - 1), AZIMUTHS, &t);
    const double phase[3] = {3 / (16 * pi) * (1 + cosine * cosine),
                             3 / (8 * pi) * (1 - g * g) * (1 + cosine * cosine) /
                                 ((2 + g * g) * pow(1 + g * g - 2 * g * cosine, 1.5)),
                             1};
    for (int part = 0; part < 3; ++part)
        for (int c = 0; c < 3; ++c)
            xyz[c] +=
                phase[part] *
                ((1 - s) * ((1 - t) * sky->sky[i][k][part][c] + t * sky->sky[i][k + 1][part][c]) +
                 s * ((1 - t) * sky->sky[i + 1][k][part][c] + t * sky->sky[i + 1][k + 1][part][c]));
    sky_colour(rgb, xyz[0], xyz[1], xyz[2]);
}
