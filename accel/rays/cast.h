/* One ray by the fastest way that its tree has where this is compiled for: the wide form on a CPU
   (accel/wide), the pairs on a device (accel/tree/walk_device.h), else the plain walk
   (accel/tree/walk.h). The answer is that of the plain walk, to the bit. */
#ifndef KD_ACCEL_RAYS_CAST_H
#define KD_ACCEL_RAYS_CAST_H
#include "accel/tree/walk.h"
#include "accel/wide/wide_rays.h"

/* The nearest hit in the ray's range; of hits at the same t the one with the smallest id. With
   `any`, only whether the hit's triangle is KD_NONE is told. */
KD_FN ray_hit tritree_meet(const tritree_view *tree, ray cast, bool any) {
#ifdef __CUDA_ARCH__
    return tritree_device_cast(tree, cast, any);
#else
    if (tree->wide) return trace_wide_one(tree, cast, any);
    return tritree_cast(tree, cast, any, (tritree_counts *)0);
#endif
}
KD_FN ray_hit tritree_closest(const tritree_view *tree, ray cast) {
    return tritree_meet(tree, cast, false);
}
/* Whether anything is hit in the ray's range. */
KD_FN bool tritree_occluded(const tritree_view *tree, ray cast) {
    return tritree_meet(tree, cast, true).triangle != KD_NONE;
}

#endif
