/* Idea: the specular triangles start as one cluster. The cluster with the largest bounding sphere
         is split in two where the resulting spheres are smallest, as long as both together have a
         smaller cross section than the original. Separate objects get separate spheres; a compact
         object keeps one.
   Source: the split is that of binned builders (Wald 2007, "On fast construction of SAH-based
           bounding volume hierarchies"), with the cross section of the bounding sphere as cost.
   Work: a pass over a cluster's triangles per split, at most EMISSION_TARGETS - 1 splits.
   Memory: 4 bytes per specular triangle. */
#include "core/memory.h"
#include "photon/emission/emit.h"
#include "shaders/bsdf.h"
#include <stdlib.h>

enum { AIM_BINS = 16 };
/* A split must reduce the total cross section to this fraction. */
#define AIM_WORTH 0.9f

typedef struct aim_cluster {
    uint32_t begin, end; /* range of ids */
    emission_target sphere;
    box3 places; /* box of the triangles' centres */
    bool whole;  /* no split is worthwhile */
} aim_cluster;

typedef struct aim_cut {
    int axis;
    float at;   /* position on the axis */
    float cost; /* sum of squared radii */
} aim_cut;

static bool triangle_is_lens(const scene_view *scene, uint32_t triangle) {
    const uint32_t *kinds = scene->mesh.triangle_materials, index = kinds ? kinds[triangle] : 0;
    const material *made = &scene->materials[index];
    return material_passes_on(made, scene->layers ? &scene->layers[index] : NULL);
}

static box3 lens_box(const mesh_view *mesh, uint32_t triangle) {
    box3 box = box3_empty();
    for (size_t k = 0; k < 3; ++k)
        box3_include(&box, mesh->positions[mesh->triangles[3 * (size_t)triangle + k]]);
    return box;
}

static float axis_of(vec3 v, int axis) {
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/* Computes the bounding sphere, about the centre of the cluster's box, and the box of centres. */
static void cluster_measure(aim_cluster *cluster, const mesh_view *mesh, const uint32_t *ids) {
    box3 box = box3_empty();
    cluster->places = box3_empty();
    for (uint32_t i = cluster->begin; i < cluster->end; ++i) {
        const box3 one = lens_box(mesh, ids[i]);
        box3_include(&box, one.lo);
        box3_include(&box, one.hi);
        box3_include(&cluster->places, box3_centre(one));
    }
    const vec3 centre = box3_centre(box);
    float radius2 = 0;
    for (uint32_t i = cluster->begin; i < cluster->end; ++i)
        for (size_t k = 0; k < 3; ++k) {
            const vec3 p = mesh->positions[mesh->triangles[3 * (size_t)ids[i] + k]];
            radius2 = float_max(radius2, vec3_length2(vec3_sub(p, centre)));
        }
    cluster->sphere.centre = centre;
    cluster->sphere.radius = sqrtf(radius2) * 1.0001f; /* allows for rounding */
}

static int bin_of(const aim_cluster *cluster, int axis, vec3 place) {
    const float low = axis_of(cluster->places.lo, axis), high = axis_of(cluster->places.hi, axis);
    const int bin = (int)((axis_of(place, axis) - low) / (high - low) * AIM_BINS);
    return bin < 0 ? 0 : bin < AIM_BINS ? bin : AIM_BINS - 1;
}

static float box_radius2(box3 box) {
    return box3_is_empty(box) ? 0 : 0.25f * vec3_length2(box3_size(box));
}

/* Finds the cheapest split between two bins of an axis. */
static void consider_axis(aim_cut *best, const aim_cluster *cluster, const mesh_view *mesh,
                          const uint32_t *ids, int axis) {
    const float low = axis_of(cluster->places.lo, axis), high = axis_of(cluster->places.hi, axis);
    if (!(high > low)) return;
    box3 bins[AIM_BINS], above[AIM_BINS + 1], below = box3_empty();
    for (int b = 0; b < AIM_BINS; ++b) bins[b] = box3_empty();
    for (uint32_t i = cluster->begin; i < cluster->end; ++i) {
        const box3 one = lens_box(mesh, ids[i]);
        box3 *bin = &bins[bin_of(cluster, axis, box3_centre(one))];
        box3_include(bin, one.lo);
        box3_include(bin, one.hi);
    }
    above[AIM_BINS] = box3_empty();
    for (int b = AIM_BINS - 1; b >= 0; --b) {
        above[b] = above[b + 1];
        if (box3_is_empty(bins[b])) continue;
        box3_include(&above[b], bins[b].lo);
        box3_include(&above[b], bins[b].hi);
    }
    for (int b = 0; b + 1 < AIM_BINS; ++b) {
        if (!box3_is_empty(bins[b])) {
            box3_include(&below, bins[b].lo);
            box3_include(&below, bins[b].hi);
        }
        if (box3_is_empty(below) || box3_is_empty(above[b + 1])) continue;
        const float cost = box_radius2(below) + box_radius2(above[b + 1]);
        if (cost < best->cost) {
            best->axis = axis;
            best->at = (float)(b + 1);
            best->cost = cost;
        }
    }
}

/* Splits `cluster`, moving the upper part to `upper`; returns false if no split is worthwhile. */
static bool cluster_cut(aim_cluster *cluster, aim_cluster *upper, const mesh_view *mesh,
                        uint32_t *ids) {
    const float radius2 = float_square(cluster->sphere.radius);
    aim_cut best = {0, 0, INFINITY};
    for (int axis = 0; axis < 3; ++axis) consider_axis(&best, cluster, mesh, ids, axis);
    if (!(best.cost < INFINITY)) return false;
    uint32_t middle = cluster->begin;
    for (uint32_t i = cluster->begin; i < cluster->end; ++i) {
        const vec3 place = box3_centre(lens_box(mesh, ids[i]));
        if ((float)bin_of(cluster, best.axis, place) >= best.at) continue;
        const uint32_t moved = ids[middle];
        ids[middle++] = ids[i];
        ids[i] = moved;
    }
    aim_cluster lower = *cluster;
    *upper = *cluster;
    lower.end = upper->begin = middle;
    cluster_measure(&lower, mesh, ids);
    cluster_measure(upper, mesh, ids);
    if (!(float_square(lower.sphere.radius) + float_square(upper->sphere.radius) <
          AIM_WORTH * radius2))
        return false;
    *cluster = lower;
    return true;
}

static uint32_t cut_all(aim_cluster *clusters, const mesh_view *mesh, uint32_t *ids) {
    uint32_t count = 1;
    while (count < EMISSION_TARGETS) {
        aim_cluster *largest = NULL;
        for (uint32_t i = 0; i < count; ++i)
            if (!clusters[i].whole &&
                (!largest || clusters[i].sphere.radius > largest->sphere.radius))
                largest = &clusters[i];
        if (!largest) break;
        if (cluster_cut(largest, &clusters[count], mesh, ids))
            ++count;
        else
            largest->whole = true;
    }
    return count;
}

kd_status aim_targets(emission_target *targets, uint32_t *count, const scene_view *scene) {
    const mesh_view *mesh = &scene->mesh;
    uint32_t lenses = 0, *ids = NULL;
    *count = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; ++t) lenses += triangle_is_lens(scene, t);
    if (lenses == 0) return KD_OK;
    KD_TRY(KD_RESERVE(ids, lenses));
    uint32_t filled = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; ++t)
        if (triangle_is_lens(scene, t)) ids[filled++] = t;
    aim_cluster clusters[EMISSION_TARGETS];
    memset(clusters, 0, sizeof clusters);
    clusters[0].end = lenses;
    cluster_measure(&clusters[0], mesh, ids);
    *count = cut_all(clusters, mesh, ids);
    for (uint32_t i = 0; i < *count; ++i) targets[i] = clusters[i].sphere;
    memory_free(ids);
    return KD_OK;
}

/* --- guides ------------------------------------------------------------------------------------
 */

/* Radius of the first guide, in median distances of a place from the median of all. */
#define GUIDE_FIRST 3.0f
/* Largest radius of a guide, as a part of the scene's: a larger one would be no guide. */
#define GUIDE_LAST 0.7f

typedef struct weighted_number {
    float number, weight;
} weighted_number;

static int compare_numbers(const void *a, const void *b) {
    const weighted_number *x = (const weighted_number *)a, *y = (const weighted_number *)b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return (x->weight > y->weight) - (x->weight < y->weight);
}

/* Sorts the numbers; `count` is at least 1. */
static float weighted_median(weighted_number *numbers, uint32_t count) {
    double all = 0, below = 0;
    uint32_t i = 0;
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    for (uint32_t k = 0; k < count; ++k) all += (double)numbers[k].weight;
    for (; i + 1 < count; ++i) {
        below += (double)numbers[i].weight;
        if (2 * below >= all) break;
    }
    return numbers[i].number;
}

static vec3 median_place(weighted_number *numbers, const vec3 *places, const float *weights,
                         uint32_t count) {
    float median[3];
    for (int axis = 0; axis < 3; ++axis) {
        for (uint32_t i = 0; i < count; ++i)
            numbers[i] = (weighted_number){axis_of(places[i], axis), weights[i]};
        median[axis] = weighted_median(numbers, count);
    }
    return vec3_make(median[0], median[1], median[2]);
}

kd_status aim_guides(emission_target guides[EMISSION_TARGETS - 1], uint32_t *count,
                     const scene_view *scene, const vec3 *places, const float *weights,
                     uint32_t place_count) {
    weighted_number *numbers = NULL;
    *count = 0;
    if (place_count == 0) return KD_OK;
    KD_TRY(KD_RESERVE(numbers, place_count));
    const vec3 centre = median_place(numbers, places, weights, place_count);
    for (uint32_t i = 0; i < place_count; ++i)
        numbers[i] = (weighted_number){vec3_length(vec3_sub(places[i], centre)), weights[i]};
    const float last = GUIDE_LAST * 0.5f * vec3_length(box3_size(scene->box));
    float radius = GUIDE_FIRST * weighted_median(numbers, place_count);
    memory_free(numbers);
    for (; radius > 0 && radius < last && *count < EMISSION_TARGETS - 1; radius *= 2)
        guides[(*count)++] = (emission_target){centre, radius};
    return KD_OK;
}
