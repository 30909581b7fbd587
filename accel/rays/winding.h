/* Winding numbers of a mesh about points, and crossings of rays: on which side of the mesh a point
   is. Both use the tree of accel/rays/nearest.h.
   Source: Barill, Dickson, Schmidt, Levin, Jacobson 2018, "Fast winding numbers for soups and
           clouds"; van Oosterom and Strackee 1983, "The solid angle of a plane triangle";
           Edelsbrunner and Muecke 1990, "Simulation of simplicity".
   Idea: the winding number is the sum of the triangles' signed solid angles. From afar a sub-tree
         is a dipole: its area vector at its centre, and the first derivative of that field. For the
         crossings a point is moved by infinitesimal amounts, so that its ray meets neither edges
         nor vertices: each triangle, coincident ones included, counts once or not at all.
   Invariants: results do not depend on the number of threads. The crossings of a mesh without
               boundary have the parity, and as a signed sum the winding number, of the point. */
#ifndef KD_ACCEL_RAYS_WINDING_H
#define KD_ACCEL_RAYS_WINDING_H
#include "accel/rays/nearest.h"

/* The field of a leaf or node of the tree. */
typedef struct winding_dipole {
    double normal[3], centre[3]; /* area vector; mean of the triangles' centroids, by area */
    double spread[6]; /* second moments of the normals about the centre: xx, yy, zz, xy, xz, yz */
    double area,
        radius; /* total area; radius of a sphere about the centre that contains all triangles */
} winding_dipole;

/* One dipole per leaf, then one per node. The caller frees *out by memory_free. */
kd_status winding_dipoles_make(winding_dipole **out, const nearest_view *view);
uint64_t winding_dipoles_bytes(const nearest_view *view);

/* winding[i]: the winding number about points[i]; NaN if the point is not finite. A sub-tree counts
   as its dipole if the point is farther from its centre than `accuracy` >= 1 times its radius. */
kd_status winding_numbers(const nearest_view *view, const winding_dipole *dipoles,
                          const vec3 *points, uint64_t count, double accuracy, double *winding);

/* The triangles that the ray from points[i] along the x axis crosses: their number, and their sum
   with the signs of the x components of their normals. Both are 0 if the point is on a triangle or
   not finite. `crossings` or `winding` may be NULL. */
kd_status winding_crossings(const nearest_view *view, const vec3 *points, uint64_t count,
                            uint32_t *crossings, int32_t *winding);

#endif
