/* The choice of one light among many by a tree of bounds: position, power and cone of emission.
   Source: Conty Estevez and Kulla 2018, "Importance Sampling of Many Lights with Adaptive Tree
           Splitting"; Pharr, Jakob and Humphreys 2023, "Physically Based Rendering", section
           12.6.3. The importance differs: an estimate of the mean over the node, not a bound.
   Idea: a node has up to four children, nodes or lights. The descent computes the importance of all four, an estimate of the irradiance they cause, and enters one with probability proportional to it. A light's probability is found by the same descent along its trail.
   Invariants: importance is positive for every child that can illuminate the point. Draw and
   light_tree_probability have the same bits, as have CPU and GPU: only + - * / and sqrt, in a fixed
   order. Coordinates are in units of the scene's bounding sphere, so that scenes of any size
   neither overflow nor underflow.
   Work: three square roots and a division per node, for four children at once; depth at most
         LIGHT_TREE_DEPTH. */
#ifndef KD_SHADERS_LIGHT_TREE_H
#define KD_SHADERS_LIGHT_TREE_H
#include "core/math/geometry.h"

enum {
    LIGHT_NODE_CHILDREN = 4, /* a trail has two bits per level */
    LIGHT_TREE_DEPTH = 16
};
/* Bit of light_node.child: the other bits are the index of a light, else of a node. */
#define LIGHT_NODE_LEAF 0x80000000u
#define LIGHT_TREE_SLACK 0x1p-18f   /* covers the rounding of cosines */
#define LIGHT_TREE_SOFTNESS 0x1p-5f /* bounds the estimate inside a box; by experiment */
#define LIGHT_BELOW_ONE 0x1.fffffep-1f

/* Bounds of four children. The first ones are used; power is 0 in the others. 272 bytes. */
typedef struct KD_ALIGNED_16 light_node {
    float centre_x[LIGHT_NODE_CHILDREN], centre_y[LIGHT_NODE_CHILDREN],
        centre_z[LIGHT_NODE_CHILDREN];
    float half_x[LIGHT_NODE_CHILDREN], half_y[LIGHT_NODE_CHILDREN],
        half_z[LIGHT_NODE_CHILDREN];   /* half the box's size */
    float radius[LIGHT_NODE_CHILDREN]; /* radius of the bounding sphere, > 0 */
    /* Cone of the normals, or of the directions of full intensity: unit axis and half angle;
       cosine -1: all directions. */
    float axis_x[LIGHT_NODE_CHILDREN], axis_y[LIGHT_NODE_CHILDREN], axis_z[LIGHT_NODE_CHILDREN];
    float cos_cone[LIGHT_NODE_CHILDREN], sin_cone[LIGHT_NODE_CHILDREN];
    /* cosine of the angle outside the cone beyond which nothing is emitted, and 1 / (1 - cosine) */
    float cos_spread[LIGHT_NODE_CHILDREN], per_spread[LIGHT_NODE_CHILDREN];
    float side[LIGHT_NODE_CHILDREN];  /* -1: emits on both sides of the normals, else 1 */
    float power[LIGHT_NODE_CHILDREN]; /* fraction of the power of all lights in the tree */
    uint32_t child[LIGHT_NODE_CHILDREN];
} light_node;

typedef struct light_tree_view {
    const light_node *nodes; /* the first one is the root; NULL: no tree */
    /* for each light: the child to enter at each level, two bits per level, the root's lowest */
    const uint32_t *trails;
    uint32_t node_count;
    uint32_t light_count; /* the tree has the lights 0 .. light_count - 1 of the scene */
    vec3 centre;          /* origin of the nodes' coordinates, and their unit */
    float per_unit;       /* 1 / unit */
} light_tree_view;

/* A receiving point in the nodes' coordinates. */
typedef struct light_receiver {
    vec3 position;
    vec3 normal; /* unit, or zero: receives from all directions */
    float open;  /* 1 if `normal` is zero, else 0 */
} light_receiver;

typedef struct light_importances {
    float child[LIGHT_NODE_CHILDREN];
    float sum;
} light_importances;

KD_FN light_receiver light_receiver_make(const light_tree_view *tree, vec3 from, vec3 normal) {
    light_receiver made;
    made.position = vec3_scale(vec3_sub(from, tree->centre), tree->per_unit);
    made.normal = normal;
    made.open = vec3_is_zero(normal) ? 1.0f : 0.0f;
    return made;
}

/* Estimates the irradiance of each child: power times two cosines over the product of the distances
   to the nearest and to the farthest point of its box, the mean of 1 / distance^2 over a line of
   lights. The bounding sphere subtends an angle of sine b. The cosine of an angle x, averaged over
   the sphere, is about (cos x + b) / (1 + b), which is positive if any point of the sphere is above
   the horizon. Both terms are multiplied by the distance, so that it may be 0. The loop has no
   branches, so that compilers process the four children at once. */
KD_FN_HOT light_importances light_node_importances(const light_node *node,
                                                   const light_receiver *at) {
    light_importances made;
    for (int i = 0; i < LIGHT_NODE_CHILDREN; ++i) {
        const float x = at->position.x - node->centre_x[i], y = at->position.y - node->centre_y[i],
                    z = at->position.z - node->centre_z[i];
        const float square = x * x + y * y + z * z, distance = sqrtf(square);
        const float radius = node->radius[i], b = radius + LIGHT_TREE_SLACK * distance;
        const float axial = node->axis_x[i] * x + node->axis_y[i] * y + node->axis_z[i] * z;
        const float along = float_max(axial, axial * node->side[i]);
        const float across = sqrtf(float_max(square - along * along, 0));
        const float outside = along * node->cos_cone[i] + across * node->sin_cone[i];
        const float beyond = along >= distance * node->cos_cone[i] ? distance : outside;
        const float emitted = (beyond + b - distance * node->cos_spread[i]) * node->per_spread[i];
        const float incoming =
            distance * at->open - (at->normal.x * x + at->normal.y * y + at->normal.z * z) + b;
        const float most = distance + radius;
        const float cosines = float_clamp(emitted, 0, most) * float_clamp(incoming, 0, most);
        const float right = fabsf(x), up = fabsf(y), behind = fabsf(z);
        const float half_x = node->half_x[i], half_y = node->half_y[i], half_z = node->half_z[i];
        const float nearest =
            float_square(float_max(right - half_x, 0)) + float_square(float_max(up - half_y, 0)) +
            float_square(float_max(behind - half_z, 0)) + LIGHT_TREE_SOFTNESS * radius * radius;
        const float farthest = float_square(right + half_x) + float_square(up + half_y) +
                               float_square(behind + half_z);
        made.child[i] = node->power[i] * cosines / (most * most * sqrtf(nearest * farthest));
    }
    made.sum = (made.child[0] + made.child[1]) + (made.child[2] + made.child[3]);
    return made;
}

KD_FN float light_importance_of(const light_importances *among, uint32_t child) {
    const float low = child & 1 ? among->child[1] : among->child[0];
    const float high = child & 1 ? among->child[3] : among->child[2];
    return child & 2 ? high : low;
}

/* Chooses a child of positive importance by *u in [0, 1), and rescales *u to be used again. The sum
   must be positive. */
KD_FN uint32_t light_child_choose(const light_importances *among, float *u) {
    const float *value = among->child;
    const float left = value[0] + value[1], right = value[2] + value[3];
    float rest = *u * among->sum;
    const bool high = !(rest < left) && right > 0;
    if (high) rest -= left;
    const float first = high ? value[2] : value[0], second = high ? value[3] : value[1];
    const bool odd = !(rest < first) && second > 0;
    if (odd) rest -= first;
    *u = float_clamp(rest / (odd ? second : first), 0, LIGHT_BELOW_ONE);
    return (high ? 2u : 0u) | (odd ? 1u : 0u);
}

/* Draws a light for a receiver by u in [0, 1) and multiplies *probability by that of the light;
   sets it to 0 if no light of the tree can illuminate the receiver. */
KD_FN uint32_t light_tree_draw(const light_tree_view *tree, vec3 from, vec3 normal, float u,
                               float *probability) {
    const light_receiver at = light_receiver_make(tree, from, normal);
    uint32_t child = 0;
    do {
        const light_node *node = tree->nodes + child;
        const light_importances among = light_node_importances(node, &at);
        if (!(among.sum > 0)) {
            *probability = 0;
            return 0;
        }
        const uint32_t chosen = light_child_choose(&among, &u);
        *probability *= light_importance_of(&among, chosen) / among.sum;
        child = node->child[chosen];
    } while (!(child & LIGHT_NODE_LEAF));
    return child & ~LIGHT_NODE_LEAF;
}

/* Returns `probability` times that of drawing a light of the tree for a receiver: the same bits as
   light_tree_draw. */
KD_FN float light_tree_probability(const light_tree_view *tree, uint32_t light, vec3 from,
                                   vec3 normal, float probability) {
    const light_receiver at = light_receiver_make(tree, from, normal);
    uint32_t child = 0, trail = tree->trails[light];
    do {
        const light_node *node = tree->nodes + child;
        const light_importances among = light_node_importances(node, &at);
        if (!(among.sum > 0)) return 0;
        probability *= light_importance_of(&among, trail & 3) / among.sum;
        child = node->child[trail & 3];
        trail >>= 2;
    } while (!(child & LIGHT_NODE_LEAF));
    return probability;
}

#endif
