/* Copies a scene into one block of device memory. The same function measures and fills the block,
   so that the two passes cannot disagree on sizes or order. */
#include "scenes/assembly/scene_cuda.h"
#include "core/device/device_memory.h"
#include "core/memory.h"

enum { PART_ALIGN = 256 };

/* A cursor in the block. With `memory` NULL it only measures: `used` becomes the size needed. */
typedef struct upload {
    char *memory;
    uint64_t used;
    bool uploads;
    kd_status status; /* first failure of an upload */
} upload;

/* Reserves space for one array and uploads it. NULL stays NULL. */
static const void *place(upload *upload, const void *host, uint64_t count, size_t item_bytes) {
    if (!host || count == 0) return NULL;
    char *at = upload->memory ? upload->memory + upload->used : NULL;
    upload->used += (count * item_bytes + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
    if (upload->uploads && upload->status == KD_OK)
        upload->status = device_memory_upload(at, host, count * item_bytes);
    return at;
}

#define PLACE(to, type, host, count) ((const type *)place((to), (host), (count), sizeof(type)))

static void place_mesh(upload *upload, mesh_view *mesh) {
    const uint64_t corners = 3 * (uint64_t)mesh->stored_count;
    mesh->normals = PLACE(upload, vec3, mesh->normals, mesh->normal_count);
    mesh->texcoords = PLACE(upload, vec2, mesh->texcoords, mesh->texcoord_count);
    mesh->colours = PLACE(upload, float, mesh->colours, 4 * (uint64_t)mesh->texcoord_count);
    mesh->texcoords_second = PLACE(upload, vec2, mesh->texcoords_second, mesh->texcoord_count);
    mesh->tangents = PLACE(upload, float, mesh->tangents, 4 * (uint64_t)mesh->normal_count);
    mesh->normal_indices = PLACE(upload, uint32_t, mesh->normal_indices, corners);
    mesh->texcoord_indices = PLACE(upload, uint32_t, mesh->texcoord_indices, corners);
    mesh->triangle_materials =
        PLACE(upload, uint32_t, mesh->triangle_materials, mesh->stored_count);
}

/* Copies shapes with the nodes of their trees, placements, and the top-level tree. `moved` has
   space for every shape. */
static void place_instances(upload *upload, instance_view *view, const instance_view *host,
                            instanced_shape *moved) {
    if (host->count == 0) return;
    for (uint32_t i = 0; i < host->shape_count; ++i) {
        tritree_view *tree = &moved[i].tree;
        moved[i] = host->shapes[i];
        tree->nodes = PLACE(upload, tritree_node, tree->nodes, tree->node_count);
        tree->references = PLACE(upload, uint32_t, tree->references, tree->reference_count);
    }
    view->shapes = PLACE(upload, instanced_shape, moved, host->shape_count);
    view->list = PLACE(upload, instance, view->list, host->count);
    view->nodes = PLACE(upload, instance_node, view->nodes, host->node_count);
    view->order = PLACE(upload, uint32_t, view->order, host->count);
}

static void place_lights(upload *upload, scene_view *view) {
    environment_view *sky = &view->environment;
    view->lights = PLACE(upload, light, view->lights, view->light_count);
    view->light_cdf = PLACE(upload, float, view->light_cdf,
                            view->light_count ? (uint64_t)view->light_count + 1 : 0);
    view->light_tree.nodes =
        PLACE(upload, light_node, view->light_tree.nodes, view->light_tree.node_count);
    view->light_tree.trails =
        PLACE(upload, uint32_t, view->light_tree.trails, view->light_tree.light_count);
    view->triangle_lights = PLACE(upload, uint32_t, view->triangle_lights, view->mesh.stored_count);
    if (!sky->row_cdf) return;
    const uint64_t rows = (uint64_t)sky->height, columns = (uint64_t)sky->width;
    sky->row_cdf = PLACE(upload, float, sky->row_cdf, rows + 1);
    sky->column_cdf = PLACE(upload, float, sky->column_cdf, rows *(columns + 1));
}

/* Copies the texels, then the views that point to them. Views of one image share its texels. */
static void place_textures(upload *upload, scene_view *view, const scene_view *host,
                           texture_view *moved) {
    for (uint32_t i = 0; i < host->texture_count; ++i) {
        const texture_view *from = host->textures + i;
        const uint64_t texels = (uint64_t)from->width * (uint64_t)from->height;
        uint32_t same = 0;
        while (host->textures[same].bytes != from->bytes ||
               host->textures[same].floats != from->floats)
            ++same;
        moved[i] = *from;
        if (same < i) {
            moved[i].bytes = moved[same].bytes;
            moved[i].floats = moved[same].floats;
            continue;
        }
        moved[i].bytes =
            PLACE(upload, uint8_t, from->bytes, (from->is_wide ? 2 : 1) * from->samples * texels);
        moved[i].floats = PLACE(upload, float, from->floats, 3 * texels);
    }
    const float *host_curve = NULL, *curve = NULL; /* one for all textures that need it */
    for (uint32_t i = 0; i < host->texture_count; ++i) {
        if (!host->textures[i].curve) continue;
        if (!host_curve) {
            host_curve = host->textures[i].curve;
            curve = PLACE(upload, float, host_curve, TEXTURE_WIDE_VALUES);
        }
        moved[i].curve = curve;
    }
    view->textures = PLACE(upload, texture_view, moved, host->texture_count);
}

/* Temporary host copies of the records that contain device pointers, from which these are
   uploaded. */
typedef struct moved_parts {
    texture_view *textures;
    instanced_shape *shapes;
} moved_parts;

static void place_scene(upload *upload, scene_view *view, const scene_view *host,
                        const moved_parts *moved) {
    const uint32_t *triangles = host->mesh.triangles;
    place_mesh(upload, &view->mesh);
    place_instances(upload, &view->instances, &host->instances, moved->shapes);
    if (host->instances.count) /* the device's tree has only the triangles outside shapes */
        view->mesh.triangles =
            PLACE(upload, uint32_t, triangles, 3 * (uint64_t)host->mesh.stored_count);
    view->materials = PLACE(upload, material, view->materials, view->material_count);
    view->layers = PLACE(upload, principled, view->layers, view->material_count);
    view->media = PLACE(upload, medium, view->media, view->medium_count);
    place_lights(upload, view);
    place_textures(upload, view, host, moved->textures);
}

static kd_status open_moved(moved_parts *out, const scene_view *host) {
    memset(out, 0, sizeof *out);
    KD_TRY(KD_RESERVE(out->textures, host->texture_count));
    return KD_RESERVE(out->shapes, host->instances.shape_count);
}

static void close_moved(moved_parts *owned) {
    memory_free(owned->textures);
    memory_free(owned->shapes);
}

kd_status scene_cuda_measure(uint64_t *bytes, const scene_view *host) {
    upload to = {NULL, 0, false, KD_OK};
    moved_parts moved;
    const kd_status status = open_moved(&moved, host);
    scene_view measured = *host;
    if (status == KD_OK) place_scene(&to, &measured, host, &moved);
    *bytes = to.used;
    close_moved(&moved);
    return status;
}

kd_status scene_cuda_open(scene_cuda *out, const scene_view *host,
                          const tritree_view *device_tree) {
    memset(out, 0, sizeof *out);
    kd_status status = KD_OK;
    upload to = {NULL, 0, false, KD_OK};
    moved_parts moved;
    KD_TRY_GOTO(open_moved(&moved, host));
    KD_TRY_GOTO(scene_cuda_measure(&out->bytes, host));
    KD_TRY_GOTO(device_memory_reserve(&out->memory, out->bytes));
    out->view = *host;
    to.memory = (char *)out->memory;
    to.used = 0;
    to.uploads = true;
    place_scene(&to, &out->view, host, &moved);
    KD_TRY_GOTO(to.status);
    out->view.tree = *device_tree;
    out->view.mesh.positions = device_tree->positions;
    if (host->instances.count == 0) out->view.mesh.triangles = device_tree->triangles;
done:
    close_moved(&moved);
    if (status != KD_OK) scene_cuda_close(out);
    return status;
}

void scene_cuda_close(scene_cuda *owned) {
    device_memory_free(owned->memory);
    memset(owned, 0, sizeof *owned);
}
