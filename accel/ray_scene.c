/* Scenes of rays: geometries, instances, and their top-level trees. */
#include "accel/ray_scene.h"
#include "core/device/device.h"
#include "core/memory.h"
#include "core/parallel/call.h"
#include "core/parallel/parallel.h"
#include "core/version.h"
#include <assert.h>
#include <stdio.h>

enum { GRAIN = 256 /* instances per piece of a loop */ };

static_assert(KD_NO_INSTANCE == KD_NONE && KD_EVERY_WORLD == KD_NONE, "no instance is no instance");

kd_ray_instance kd_ray_instance_make(uint32_t geometry) {
    kd_ray_instance made;
    memset(&made, 0, sizeof made);
    made.transform[0] = made.transform[5] = made.transform[10] = 1;
    made.geometry = geometry;
    made.mask = KD_NONE;
    return made;
}

/* --- Changes --- */

kd_status kd_ray_scene_open(kd_ray_scene **out, uint32_t worlds) {
    KD_CALL(0);
    kd_ray_scene *opened = NULL;
    KD_REQUIRE(out, KD_ERROR_USAGE, "`out` must not be NULL");
    *out = NULL;
    KD_REQUIRE(worlds >= 1 && worlds < KD_EVERY_WORLD, KD_ERROR_USAGE,
               "`worlds` is %u; expected 1 to 2^32 - 2", worlds);
    KD_TRY(KD_RESERVE_ZEROED(opened, 1));
    opened->world_count = worlds;
    opened->device = -1;
    *out = opened;
    return KD_OK;
}

static void drop_committed(kd_ray_scene *scene) {
    ray_scene_drop_nearest(scene);
    ray_scene_drop_device(scene);
    memory_free(scene->shapes);
    memory_free(scene->list);
    memory_free(scene->members);
    memory_free(scene->nodes);
    memory_free(scene->order);
    memory_free(scene->roots);
    memory_free(scene->wide.places);
    memory_free(scene->wide.nodes);
    memory_free(scene->wide.roots);
    memset(&scene->wide, 0, sizeof scene->wide);
    scene->shapes = NULL;
    scene->list = NULL;
    scene->members = NULL;
    scene->nodes = NULL;
    scene->order = scene->roots = NULL;
    memset(&scene->view, 0, sizeof scene->view);
}

void kd_ray_scene_close(kd_ray_scene *scene) {
    if (!scene) return;
    drop_committed(scene);
    memory_free(scene->trees);
    memory_free(scene->instances);
    memory_free(scene);
}

kd_status kd_ray_scene_add_geometry(kd_ray_scene *scene, const kd_triangles *tree,
                                    uint32_t *geometry) {
    KD_CALL(0);
    KD_REQUIRE(scene, KD_ERROR_USAGE, "`scene` must not be NULL");
    KD_REQUIRE(tree, KD_ERROR_USAGE, "`tree` must not be NULL");
    if (scene->tree_count == scene->tree_capacity) {
        const uint32_t capacity = 2 * scene->tree_capacity + 8;
        KD_TRY(KD_GROW(scene->trees, scene->tree_count, capacity));
        scene->tree_capacity = capacity;
    }
    if (geometry) *geometry = scene->tree_count;
    scene->trees[scene->tree_count++] = tree;
    scene->committed = false;
    return KD_OK;
}

kd_status kd_ray_scene_set_geometry(kd_ray_scene *scene, uint32_t geometry,
                                    const kd_triangles *tree) {
    KD_CALL(0);
    KD_REQUIRE(scene, KD_ERROR_USAGE, "`scene` must not be NULL");
    KD_REQUIRE(tree, KD_ERROR_USAGE, "`tree` must not be NULL");
    KD_REQUIRE(geometry < scene->tree_count, KD_ERROR_USAGE,
               "`geometry` is %u; the scene has %u geometries", geometry, scene->tree_count);
    scene->trees[geometry] = tree;
    scene->committed = false;
    return KD_OK;
}

static kd_status check_instances(const kd_ray_scene *scene, const kd_ray_instance *instances,
                                 uint64_t count) {
    const caller_array array = {instances, "instances", sizeof(double)};
    KD_REQUIRE(scene, KD_ERROR_USAGE, "`scene` must not be NULL");
    KD_REQUIRE(instances || count == 0, KD_ERROR_USAGE,
               "`instances` must not be NULL: `count` is %llu", (unsigned long long)count);
    KD_TRY(caller_memory_check(&array, 1, true));
    for (uint64_t i = 0; i < count; ++i) {
        KD_REQUIRE(instances[i].geometry < scene->tree_count, KD_ERROR_USAGE,
                   "`instances[%llu].geometry` is %u; the scene has %u geometries",
                   (unsigned long long)i, instances[i].geometry, scene->tree_count);
        KD_REQUIRE(instances[i].world < scene->world_count || instances[i].world == KD_EVERY_WORLD,
                   KD_ERROR_USAGE, "`instances[%llu].world` is %u; the scene has %u worlds",
                   (unsigned long long)i, instances[i].world, scene->world_count);
        KD_REQUIRE(instances[i].reserved == 0, KD_ERROR_USAGE,
                   "`instances[%llu].reserved` is not 0; call kd_ray_instance_make first",
                   (unsigned long long)i);
    }
    return KD_OK;
}

/* Checks that instances [first, first + count) exist. */
static kd_status check_range(const kd_ray_scene *scene, uint32_t first, uint64_t count) {
    KD_REQUIRE(first <= scene->instance_count && count <= scene->instance_count - first,
               KD_ERROR_USAGE, "`first` is %u and `count` is %llu; the scene has %u instances",
               first, (unsigned long long)count, scene->instance_count);
    return KD_OK;
}

kd_status kd_ray_scene_add_instances(kd_ray_scene *scene, const kd_ray_instance *instances,
                                     uint64_t count, uint32_t *first) {
    KD_CALL(0);
    KD_TRY(check_instances(scene, instances, count));
    KD_REQUIRE(count < (uint64_t)(1u << 31) - scene->instance_count, KD_ERROR_USAGE,
               "`count` is %llu; a scene has less than 2^31 instances", (unsigned long long)count);
    const uint32_t total = scene->instance_count + (uint32_t)count;
    if (total > scene->instance_capacity) {
        const uint32_t capacity = total + total / 2;
        KD_TRY(KD_GROW(scene->instances, scene->instance_count, capacity));
        scene->instance_capacity = capacity;
    }
    if (first) *first = scene->instance_count;
    if (count)
        memcpy(scene->instances + scene->instance_count, instances, count * sizeof *instances);
    scene->instance_count = total;
    scene->committed = false;
    return KD_OK;
}

kd_status kd_ray_scene_set_instances(kd_ray_scene *scene, uint32_t first,
                                     const kd_ray_instance *instances, uint64_t count) {
    KD_CALL(0);
    KD_TRY(check_instances(scene, instances, count));
    KD_TRY(check_range(scene, first, count));
    if (count) memcpy(scene->instances + first, instances, count * sizeof *instances);
    scene->committed = false;
    return KD_OK;
}

kd_status kd_ray_scene_set_transforms(kd_ray_scene *scene, uint32_t first, const double *transforms,
                                      uint64_t count) {
    KD_CALL(0);
    const caller_array array = {transforms, "transforms", sizeof(double)};
    KD_REQUIRE(scene, KD_ERROR_USAGE, "`scene` must not be NULL");
    KD_REQUIRE(transforms || count == 0, KD_ERROR_USAGE,
               "`transforms` must not be NULL: `count` is %llu", (unsigned long long)count);
    KD_TRY(caller_memory_check(&array, 1, true));
    KD_TRY(check_range(scene, first, count));
    for (uint64_t i = 0; i < count; ++i)
        memcpy(scene->instances[first + i].transform, transforms + 12 * i,
               sizeof scene->instances[0].transform);
    scene->committed = false;
    return KD_OK;
}

kd_status kd_ray_scene_set_origin(kd_ray_scene *scene, const double *origin) {
    KD_CALL(0);
    KD_REQUIRE(scene, KD_ERROR_USAGE, "`scene` must not be NULL");
    KD_REQUIRE(origin, KD_ERROR_USAGE, "`origin` must not be NULL");
    for (int axis = 0; axis < 3; ++axis)
        KD_REQUIRE(isfinite(origin[axis]), KD_ERROR_USAGE, "`origin` is not finite");
    memcpy(scene->origin, origin, sizeof scene->origin);
    scene->committed = false;
    return KD_OK;
}

/* --- Commit --- */

static kd_status find_device(kd_ray_scene *scene) {
    scene->device = -1;
    for (uint32_t i = 0; i < scene->tree_count; ++i) {
        const int32_t device = scene->trees[i]->cuda ? scene->trees[i]->cuda->device : -1;
        KD_REQUIRE(i == 0 || device == scene->device, KD_ERROR_USAGE,
                   "geometry %u is on another device than geometry 0; open all trees with the same "
                   "`device`, not \"auto\"",
                   i);
        scene->device = device;
    }
    return KD_OK;
}

static kd_status take_shapes(kd_ray_scene *scene) {
    KD_TRY(KD_RESERVE_ZEROED(scene->shapes, scene->tree_count));
    for (uint32_t i = 0; i < scene->tree_count; ++i) {
        const kd_triangles *tree = scene->trees[i];
        instanced_shape *shape = scene->shapes + i;
        shape->count = tree->tree.input.triangle_count;
        if (tree->cuda) KD_TRY(triangles_cuda_restore(tree));
        shape->tree = tree->cuda ? tree->cuda->tree.view : tritree_get_view(&tree->tree);
        shape->box = tree->tree.box;
        if (tree->tree.statistics.degenerate_triangles == 0) continue;
        KD_TRY(triangles_prepare_nearest(tree)); /* its box has the triangles without area */
        shape->box = tree->nearest->view.box;
    }
    return KD_OK;
}

/* Returns an upper bound of the largest singular value of the inverse A: the 256th root of the
   trace of the 128th power of the transpose of A times A, at most 3^(1/256) times too large. */
static double stretch_of(const instance *instance) {
    enum { STEPS = 7 };
    double power[3][3], next[3][3], trace[STEPS + 1], bound = 1;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            power[i][j] = 0;
            for (int k = 0; k < 3; ++k) power[i][j] += instance->back[k][i] * instance->back[k][j];
        }
    for (int step = 0; step <= STEPS; ++step) { /* each step squares power / trace */
        trace[step] = power[0][0] + power[1][1] + power[2][2];
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
                next[i][j] = 0;
                for (int k = 0; k < 3; ++k)
                    next[i][j] += power[i][k] / trace[step] * (power[k][j] / trace[step]);
            }
        memcpy(power, next, sizeof power);
    }
    for (int step = STEPS; step >= 0; --step) bound = sqrt(trace[step] * bound);
    return bound * (1 + 0x1p-30);
}

static kd_status make_instance(const kd_ray_scene *scene, uint32_t i) {
    transform to_world;
    const double *given = scene->instances[i].transform;
    for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 4; ++column)
            to_world.m[row][column] =
                given[4 * row + column] - (column == 3 ? scene->origin[row] : 0);
    for (int row = 0; row < 3; ++row)
        KD_REQUIRE(isfinite(to_world.m[row][3]), KD_ERROR_INPUT,
                   "the translation of an instance is not finite");
    KD_TRY(instance_make(&scene->list[i], &to_world, scene->instances[i].geometry));
    scene->members[i].stretch = stretch_of(&scene->list[i]);
    scene->members[i].mask = scene->instances[i].mask;
    return KD_OK;
}

typedef struct making {
    const kd_ray_scene *scene;
    box3 *boxes;
    shape_hull *hulls; /* one hull per shape; NULL on a device */
    uint32_t failed;   /* the first instance with an invalid transform */
    const uint32_t *begins;
} making;

static void make_some(void *context, int64_t begin, int64_t end, int thread) {
    making *a = (making *)context;
    (void)thread;
    for (uint32_t i = (uint32_t)begin; i < (uint32_t)end; ++i) {
        if (make_instance(a->scene, i) != KD_OK) {
            uint32_t first = __atomic_load_n(&a->failed, __ATOMIC_RELAXED);
            while (i < first && !__atomic_compare_exchange_n(&a->failed, &first, i, true,
                                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            }
            continue;
        }
        const instance *made = a->scene->list + i;
        const instanced_shape *shape = a->scene->shapes + made->shape;
        a->boxes[i] = a->scene->members[i].mask ? instance_box(made, shape->box) : box3_empty();
        if (a->scene->device >= 0) continue;
        a->scene->wide.places[i] =
            instance_place_make(made, shape, scene_hull_box(a->hulls + made->shape, made, shape));
        a->scene->wide.places[i].mask = a->scene->members[i].mask;
    }
}

static kd_status make_instances(kd_ray_scene *scene, making *a) {
    KD_TRY(KD_RESERVE_ZEROED(scene->list, scene->instance_count));
    KD_TRY(KD_RESERVE_ZEROED(scene->members, scene->instance_count));
    if (scene->device < 0) KD_TRY(KD_RESERVE(scene->wide.places, scene->instance_count));
    a->failed = KD_NONE;
    KD_TRY(parallel_for_stage("build", scene->instance_count, GRAIN, make_some, a));
    if (a->failed == KD_NONE) return KD_OK;
    char reason[256];
    (void)make_instance(scene, a->failed);
    snprintf(reason, sizeof reason, "%s", kd_last_error());
    KD_FAIL(KD_ERROR_INPUT, "instance %u: %s", a->failed, reason);
}

static uint32_t world_of(const kd_ray_scene *scene, uint32_t i) {
    const uint32_t world = scene->instances[i].world;
    return world == KD_EVERY_WORLD ? scene->world_count : world;
}

static void build_some(void *context, int64_t begin, int64_t end, int thread) {
    const making *a = (const making *)context;
    const kd_ray_scene *scene = a->scene;
    (void)thread;
    for (int64_t world = begin; world < end; ++world) {
        const uint32_t first = a->begins[world], last = a->begins[world + 1];
        scene->roots[world] = first < last ? 2 * first : (uint32_t)KD_NONE;
        if (first == last) continue;
        instance_tree_build(scene->nodes, 2 * first, scene->order, a->boxes, first, last);
        if (scene->device >= 0) continue;
        uint32_t used = scene->wide.roots[world];
        scene_wide_make(scene, a->boxes, 2 * first, &used);
    }
}

/* Lists the instances that can be seen world by world, and builds a tree for each world. */
static kd_status build_worlds(kd_ray_scene *scene, making *a) {
    const uint64_t groups = (uint64_t)scene->world_count + 1;
    uint32_t *begins = NULL;
    kd_status status = KD_RESERVE_ZEROED(begins, groups + 2);
    if (status == KD_OK) status = KD_RESERVE(scene->roots, groups);
    if (status == KD_OK) status = KD_RESERVE(scene->order, scene->instance_count);
    if (status == KD_OK)
        status = KD_RESERVE_ZEROED(scene->nodes, 2 * (uint64_t)scene->instance_count);
    if (status == KD_OK) {
        for (uint32_t i = 0; i < scene->instance_count; ++i)
            begins[world_of(scene, i) + 2] += !box3_is_empty(a->boxes[i]);
        for (uint64_t world = 2; world < groups + 2; ++world) begins[world] += begins[world - 1];
        for (uint32_t i = 0; i < scene->instance_count; ++i)
            if (!box3_is_empty(a->boxes[i])) scene->order[begins[world_of(scene, i) + 1]++] = i;
        a->begins = begins;
        status = scene_wide_reserve(scene, begins, groups);
    }
    if (status == KD_OK) {
        parallel_for((int64_t)groups, GRAIN, build_some, a);
    }
    memory_free(begins);
    return status;
}

static kd_status commit(kd_ray_scene *scene, making *a) {
    KD_TRY(find_device(scene));
    KD_TRY(take_shapes(scene));
    KD_TRY(KD_RESERVE(a->boxes, scene->instance_count));
    if (scene->device < 0) {
        KD_TRY(KD_RESERVE_ZEROED(a->hulls, scene->tree_count));
        for (uint32_t i = 0; i < scene->tree_count; ++i) {
            const wide_tree *tree = scene->shapes[i].tree.wide;
            if (tree) scene_hull_make(a->hulls + i, tree);
        }
    }
    KD_TRY(make_instances(scene, a));
    KD_TRY(build_worlds(scene, a));
    const instance_view view = {.shapes = scene->shapes,
                                .list = scene->list,
                                .nodes = scene->nodes,
                                .order = scene->order,
                                .count = scene->instance_count,
                                .shape_count = scene->tree_count,
                                .node_count = 2 * scene->instance_count};
    scene->view.instances = view;
    scene->view.members = scene->members;
    scene->view.roots = scene->roots;
    scene->view.world_count = scene->world_count;
    return scene->device >= 0 ? ray_scene_upload(scene) : KD_OK;
}

kd_status kd_ray_scene_commit(kd_ray_scene *scene) {
    KD_CALL(0);
    KD_REQUIRE(scene, KD_ERROR_USAGE, "`scene` must not be NULL");
    const double started = timing_now();
    making a = {.scene = scene};
    drop_committed(scene);
    const kd_status status = commit(scene, &a);
    memory_free(a.boxes);
    memory_free(a.hulls);
    if (status != KD_OK) drop_committed(scene);
    scene->committed = status == KD_OK;
    scene->commit_seconds = timing_now() - started;
    return status;
}

/* --- Description --- */

static void describe_box(const kd_ray_scene *scene, kd_ray_scene_info *info) {
    for (int axis = 0; axis < 3; ++axis) {
        info->lo[axis] = (double)INFINITY;
        info->hi[axis] = (double)-INFINITY;
        info->origin[axis] = scene->origin[axis];
    }
    for (uint64_t world = 0; scene->committed && world <= scene->world_count; ++world) {
        if (scene->roots[world] == KD_NONE) continue;
        const box3 box = scene->nodes[scene->roots[world]].box;
        for (int axis = 0; axis < 3; ++axis) {
            const double lo = (double)vec3_axis(box.lo, axis) + scene->origin[axis];
            const double hi = (double)vec3_axis(box.hi, axis) + scene->origin[axis];
            info->lo[axis] = fmin(info->lo[axis], lo);
            info->hi[axis] = fmax(info->hi[axis], hi);
        }
    }
}

void kd_ray_scene_describe_sized(const kd_ray_scene *scene, kd_ray_scene_info *info,
                                 size_t struct_size) {
    kd_ray_scene_info filled;
    device device;
    memset(&filled, 0, sizeof filled);
    memset(&device, 0, sizeof device);
    if (scene) {
        filled.geometries = scene->tree_count;
        filled.instances = scene->instance_count;
        filled.worlds = scene->world_count;
        describe_box(scene, &filled);
        filled.commit_seconds = scene->commit_seconds;
        filled.bytes = sizeof *scene + scene->tree_capacity * sizeof *scene->trees +
                       scene->instance_capacity * sizeof *scene->instances + scene->device_bytes;
        if (scene->committed) {
            filled.bytes +=
                scene->tree_count * sizeof *scene->shapes +
                scene->instance_count * (sizeof *scene->list + sizeof *scene->members +
                                         2 * sizeof *scene->nodes + sizeof *scene->order) +
                ((uint64_t)scene->world_count + 1) * sizeof *scene->roots;
            if (scene->device < 0)
                filled.bytes += scene->instance_count * sizeof *scene->wide.places +
                                scene->wide.node_count * sizeof *scene->wide.nodes +
                                ((uint64_t)scene->world_count + 1) * sizeof *scene->wide.roots;
            for (uint32_t i = 0; i < scene->instance_count; ++i) {
                const instanced_shape *shape = scene->shapes + scene->list[i].shape;
                if (scene->members[i].mask && !box3_is_empty(shape->box))
                    filled.triangles += shape->count;
            }
            for (uint32_t i = 0; i < 2 * scene->instance_count; ++i)
                filled.nodes += !box3_is_empty(scene->nodes[i].box) &&
                                (scene->nodes[i].count || scene->nodes[i].first);
        }
        if (scene->device >= 0)
            device_cuda_describe(&device, scene->device);
        else
            device_cpu_describe(&device);
        memcpy(filled.device, device.name, sizeof filled.device);
    }
    sized_give(info, struct_size, &filled, sizeof filled);
}
