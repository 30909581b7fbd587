/* Beams: flights of photons through media, and boxes over their pieces. Types only. */
#ifndef KD_PHOTON_BEAMS_BEAMS_H
#define KD_PHOTON_BEAMS_BEAMS_H
#include "core/math/geometry.h"
#include "photon/density/kernels.h"

/* Light on a straight way through one medium. */
typedef struct beam {
    vec3 start;      /* world */
    float length;    /* scene units */
    vec3 direction;  /* unit */
    uint32_t medium; /* index */
    vec3 power;      /* W at the start, over the number emitted */
} beam;

/* A part of a beam, [begin, end) of its length. */
typedef struct beam_piece {
    uint32_t beam;
    float begin, end;
} beam_piece;

/* A box of pieces. Nodes lie in the order of a walk that goes down first. */
typedef struct beam_node {
    vec3 lo;
    uint32_t beyond; /* the next node where this box is missed */
    vec3 hi;
    uint32_t first; /* piece of a leaf; KD_NONE: none */
} beam_node;

enum { BEAM_LEAF = 4 }; /* pieces of a leaf, at most; the last one's end with the last piece */

/* Borrows everything. */
typedef struct beam_view {
    const beam_node *nodes;
    const beam_piece *pieces;
    const beam *beams;
    uint32_t node_count, piece_count;
    float radius; /* of the blur, scene units */
    float scale;  /* flux_scale of the beams' strongest channel */
    float slack;  /* by which boxes are widened, for rounding */
    photon_kernel kernel;
} beam_view;

#endif
