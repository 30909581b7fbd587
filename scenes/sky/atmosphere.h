/* The light that the atmosphere scatters to an observer on the ground, for a position of the sun.
 */
#ifndef KD_SCENES_SKY_ATMOSPHERE_H
#define KD_SCENES_SKY_ATMOSPHERE_H
#include "core/math/geometry.h"
#include "core/status.h"

typedef struct atmosphere_model atmosphere_model;

/* `sun_cosine`: of the sun's zenith angle, above 0. `ground`: albedo. Sets the irradiance by the
   sun on a plane across its beam. The caller frees *out by memory_free. The result does not depend
   on the number of threads. */
kd_status atmosphere_open(atmosphere_model **out, double sun_cosine, double turbidity, vec3 ground,
                          double sun_rgb[3]);

/* Radiance of the sky, W/(sr m^2). `up`: sine of the elevation; `cosine`: of the angle with the
   sun. */
void atmosphere_radiance(double rgb[3], const atmosphere_model *sky, double up, double cosine);

#endif
