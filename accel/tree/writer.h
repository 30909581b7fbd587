/* What serial builders write a tree with: nodes and references that grow, in the order that the
   layout asks for. A builder reserves the pair of children, then writes the left subtree, then the
   right one. */
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
    uint64_t node_count, node_room;
    uint64_t reference_count, reference_room;
} tree_writer;

/* Begins with the root reserved as node 0. */
kd_status tree_writer_open(tree_writer *writer, uint64_t nodes_expected,
                           uint64_t references_expected);
void tree_writer_close(tree_writer *writer); /* takes a zeroed or finished one */

/* Writes inner node `at`; *left is the first of the two children reserved for it. */
kd_status tree_writer_inner(tree_writer *writer, uint32_t at, int axis, float split,
                            uint32_t *left);
/* Writes leaf `at` with room for `count` references, to be filled at *ids. */
kd_status tree_writer_leaf(tree_writer *writer, uint32_t at, uint32_t count, uint32_t **ids);

/* Puts a whole tree written apart at node `at`, the rest of its nodes behind those there are; on
   all threads of the pool if it is large. */
kd_status tree_writer_append(tree_writer *writer, uint32_t at, const tree_writer *part,
                             task_pool *pool);

/* Hands the arrays over to the tree. */
void tree_writer_finish(tree_writer *writer, tritree *out);

/* The exact tree's definition where Wald and Havran 2006 leave it open: no level of the tree has
   more than about 2 EXACT_GROWTH_MOST references a triangle. */

/* A node of more than EXACT_SMALL_MOST triangles and of more growth than EXACT_GROWTH_MOST is a
   leaf. Its growth is how many references a triangle had if all nodes were cut as those on the way
   to it: since the sum of count / growth over the nodes of a level is never more than the number of
   all triangles, no level has more than 2 x 16 times as many. Real models stay below 5. */
enum { EXACT_GROWTH_MOST = 16, EXACT_SMALL_MOST = 80 };

#ifdef __cplusplus
}
#endif

#endif
