/* What a CPU walks: the nodes with leaves that point to blocks of four triangles' corners. */
#ifndef KD_ACCEL_TREE_PACK_H
#define KD_ACCEL_TREE_PACK_H
#include "accel/tritree.h"

/* Fills packed_nodes and blocks from nodes and references. Memory: 8 bytes a node, about 60 bytes a
   reference. */
kd_status tree_pack(tritree *tree);

#endif
