/* Output of serial builders: growing arrays of nodes and references in the order that the layout
   requires. A builder reserves a pair of children, then writes the left subtree, then the right
   one. */
#ifndef KD_ACCEL_TREE_WRITER_H
#define KD_ACCEL_TREE_WRITER_H
#include "accel/tree/tritree.h"
#include "core/parallel/tasks.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tree_writer {
    tritree_node *nodes;
    uint32_t *references;
    uint64_t node_count, node_capacity;
    uint64_t reference_count, reference_capacity;
} tree_writer;

/* Opens a writer with the root reserved as node 0. */
kd_status tree_writer_open(tree_writer *writer, uint64_t nodes_expected,
                           uint64_t references_expected);
void tree_writer_close(tree_writer *writer); /* accepts a zeroed or finished writer */

/* Writes inner node `at` and reserves its two children; *left is the index of the first. */
kd_status tree_writer_inner(tree_writer *writer, uint32_t at, int axis, float split,
                            uint32_t *left);
/* Writes leaf `at` and reserves its `count` references, which the caller fills at *ids. */
kd_status tree_writer_leaf(tree_writer *writer, uint32_t at, uint32_t count, uint32_t **ids);

/* Inserts a tree that was written separately: its root becomes node `at`, its other nodes are
   appended. Large trees are copied by all threads of the pool. */
kd_status tree_writer_append(tree_writer *writer, uint32_t at, const tree_writer *part,
                             task_pool *pool);

/* Transfers ownership of the arrays to the tree. */
void tree_writer_finish(tree_writer *writer, tritree *out);

/* Definition of the exact tree where Wald and Havran 2006 leave it open: no level of the tree has
   more than about 2 EXACT_GROWTH_MAX references per triangle. */

/* A node with more than EXACT_SMALL_MAX triangles and a growth above EXACT_GROWTH_MAX becomes a
   leaf. The growth of a node is the number of references per triangle of the whole tree if all
   nodes were split like the ancestors of this one. The sum of count / growth over the nodes of a
   level never exceeds the number of triangles, so no level has more than 2 x 16 times as many
   references. Real models stay below 5. */
enum { EXACT_GROWTH_MAX = 16, EXACT_SMALL_MAX = 80 };

#ifdef __cplusplus
}
#endif

#endif
