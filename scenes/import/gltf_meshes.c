/* Merges all primitives of all nodes into one mesh, in world space except for its parts.
   Idea: everything is counted first, so that each instance of each primitive has a fixed range in
     the arrays. The data of a primitive is read once, then written once per node that refers to
     it, or once for all instances if it becomes a part (gltf_shapes.c). Finally equal positions
     are merged.
   Work: O(vertices and triangles of all instances); writing is parallel.
   Memory: 12 bytes for the position and 12 for the normal of each vertex of an instance, 16 to 40
     per triangle; texture coordinates are stored once for all instances.
   Invariants: the mesh does not depend on the number of threads. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/import/gltf_parts.h"
#include "scenes/mesh/mesh_cleanup.h"

enum { GRAIN = 4096 };

typedef struct gltf_draw {             /* An instance of a primitive. */
    uint32_t primitive, node_at, next; /* next: next draw of the same primitive, or KD_NONE */
    uint32_t first_vertex, first_triangle;
    uint32_t shape; /* in object space, as part of this shape; KD_NONE: in world space */
} gltf_draw;

typedef struct mesh_writer {
    gltf_file *of;
    const gltf_nodes *nodes;
    const gltf_materials *materials;
    gltf_shapes shapes;
    mesh *into;
    gltf_primitive *primitives;
    uint32_t *mesh_first; /* first primitive of each mesh; the last entry is their total number */
    gltf_draw *draws;
    uint32_t primitive_count, draw_count;
    bool has_normals, has_colours, has_second, has_tangents;
    mesh_faults faults;
    /* State while writing one primitive. */
    const gltf_primitive *from;
    const gltf_draw *draw;
    gltf_numbers_read read;
    uint32_t colour_components;
    gltf_skin skin; /* of the draw; without bones the node's transform applies */
    transform world;
    bool turned;
} mesh_writer;

/* --- counting --------------------------------------------------------------------------------- */

static kd_status primitives_of(mesh_writer *to, uint32_t number) {
    const json_place at = gltf_place(to->of, GLTF_MESHES, number);
    const json_place list_place = json_place_key(&at, "primitives");
    const cJSON *list = NULL, *item = NULL;
    uint32_t index = 0;
    KD_TRY(
        gltf_inner(to->of, &at, gltf_item(to->of, GLTF_MESHES, number), "primitives", true, &list));
    KD_TRY(KD_GROW(to->primitives, to->primitive_count,
                   (uint64_t)to->primitive_count + (uint64_t)cJSON_GetArraySize(list)));
    cJSON_ArrayForEach(item, list) {
        const json_place place = json_place_item(&list_place, (int)index);
        gltf_primitive *made = &to->primitives[to->primitive_count++];
        memset(made, 0, sizeof *made);
        made->mesh = number;
        made->index = index++;
        made->first_draw = KD_NONE;
        KD_TRY(gltf_primitive_read(to->of, to->materials, &place, item, made));
    }
    return KD_OK;
}

/* Lists the primitives of meshes that some node refers to. */
static kd_status primitives_list(mesh_writer *to) {
    const uint32_t meshes = to->of->lists[GLTF_MESHES].count;
    bool *shown = NULL;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(shown, meshes));
    KD_TRY_GOTO(KD_RESERVE(to->mesh_first, (uint64_t)meshes + 1));
    for (uint32_t i = 0; i < to->nodes->count; ++i)
        if (to->nodes->list[i].mesh != KD_NONE) shown[to->nodes->list[i].mesh] = true;
    for (uint32_t i = 0; i < meshes; ++i) {
        to->mesh_first[i] = to->primitive_count;
        if (shown[i]) KD_TRY_GOTO(primitives_of(to, i));
    }
    to->mesh_first[meshes] = to->primitive_count;
done:
    memory_free(shown);
    return status;
}

typedef struct mesh_totals {
    uint64_t draws, vertices, triangles, texcoords;
} mesh_totals;

static void draws_of(mesh_writer *to, mesh_totals *sum, uint32_t shown, uint32_t node,
                     uint32_t shape) {
    for (uint32_t p = to->mesh_first[shown]; p < to->mesh_first[shown + 1]; ++p) {
        gltf_primitive *from = &to->primitives[p];
        if (to->draws) {
            const gltf_draw made = {
                p,    node, from->first_draw, (uint32_t)sum->vertices, (uint32_t)sum->triangles,
                shape};
            to->draws[sum->draws] = made;
            from->first_draw = (uint32_t)sum->draws;
        }
        ++sum->draws;
        sum->vertices += from->vertices;
        sum->triangles += from->triangles;
    }
}

/* Visits all draws: nodes in order, then shapes. If to->draws is set, assigns their ranges. */
static mesh_totals draws_walk(mesh_writer *to) {
    mesh_totals sum = {0, 0, 0, 0};
    for (uint32_t i = 0; i < to->nodes->count; ++i) {
        const uint32_t shown = to->nodes->list[i].mesh;
        if (shown != KD_NONE && to->shapes.shape_of[i] == KD_NONE)
            draws_of(to, &sum, shown, i, KD_NONE);
    }
    for (uint32_t i = 0; i < to->shapes.count; ++i) {
        const mesh_totals before = sum;
        draws_of(to, &sum, to->shapes.shapes[i].mesh, 0, i);
        if (!to->draws) continue;
        mesh_part *part = &to->into->parts[i];
        part->first = (uint32_t)before.triangles;
        part->count = (uint32_t)(sum.triangles - before.triangles);
        part->position = part->normal = (uint32_t)before.vertices;
        part->position_count = (uint32_t)(sum.vertices - before.vertices);
        part->normal_count = to->has_normals ? part->position_count : 0;
    }
    for (uint32_t p = 0; p < to->primitive_count; ++p) {
        gltf_primitive *from = &to->primitives[p];
        from->first_texcoord = (uint32_t)sum.texcoords;
        if (from->texcoord != KD_NONE || from->colour != KD_NONE) sum.texcoords += from->vertices;
        if (from->colour != KD_NONE) to->has_colours = true;
        if (from->second != KD_NONE && from->texcoord != KD_NONE) to->has_second = true;
        if (from->tangent != KD_NONE) to->has_tangents = true;
        if (from->normal != KD_NONE) to->has_normals = true;
    }
    return sum;
}

static kd_status arrays_reserve(mesh_writer *to) {
    mesh *into = to->into;
    const mesh_totals sum = draws_walk(to);
    const uint64_t maximum = KD_NONE - 1;
    KD_REQUIRE(sum.vertices <= maximum && sum.triangles <= maximum && sum.texcoords <= maximum &&
                   sum.draws <= maximum,
               KD_ERROR_INPUT,
               "%s: found %llu vertices and %llu triangles with all instances, expected less than "
               "2^32 of each",
               to->of->path, (unsigned long long)sum.vertices, (unsigned long long)sum.triangles);
    KD_TRY(KD_RESERVE(to->draws, sum.draws));
    to->draw_count = (uint32_t)sum.draws;
    KD_TRY(KD_RESERVE(into->parts, to->shapes.count));
    into->part_count = to->shapes.count;
    (void)draws_walk(to);
    into->position_count = (uint32_t)sum.vertices;
    into->triangle_count = into->face_count = (uint32_t)sum.triangles;
    KD_TRY(KD_RESERVE(into->positions, sum.vertices));
    KD_TRY(KD_RESERVE(into->triangles, 3 * sum.triangles));
    KD_TRY(KD_RESERVE(into->triangle_materials, sum.triangles));
    if (to->has_normals) {
        into->normal_count = (uint32_t)sum.vertices;
        KD_TRY(KD_RESERVE(into->normals, sum.vertices));
        KD_TRY(KD_RESERVE(into->normal_indices, 3 * sum.triangles));
        if (to->has_tangents) KD_TRY(KD_RESERVE_ZEROED(into->tangents, 4 * sum.vertices));
    }
    if (sum.texcoords) {
        into->texcoord_count = (uint32_t)sum.texcoords;
        KD_TRY(KD_RESERVE(into->texcoords, sum.texcoords));
        KD_TRY(KD_RESERVE(into->texcoord_indices, 3 * sum.triangles));
        if (to->has_colours) KD_TRY(KD_RESERVE(into->colours, 4 * sum.texcoords));
        if (to->has_second) KD_TRY(KD_RESERVE(into->texcoords_second, sum.texcoords));
    }
    return KD_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void tangent_write(const mesh_writer *to, const transform *world, int64_t i, size_t at) {
    const float *from = to->read.tangents + 4 * i;
    const vec3 direction = transform_direction(world, vec3_make(from[0], from[1], from[2]));
    const vec3 unit = vec3_normalize(direction);
    float *made = to->into->tangents + 4 * at;
    if (!vec3_is_finite(unit) || vec3_is_zero(unit) || !(fabsf(from[3]) <= FLT_MAX)) return;
    made[0] = unit.x;
    made[1] = unit.y;
    made[2] = unit.z;
    made[3] = (from[3] < 0) != to->turned ? -1 : 1;
}

static void vertices_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    mesh_writer *to = (mesh_writer *)context;
    for (int64_t i = begin; i < end; ++i) {
        const transform held = to->skin.bones ? gltf_skin_at(&to->skin, to->read.joints + 4 * i,
                                                             to->read.weights + 4 * i)
                                              : to->world;
        const transform *world = &held;
        const float *p = to->read.positions + 3 * i,
                    *n = to->read.normals ? to->read.normals + 3 * i : NULL;
        const size_t at = to->draw->first_vertex + (size_t)i;
        to->into->positions[at] = transform_point(world, vec3_make(p[0], p[1], p[2]));
        if (!to->has_normals) continue;
        if (to->read.tangents) tangent_write(to, world, i, at);
        to->into->normals[at] = vec3_all(0);
        if (!n) continue;
        const vec3 unit = transform_normal(world, vec3_make(n[0], n[1], n[2]));
        if (vec3_is_finite(unit)) to->into->normals[at] = unit;
    }
}

static uint32_t corner_of(const mesh_writer *to, uint32_t triangle, uint32_t k) {
    static const uint32_t odd[3] = {0, 2, 1}, fan[3] = {1, 2, 0};
    uint32_t corner = 0;
    if (to->turned && k) k = 3 - k;
    switch (to->from->mode) {
    case GLTF_STRIP: corner = triangle + (triangle % 2 ? odd[k] : k); break;
    case GLTF_FAN: corner = k == 2 ? 0 : triangle + fan[k]; break;
    default: corner = 3 * triangle + k; break;
    }
    return to->read.indices ? to->read.indices[corner] : corner;
}

static void triangles_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    mesh_writer *to = (mesh_writer *)context;
    mesh *into = to->into;
    const gltf_primitive *from = to->from;
    for (int64_t i = begin; i < end; ++i) {
        const size_t triangle = to->draw->first_triangle + (size_t)i;
        bool sound = true;
        into->triangle_materials[triangle] = from->material;
        for (uint32_t k = 0; k < 3; ++k) {
            const uint32_t corner = corner_of(to, (uint32_t)i, k);
            const uint32_t vertex = to->draw->first_vertex + corner;
            into->triangles[3 * triangle + k] = vertex;
            sound = sound && vec3_is_finite(into->positions[vertex]);
            if (to->has_normals)
                into->normal_indices[3 * triangle + k] = to->read.normals ? vertex : KD_NONE;
            if (into->texcoord_indices)
                into->texcoord_indices[3 * triangle + k] = to->read.texcoords || to->read.colours
                                                               ? from->first_texcoord + corner
                                                               : KD_NONE;
        }
        if (!sound) memset(into->triangles + 3 * triangle, 0xff, 3 * sizeof(uint32_t));
    }
}

static kd_status floats_of(mesh_writer *to, uint32_t accessor, float **values) {
    gltf_accessor from;
    if (accessor == KD_NONE) return KD_OK;
    KD_TRY(gltf_accessor_open(to->of, accessor, &from));
    KD_TRY(gltf_accessor_floats(to->of, &from, values));
    return KD_OK;
}

static kd_status indices_of(mesh_writer *to, const json_place *at) {
    const gltf_primitive *from = to->from;
    gltf_accessor indices;
    if (from->indices == KD_NONE) return KD_OK;
    KD_TRY(gltf_accessor_open(to->of, from->indices, &indices));
    KD_TRY(gltf_accessor_integers(to->of, &indices, &to->read.indices));
    for (uint32_t i = 0; i < from->corners; ++i)
        if (to->read.indices[i] >= from->vertices)
            return gltf_fail(to->of, "index-range", at, "found the index %u, expected below %u",
                             to->read.indices[i], from->vertices);
    return KD_OK;
}

/* Counts values that are not finite, and warns once per primitive. */
static void soundness_judge(mesh_writer *to, const json_place *at) {
    const gltf_primitive *from = to->from;
    uint64_t places = 0, directions = 0, coordinates = 0;
    for (uint64_t i = 0; i < 3 * (uint64_t)from->vertices; ++i) {
        places += isfinite(to->read.positions[i]) ? 0u : 1u;
        directions += to->read.normals && !isfinite(to->read.normals[i]) ? 1u : 0u;
    }
    for (uint64_t i = 0; i < 2 * (uint64_t)from->vertices && to->read.texcoords; ++i)
        coordinates += isfinite(to->read.texcoords[i]) ? 0u : 1u;
    if (places)
        gltf_warn(to->of, "nan", at,
                  "found %llu coordinates that are not finite; their triangles are skipped",
                  (unsigned long long)places);
    if (directions + coordinates)
        gltf_warn(to->of, "nan", at,
                  "found %llu numbers of normals and texture coordinates that are not finite; they "
                  "are ignored",
                  (unsigned long long)(directions + coordinates));
}

static float colour_of(const mesh_writer *to, uint32_t vertex, uint32_t k) {
    if (!to->read.colours || k >= to->colour_components) return 1;
    const float value = to->read.colours[(size_t)to->colour_components * vertex + k];
    return value >= 0 && value <= 1e6f ? value : 1;
}

/* Falls back to the first set if there is no second one or it is not finite. */
static vec2 second_of(const mesh_writer *to, uint32_t vertex, vec2 first) {
    if (!to->read.second) return first;
    const float *uv = to->read.second + 2 * (size_t)vertex;
    if (!isfinite(uv[0]) || !isfinite(uv[1])) return first;
    return vec2_make(uv[0], 1 - uv[1]);
}

/* Flips v, which points down in glTF. Ignores the vertex opacity of opaque materials. */
static void texcoords_write(mesh_writer *to) {
    const gltf_primitive *from = to->from;
    const bool is_opaque = !to->materials->blends[from->material];
    if (!to->read.texcoords && !to->read.colours) return;
    for (uint32_t i = 0; i < from->vertices; ++i) {
        const size_t at = from->first_texcoord + (size_t)i;
        const float *uv = to->read.texcoords ? to->read.texcoords + 2 * (size_t)i : NULL;
        to->into->texcoords[at] = uv ? vec2_make(uv[0], 1 - uv[1]) : vec2_make(0, 0);
        if (to->has_second)
            to->into->texcoords_second[at] = second_of(to, i, to->into->texcoords[at]);
        for (uint32_t k = 0; k < 4 && to->has_colours; ++k)
            to->into->colours[4 * at + k] = k == 3 && is_opaque ? 1 : colour_of(to, i, k);
    }
}

static kd_status numbers_read(mesh_writer *to, const json_place *at) {
    const gltf_primitive *from = to->from;
    const json_place indices = json_place_key(at, "indices");
    if (from->packed) return gltf_draco_read(to->of, at, from, &to->read);
    KD_TRY(floats_of(to, from->position, &to->read.positions));
    KD_TRY(floats_of(to, from->normal, &to->read.normals));
    KD_TRY(floats_of(to, from->texcoord, &to->read.texcoords));
    KD_TRY(floats_of(to, from->second, &to->read.second));
    KD_TRY(floats_of(to, from->tangent, &to->read.tangents));
    KD_TRY(floats_of(to, from->colour, &to->read.colours));
    KD_TRY(floats_of(to, from->joints, &to->read.joints));
    KD_TRY(floats_of(to, from->weights, &to->read.weights));
    return indices_of(to, &indices);
}

static kd_status primitive_load(mesh_writer *to) {
    const json_place mesh_place = gltf_place(to->of, GLTF_MESHES, to->from->mesh);
    const json_place list = json_place_key(&mesh_place, "primitives");
    const json_place at = json_place_item(&list, (int)to->from->index);
    gltf_accessor colours = {.components = 0};
    if (to->from->position == KD_NONE) return KD_OK;
    if (to->from->colour != KD_NONE) KD_TRY(gltf_accessor_open(to->of, to->from->colour, &colours));
    to->colour_components = colours.components;
    KD_TRY(numbers_read(to, &at));
    KD_TRY(gltf_morphs_apply(to->of, &at, to->from, &to->read));
    soundness_judge(to, &at);
    return KD_OK;
}

/* Writes one instance, transformed by its skin or its node. */
static kd_status draw_write(mesh_writer *to, const gltf_draw *draw) {
    const gltf_node *node = &to->nodes->list[draw->node_at];
    to->draw = draw;
    const bool own = draw->shape != KD_NONE;
    to->world = own ? transform_identity() : node->world;
    to->turned =
        own ? to->shapes.shapes[draw->shape].turned : transform_determinant(&node->world) < 0;
    if (!own && node->skin != KD_NONE && to->read.joints && to->read.weights) {
        KD_TRY(gltf_skin_open(to->of, to->nodes, node->skin, &to->skin));
        to->turned = to->skin.bone_count && transform_determinant(&to->skin.bones[0]) < 0;
    }
    parallel_for(to->from->vertices, GRAIN, vertices_body, to);
    parallel_for(to->from->triangles, GRAIN, triangles_body, to);
    gltf_skin_close(&to->skin);
    return KD_OK;
}

static kd_status primitive_write(mesh_writer *to, const gltf_primitive *from) {
    to->from = from;
    kd_status status = primitive_load(to);
    if (status == KD_OK) texcoords_write(to);
    for (uint32_t d = from->first_draw; d != KD_NONE && status == KD_OK; d = to->draws[d].next)
        status = draw_write(to, &to->draws[d]);
    gltf_skin_close(&to->skin); /* in case draw_write failed */
    memory_free(to->read.positions);
    memory_free(to->read.normals);
    memory_free(to->read.texcoords);
    memory_free(to->read.second);
    memory_free(to->read.tangents);
    memory_free(to->read.colours);
    memory_free(to->read.joints);
    memory_free(to->read.weights);
    memory_free(to->read.indices);
    memset(&to->read, 0, sizeof to->read);
    return status;
}

static void materials_hand_over(gltf_materials *from, mesh *into) {
    into->materials = from->made;
    into->material_count = from->count;
    into->pictures = from->pictures;
    into->picture_count = from->picture_count;
    into->media = from->media;
    into->medium_count = from->medium_count;
    from->made = NULL;
    from->pictures = NULL;
    from->media = NULL;
    from->count = from->picture_count = from->medium_count = 0;
}

static kd_status mesh_write(mesh_writer *to) {
    KD_TRY(gltf_shapes_find(to->of, to->nodes, &to->shapes));
    KD_TRY(primitives_list(to));
    KD_TRY(arrays_reserve(to));
    for (uint32_t i = 0; i < to->primitive_count; ++i) {
        KD_REQUIRE(!job_cancelled(to->of->job), KD_INTERRUPTED, "%s: interrupted while reading",
                   to->of->path);
        KD_TRY(primitive_write(to, &to->primitives[i]));
    }
    KD_TRY(gltf_places_weld(to->into, &to->faults.unusable));
    gltf_parts_recount(to->into);
    return gltf_shapes_put(&to->shapes, to->nodes, to->into);
}

kd_status gltf_meshes_read(gltf_file *gltf, const gltf_nodes *nodes, gltf_materials *materials,
                           mesh *into) {
    mesh_writer to = {.of = gltf, .nodes = nodes, .materials = materials, .into = into};
    const kd_status status = mesh_write(&to);
    memory_free(to.primitives);
    memory_free(to.mesh_first);
    memory_free(to.draws);
    gltf_shapes_close(&to.shapes);
    KD_TRY(status);
    materials_hand_over(materials, into);
    to.faults.normal = to.faults.texcoord = true;
    to.faults.uses_normals = into->normal_indices && into->triangle_count;
    to.faults.uses_texcoords = into->texcoord_indices && into->triangle_count;
    mesh_compact(into, NULL, &to.faults);
    return KD_OK;
}
