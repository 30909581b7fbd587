/* A tree that changes: points come and go without building all of it anew.
   Source: Bentley and Saxe 1980, "Decomposable searching problems I", the logarithmic method.
   Idea: new points get trees of their own, the layers, the older the larger; a layer that is not
         more than twice as large as what comes after it is joined with that and built anew. A
         point that goes becomes NaN in its layer's buckets, where nothing finds it; a layer that
         has lost half of its points is built anew. A query asks every layer and merges the rows.
         On a CUDA device the same (changes_device.c); a tree in parts is built anew.
   Work: a point is built anew some log2(n / batch) times in its life; a query asks as many layers.
   Memory: that of the layers; once points have gone, five bytes more a point of their layer.
   Invariants: layers hold points in the order in which they came, the first layer (the kd_points
               itself) the oldest, so that ties are broken as in a tree built anew of all points
               that are there, in that order. */
#ifndef KD_POINTS_API_CHANGES_H
#define KD_POINTS_API_CHANGES_H
#include "points/api/points.h"
#include "points/neighbours/query.h"

struct points_search;

enum { LAYERS_MOST = 40 };

/* What has gone of a tree. */
typedef struct points_gone {
    uint8_t *flags;  /* of each id of the tree: 1, gone; NULL: all are there */
    uint32_t *slots; /* of each id: its place in the buckets; NULL with flags */
    uint32_t count;
} points_gone;

typedef struct points_layer {
    kd_points *tree;  /* with ids of its own and no layers; owned but for the first */
    points_gone gone; /* of a tree on a device the count alone: flags are its points_cuda's */
} points_layer;

typedef struct points_changes {
    points_layer layers[LAYERS_MOST]; /* the first is the tree itself */
    int count;
    uint64_t next_id; /* of points that come without an id */
    bool named;       /* points come with ids */
    uint64_t touched; /* points whose trees the last change built */
    uint64_t small;   /* on a device: layers that have no more points than this together are one */
} points_changes;

void points_changes_close(points_changes *owned); /* takes NULL */
static inline uint64_t points_layer_live(const points_layer *layer) {
    return layer->tree->tree.count - layer->gone.count;
}
uint64_t points_live_count(const kd_points *tree);
/* Trees beside the first, and the bytes of all that the changes hold. */
uint64_t points_changes_bytes(const points_changes *changes);
/* Whether it is one tree on the CPU; else a copy that is: as it lies on a device, or built anew of
   all points that are there. points_release frees it. */
bool points_is_whole(const kd_points *tree);
static inline bool points_elsewhere(const kd_points *tree) {
    return tree->cuda || tree->parts;
}
/* Of a tree on a device: whether it has several layers, or points of it have gone. */
bool points_has_layers(const kd_points *tree);
/* Of such a tree: one on the same device, built anew of all that is there; points_release frees it.
 */
kd_status points_whole_there(kd_points *out, const kd_points *tree);
/* All trees that answer for it, on the CPU, as the query's method asks them: how many. */
kd_status points_changes_targets(const kd_points *tree, const kd_points_query *query,
                                 point_target targets[LAYERS_MOST], uint32_t *count);
kd_status points_copy_whole(kd_points *copy, const kd_points *tree);

/* The caller's id of a point of one tree. */
static inline uint32_t points_id_of(const kd_points *tree, uint32_t index) {
    return tree->renamed ? tree->renamed[index] : index;
}

/* Points with their ids, in the order in which they came. Owner. */
typedef struct point_pile {
    void *coordinates;
    uint32_t *ids;
    uint64_t count;
    uint32_t dims;
    point_scalar scalar;
} point_pile;

/* --- for whoever changes it ------------------------------------------------------------------- */

void points_gone_close(points_gone *owned);
/* The first time a tree gets what changes need; what was touched is forgotten. */
kd_status points_begin_change(kd_points *tree);
/* The layers from `first` on, and then `more` points or NULL, become one. */
kd_status points_join_from(kd_points *tree, int first, const point_pile *more);
/* A tree of the pile, which lies where the tree does, takes the place of the layers from `first`
 * on.
 */
kd_status points_put_layer(kd_points *tree, int first, const point_pile *pile);
/* The layer from which on all are joined with `more` points that come after them. */
int points_first_to_join(const points_changes *changes, uint64_t more);
/* A tree in parts: its points on the host, as the only layer of `changes`; points_release frees
   the copy, nothing else is owned. */
kd_status points_fetch_layer(kd_points *copy, points_changes *changes, const kd_points *tree);
/* The pile becomes all that a tree in parts holds. */
kd_status points_build_anew(kd_points *tree, const point_pile *all);

/* The same of a tree on a device (changes_device.c); arguments were checked. */
kd_status points_join_there(kd_points *tree, int first);
kd_status points_insert_there(kd_points *tree, const kd_point_array *points);
kd_status points_remove_there(kd_points *tree, const uint32_t *ids, uint64_t count);

/* KD_ERROR_USAGE for a tree whose points cannot come and go. */
kd_status points_may_change(const kd_points *tree);

/* --- points on their way from one tree to the next
 * ------------------------------------------------ */

/* Room for `most` points like those of a tree. */
kd_status pile_open(point_pile *out, const pointtree *like, uint64_t most);
void pile_close(point_pile *owned);
/* What is there of a tree on the CPU goes to the pile's end. */
kd_status pile_add(point_pile *to, const kd_points *from, const points_gone *gone);
/* All layers from `first` on, and then `more` points or NULL, as one pile. */
kd_status pile_layers(point_pile *out, const points_changes *changes, int first,
                      const point_pile *more);
kd_point_array pile_array(const point_pile *of); /* borrows */

/* --- a changed tree on the CPU answers; arguments were checked
 * ------------------------------------ */

kd_status points_changes_ask(const kd_points *tree, const struct points_search *search);

#endif
