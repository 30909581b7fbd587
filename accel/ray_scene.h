/* Internals of <kandela/ray_scenes.h>: the contents of a kd_ray_scene. */
#ifndef KD_ACCEL_RAY_SCENE_H
#define KD_ACCEL_RAY_SCENE_H
#include "accel/ray_scene_near.h"
#include "accel/triangles.h"
#include "core/device/cuda_stubs.h"
#include <kandela/ray_scenes.h>

enum { SCENE_WIDE = 8 };
#define SCENE_LEAF 0x80000000u

/* A node of the top level for rays on a CPU: up to eight children. */
typedef struct scene_wide_node {
    float bounds[6][SCENE_WIDE]; /* lo x, hi x, lo y, ...; infinity, -infinity: no child */
    uint32_t words[SCENE_WIDE];  /* SCENE_LEAF | an instance, or a node */
} scene_wide_node;

/* The top level for closest and any hits on a CPU. */
typedef struct scene_wide {
    instance_place *places; /* one per instance */
    scene_wide_node *nodes;
    uint32_t *roots; /* see scene_rays_view.roots */
    uint64_t node_count;
} scene_wide;

enum { HULL_LANES = 4, HULL_BOXES = 64 };

/* Boxes whose union contains a mesh: nodes of its wide tree, as centres and half sizes relative to
   the tree's centre. */
typedef struct shape_hull {
    float centre[3][HULL_BOXES], half[3][HULL_BOXES];
    uint32_t count; /* a multiple of HULL_LANES; 0: only the mesh's box is known */
} shape_hull;

struct kd_ray_scene {
    uint32_t world_count;
    const kd_triangles **trees;
    uint32_t tree_count, tree_capacity;
    kd_ray_instance *instances;
    uint32_t instance_count, instance_capacity;
    double origin[3];
    bool committed; /* no changes since the last commit */
    double commit_seconds;
    int32_t device; /* -1: the CPU */
    /* The committed scene; its arrays are on the host. */
    instanced_shape *shapes; /* boxes contain the triangles without area, too */
    instance *list;
    scene_member *members;
    instance_node *nodes;
    uint32_t *order, *roots;
    nearest_view *nearest; /* NULL until the first query that needs them */
    scene_rays_view view;  /* its `nearest` is not set */
    scene_wide wide;       /* zeroed on a device */
    /* On a device: */
    void *memory, *nearest_memory;
    scene_rays_view device_view; /* its `nearest` is not set */
    uint64_t device_bytes;
};

/* Sets scene->nearest, and on a device its copy there, if they are not set. Thread-safe. */
kd_status ray_scene_prepare_nearest(const kd_ray_scene *scene);
void ray_scene_drop_nearest(kd_ray_scene *scene);

/* Opens the largest nodes of a tree until the hull is full. */
void scene_hull_make(shape_hull *hull, const wide_tree *tree);
/* Returns the world-space bounds of the triangles of an instance that can be hit. */
box3 scene_hull_box(const shape_hull *hull, const instance *made, const instanced_shape *shape);
/* Reserves the wide nodes of all worlds; begins[world] to begins[world + 1] are its instances. */
kd_status scene_wide_reserve(kd_ray_scene *scene, const uint32_t *begins, uint64_t groups);
/* Makes the wide node of the node `from` of the binary tree, whose boxes of instances are `boxes`,
   and those below it; *used is the index of the next one. Returns the box of its instances. */
box3 scene_wide_make(const kd_ray_scene *scene, const box3 *boxes, uint32_t from, uint32_t *used);

/* Answers rays or points [begin, end) of a query on the CPU. */
void ray_scene_answer(const scene_rays_view *view, const scene_wide *wide, const scene_query *query,
                      uint64_t begin, uint64_t end);

/* Copies the committed scene to its device, and its nearest views. */
kd_status ray_scene_upload(kd_ray_scene *scene);
kd_status ray_scene_upload_nearest(kd_ray_scene *scene, const nearest_view *views);
void ray_scene_drop_device(kd_ray_scene *scene);
/* Answers a query on the scene's device; the arrays are host or device memory, except `offsets` and
   `fault`, which are host memory. */
kd_status ray_scene_query_cuda(const kd_ray_scene *scene, const scene_query *query, void *stream);

#endif
