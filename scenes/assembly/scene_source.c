/* Opens a scene at several times. A scene that moves keeps what it was read from; reading it again
   gives the scene at another frame, with the decoded textures of the first. */
#include "core/memory.h"
#include "core/status.h"
#include "scenes/assembly/scene_parts.h"

static kd_status copy_bytes(const void **out, const void *from, uint64_t bytes) {
    char *made = NULL;
    *out = NULL;
    if (!from) return KD_OK;
    KD_TRY(KD_RESERVE(made, bytes));
    memcpy(made, from, bytes);
    *out = made;
    return KD_OK;
}

static kd_status copy_text(const char **out, const char *from) {
    const void *made = NULL;
    KD_TRY(copy_bytes(&made, from, from ? strlen(from) + 1 : 0));
    *out = (const char *)made;
    return KD_OK;
}

static kd_status copy_mesh(kd_scene_mesh *out, const kd_scene_mesh *from) {
    const void *arrays[4] = {NULL, NULL, NULL, NULL};
    const uint64_t vertices = from->vertex_count;
    *out = *from;
    out->name = NULL;
    out->vertices = out->normals = out->texcoords = NULL;
    out->indices = NULL;
    KD_TRY(copy_text(&out->name, from->name));
    kd_status status = copy_bytes(&arrays[0], from->vertices, 3 * vertices * sizeof(float));
    if (status == KD_OK)
        status = copy_bytes(&arrays[1], from->indices, 3 * from->triangle_count * sizeof(uint32_t));
    if (status == KD_OK)
        status = copy_bytes(&arrays[2], from->normals, 3 * vertices * sizeof(float));
    if (status == KD_OK)
        status = copy_bytes(&arrays[3], from->texcoords, 2 * vertices * sizeof(float));
    out->vertices = (const float *)arrays[0];
    out->indices = (const uint32_t *)arrays[1];
    out->normals = (const float *)arrays[2];
    out->texcoords = (const float *)arrays[3];
    return status;
}

/* Frees a copy. */
static void drop(const void *owned) {
    union {
        const void *kept;
        void *owned;
    } memory = {owned};
    memory_free(memory.owned);
}

void scene_source_close(scene_source *owned) {
    if (!owned) return;
    for (uint64_t i = 0; owned->meshes && i < owned->mesh_count; ++i) {
        const kd_scene_mesh *mesh = &owned->meshes[i];
        const void *const arrays[] = {mesh->name, mesh->vertices, mesh->indices, mesh->normals,
                                      mesh->texcoords};
        for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) drop(arrays[k]);
    }
    const void *const texts[] = {owned->path, owned->text, owned->environment, owned->options.clip,
                                 owned->meshes};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; ++k) drop(texts[k]);
    memory_free(owned);
}

static kd_status copy_meshes(scene_source *out, const scene_source *from) {
    kd_scene_mesh *meshes = NULL;
    KD_TRY(KD_RESERVE_ZEROED(meshes, from->mesh_count));
    out->meshes = meshes;
    out->mesh_count = from->mesh_count;
    for (uint64_t i = 0; i < from->mesh_count; ++i) KD_TRY(copy_mesh(&meshes[i], &from->meshes[i]));
    return KD_OK;
}

kd_status scene_source_keep(scene *scene, const scene_source *from) {
    scene_source *kept = NULL;
    const void *text = NULL;
    KD_TRY(KD_RESERVE_ZEROED(kept, 1));
    scene->source = kept; /* closed with the scene */
    kept->options = from->options;
    kept->options.photon_map = kept->options.clip = NULL; /* belong to the caller */
    KD_TRY(copy_text(&kept->path, from->path));
    KD_TRY(copy_text(&kept->environment, from->environment));
    KD_TRY(copy_text(&kept->options.clip, from->options.clip));
    KD_TRY(copy_bytes(&text, from->text, from->bytes));
    kept->text = (const char *)text;
    kept->bytes = from->bytes;
    if (from->mesh_count) KD_TRY(copy_meshes(kept, from));
    return KD_OK;
}

/* Makes the opened scene like `from` in all but the positions. */
static kd_status make_alike(scene *opened, const scene *from) {
    KD_REQUIRE(memcmp(opened->origin, from->origin, sizeof from->origin) == 0, KD_ERROR_INPUT,
               "%s: the scene is far from (0, 0, 0), and its parts move so far that motion blur is "
               "not supported; set --shutter 0",
               from->source->path);
    if (from->solid_glass) KD_TRY(scene_take_glass(opened));
    if (from->instance_count == 0) KD_TRY(scene_copy_instances(opened));
    return KD_OK;
}

double scene_frame(const scene *scene) {
    return scene->source ? (double)scene->source->options.frame : 0;
}

kd_status scene_open_at(scene **out, const scene *from, double frame, job_control *job) {
    *out = NULL;
    KD_REQUIRE(from->source, KD_ERROR_USAGE, "the scene has no animation");
    scene_source source = *from->source;
    kd_render_options options = source.options;
    scene *opened = NULL;
    source.lender = from;
    options.frame = (float)frame;
    KD_TRY(scene_open_source(&opened, &source, &options, job));
    const kd_status status = make_alike(opened, from);
    if (status != KD_OK) scene_close(opened);
    KD_TRY(status);
    *out = opened;
    return KD_OK;
}

bool texture_image_is(const texture_image *image, const char *path, texture_role role,
                      const float factor[4]) {
    return image->path && image->role == role &&
           memcmp(image->factor, factor, sizeof image->factor) == 0 &&
           strcmp(image->path, path) == 0;
}

void texture_store_borrow(texture_store *store) {
    for (uint32_t i = 0; store->lender && i < store->image_count; ++i) {
        texture_image *image = &store->images[i];
        if (image->loaded || image->bytes || !image->path) continue;
        for (uint32_t k = 0; k < store->lender->image_count; ++k) {
            const texture_image *lent = &store->lender->images[k];
            if (!texture_image_is(lent, image->path, image->role, image->factor)) continue;
            char *path = image->path;
            *image = *lent;
            image->path = path;
            image->borrowed = true;
            break;
        }
    }
}
