/* Traverses the node hierarchy. Each node is visited at most once, so that cycles are detected,
   and an explicit stack handles any depth. Then expands EXT_mesh_gpu_instancing. */
#include "core/memory.h"
#include "scenes/import/gltf_parts.h"

typedef struct node_walk {
    gltf_file *gltf;
    gltf_nodes *out;
    /* stack of nodes, and the placement of each one's parent or KD_NONE */
    uint32_t *waiting, *parents;
    bool *visited;
    uint32_t depth;
} node_walk;

static kd_status node_push(node_walk *walk, const json_place *at, const cJSON *item,
                           uint32_t parent) {
    uint32_t node = 0;
    KD_TRY(gltf_index_of(walk->gltf, at, item, GLTF_NODES, &node));
    if (walk->visited[node])
        return gltf_fail(walk->gltf, "bad-tree", at,
                         "found nodes[%u] below itself or below two nodes, expected a tree", node);
    walk->visited[node] = true;
    walk->waiting[walk->depth] = node;
    walk->parents[walk->depth++] = parent;
    return KD_OK;
}

/* Pushes the nodes in reverse order, so that the first one is popped first. */
static kd_status nodes_push(node_walk *walk, const json_place *at, const cJSON *list,
                            uint32_t parent) {
    const uint32_t from = walk->depth;
    const cJSON *item = NULL;
    int index = 0;
    cJSON_ArrayForEach(item, list) {
        const json_place place = json_place_item(at, index++);
        KD_TRY(node_push(walk, &place, item, parent));
    }
    for (uint32_t low = from, high = walk->depth; low + 1 < high; ++low) {
        const uint32_t kept = walk->waiting[low];
        walk->waiting[low] = walk->waiting[--high];
        walk->waiting[high] = kept;
    }
    return KD_OK;
}

/* Converts a quaternion (x, y, z, w), not necessarily of unit length. */
static transform rotation_of(const double q[4]) {
    transform made = transform_identity();
    const double length2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    if (!(length2 > 0)) return made;
    const double s = 2 / length2, x = q[0], y = q[1], z = q[2], w = q[3];
    const double m[3][3] = {{1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)},
                            {s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w)},
                            {s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)}};
    for (int i = 0; i < 3; ++i) memcpy(made.m[i], m[i], sizeof m[i]);
    return made;
}

static kd_status local_of(gltf_file *gltf, const json_place *at, const cJSON *node,
                          const gltf_pose *pose, transform *local) {
    double columns[16], move[3] = {0, 0, 0}, turn[4] = {0, 0, 0, 1}, scale[3] = {1, 1, 1};
    double *const parts[GLTF_POSE_PARTS] = {move, turn, scale};
    bool is_given = false, is_animated = false;
    for (int i = 0; pose && i < GLTF_POSE_PARTS; ++i) is_animated = is_animated || pose->given[i];
    KD_TRY(gltf_numbers(gltf, at, node, "matrix", 16, columns, &is_given));
    if (is_given && !is_animated) {
        for (int row = 0; row < 3; ++row)
            for (int column = 0; column < 4; ++column)
                local->m[row][column] = columns[4 * column + row];
        return KD_OK;
    }
    KD_TRY(gltf_numbers(gltf, at, node, "translation", 3, move, NULL));
    KD_TRY(gltf_numbers(gltf, at, node, "rotation", 4, turn, NULL));
    KD_TRY(gltf_numbers(gltf, at, node, "scale", 3, scale, NULL));
    for (int i = 0; pose && i < GLTF_POSE_PARTS; ++i)
        if (pose->given[i])
            memcpy(parts[i], pose->values[i], (i == GLTF_POSE_TURN ? 4 : 3) * sizeof(double));
    *local = rotation_of(turn);
    for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 3; ++column) local->m[row][column] *= scale[column];
        local->m[row][3] = move[row];
    }
    return KD_OK;
}

static kd_status node_place(node_walk *walk, uint32_t node, uint32_t parent) {
    gltf_file *file = walk->gltf;
    const json_place at = gltf_place(file, GLTF_NODES, node);
    const json_place below = json_place_key(&at, "children");
    const cJSON *from = gltf_item(file, GLTF_NODES, node), *lamp = NULL, *children = NULL;
    gltf_node *made = &walk->out->list[walk->out->count];
    transform local;
    made->node = node;
    walk->out->list_index_of[node] = walk->out->count;
    made->light = KD_NONE;
    const gltf_pose *pose = file->poses ? &file->poses[node] : NULL;
    KD_TRY(local_of(file, &at, from, pose, &local));
    made->world =
        parent == KD_NONE ? local : transform_compose(&walk->out->list[parent].world, &local);
    KD_TRY(gltf_index(file, &at, from, "mesh", GLTF_MESHES, &made->mesh));
    KD_TRY(gltf_inner(file, &at, from, "weights", true, &made->weights));
    if (pose && pose->weights) made->weights = pose->weights;
    if (made->mesh == KD_NONE || !gltf_mesh_targets(file, made->mesh)) made->weights = NULL;
    KD_TRY(gltf_index(file, &at, from, "skin", GLTF_SKINS, &made->skin));
    KD_TRY(gltf_index(file, &at, from, "camera", GLTF_CAMERAS, &made->camera));
    KD_TRY(gltf_extension(file, &at, from, "KHR_lights_punctual", &lamp));
    if (lamp) KD_TRY(gltf_index(file, &at, lamp, "light", GLTF_LIGHTS, &made->light));
    KD_TRY(gltf_inner(file, &at, from, "children", true, &children));
    KD_TRY(nodes_push(walk, &below, children, walk->out->count++));
    return KD_OK;
}

/* Pushes all nodes without a parent: the roots of a file without scenes. */
static kd_status orphans_push(node_walk *walk) {
    gltf_file *gltf = walk->gltf;
    const uint32_t count = gltf->lists[GLTF_NODES].count;
    bool *named = NULL;
    KD_TRY(KD_RESERVE_ZEROED(named, count));
    for (uint32_t i = 0; i < count; ++i) {
        const cJSON *item = NULL, *children = cJSON_GetObjectItemCaseSensitive(
                                      gltf_item(gltf, GLTF_NODES, i), "children");
        cJSON_ArrayForEach(item, children) {
            const double number = cJSON_IsNumber(item) ? item->valuedouble : -1;
            if (number >= 0 && number < count) named[(uint32_t)number] = true;
        }
    }
    for (uint32_t i = count; i-- > 0;) {
        if (named[i]) continue;
        walk->visited[i] = true;
        walk->waiting[walk->depth] = i;
        walk->parents[walk->depth++] = KD_NONE;
    }
    memory_free(named);
    return KD_OK;
}

static kd_status roots_push(node_walk *walk) {
    gltf_file *gltf = walk->gltf;
    uint32_t scene = KD_NONE;
    const cJSON *roots = NULL;
    KD_TRY(gltf_index(gltf, &gltf->place, gltf->root, "scene", GLTF_SCENES, &scene));
    if (scene == KD_NONE && gltf->lists[GLTF_SCENES].count == 0) return orphans_push(walk);
    if (scene == KD_NONE) scene = 0;
    const json_place at = gltf_place(gltf, GLTF_SCENES, scene);
    const json_place below = json_place_key(&at, "nodes");
    KD_TRY(gltf_inner(gltf, &at, gltf_item(gltf, GLTF_SCENES, scene), "nodes", true, &roots));
    KD_TRY(nodes_push(walk, &below, roots, KD_NONE));
    return KD_OK;
}

/* --- EXT_mesh_gpu_instancing ------------------------------------------------------------------ */

typedef struct instance_numbers {
    float *moves, *turns, *scales; /* owned; NULL if not given */
    uint32_t count;
} instance_numbers;

static kd_status instance_floats(gltf_file *gltf, const json_place *at, const cJSON *attributes,
                                 const char *key, uint32_t components, instance_numbers *all,
                                 float **values) {
    const json_place place = json_place_key(at, key);
    uint32_t index = KD_NONE;
    gltf_accessor from;
    KD_TRY(gltf_index(gltf, at, attributes, key, GLTF_ACCESSORS, &index));
    if (index == KD_NONE) return KD_OK;
    KD_TRY(gltf_accessor_open(gltf, index, &from));
    if (from.components != components)
        return gltf_fail(gltf, "bad-value", &place,
                         "found accessors[%u] of %u components, expected %u", index,
                         from.components, components);
    if (all->count != KD_NONE && all->count != from.count)
        return gltf_fail(gltf, "bad-value", &place, "found %u elements, expected %u as before",
                         from.count, all->count);
    all->count = from.count;
    return gltf_accessor_floats(gltf, &from, values);
}

static transform instance_of(const instance_numbers *numbers, uint64_t i) {
    double turn[4] = {0, 0, 0, 1};
    for (uint64_t k = 0; k < 4 && numbers->turns; ++k) turn[k] = (double)numbers->turns[4 * i + k];
    transform made = rotation_of(turn);
    for (uint64_t row = 0; row < 3; ++row) {
        for (uint64_t k = 0; k < 3 && numbers->scales; ++k)
            made.m[row][k] *= (double)numbers->scales[3 * i + k];
        made.m[row][3] = numbers->moves ? (double)numbers->moves[3 * i + row] : 0;
    }
    return made;
}

/* Replaces a node's mesh by one placement for each element of the extension. */
static kd_status instances_place(gltf_file *gltf, gltf_nodes *out, uint32_t holder) {
    const uint32_t node = out->list[holder].node;
    const json_place node_at = gltf_place(gltf, GLTF_NODES, node);
    const json_place extensions = json_place_key(&node_at, "extensions");
    const json_place at = json_place_key(&extensions, "EXT_mesh_gpu_instancing");
    const json_place words = json_place_key(&at, "attributes");
    const cJSON *inner = NULL, *attributes = NULL;
    instance_numbers all = {NULL, NULL, NULL, KD_NONE};
    kd_status status = KD_OK;
    KD_TRY(gltf_extension(gltf, &node_at, gltf_item(gltf, GLTF_NODES, node),
                          "EXT_mesh_gpu_instancing", &inner));
    if (!inner || out->list[holder].mesh == KD_NONE) return KD_OK;
    KD_TRY(gltf_inner(gltf, &at, inner, "attributes", false, &attributes));
    if (!attributes) return KD_OK;
    KD_TRY_GOTO(instance_floats(gltf, &words, attributes, "TRANSLATION", 3, &all, &all.moves));
    KD_TRY_GOTO(instance_floats(gltf, &words, attributes, "ROTATION", 4, &all, &all.turns));
    KD_TRY_GOTO(instance_floats(gltf, &words, attributes, "SCALE", 3, &all, &all.scales));
    if (all.count == KD_NONE) goto done;
    KD_TRY_GOTO(KD_GROW(out->list, out->count, (uint64_t)out->count + all.count));
    gltf_node made = out->list[holder];
    out->list[holder].mesh = KD_NONE;
    made.skin = made.camera = made.light = KD_NONE;
    for (uint32_t i = 0; i < all.count; ++i) {
        const transform local = instance_of(&all, i);
        made.world = transform_compose(&out->list[holder].world, &local);
        out->list[out->count++] = made;
    }
done:
    memory_free(all.moves);
    memory_free(all.turns);
    memory_free(all.scales);
    return status;
}

kd_status gltf_nodes_place(gltf_file *gltf, gltf_nodes *out) {
    const uint32_t count = gltf->lists[GLTF_NODES].count;
    node_walk walk = {.gltf = gltf, .out = out};
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(out->list, count));
    KD_TRY_GOTO(KD_RESERVE(out->list_index_of, count));
    memset(out->list_index_of, 0xff, count * sizeof *out->list_index_of);
    KD_TRY_GOTO(KD_RESERVE(walk.waiting, count));
    KD_TRY_GOTO(KD_RESERVE(walk.parents, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(walk.visited, count));
    KD_TRY_GOTO(roots_push(&walk));
    while (walk.depth > 0) {
        --walk.depth;
        KD_TRY_GOTO(node_place(&walk, walk.waiting[walk.depth], walk.parents[walk.depth]));
    }
    for (uint32_t i = 0, nodes = out->count; i < nodes; ++i)
        KD_TRY_GOTO(instances_place(gltf, out, i));
    for (uint32_t i = 0; i < out->count; ++i)
        for (int axis = 0; axis < 3; ++axis) out->list[i].world.m[axis][3] -= gltf->origin[axis];
done:
    memory_free(walk.waiting);
    memory_free(walk.parents);
    memory_free(walk.visited);
    return status;
}

void gltf_nodes_close(gltf_nodes *owned) {
    memory_free(owned->list);
    memory_free(owned->list_index_of);
    memset(owned, 0, sizeof *owned);
}

/* Cameras and lights of the nodes.
   Idea: glTF's lights are in candela and lux and its emission in candela per square metre; the
     renderer uses watts. One lumen is converted to one watt, so that lights and emission keep
     their ratio. Exception: Blender multiplies the watts of its lights, but not its emission, by
     683 lm/W. */

static const double pi = 3.14159265358979323846, blender_lumens_a_watt = 683;

static vec3 axis_of(const transform *transform, double x, double y, double z) {
    double to[3], length = 0;
    for (int row = 0; row < 3; ++row) {
        to[row] = transform->m[row][0] * x + transform->m[row][1] * y + transform->m[row][2] * z;
        length += to[row] * to[row];
    }
    length = sqrt(length);
    if (!(length > 0) || !isfinite(length)) return vec3_all(0);
    return vec3_make((float)(to[0] / length), (float)(to[1] / length), (float)(to[2] / length));
}

static vec3 place_of(const transform *transform) {
    return vec3_make((float)transform->m[0][3], (float)transform->m[1][3],
                     (float)transform->m[2][3]);
}

/* --- cameras ---------------------------------------------------------------------------------- */

static const char *name_of(const gltf_file *gltf, const gltf_node *at) {
    const cJSON *holders[] = {gltf_item(gltf, GLTF_NODES, at->node),
                              gltf_item(gltf, GLTF_CAMERAS, at->camera)};
    for (int i = 0; i < 2; ++i) {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(holders[i], "name");
        if (cJSON_IsString(name) && name->valuestring[0]) return name->valuestring;
    }
    return "camera";
}

/* The view volume has height 2 ymag, independent of the aspect ratio. */
static kd_status parallel_read(gltf_file *gltf, const json_place *at, const cJSON *lens,
                               float *tall) {
    double half = 1;
    KD_TRY(gltf_number(gltf, at, lens, "ymag", -1e30, 1e30, &half));
    *tall = (float)(2 * fabs(half));
    if (!(*tall > 0))
        return gltf_fail(gltf, "bad-value", at, "found a ymag of %g, expected a value other than 0",
                         half);
    return KD_OK;
}

static kd_status camera_read(gltf_file *gltf, const gltf_node *node, mesh_camera *out,
                             bool *usable) {
    const json_place at = gltf_place(gltf, GLTF_CAMERAS, node->camera);
    const json_place lens_place = json_place_key(&at, "perspective");
    const json_place parallel_place = json_place_key(&at, "orthographic");
    const cJSON *lens = NULL, *parallel = NULL;
    double angle = pi / 4;
    *usable = false;
    KD_TRY(gltf_inner(gltf, &at, gltf_item(gltf, GLTF_CAMERAS, node->camera), "perspective", false,
                      &lens));
    KD_TRY(gltf_inner(gltf, &at, gltf_item(gltf, GLTF_CAMERAS, node->camera), "orthographic", false,
                      &parallel));
    const char *type = "";
    KD_TRY(gltf_text(gltf, &at, gltf_item(gltf, GLTF_CAMERAS, node->camera), "type", &type));
    if (parallel && strcmp(type, "orthographic") == 0) lens = NULL;
    if (!lens && !parallel) {
        gltf_warn(gltf, "unsupported", &at,
                  "found neither `perspective` nor `orthographic`; the camera is ignored");
        return KD_OK;
    }
    if (lens) KD_TRY(gltf_number(gltf, &lens_place, lens, "yfov", 1e-4, 3.1, &angle));
    if (!lens) KD_TRY(parallel_read(gltf, &parallel_place, parallel, &out->view.tall));
    out->view.eye = place_of(&node->world);
    const vec3 forward = axis_of(&node->world, 0, 0, -1);
    out->view.look_at = vec3_add(out->view.eye, forward);
    out->view.up = axis_of(&node->world, 0, 1, 0);
    out->view.fov_degrees = (float)(angle * 180 / pi);
    *usable = vec3_is_finite(out->view.eye) && !vec3_is_zero(forward) &&
              !vec3_is_zero(out->view.up) &&
              !vec3_is_zero(vec3_sub(out->view.look_at, out->view.eye));
    if (!*usable)
        gltf_warn(gltf, "bad-value", &at,
                  "found a node whose transform is singular or not finite; its camera is ignored");
    return KD_OK;
}

static kd_status camera_add(gltf_file *gltf, const gltf_node *node, mesh *mesh) {
    mesh_camera made;
    bool usable = false;
    memset(&made, 0, sizeof made);
    KD_TRY(camera_read(gltf, node, &made, &usable));
    if (!usable) return KD_OK;
    const char *name = name_of(gltf, node);
    KD_TRY(KD_GROW(mesh->cameras, mesh->camera_count, (uint64_t)mesh->camera_count + 1));
    KD_TRY(KD_RESERVE(made.name, strlen(name) + 1));
    memcpy(made.name, name, strlen(name) + 1);
    mesh->cameras[mesh->camera_count++] = made;
    return KD_OK;
}

/* --- lights ----------------------------------------------------------------------------------- */

static double watts_a_lumen(const gltf_file *gltf) {
    return gltf_is_blenders(gltf) ? 1 / blender_lumens_a_watt : 1;
}

static kd_status spot_read(gltf_file *gltf, const json_place *at, const cJSON *json, light *out) {
    const cJSON *spot = NULL;
    const json_place place = json_place_key(at, "spot");
    double inner = 0, outer = pi / 4;
    KD_TRY(gltf_inner(gltf, at, json, "spot", false, &spot));
    if (spot) {
        KD_TRY(gltf_number(gltf, &place, spot, "innerConeAngle", 0, pi / 2, &inner));
        KD_TRY(gltf_number(gltf, &place, spot, "outerConeAngle", 0, pi / 2 + 1e-6, &outer));
    }
    out->cos_inner = (float)cos(inner);
    out->cos_outer = (float)cos(fmax(outer, inner));
    if (!(out->cos_outer < out->cos_inner)) out->cos_outer = out->cos_inner - 1e-6f;
    return KD_OK;
}

static kd_status light_read(gltf_file *gltf, const gltf_node *node, light *out) {
    static const struct {
        const char *name;
        light_kind kind;
    } kinds[] = {{"point", LIGHT_POINT}, {"spot", LIGHT_SPOT}, {"directional", LIGHT_DIRECTIONAL}};
    const json_place at = gltf_place(gltf, GLTF_LIGHTS, node->light);
    const cJSON *item = gltf_item(gltf, GLTF_LIGHTS, node->light);
    const char *type = "";
    double intensity = 1;
    vec3 colour = vec3_all(1);
    KD_TRY(gltf_text(gltf, &at, item, "type", &type));
    KD_TRY(gltf_number(gltf, &at, item, "intensity", 0, 1e30, &intensity));
    KD_TRY(gltf_colour(gltf, &at, item, "color", &colour));
    out->kind = -1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        if (strcmp(type, kinds[i].name) == 0) out->kind = (int32_t)kinds[i].kind;
    if (out->kind < 0)
        return gltf_fail(gltf, "bad-value", &at,
                         "found the type \"%.20s\", expected point, spot or directional", type);
    if (out->kind == LIGHT_SPOT) KD_TRY(spot_read(gltf, &at, item, out));
    if (cJSON_HasObjectItem(item, "range") && gltf_is_first(gltf, GLTF_SAID_RANGE))
        gltf_warn(
            gltf, "left-out", &at,
            "found the range of a light, which Kandela does not support; light falls off with "
            "the square of the distance");
    out->position = place_of(&node->world);
    out->direction = axis_of(&node->world, 0, 0, -1);
    out->emitted = vec3_scale(colour, (float)(intensity * watts_a_lumen(gltf)));
    return KD_OK;
}

static kd_status light_add(gltf_file *gltf, const gltf_node *node, mesh *mesh) {
    light made;
    memset(&made, 0, sizeof made);
    made.triangle = KD_NONE;
    KD_TRY(light_read(gltf, node, &made));
    const json_place at = gltf_place(gltf, GLTF_LIGHTS, node->light);
    const bool usable = vec3_is_finite(made.position) && vec3_is_finite(made.emitted) &&
                        (made.kind == LIGHT_POINT || !vec3_is_zero(made.direction));
    if (!usable) {
        gltf_warn(gltf, "bad-value", &at,
                  "found a node whose transform is singular or not finite; its light is ignored");
        return KD_OK;
    }
    KD_TRY(KD_GROW(mesh->lights, mesh->light_count, (uint64_t)mesh->light_count + 1));
    mesh->lights[mesh->light_count++] = made;
    return KD_OK;
}

kd_status gltf_stage_read(gltf_file *gltf, const gltf_nodes *nodes, mesh *mesh) {
    for (uint32_t i = 0; i < nodes->count; ++i) {
        const gltf_node *node = &nodes->list[i];
        if (node->camera != KD_NONE) KD_TRY(camera_add(gltf, node, mesh));
        if (node->light != KD_NONE) KD_TRY(light_add(gltf, node, mesh));
    }
    return KD_OK;
}
