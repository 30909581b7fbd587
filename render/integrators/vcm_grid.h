/* The photons of a pass in cells of a grid, to find those within the radius of merging.
   Source: hashed cells after Teschner, Heidelberger, Mueller, Pomeranets and Gross 2003, "Optimized
           spatial hashing for collision detection of deformable objects".
   Idea: cells are cubes whose side is the diameter, so a ball meets two cells along each axis.
         Photons are sorted by the buckets of their cells; the buckets of cells along x follow each
         other, so that the cells of a row are one range of photons.
   Invariants: finds the photons that a search of all would find: vcm_grid_cell is monotone, and so
               are the roundings of the ball's ends; photons of other cells with the same bucket are
               left out. */
#ifndef KD_RENDER_INTEGRATORS_VCM_GRID_H
#define KD_RENDER_INTEGRATORS_VCM_GRID_H
#include "core/math/geometry.h"
#include <stdalign.h>

enum { VCM_GRID_BUCKETS_MIN = 64 };
#define VCM_PHOTONS_MAX 0x80000000u
#define VCM_PATH_MASK 0x7fffffffu

/* A light path where it merges with eye paths: 48 bytes, the first 16 of which decide whether. */
typedef struct vcm_photon {
    alignas(16) vec3 place;
    int8_t normal[3]; /* of the triangle, on the side that was hit, in units of 1/127; 0: in a
                         medium */
    uint8_t landed;   /* vertices of the path, this one included */
    vec3 power;
    float others; /* vcm_chain.others */
    vec3 direction;
    uint32_t path : 31;     /* number, for those who show it; in a medium, the medium's index */
    uint32_t disperses : 1; /* it has passed dispersive glass */
} vcm_photon;

KD_FN void vcm_photon_set_normal(vcm_photon *photon, vec3 normal) {
    for (int axis = 0; axis < 3; ++axis)
        photon->normal[axis] = (int8_t)rintf(127 * vec3_axis(normal, axis));
}

/* Returns the photon's normal, but of length 127. */
KD_FN vec3 vcm_photon_normal(const vcm_photon *photon) {
    return vec3_make((float)photon->normal[0], (float)photon->normal[1], (float)photon->normal[2]);
}

KD_FN bool vcm_photon_is_in(const vcm_photon *photon, uint32_t medium_index) {
    return (photon->normal[0] | photon->normal[1] | photon->normal[2]) == 0 &&
           photon->path == (medium_index & VCM_PATH_MASK);
}

typedef struct vcm_grid {
    const vcm_photon *photons;
    const uint32_t
        *ends; /* end of each bucket's photons, which begin where the previous ones end */
    uint32_t count;
    uint32_t mask; /* buckets - 1 */
    float cells;   /* per unit length */
} vcm_grid;

/* Sets all but the pointers. `count`: at most VCM_PHOTONS_MAX. */
KD_FN vcm_grid vcm_grid_make(uint64_t count, float radius) {
    vcm_grid grid;
    uint32_t buckets = VCM_GRID_BUCKETS_MIN;
    while (buckets < count) buckets *= 2;
    memset(&grid, 0, sizeof grid);
    grid.count = (uint32_t)count;
    grid.mask = buckets - 1;
    grid.cells = 0.5f / radius;
    return grid;
}

KD_FN int32_t vcm_grid_cell(const vcm_grid *grid, float coordinate) {
    return (int32_t)floorf(float_clamp(coordinate * grid->cells, -0x1p30f, 0x1p30f));
}

/* Returns a bucket for the row of cells along x, to which the cell's x is to be added. */
KD_FN uint32_t vcm_grid_row(int32_t y, int32_t z) {
    uint32_t bits = (uint32_t)y * 0x9e3779b1u ^ (uint32_t)z * 0x85ebca6bu;
    bits = (bits ^ bits >> 15) * 0x2c1b3c6du;
    return bits ^ bits >> 12;
}

KD_FN uint32_t vcm_grid_bucket(const vcm_grid *grid, vec3 place) {
    const uint32_t x = (uint32_t)vcm_grid_cell(grid, place.x);
    return (vcm_grid_row(vcm_grid_cell(grid, place.y), vcm_grid_cell(grid, place.z)) + x) &
           grid->mask;
}

/* A range of photons that holds those of the cells first ... last of the row (y, z). */
typedef struct vcm_grid_range {
    int32_t first, last, y, z;
    uint32_t begin, end;
} vcm_grid_range;

/* The cells that a ball may meet, and the next of them. */
typedef struct vcm_grid_walk {
    int32_t lo[3], hi[3], next[3];
} vcm_grid_walk;

KD_FN vcm_grid_walk vcm_grid_begin(const vcm_grid *grid, vec3 centre, float radius) {
    const float reach = radius * 1.00001f + 0x1p-70f; /* squares of distances are rounded */
    vcm_grid_walk walk;
    for (int axis = 0; axis < 3; ++axis) {
        walk.lo[axis] = vcm_grid_cell(grid, vec3_axis(centre, axis) - reach);
        walk.hi[axis] = vcm_grid_cell(grid, vec3_axis(centre, axis) + reach);
        walk.next[axis] = walk.lo[axis];
    }
    return walk;
}

/* Sets *range to the next range; returns false if there is none. */
KD_FN bool vcm_grid_next(const vcm_grid *grid, vcm_grid_walk *walk, vcm_grid_range *range) {
    if (walk->next[2] > walk->hi[2]) return false;
    range->first = walk->next[0];
    range->y = walk->next[1];
    range->z = walk->next[2];
    const uint32_t bucket =
        (vcm_grid_row(range->y, range->z) + (uint32_t)range->first) & grid->mask;
    const uint32_t further = (uint32_t)walk->hi[0] - (uint32_t)range->first;
    const uint32_t left = grid->mask - bucket, taken = further < left ? further : left;
    range->last = range->first + (int32_t)taken;
    range->begin = bucket ? grid->ends[bucket - 1] : 0;
    range->end = grid->ends[bucket + taken];
    walk->next[0] = range->last + 1;
    if (walk->next[0] <= walk->hi[0]) return true;
    walk->next[0] = walk->lo[0];
    if (++walk->next[1] <= walk->hi[1]) return true;
    walk->next[1] = walk->lo[1];
    ++walk->next[2];
    return true;
}

/* Returns true if the place is in the range's cells. */
KD_FN bool vcm_grid_holds(const vcm_grid *grid, const vcm_grid_range *range, vec3 place) {
    const int32_t x = vcm_grid_cell(grid, place.x);
    return x >= range->first && x <= range->last && vcm_grid_cell(grid, place.y) == range->y &&
           vcm_grid_cell(grid, place.z) == range->z;
}

#endif
