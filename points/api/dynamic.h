/* Dynamic trees: insertion and removal of points without rebuilding the whole tree.
   Source: Bentley and Saxe 1980, "Decomposable searching problems I", the logarithmic method.
   Idea: new points form trees of their own, the layers, of which older ones are larger; a layer
         that is not more than twice as large as all later ones together is merged with them and
         rebuilt. A removed point becomes NaN in its layer's buckets, where no search finds it (a
         tombstone); a layer that has lost half of its points is rebuilt. A query searches all
         layers and merges their rows. A tree on a CUDA device works likewise (dynamic_device.c); a
         distributed tree is rebuilt.
   Work: each point takes part in about log2(n / batch) builds; a query searches as many layers.
   Memory: that of the layers; once points have been removed, five more bytes per point of their
           layer.
   Invariants: layers hold points in the order of insertion, and the first layer (the kd_points
               itself) is the oldest, so that ties are broken as in a tree rebuilt from all
               remaining points in that order. */
#ifndef KD_POINTS_API_DYNAMIC_H
#define KD_POINTS_API_DYNAMIC_H
#include "points/api/points.h"
#include "points/neighbours/query.h"

struct points_search;

enum { LAYERS_MAX = 40 };

/* The removed points of a tree (tombstones). */
typedef struct points_tombstones {
    /* for each id of the tree: 1 if removed; NULL: no point is removed */
    uint8_t *flags;
    /* for each id: its slot in the buckets; NULL if `flags` is NULL */
    uint32_t *slots;
    uint32_t count;
} points_tombstones;

typedef struct points_layer {
    /* a tree with its own ids and without layers; owned, except for the first */
    kd_points *tree;
    /* for a tree on a device only `count` is used; points_cuda holds its flags */
    points_tombstones tombstones;
} points_layer;

typedef struct points_dynamic {
    points_layer layers[LAYERS_MAX]; /* the first one is the tree itself */
    int count;
    uint64_t next_id; /* id of the next point inserted without one */
    bool named;       /* points are inserted with ids */
    uint64_t touched; /* number of points rebuilt by the last change */
    /* on a device: layers with at most this many points together are merged */
    uint64_t small;
} points_dynamic;

void points_dynamic_close(points_dynamic *owned); /* accepts NULL */
static inline uint64_t points_layer_live(const points_layer *layer) {
    return layer->tree->tree.count - layer->tombstones.count;
}
uint64_t points_live_count(const kd_points *tree);
/* Returns the bytes of all layers except the first, and of all other data of the changes. */
uint64_t points_dynamic_bytes(const points_dynamic *dynamic);
/* Returns whether the tree is a single tree on the CPU without changes. If not, points_copy_whole
   makes such a copy: of the tree on the device, or rebuilt from all remaining points. Free it with
   points_release. */
bool points_is_whole(const kd_points *tree);
static inline bool points_elsewhere(const kd_points *tree) {
    return tree->cuda || tree->parts;
}
/* For a tree on a device: returns whether it has several layers or removed points. */
bool points_has_layers(const kd_points *tree);
/* For such a tree: builds one tree of all remaining points on the same device. Free it with
   points_release. */
kd_status points_device_merge(kd_points *out, const kd_points *tree);
/* Lists all trees that a CPU query has to search, in the form that its method needs, and stores
   their number in *count. */
kd_status points_dynamic_targets(const kd_points *tree, const kd_points_query *query,
                                 point_target targets[LAYERS_MAX], uint32_t *count);
kd_status points_copy_whole(kd_points *copy, const kd_points *tree);

/* The caller's id of a point of one tree. */
static inline uint32_t points_id_of(const kd_points *tree, uint32_t index) {
    return tree->renamed ? tree->renamed[index] : index;
}

/* Growing buffer of points with their ids, in the order of insertion. Owns its memory. */
typedef struct point_buffer {
    void *coordinates;
    uint32_t *ids;
    uint64_t count;
    uint32_t dims;
    point_scalar scalar;
} point_buffer;

/* --- for the functions that change a tree --------------------------------------------------- */

void points_tombstones_close(points_tombstones *owned);
/* Prepares a tree for its first change; resets `touched`. */
kd_status points_begin_change(kd_points *tree);
/* Merges the layers from `first` on, followed by `more` points (or NULL), into one. */
kd_status points_join_from(kd_points *tree, int first, const point_buffer *more);
/* Builds a tree of the buffer, which is in the same memory as the tree, and replaces the layers
   from `first` on by it. */
kd_status points_put_layer(kd_points *tree, int first, const point_buffer *points);
/* Returns the first layer that has to be merged if `more` points are inserted after all layers. */
int points_first_to_join(const points_dynamic *dynamic, uint64_t more);
/* Copies the points of a distributed tree to the host, as the only layer of `dynamic`. Free the
   copy with points_release; nothing else is owned. */
kd_status points_fetch_layer(kd_points *copy, points_dynamic *dynamic, const kd_points *tree);
/* Rebuilds a distributed tree from the buffer. */
kd_status points_build_anew(kd_points *tree, const point_buffer *all);

/* The same operations for a tree on a device (dynamic_device.c); the arguments must be valid. */
kd_status points_device_join(kd_points *tree, int first);
kd_status points_device_insert(kd_points *tree, const kd_point_array *points);
kd_status points_device_remove(kd_points *tree, const uint32_t *ids, uint64_t count);

/* Returns KD_ERROR_USAGE for a tree that does not support changes. */
kd_status points_may_change(const kd_points *tree);

/* --- buffers of points from which trees are rebuilt ----------------------------------------- */

/* Allocates a buffer for `maximum` points of the same type as those of `like`. */
kd_status buffer_open(point_buffer *out, const pointtree *like, uint64_t maximum);
void buffer_close(point_buffer *owned);
/* Appends all remaining points of a tree on the CPU to the buffer. */
kd_status buffer_add(point_buffer *buffer, const kd_points *tree,
                     const points_tombstones *tombstones);
/* Collects all layers from `first` on, followed by `more` points (or NULL), in one buffer. */
kd_status buffer_layers(point_buffer *out, const points_dynamic *dynamic, int first,
                        const point_buffer *more);
/* Returns a view of the buffer, which keeps ownership. */
kd_point_array buffer_array(const point_buffer *buffer);

/* --- queries of a changed tree on the CPU; the arguments must be valid ---------------------- */

kd_status points_dynamic_query(const kd_points *tree, const struct points_search *search);

#endif
