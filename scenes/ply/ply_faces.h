/* Faces and strips of a PLY file into the mesh's triangles. */
#ifndef KD_SCENES_PLY_PLY_FACES_H
#define KD_SCENES_PLY_PLY_FACES_H
#include "scenes/ply/ply_piece.h"

typedef struct ply_target {
    mesh *into;      /* its positions are there */
    uint32_t *lines; /* 1-based, of each triangle; may be NULL */
    vec3 *colours;   /* of each vertex, as the file has them; NULL: none; owned */
} ply_target;

/* Fills the piece's triangles. A polygon is cut as OBJ's are; a face with an index out of range is
   a fatal problem, one of fewer than three corners is told and left out. */
void ply_faces_read(const ply_file *from, ply_piece *piece, const ply_target *to);

#endif
