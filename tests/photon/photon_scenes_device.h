/* The scenes of photon_scenes.h on a CUDA device. */
#ifndef KD_TESTS_PHOTON_SCENES_DEVICE_H
#define KD_TESTS_PHOTON_SCENES_DEVICE_H
#include "accel/rays/tree_device.h"
#include "photon_scenes.h"
#include "scenes/assembly/scene_cuda.h"

typedef struct device_scene {
    tritree_cuda tree;
    scene_cuda scene;
} device_scene;

static inline void device_scene_open(device_scene *out, const photon_scene *scene) {
    assert_int_equal(tritree_cuda_open(&out->tree, &scene->tree), KD_OK);
    assert_int_equal(scene_cuda_open(&out->scene, &scene->view, &out->tree.view), KD_OK);
}

/* Makes rays use the compressed form of the tree from now on. */
static inline void device_scene_pack(device_scene *device_scene) {
    assert_int_equal(tritree_cuda_pack(&device_scene->tree, NULL), KD_OK);
    device_scene->scene.view.tree = device_scene->tree.view;
}

static inline void device_scene_close(device_scene *owned) {
    scene_cuda_close(&owned->scene);
    tritree_cuda_close(&owned->tree);
}

#endif
