/* The C API of <kandela/render.h> and <kandela/photons.h>: handles around scenes, images and
   photons. */
#include "core/memory.h"
#include "core/parallel/call.h"
#include "core/parallel/parallel.h"
#include "core/version.h"
#include "photon/maps/photon_file.h"
#include "render/api/render.h"
#include "scenes/describe/render_options.h"
#include "scenes/mesh/origin.h"
#include <assert.h>
#include <kandela/photons.h>
#include <stddef.h>

struct kd_scene {
    scene *held;
};

struct kd_image {
    render_result held;
};

struct kd_photons {
    photon_file held;
    photon *world[PHOTON_LISTS]; /* copies with the origin added, if there is one */
};
/* The API returns pointers to photons as they are stored. */
static_assert(sizeof(kd_photon) == sizeof(photon) &&
                  offsetof(kd_photon, power) == offsetof(photon, power) &&
                  offsetof(kd_photon, direction) == offsetof(photon, direction) &&
                  offsetof(kd_photon, normal) == offsetof(photon, normal) &&
                  offsetof(kd_photon, triangle) == offsetof(photon, triangle) &&
                  offsetof(kd_photon, path) == offsetof(photon, path) &&
                  offsetof(kd_photon, light) == offsetof(photon, light) &&
                  offsetof(kd_photon, bounce) == offsetof(photon, bounce) &&
                  offsetof(kd_photon, kind) == offsetof(photon, kind),
              "kd_photon is photon");
static_assert((int)KD_PHOTONS_CAUSTIC == (int)PHOTON_LIST_CAUSTIC &&
                  (int)KD_PHOTONS_MEDIA == (int)PHOTON_LIST_MEDIA,
              "kd_photon_map is photon_list_kind");

static kd_status take_options(kd_render_options *out, const kd_render_options *options) {
    kd_render_options_default(out);
    KD_TRY(sized_take(out, sizeof *out, options, "kd_render_options_default"));
    KD_TRY(render_options_check(out));
    return KD_OK;
}

kd_status kd_scene_load(kd_scene **loaded, const char *path, kd_render_options *options) {
    KD_CALL(0);
    KD_REQUIRE(loaded && path, KD_ERROR_USAGE, "`scene` and `path` must not be NULL");
    *loaded = NULL;
    kd_render_options taken;
    kd_render_options_default(&taken);
    if (options) KD_TRY(take_options(&taken, options));
    kd_scene *handle = NULL;
    KD_TRY(KD_RESERVE_ZEROED(handle, 1));
    const kd_status status = scene_open_instanced(&handle->held, path, NULL, &taken, NULL);
    if (status != KD_OK) {
        memory_free(handle);
        return status_pass(status, __FILE__, __LINE__, "scene_open_instanced");
    }
    if (options) sized_give(options, options->struct_size, &taken, sizeof taken);
    *loaded = handle;
    return KD_OK;
}

kd_status kd_scene_parse(kd_scene **parsed, const char *text, uint64_t bytes, const char *folder,
                         const kd_scene_mesh *meshes, uint64_t mesh_count,
                         kd_render_options *options) {
    KD_CALL(0);
    KD_REQUIRE(parsed && text && (meshes || mesh_count == 0), KD_ERROR_USAGE,
               "`scene` and `text` must not be NULL, nor `meshes` if `mesh_count` is not 0");
    *parsed = NULL;
    kd_render_options taken;
    kd_render_options_default(&taken);
    if (options) KD_TRY(take_options(&taken, options));
    kd_scene *handle = NULL;
    KD_TRY(KD_RESERVE_ZEROED(handle, 1));
    const kd_status status =
        scene_parse_instanced(&handle->held, text, bytes, folder, meshes, mesh_count, &taken, NULL);
    if (status != KD_OK) {
        memory_free(handle);
        return status_pass(status, __FILE__, __LINE__, "scene_parse_instanced");
    }
    if (options) sized_give(options, options->struct_size, &taken, sizeof taken);
    *parsed = handle;
    return KD_OK;
}

void kd_scene_close(kd_scene *owned) {
    if (!owned) return;
    scene_close(owned->held);
    memory_free(owned);
}

kd_scene_counts kd_scene_count(const kd_scene *scene) {
    const kd_scene_counts none = {0, 0, 0};
    if (!scene) return none;
    const scene_view view = scene_get_view(scene->held);
    const kd_scene_counts counts = {view.mesh.stored_count, view.material_count, view.light_count};
    return counts;
}

void kd_scene_origin(const kd_scene *scene, double *origin) {
    if (!origin) return;
    for (int i = 0; i < 3; ++i) origin[i] = scene ? scene_origin(scene->held)[i] : 0;
}

kd_status kd_render(kd_image **rendered, const kd_scene *scene, const kd_render_options *options,
                    kd_progress progress, void *context) {
    KD_CALL(0);
    KD_REQUIRE(rendered && scene && options, KD_ERROR_USAGE,
               "`image`, `scene` and `options` must not be NULL");
    *rendered = NULL;
    kd_render_options taken;
    KD_TRY(take_options(&taken, options));
    camera ends[2];
    KD_TRY(scene_cameras_at(scene->held, &taken, NULL, ends));
    kd_image *handle = NULL;
    KD_TRY(KD_RESERVE_ZEROED(handle, 1));
    job_control *job = call_listen(&kd_call_scope, progress, context);
    scene_set_cameras(scene->held, &ends[0], &ends[1]);
    render_resolve_integrator(&taken, scene->held);
    kd_status status = render_resolve_instances(scene->held, &taken, 0, RENDER_INSTANCING_AUTO);
    if (status == KD_OK) status = render_run(&handle->held, scene->held, &taken, job);
    if (status != KD_OK && status != KD_INTERRUPTED) {
        memory_free(handle);
        return status_pass(status, __FILE__, __LINE__, "render_run");
    }
    *rendered = handle;
    return status;
}

kd_status kd_image_read(kd_image **image, const char *path, const kd_render_options *options) {
    KD_CALL(0);
    const image_reading reading = {.keeps_window = true};
    kd_render_options taken;
    kd_image *handle = NULL;
    kd_status status = KD_OK;
    KD_REQUIRE(image && path, KD_ERROR_USAGE, "`%s` must not be NULL", image ? "path" : "image");
    *image = NULL;
    kd_render_options_default(&taken);
    if (options) KD_TRY(take_options(&taken, options));
    KD_TRY(KD_RESERVE_ZEROED(handle, 1));
    render_result *held = &handle->held;
    IMAGE_FINISH_TAKE(&held->finish, &taken);
    KD_TRY_GOTO(image_finish_check(&held->finish));
    KD_TRY_GOTO(image_read_as(&held->picture, path, &reading));
    const bool part = held->picture.whole_width > 0;
    if (strcmp(taken.background, "environment") != 0)
        KD_TRY_GOTO(
            image_background_open(&held->background, taken.background,
                                  part ? held->picture.whole_width : held->picture.width,
                                  part ? held->picture.whole_height : held->picture.height));
    held->samples_done = held->picture.samples_per_pixel;
    held->image_hash = image_hash(&held->picture);
    *image = handle;
done:
    if (status != KD_OK) kd_image_close(handle);
    return status;
}

void kd_image_close(kd_image *owned) {
    if (!owned) return;
    render_close(&owned->held);
    memory_free(owned);
}

int32_t kd_image_width(const kd_image *image) {
    return image ? image->held.picture.width : 0;
}
int32_t kd_image_height(const kd_image *image) {
    return image ? image->held.picture.height : 0;
}
int32_t kd_image_samples(const kd_image *image) {
    return image ? image->held.samples_done : 0;
}
const float *kd_image_channel(const kd_image *image, const char *name) {
    return image && name ? image_plane(&image->held.picture, name) : NULL;
}
uint64_t kd_image_hash(const kd_image *image) {
    return image ? image->held.image_hash : 0;
}

kd_status kd_image_write(const kd_image *image, const char *path, float exposure,
                         kd_tonemap tonemap) {
    KD_CALL(0);
    KD_REQUIRE(image && path, KD_ERROR_USAGE, "`image` and `path` must not be NULL");
    KD_REQUIRE(tonemap >= KD_TONEMAP_LINEAR && tonemap <= KD_TONEMAP_NEUTRAL, KD_ERROR_USAGE,
               "`tonemap` is %d; expected 0 to %d (kd_tonemap)", (int)tonemap,
               (int)KD_TONEMAP_NEUTRAL);
    const image_encoding encoding = {
        .exposure = exposure, .tonemap = tonemap, .background = image->held.background};
    KD_TRY(finish_write(&image->held.picture, path, &encoding, &image->held.finish));
    return KD_OK;
}

/* Copies the photons of a scene with an origin, to add it. */
static kd_status make_world(kd_photons *photons) {
    const double *origin = photons->held.origin;
    for (int l = 0; l < PHOTON_LISTS && !origin_is_zero(origin); ++l) {
        const photon_list *list = &photons->held.lists[l];
        if (list->count == 0) continue;
        KD_TRY(KD_RESERVE(photons->world[l], list->count));
        memcpy(photons->world[l], list->photons, list->count * sizeof *list->photons);
        for (uint64_t i = 0; i < list->count; ++i) {
            vec3 *at = &photons->world[l][i].position;
            double world[3];
            origin_to_world(world, origin, *at);
            *at = vec3_make((float)world[0], (float)world[1], (float)world[2]);
        }
    }
    return KD_OK;
}

kd_status kd_photons_emit(kd_photons **emitted, const kd_scene *scene,
                          const kd_render_options *options, kd_progress progress, void *context) {
    KD_CALL(0);
    KD_REQUIRE(emitted && scene && options, KD_ERROR_USAGE,
               "`out`, `scene` and `options` must not be NULL");
    *emitted = NULL;
    kd_render_options taken;
    KD_TRY(take_options(&taken, options));
    kd_photons *handle = NULL;
    KD_TRY(KD_RESERVE_ZEROED(handle, 1));
    job_control *job = call_listen(&kd_call_scope, progress, context);
    call_set_threads(&kd_call_scope, taken.threads);
    kd_status status = photons_emit(&handle->held, scene->held, &taken, job);
    if (status == KD_OK) status = make_world(handle);
    if (status != KD_OK) {
        kd_photons_close(handle);
        return status_pass(status, __FILE__, __LINE__, "photons_emit");
    }
    *emitted = handle;
    return KD_OK;
}

void kd_photons_close(kd_photons *owned) {
    if (!owned) return;
    photon_file_close(&owned->held);
    for (int l = 0; l < PHOTON_LISTS; ++l) memory_free(owned->world[l]);
    memory_free(owned);
}

static const photon_list *list_of(const kd_photons *photons, kd_photon_map map) {
    return photons && (int)map >= 0 && (int)map < PHOTON_LISTS ? &photons->held.lists[map] : NULL;
}

kd_photon_counts kd_photons_count(const kd_photons *photons, kd_photon_map map) {
    const kd_photon_counts none = {0, 0, 0, 0};
    const photon_list *list = list_of(photons, map);
    if (!list) return none;
    const kd_photon_counts counts = {list->count, list->emitted, list->ledger.emitted,
                                     list->complete};
    return counts;
}

const kd_photon *kd_photons_list(const kd_photons *photons, kd_photon_map map) {
    const photon_list *list = list_of(photons, map);
    if (!list || list->count == 0) return NULL;
    return (const kd_photon *)(photons->world[map] ? photons->world[map] : list->photons);
}

kd_status kd_photons_write(const kd_photons *photons, const char *path) {
    KD_CALL(0);
    KD_REQUIRE(photons && path, KD_ERROR_USAGE, "`photons` and `path` must not be NULL");
    KD_TRY(photon_file_write(path, &photons->held));
    return KD_OK;
}

kd_status kd_photons_load(kd_photons **loaded, const char *path) {
    KD_CALL(0);
    KD_REQUIRE(loaded && path, KD_ERROR_USAGE, "`out` and `path` must not be NULL");
    *loaded = NULL;
    kd_photons *handle = NULL;
    KD_TRY(KD_RESERVE_ZEROED(handle, 1));
    kd_status status = photon_file_open(&handle->held, path);
    if (status == KD_OK) status = make_world(handle);
    if (status != KD_OK) {
        kd_photons_close(handle);
        return status_pass(status, __FILE__, __LINE__, "photon_file_open");
    }
    *loaded = handle;
    return KD_OK;
}
