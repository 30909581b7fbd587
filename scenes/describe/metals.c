/* Source: published complex indices n + ik of refraction (aluminium, chromium, copper, gold,
   iridium, rhodium, silver, tungsten: the luxpop.com and SOPRA tables that Mitsuba 3 ships; iron,
   titanium: Johnson and Christy 1974, Phys. Rev. B 9, 5056; platinum: Rakic et al. 1998, Appl. Opt.
   37, 5271, Brendel-Bormann; both as refractiveindex.info tabulates them), through Fresnel's
   equations for unpolarised light, weighed by CIE 1931 and D65 from 380 to 780 nm; a red beyond 1
   is cut. */
#include "scenes/describe/metals.h"

metal_colours metal_of(int32_t name) {
    static const metal_colours metals[] = {
        {{0.9132f, 0.9215f, 0.9245f}, {0.8797f, 0.9082f, 0.9342f}}, /* aluminium */
        {{0.6347f, 0.6622f, 0.7046f}, {0.7161f, 0.7474f, 0.8280f}}, /* chromium */
        {{0.9554f, 0.6376f, 0.5382f}, {0.9864f, 0.9523f, 0.9526f}}, /* copper */
        {{1.0000f, 0.7824f, 0.3434f}, {0.9855f, 0.9992f, 0.9728f}}, /* gold */
        {{0.5297f, 0.5132f, 0.4942f}, {0.7649f, 0.7673f, 0.8016f}}, /* iron */
        {{0.7008f, 0.6931f, 0.6565f}, {0.7753f, 0.8030f, 0.8415f}}, /* iridium */
        {{0.6789f, 0.6395f, 0.5836f}, {0.7920f, 0.8190f, 0.8540f}}, /* platinum */
        {{0.7970f, 0.7646f, 0.7425f}, {0.8079f, 0.8182f, 0.8367f}}, /* rhodium */
        {{0.9715f, 0.9599f, 0.9153f}, {0.9853f, 0.9890f, 0.9999f}}, /* silver */
        {{0.6186f, 0.5793f, 0.5426f}, {0.7686f, 0.7905f, 0.8206f}}, /* titanium */
        {{0.5153f, 0.4959f, 0.4676f}, {0.7190f, 0.7300f, 0.7451f}}, /* tungsten */
    };
    return metals[name];
}
