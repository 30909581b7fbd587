/* Source: published complex indices n + ik of refraction (aluminium, chromium, copper, gold,
   iridium, rhodium, silver, tungsten: the luxpop.com and SOPRA tables that Mitsuba 3 ships; iron,
   platinum, titanium: refractiveindex.info at 650, 550, 450 nm), through Fresnel's equations for
   unpolarised light, weighed by CIE 1931 and D65 from 380 to 780 nm; a red beyond 1 is cut. */
#include "scenes/describe/metals.h"

metal_colours metal_of(int32_t name) {
    static const metal_colours metals[] = {
        {{0.9132f, 0.9215f, 0.9245f}, {0.8797f, 0.9082f, 0.9342f}}, /* aluminium */
        {{0.6347f, 0.6622f, 0.7046f}, {0.7161f, 0.7474f, 0.8280f}}, /* chromium */
        {{0.9554f, 0.6376f, 0.5382f}, {0.9864f, 0.9523f, 0.9526f}}, /* copper */
        {{1.0000f, 0.7824f, 0.3434f}, {0.9855f, 0.9992f, 0.9728f}}, /* gold */
        {{0.5312f, 0.5124f, 0.4958f}, {0.7656f, 0.7651f, 0.7978f}}, /* iron */
        {{0.7008f, 0.6931f, 0.6565f}, {0.7753f, 0.8030f, 0.8415f}}, /* iridium */
        {{0.6788f, 0.6424f, 0.5884f}, {0.7908f, 0.8171f, 0.8508f}}, /* platinum */
        {{0.7970f, 0.7646f, 0.7425f}, {0.8079f, 0.8182f, 0.8367f}}, /* rhodium */
        {{0.9715f, 0.9599f, 0.9153f}, {0.9853f, 0.9890f, 0.9999f}}, /* silver */
        {{0.6159f, 0.5823f, 0.5445f}, {0.7693f, 0.7874f, 0.8176f}}, /* titanium */
        {{0.5153f, 0.4959f, 0.4676f}, {0.7190f, 0.7300f, 0.7451f}}, /* tungsten */
    };
    return metals[name];
}
