/* Origins of meshes and scenes far from (0, 0, 0), such as those in UTM or ECEF coordinates.
   Idea: a float has 24 bits, so that at 5e6 its steps are half a metre. A point near an origin
     stays exact if the origin is subtracted in double precision before rounding. Origins are
     multiples of a power of two of about the size of what they belong to, so the subtraction has
     no error.
   Invariants: an origin is a function of a bounding box; it is 0 unless the box lies farther away
     than ORIGIN_DISTANCE times its size. */
#ifndef KD_SCENES_MESH_ORIGIN_H
#define KD_SCENES_MESH_ORIGIN_H
#include "scenes/mesh/mesh.h"

/* Distance of a box's centre, in sizes of the box, up to which coordinates stay as they are. */
enum { ORIGIN_DISTANCE = 64 };

/* If rounding has hidden the size of something, a second box, relative to the first origin, shows
   it: readers repeat their work at most this many times. */
enum { ORIGIN_MOVES = 4 };

/* Moves `origin` to the centre of `local`, a box relative to `origin`, if that is far from it.
   Returns true if it has moved; then everything relative to it must be computed again. */
bool origin_move(double origin[3], box3 local);

static inline bool origin_is_zero(const double origin[3]) {
    return origin[0] == 0 && origin[1] == 0 && origin[2] == 0;
}

/* Returns a position relative to the origin, rounded to float once. */
static inline vec3 origin_to_local(const double origin[3], const double at[3]) {
    return vec3_make((float)(at[0] - origin[0]), (float)(at[1] - origin[1]),
                     (float)(at[2] - origin[2]));
}

/* Computes the position in the file's coordinates of one relative to the origin. */
static inline void origin_to_world(double at[3], const double origin[3], vec3 local) {
    at[0] = (double)local.x + origin[0];
    at[1] = (double)local.y + origin[1];
    at[2] = (double)local.z + origin[2];
}

/* Returns the bounding box of the finite positions of the mesh, with its instances. */
box3 mesh_box(const mesh *mesh);

/* Gives a far mesh an origin, for readers that have floats only: subtracts it from positions that
   are already rounded. Does nothing to other meshes. */
void mesh_recentre(mesh *mesh);

#endif
