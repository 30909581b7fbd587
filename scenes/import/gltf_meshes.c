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
    uint32_t shape; /* shape in object space; KD_NONE: world space */
} gltf_draw;

typedef struct mesh_writer {
    gltf_file *gltf;
    const gltf_nodes *nodes;
    const gltf_materials *materials;
    gltf_shapes shapes;
    struct mesh *mesh;
    gltf_primitive *primitives;
    uint32_t *mesh_first; /* first primitive of each mesh; the last entry is their total number */
    gltf_draw *draws;
    uint32_t primitive_count;
    bool has_normals, has_colours, has_second, has_tangents;
    mesh_faults faults;
    /* State while writing one primitive. */
    const gltf_primitive *primitive;
    const gltf_draw *draw;
    gltf_numbers_read read, rest; /* rest: positions, normals and tangents without targets */
    const cJSON *weights;         /* weights of the targets that `read` contains; NULL: none */
    uint32_t colour_components;
    gltf_skin skin; /* skin of the draw; without bones the node's transform applies */
    transform world;
    bool reversed;
} mesh_writer;

/* --- counting --------------------------------------------------------------------------------- */

static kd_status primitives_of(mesh_writer *writer, uint32_t number) {
    const json_place at = gltf_place(writer->gltf, GLTF_MESHES, number);
    const json_place list_place = json_place_key(&at, "primitives");
    const cJSON *list = NULL, *item = NULL;
    uint32_t index = 0;
    KD_TRY(gltf_inner(writer->gltf, &at, gltf_item(writer->gltf, GLTF_MESHES, number), "primitives",
                      true, &list));
    KD_TRY(KD_GROW(writer->primitives, writer->primitive_count,
                   (uint64_t)writer->primitive_count + (uint64_t)cJSON_GetArraySize(list)));
    cJSON_ArrayForEach(item, list) {
        const json_place place = json_place_item(&list_place, (int)index);
        gltf_primitive *made = &writer->primitives[writer->primitive_count++];
        memset(made, 0, sizeof *made);
        made->mesh = number;
        made->index = index++;
        made->first_draw = KD_NONE;
        KD_TRY(gltf_primitive_read(writer->gltf, writer->materials, &place, item, made));
    }
    return KD_OK;
}

/* Lists the primitives of meshes that some node refers to. */
static kd_status primitives_list(mesh_writer *writer) {
    const uint32_t meshes = writer->gltf->lists[GLTF_MESHES].count;
    bool *shown = NULL;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(shown, meshes));
    KD_TRY_GOTO(KD_RESERVE(writer->mesh_first, (uint64_t)meshes + 1));
    for (uint32_t i = 0; i < writer->nodes->count; ++i)
        if (writer->nodes->list[i].mesh != KD_NONE) shown[writer->nodes->list[i].mesh] = true;
    for (uint32_t i = 0; i < meshes; ++i) {
        writer->mesh_first[i] = writer->primitive_count;
        if (shown[i]) KD_TRY_GOTO(primitives_of(writer, i));
    }
    writer->mesh_first[meshes] = writer->primitive_count;
done:
    memory_free(shown);
    return status;
}

typedef struct mesh_totals {
    uint64_t draws, vertices, triangles, texcoords;
} mesh_totals;

static void draws_of(mesh_writer *writer, mesh_totals *sum, uint32_t shown, uint32_t node,
                     uint32_t shape) {
    for (uint32_t p = writer->mesh_first[shown]; p < writer->mesh_first[shown + 1]; ++p) {
        gltf_primitive *from = &writer->primitives[p];
        if (writer->draws) {
            const gltf_draw made = {
                p,    node, from->first_draw, (uint32_t)sum->vertices, (uint32_t)sum->triangles,
                shape};
            writer->draws[sum->draws] = made;
            from->first_draw = (uint32_t)sum->draws;
        }
        ++sum->draws;
        sum->vertices += from->vertices;
        sum->triangles += from->triangles;
    }
}

/* Visits all draws: nodes in order, then shapes. If writer->draws is set, assigns their ranges. */
static mesh_totals draws_walk(mesh_writer *writer) {
    mesh_totals sum = {0, 0, 0, 0};
    for (uint32_t i = 0; i < writer->nodes->count; ++i) {
        const uint32_t shown = writer->nodes->list[i].mesh;
        if (shown != KD_NONE && writer->shapes.shape_of[i] == KD_NONE)
            draws_of(writer, &sum, shown, i, KD_NONE);
    }
    for (uint32_t i = 0; i < writer->shapes.count; ++i) {
        const mesh_totals before = sum;
        draws_of(writer, &sum, writer->shapes.shapes[i].mesh, 0, i);
        if (!writer->draws) continue;
        mesh_part *part = &writer->mesh->parts[i];
        part->first = (uint32_t)before.triangles;
        part->count = (uint32_t)(sum.triangles - before.triangles);
        part->position = part->normal = (uint32_t)before.vertices;
        part->position_count = (uint32_t)(sum.vertices - before.vertices);
        part->normal_count = writer->has_normals ? part->position_count : 0;
    }
    for (uint32_t p = 0; p < writer->primitive_count; ++p) {
        gltf_primitive *from = &writer->primitives[p];
        from->first_texcoord = (uint32_t)sum.texcoords;
        if (from->texcoord != KD_NONE || from->colour != KD_NONE) sum.texcoords += from->vertices;
        if (from->colour != KD_NONE) writer->has_colours = true;
        if (from->second != KD_NONE && from->texcoord != KD_NONE) writer->has_second = true;
        if (from->tangent != KD_NONE) writer->has_tangents = true;
        if (from->normal != KD_NONE) writer->has_normals = true;
    }
    return sum;
}

static kd_status arrays_reserve(mesh_writer *writer) {
    mesh *into = writer->mesh;
    const mesh_totals sum = draws_walk(writer);
    const uint64_t maximum = KD_NONE - 1;
    KD_REQUIRE(sum.vertices <= maximum && sum.triangles <= maximum && sum.texcoords <= maximum &&
                   sum.draws <= maximum,
               KD_ERROR_INPUT,
               "%s: found %llu vertices and %llu triangles with all instances, expected less than "
               "2^32 of each",
               writer->gltf->path, (unsigned long long)sum.vertices,
               (unsigned long long)sum.triangles);
    KD_TRY(KD_RESERVE(writer->draws, sum.draws));
    KD_TRY(KD_RESERVE(into->parts, writer->shapes.count));
    into->part_count = writer->shapes.count;
    (void)draws_walk(writer);
    into->position_count = (uint32_t)sum.vertices;
    into->triangle_count = into->face_count = (uint32_t)sum.triangles;
    KD_TRY(KD_RESERVE(into->positions, sum.vertices));
    KD_TRY(KD_RESERVE(into->triangles, 3 * sum.triangles));
    KD_TRY(KD_RESERVE(into->triangle_materials, sum.triangles));
    if (writer->has_normals) {
        into->normal_count = (uint32_t)sum.vertices;
        KD_TRY(KD_RESERVE(into->normals, sum.vertices));
        KD_TRY(KD_RESERVE(into->normal_indices, 3 * sum.triangles));
        if (writer->has_tangents) KD_TRY(KD_RESERVE_ZEROED(into->tangents, 4 * sum.vertices));
    }
    if (sum.texcoords) {
        into->texcoord_count = (uint32_t)sum.texcoords;
        KD_TRY(KD_RESERVE(into->texcoords, sum.texcoords));
        KD_TRY(KD_RESERVE(into->texcoord_indices, 3 * sum.triangles));
        if (writer->has_colours) KD_TRY(KD_RESERVE(into->colours, 4 * sum.texcoords));
        if (writer->has_second) KD_TRY(KD_RESERVE(into->texcoords_second, sum.texcoords));
    }
    return KD_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void tangent_write(const mesh_writer *writer, const transform *world, int64_t i, size_t at) {
    const float *from = writer->read.tangents + 4 * i;
    const vec3 direction = transform_direction(world, vec3_make(from[0], from[1], from[2]));
    const vec3 unit = vec3_normalize(direction);
    float *made = writer->mesh->tangents + 4 * at;
    if (!vec3_is_finite(unit) || vec3_is_zero(unit) || !(fabsf(from[3]) <= FLT_MAX)) return;
    made[0] = unit.x;
    made[1] = unit.y;
    made[2] = unit.z;
    made[3] = (from[3] < 0) != writer->reversed ? -1 : 1;
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
        to->mesh->positions[at] = transform_point(world, vec3_make(p[0], p[1], p[2]));
        if (!to->has_normals) continue;
        if (to->read.tangents) tangent_write(to, world, i, at);
        to->mesh->normals[at] = vec3_all(0);
        if (!n) continue;
        const vec3 unit = transform_normal(world, vec3_make(n[0], n[1], n[2]));
        if (vec3_is_finite(unit)) to->mesh->normals[at] = unit;
    }
}

static uint32_t corner_of(const mesh_writer *writer, uint32_t triangle, uint32_t k) {
    static const uint32_t odd[3] = {0, 2, 1}, fan[3] = {1, 2, 0};
    uint32_t corner = 0;
    if (writer->reversed && k) k = 3 - k;
    switch (writer->primitive->mode) {
    case GLTF_STRIP: corner = triangle + (triangle % 2 ? odd[k] : k); break;
    case GLTF_FAN: corner = k == 2 ? 0 : triangle + fan[k]; break;
    default: corner = 3 * triangle + k; break;
    }
    return writer->read.indices ? writer->read.indices[corner] : corner;
}

static void triangles_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    mesh_writer *to = (mesh_writer *)context;
    mesh *into = to->mesh;
    const gltf_primitive *from = to->primitive;
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

static kd_status floats_of(mesh_writer *writer, uint32_t accessor, float **values) {
    gltf_accessor from;
    if (accessor == KD_NONE) return KD_OK;
    KD_TRY(gltf_accessor_open(writer->gltf, accessor, &from));
    KD_TRY(gltf_accessor_floats(writer->gltf, &from, values));
    return KD_OK;
}

static kd_status indices_of(mesh_writer *writer, const json_place *at) {
    const gltf_primitive *from = writer->primitive;
    gltf_accessor indices;
    if (from->indices == KD_NONE) return KD_OK;
    KD_TRY(gltf_accessor_open(writer->gltf, from->indices, &indices));
    KD_TRY(gltf_accessor_integers(writer->gltf, &indices, &writer->read.indices));
    for (uint32_t i = 0; i < from->corners; ++i)
        if (writer->read.indices[i] >= from->vertices)
            return gltf_fail(writer->gltf, "index-range", at,
                             "found the index %u, expected below %u", writer->read.indices[i],
                             from->vertices);
    return KD_OK;
}

/* Counts values that are not finite, and warns once per primitive. */
static void soundness_judge(mesh_writer *writer, const json_place *at) {
    const gltf_primitive *from = writer->primitive;
    uint64_t places = 0, directions = 0, coordinates = 0;
    for (uint64_t i = 0; i < 3 * (uint64_t)from->vertices; ++i) {
        places += isfinite(writer->read.positions[i]) ? 0u : 1u;
        directions += writer->read.normals && !isfinite(writer->read.normals[i]) ? 1u : 0u;
    }
    for (uint64_t i = 0; i < 2 * (uint64_t)from->vertices && writer->read.texcoords; ++i)
        coordinates += isfinite(writer->read.texcoords[i]) ? 0u : 1u;
    if (places)
        gltf_warn(writer->gltf, "nan", at,
                  "found %llu coordinates that are not finite; their triangles are skipped",
                  (unsigned long long)places);
    if (directions + coordinates)
        gltf_warn(writer->gltf, "nan", at,
                  "found %llu numbers of normals and texture coordinates that are not finite; they "
                  "are ignored",
                  (unsigned long long)(directions + coordinates));
}

static float colour_of(const mesh_writer *writer, uint32_t vertex, uint32_t k) {
    if (!writer->read.colours || k >= writer->colour_components) return 1;
    const float value = writer->read.colours[(size_t)writer->colour_components * vertex + k];
    return value >= 0 && value <= 1e6f ? value : 1;
}

/* Falls back to the first set if there is no second one or it is not finite. */
static vec2 second_of(const mesh_writer *writer, uint32_t vertex, vec2 first) {
    if (!writer->read.second) return first;
    const float *uv = writer->read.second + 2 * (size_t)vertex;
    if (!isfinite(uv[0]) || !isfinite(uv[1])) return first;
    return vec2_make(uv[0], 1 - uv[1]);
}

/* Flips v, which points down in glTF. Ignores the vertex opacity of opaque materials. */
static void texcoords_write(mesh_writer *writer) {
    const gltf_primitive *from = writer->primitive;
    const bool is_opaque = !writer->materials->blends[from->material];
    if (!writer->read.texcoords && !writer->read.colours) return;
    for (uint32_t i = 0; i < from->vertices; ++i) {
        const size_t at = from->first_texcoord + (size_t)i;
        const float *uv = writer->read.texcoords ? writer->read.texcoords + 2 * (size_t)i : NULL;
        writer->mesh->texcoords[at] = uv ? vec2_make(uv[0], 1 - uv[1]) : vec2_make(0, 0);
        if (writer->has_second)
            writer->mesh->texcoords_second[at] = second_of(writer, i, writer->mesh->texcoords[at]);
        for (uint32_t k = 0; k < 4 && writer->has_colours; ++k)
            writer->mesh->colours[4 * at + k] = k == 3 && is_opaque ? 1 : colour_of(writer, i, k);
    }
}

static kd_status numbers_read(mesh_writer *writer, const json_place *at) {
    const gltf_primitive *from = writer->primitive;
    const json_place indices = json_place_key(at, "indices");
    if (from->packed) return gltf_draco_read(writer->gltf, at, from, &writer->read);
    KD_TRY(floats_of(writer, from->position, &writer->read.positions));
    KD_TRY(floats_of(writer, from->normal, &writer->read.normals));
    KD_TRY(floats_of(writer, from->texcoord, &writer->read.texcoords));
    KD_TRY(floats_of(writer, from->second, &writer->read.second));
    KD_TRY(floats_of(writer, from->tangent, &writer->read.tangents));
    KD_TRY(floats_of(writer, from->colour, &writer->read.colours));
    KD_TRY(floats_of(writer, from->joints, &writer->read.joints));
    KD_TRY(floats_of(writer, from->weights, &writer->read.weights));
    return indices_of(writer, &indices);
}

static kd_status floats_copy(float **to, const float *from, uint64_t count) {
    if (!from) return KD_OK;
    KD_TRY(KD_RESERVE(*to, count));
    memcpy(*to, from, count * sizeof *from);
    return KD_OK;
}

/* Keeps what morph targets change, so that each node can have its own weights. */
static kd_status rest_keep(mesh_writer *writer) {
    const uint64_t vertices = writer->primitive->vertices;
    writer->weights = NULL;
    if (!gltf_mesh_targets(writer->gltf, writer->primitive->mesh)) return KD_OK;
    KD_TRY(floats_copy(&writer->rest.positions, writer->read.positions, 3 * vertices));
    KD_TRY(floats_copy(&writer->rest.normals, writer->read.normals, 3 * vertices));
    KD_TRY(floats_copy(&writer->rest.tangents, writer->read.tangents, 4 * vertices));
    return KD_OK;
}

/* Applies the morph targets with the weights of a node, or of the mesh if the node has none. */
static kd_status weights_set(mesh_writer *writer, const cJSON *of_node) {
    const gltf_primitive *from = writer->primitive;
    const json_place mesh_place = gltf_place(writer->gltf, GLTF_MESHES, from->mesh);
    const json_place list = json_place_key(&mesh_place, "primitives");
    const json_place at = json_place_item(&list, (int)from->index);
    const uint64_t vertices = from->vertices;
    const cJSON *weights = of_node;
    if (!writer->rest.positions) return KD_OK;
    if (!weights)
        KD_TRY(gltf_inner(writer->gltf, &mesh_place,
                          gltf_item(writer->gltf, GLTF_MESHES, from->mesh), "weights", true,
                          &weights));
    if (weights == writer->weights) return KD_OK;
    memcpy(writer->read.positions, writer->rest.positions, 3 * vertices * sizeof(float));
    if (writer->rest.normals)
        memcpy(writer->read.normals, writer->rest.normals, 3 * vertices * sizeof(float));
    if (writer->rest.tangents)
        memcpy(writer->read.tangents, writer->rest.tangents, 4 * vertices * sizeof(float));
    writer->weights = weights;
    return gltf_morphs_apply(writer->gltf, &at, from, weights, &writer->read);
}

static kd_status primitive_load(mesh_writer *writer) {
    const json_place mesh_place = gltf_place(writer->gltf, GLTF_MESHES, writer->primitive->mesh);
    const json_place list = json_place_key(&mesh_place, "primitives");
    const json_place at = json_place_item(&list, (int)writer->primitive->index);
    gltf_accessor colours = {.components = 0};
    if (writer->primitive->position == KD_NONE) return KD_OK;
    if (writer->primitive->colour != KD_NONE)
        KD_TRY(gltf_accessor_open(writer->gltf, writer->primitive->colour, &colours));
    writer->colour_components = colours.components;
    KD_TRY(numbers_read(writer, &at));
    if (colours.components == 4 && writer->materials->blends[writer->primitive->material])
        writer->materials->made[writer->primitive->material].record.flags |=
            MATERIAL_VERTEX_OPACITY;
    KD_TRY(rest_keep(writer));
    KD_TRY(weights_set(writer, NULL));
    soundness_judge(writer, &at);
    return KD_OK;
}

static kd_status skin_open(mesh_writer *writer, uint32_t skin) {
    const json_place mesh_place = gltf_place(writer->gltf, GLTF_MESHES, writer->primitive->mesh);
    const json_place list = json_place_key(&mesh_place, "primitives");
    const json_place at = json_place_item(&list, (int)writer->primitive->index);
    KD_TRY(gltf_skin_open(writer->gltf, writer->nodes, skin, &writer->skin));
    gltf_skin_judge(writer->gltf, &at, &writer->skin, skin, &writer->read,
                    writer->primitive->vertices);
    return KD_OK;
}

/* Writes one instance, transformed by its skin or its node. */
static kd_status draw_write(mesh_writer *writer, const gltf_draw *draw) {
    const gltf_node *node = &writer->nodes->list[draw->node_at];
    writer->draw = draw;
    const bool is_shape = draw->shape != KD_NONE;
    writer->world = is_shape ? transform_identity() : node->world;
    writer->reversed = is_shape ? writer->shapes.shapes[draw->shape].reversed
                                : transform_determinant(&node->world) < 0;
    if (!is_shape && node->skin != KD_NONE && writer->read.joints && writer->read.weights) {
        KD_TRY(skin_open(writer, node->skin));
        writer->reversed =
            writer->skin.bone_count && transform_determinant(&writer->skin.bones[0]) < 0;
    }
    KD_TRY(weights_set(writer, is_shape ? NULL : node->weights));
    parallel_for(writer->primitive->vertices, GRAIN, vertices_body, writer);
    parallel_for(writer->primitive->triangles, GRAIN, triangles_body, writer);
    gltf_skin_close(&writer->skin);
    return KD_OK;
}

static kd_status primitive_write(mesh_writer *writer, const gltf_primitive *primitive) {
    writer->primitive = primitive;
    kd_status status = primitive_load(writer);
    if (status == KD_OK) texcoords_write(writer);
    for (uint32_t d = primitive->first_draw; d != KD_NONE && status == KD_OK;
         d = writer->draws[d].next)
        status = draw_write(writer, &writer->draws[d]);
    gltf_skin_close(&writer->skin); /* in case draw_write failed */
    memory_free(writer->read.positions);
    memory_free(writer->read.normals);
    memory_free(writer->read.texcoords);
    memory_free(writer->read.second);
    memory_free(writer->read.tangents);
    memory_free(writer->read.colours);
    memory_free(writer->read.joints);
    memory_free(writer->read.weights);
    memory_free(writer->read.indices);
    memory_free(writer->rest.positions);
    memory_free(writer->rest.normals);
    memory_free(writer->rest.tangents);
    memset(&writer->read, 0, sizeof writer->read);
    memset(&writer->rest, 0, sizeof writer->rest);
    return status;
}

static void materials_hand_over(gltf_materials *materials, mesh *mesh) {
    mesh->materials = materials->made;
    mesh->material_count = materials->count;
    mesh->pictures = materials->pictures;
    mesh->picture_count = materials->picture_count;
    mesh->media = materials->media;
    mesh->medium_count = materials->medium_count;
    materials->made = NULL;
    materials->pictures = NULL;
    materials->media = NULL;
    materials->count = materials->picture_count = materials->medium_count = 0;
}

static kd_status mesh_write(mesh_writer *writer) {
    KD_TRY(gltf_shapes_find(writer->gltf, writer->nodes, &writer->shapes));
    KD_TRY(primitives_list(writer));
    KD_TRY(arrays_reserve(writer));
    for (uint32_t i = 0; i < writer->primitive_count; ++i) {
        KD_REQUIRE(!job_cancelled(writer->gltf->job), KD_INTERRUPTED,
                   "%s: interrupted while reading", writer->gltf->path);
        KD_TRY(primitive_write(writer, &writer->primitives[i]));
    }
    KD_TRY(gltf_places_weld(writer->mesh, &writer->faults.unusable));
    gltf_parts_recount(writer->mesh);
    return gltf_shapes_put(&writer->shapes, writer->nodes, writer->mesh);
}

kd_status gltf_meshes_read(gltf_file *gltf, const gltf_nodes *nodes, gltf_materials *materials,
                           mesh *mesh) {
    mesh_writer to = {.gltf = gltf, .nodes = nodes, .materials = materials, .mesh = mesh};
    const kd_status status = mesh_write(&to);
    memory_free(to.primitives);
    memory_free(to.mesh_first);
    memory_free(to.draws);
    gltf_shapes_close(&to.shapes);
    KD_TRY(status);
    materials_hand_over(materials, mesh);
    to.faults.normal = to.faults.texcoord = true;
    to.faults.uses_normals = mesh->normal_indices && mesh->triangle_count;
    to.faults.uses_texcoords = mesh->texcoord_indices && mesh->triangle_count;
    mesh_compact(mesh, NULL, &to.faults);
    return KD_OK;
}
