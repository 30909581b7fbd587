/* The clear daylight sky for a position of the sun. Radiance is in the units of
   core/math/photometry.h: W/(sr m^2), linear Rec. 709, with the sky's luminance. */
#ifndef KD_SCENES_SKY_CLEAR_SKY_H
#define KD_SCENES_SKY_CLEAR_SKY_H
#include "core/status.h"
#include "scenes/describe/draft.h"
#include "scenes/sky/atmosphere.h"

enum { CLEAR_SKY_WIDTH = 2048, CLEAR_SKY_HEIGHT = 1024 };

typedef struct clear_sky_model {
    double perez[3][5], zenith[3]; /* coefficients of Y (kcd/m^2), x and y */
    double sun[3];                 /* unit vector towards the sun */
    double sun_irradiance[3];      /* on a plane normal to the beam, Rec. 709, W/m^2 */
    atmosphere_model *atmosphere;  /* owned; NULL: Preetham's model */
} clear_sky_model;

/* The result does not depend on the number of threads. After an error it must be closed, too. */
kd_status clear_sky_open(clear_sky_model *out, const clear_sky *sky);
void clear_sky_close(clear_sky_model *model);
/* Computes the sky's radiance along a unit direction above the horizon, without the sun's disc. */
void clear_sky_radiance(double rgb[3], const clear_sky_model *sky, const double direction[3]);

/* Sets *floats to a latitude-longitude image of CLEAR_SKY_WIDTH x CLEAR_SKY_HEIGHT texels, 3
   floats each, of sky, ground and sun. The caller frees it by memory_free. The sun has the correct
   energy; its disc is as small as the texels allow. The result does not depend on the number of
   threads. */
kd_status clear_sky_picture(float **floats, const clear_sky *sky);

#endif
