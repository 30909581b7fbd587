/* Sunlight above and below the atmosphere.
   Source: Preetham, Shirley and Smits 1999, "A practical analytic model for daylight", appendix A.1:
     optical depths of Rayleigh scattering, aerosols and ozone; Wyman, Sloan and Shirley 2013 for
   the colour matching functions.
   Differs from the source in: the extraterrestrial sun is a black body of 5778 K with an
     illuminance of 128 klx; absorption by water vapour and mixed gases is ignored, because it is
     outside the visible range. */
#include "scenes/sky/sunlight.h"
#include <math.h>

void sky_colour(double rgb[3], double x, double y, double z) { /* from CIE XYZ, D65 */
    rgb[0] = fmax(0, 3.2404542 * x - 1.5371385 * y - 0.4985314 * z);
    rgb[1] = fmax(0, -0.9692660 * x + 1.8760108 * y + 0.0415560 * z);
    rgb[2] = fmax(0, 0.0556434 * x - 0.2040259 * y + 1.0572252 * z);
}

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

enum { NM_LAST = 750, NM_STEP = 10 };

/* Absorption coefficient of ozone in 1/cm; the table begins at 450 nm. */
static double ozone(int nm) {
    static const double table[] = {0.003, 0.006, 0.009, 0.014, 0.021, 0.030, 0.040, 0.048,
                                   0.063, 0.075, 0.085, 0.103, 0.120, 0.120, 0.115, 0.125,
                                   0.120, 0.105, 0.090, 0.079, 0.067, 0.057, 0.048, 0.036,
                                   0.028, 0.023, 0.018, 0.014, 0.011, 0.010, 0.009};
    return nm < 450 ? 0 : table[(nm - 450) / 10];
}

void sun_colour(double xyz[3], int nm) {
    const double um = nm * 1e-3;
    const double sent = pow(um, -5) / (exp(14387.77 / (um * 5778)) - 1);
    observer(xyz, nm);
    for (int c = 0; c < 3; ++c) xyz[c] *= sent;
}

void vertical_depths(double depth[3], int nm, double turbidity) {
    const double um = nm * 1e-3;
    depth[0] = 0.008735 * pow(um, -4.08);
    depth[1] = (0.04608 * turbidity - 0.04586) * pow(um, -1.3);
    depth[2] = ozone(nm) * 0.35;
}

void sun_irradiance(double rgb[3], double turbidity, const double mass[3]) {
    double seen[3] = {0, 0, 0}, above = 0;
    for (int nm = SUN_NM_FIRST; nm <= NM_LAST; nm += NM_STEP) {
        double xyz[3], depth[3];
        sun_colour(xyz, nm);
        vertical_depths(depth, nm, turbidity);
        const double passes = exp(-depth[0] * mass[0] - depth[1] * mass[1] - depth[2] * mass[2]);
        above += xyz[1];
        for (int c = 0; c < 3; ++c) seen[c] += passes * xyz[c];
    }
    const double scale = SUN_WATTS / above;
    sky_colour(rgb, scale * seen[0], scale * seen[1], scale * seen[2]);
}
