/* Internals of <kandela/ray_scenes.h>: the contents of a kd_ray_scene. */
#ifndef KD_ACCEL_RAY_SCENE_H
#define KD_ACCEL_RAY_SCENE_H
#include "accel/ray_scene_near.h"
#include "accel/triangles.h"
#include "core/device/cuda_stubs.h"
#include <kandela/ray_scenes.h>

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
    scene_rays_view view;  /* without `nearest` */
    /* On a device: */
    void *memory, *nearest_memory;
    scene_rays_view device_view; /* without `nearest` */
    uint64_t device_bytes;
};

/* Sets scene->nearest, and on a device its copy there, if they are not set. Thread-safe. */
kd_status ray_scene_prepare_nearest(const kd_ray_scene *scene);
void ray_scene_drop_nearest(kd_ray_scene *scene);

/* Answers rays or points [begin, end) of a query on the CPU. */
void ray_scene_answer(const scene_rays_view *view, const scene_query *query, uint64_t begin,
                      uint64_t end);

/* Copies the committed scene to its device, and its nearest views. */
kd_status ray_scene_upload(kd_ray_scene *scene);
kd_status ray_scene_upload_nearest(kd_ray_scene *scene, const nearest_view *views);
void ray_scene_drop_device(kd_ray_scene *scene);
/* Answers a query on the scene's device; the arrays are host or device memory, except `offsets` and
   `fault`, which are host memory. */
kd_status ray_scene_query_cuda(const kd_ray_scene *scene, const scene_query *query, void *stream);

#endif
