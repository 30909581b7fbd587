/* What a CPU tests rays against: each triangle's corners as vectors. */
#ifndef KD_ACCEL_TREE_CORNER_ROWS_H
#define KD_ACCEL_TREE_CORNER_ROWS_H
#include "accel/tree/tritree.h"

/* Fills rows from the input. Memory: 48 bytes a triangle. */
kd_status tree_rows_fill(tritree *tree);

#endif
