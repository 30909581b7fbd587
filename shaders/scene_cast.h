/* Rays at the whole scene: its tree, then what is placed in it.
   On a device only files that define KD_PLACED first of all look at placements. */
#ifndef KD_SHADERS_SCENE_CAST_H
#define KD_SHADERS_SCENE_CAST_H
#include "accel/placed/placed_walk.h"
#include "accel/rays/cast.h"
#include "shaders/scene_view.h"

#if !defined(__CUDACC__) || defined(KD_PLACED)
/* Goes on at the placements with what the tree has answered. */
KD_FN_APART placed_hit scene_placed_cast(const scene_view *scene, ray cast, ray_hit before,
                                         bool any) {
    return placed_cast(&scene->placed, scene->mesh.positions, scene->mesh.triangles, cast, before,
                       any);
}
KD_FN ray_hit scene_go_on(const scene_view *scene, ray cast, ray_hit before, uint32_t *placed) {
    *placed = KD_NONE;
    if (scene->placed.count == 0) return before;
    const placed_hit found = scene_placed_cast(scene, cast, before, false);
    *placed = found.placed;
    return found.at;
}
KD_FN bool scene_placed_blocks(const scene_view *scene, ray cast) {
    const ray_hit before = {cast.tmax, 0, 0, KD_NONE};
    return scene->placed.count != 0 &&
           scene_placed_cast(scene, cast, before, true).at.triangle != KD_NONE;
}
#else
KD_FN ray_hit scene_go_on(const scene_view *scene, ray cast, ray_hit before, uint32_t *placed) {
    (void)scene, (void)cast;
    *placed = KD_NONE;
    return before;
}
KD_FN bool scene_placed_blocks(const scene_view *scene, ray cast) {
    (void)scene, (void)cast;
    return false;
}
#endif

/* tritree_closest of the scene; *placed: the placement that was hit, KD_NONE: none. */
KD_FN ray_hit scene_closest(const scene_view *scene, ray cast, uint32_t *placed) {
    return scene_go_on(scene, cast, tritree_closest(&scene->tree, cast), placed);
}
KD_FN bool scene_occluded(const scene_view *scene, ray cast) {
    return tritree_occluded(&scene->tree, cast) || scene_placed_blocks(scene, cast);
}

#endif
