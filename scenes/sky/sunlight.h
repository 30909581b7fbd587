/* Sunlight by wavelength, above the atmosphere and through it. */
#ifndef KD_SCENES_SKY_SUNLIGHT_H
#define KD_SCENES_SKY_SUNLIGHT_H
#include "core/math/photometry.h"

enum { SUN_NM_FIRST = 380 }; /* of visible light, nm */
/* Irradiance above the atmosphere, W/m^2 by luminance. */
#define SUN_WATTS (128000 / KD_LUMENS_PER_WATT)

/* Converts CIE XYZ to linear Rec. 709 with the white D65. Negative values become 0. */
void sky_colour(double rgb[3], double x, double y, double z);

/* Sets the sun's light above the atmosphere at a wavelength, as CIE XYZ in an arbitrary unit. */
void sun_colour(double xyz[3], int nm);

/* Sets the optical depths of the air above the ground: Rayleigh scattering, aerosols, ozone. */
void vertical_depths(double depth[3], int nm, double turbidity);

/* Computes the irradiance, in W/m^2, on a plane across the beam, for a path of the multiples `mass`
   of the vertical depths. */
void sun_irradiance(double rgb[3], double turbidity, const double mass[3]);

#endif
