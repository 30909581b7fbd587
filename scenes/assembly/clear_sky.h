/* The clear sky by the position of the sun, in the light that eyes see: radiance is luminance over
   683 lm/W, in W/(sr m^2), linear Rec. 709. */
#ifndef KD_SCENES_ASSEMBLY_CLEAR_SKY_H
#define KD_SCENES_ASSEMBLY_CLEAR_SKY_H
#include "core/status.h"
#include "scenes/describe/draft.h"

enum { CLEAR_SKY_WIDTH = 2048, CLEAR_SKY_HEIGHT = 1024 };

typedef struct clear_sky_model {
    double perez[3][5], zenith[3]; /* of Y (kcd/m^2), x and y */
    double sun[3];                 /* towards it */
    double sun_irradiance[3];      /* across the beam, Rec. 709, W/m^2 */
} clear_sky_model;

void clear_sky_open(clear_sky_model *out, const clear_sky *from);
/* Of a unit direction above the horizon, without the sun's disc. */
void clear_sky_radiance(double rgb[3], const clear_sky_model *of, const double direction[3]);

/* *floats = a latitude-longitude picture of CLEAR_SKY_WIDTH x CLEAR_SKY_HEIGHT, 3 a texel, of sky,
   ground and sun; owned, by memory_free. Its sun has the right energy, and a disc as small as
   texels allow. The same for any number of threads. */
kd_status clear_sky_picture(float **floats, const clear_sky *from);

/* An equal-area octahedral square of side x side texels (Clarberg 2008, as in pbrt: its middle is
   +y, its corners -y, its right +x, its bottom -z) as a latitude-longitude one of 2 side x side. */
kd_status equal_area_to_latlong(float **floats, const float *square, int32_t side);

#endif
