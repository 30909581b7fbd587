/* A density estimate's kernel by its number: each function asks the table of kernels.h for one of
   its integrals. A number that is none gives NaN, which a picture counts (nan_samples).
   Units: lengths over the radius of the estimate. */
#ifndef KD_PHOTON_DENSITY_PHOTON_KERNEL_H
#define KD_PHOTON_DENSITY_PHOTON_KERNEL_H
#include "photon/density/kernels.h"

/* A switch over all rows, without a default: compilers name a kernel that is missing. */
#define KERNEL_SWITCH(kernel, ROW)                                                                 \
    switch (kernel) { PHOTON_KERNEL_ROWS(ROW) }                                                    \
    return NAN

/* The kernel at the squared distance; 0 from 1 on. */
KD_FN float photon_kernel_at(photon_kernel kernel, float s2) {
    if (s2 >= 1) return 0;
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: return kernel_##name##_at(s2);
    KERNEL_SWITCH(kernel, ROW);
#undef ROW
}

/* Its integral over a sector of the unit disc, per radian. */
KD_FN float photon_kernel_sector(photon_kernel kernel) {
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: return kernel_##name##_sector();
    KERNEL_SWITCH(kernel, ROW);
#undef ROW
}

/* Its integral over the unit ball. */
KD_FN float photon_kernel_ball(photon_kernel kernel) {
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: return 4 * KD_PI * kernel_##name##_ball();
    KERNEL_SWITCH(kernel, ROW);
#undef ROW
}

/* Its integral from the middle to s, 0 to 1. */
KD_FN float photon_kernel_line(photon_kernel kernel, float s) {
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: return kernel_##name##_line(s);
    KERNEL_SWITCH(kernel, ROW);
#undef ROW
}

/* Its integral along a ray of the unit ball from the middle to s, over that to 1, each length s
   weighted by s^2. */
KD_FN float photon_kernel_reach(photon_kernel kernel, float s) {
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: return kernel_##name##_reach(s);
    KERNEL_SWITCH(kernel, ROW);
#undef ROW
}

/* Of k photons within the radius, the one in the middle included; may be negative. */
KD_FN float photon_kernel_own(photon_kernel kernel, float k) {
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: return kernel_##name##_own(k);
    KERNEL_SWITCH(kernel, ROW);
#undef ROW
}

KD_FN kernel_plane kernel_plane_make(photon_kernel kernel, float h) {
    kernel_plane made;
    made.kernel = kernel;
    made.h = h;
    made.rim2 = 1 - h * h;
    made.fade = 1;
    made.sector = NAN;
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: kernel_##name##_plane(&made); break;
    switch (kernel) { PHOTON_KERNEL_ROWS(ROW) }
#undef ROW
    return made;
}

/* The integral over the triangle between the foot and a line's stretch at the distance d > 0 from
   it, seen under an angle; inside the disc. */
KD_FN float kernel_plane_to_line(const kernel_plane *on, float d, float from, float to,
                                 float angle) {
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: return kernel_##name##_to_line(on, d, from, to, angle);
    KERNEL_SWITCH(on->kernel, ROW);
#undef ROW
}

/* Whether kernel_plane_to_line needs the angle that sectors do not. */
KD_FN bool kernel_plane_bent(const kernel_plane *on) {
#define ROW(id, name)                                                                              \
    case PHOTON_KERNEL_##id: return kernel_##name##_bent(on);
    switch (on->kernel) { PHOTON_KERNEL_ROWS(ROW) }
#undef ROW
    return false;
}

#endif
