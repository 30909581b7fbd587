/* The public face: handles around scenes and pictures. */
#include "core/memory.h"
#include "render/render.h"

struct kd_scene {
    scene *held;
};

struct kd_image {
    render_result held;
};

kd_status kd_scene_load(kd_scene **loaded, const char *path, kd_render_options *options) {
    KD_REQUIRE(loaded && path, KD_ERROR_USAGE,
               "kd_scene_load needs a place for the scene and a path");
    *loaded = NULL;
    kd_render_options unwanted;
    if (!options) {
        kd_render_options_default(&unwanted);
        options = &unwanted;
    }
    kd_scene *handle = NULL;
    KD_TRY(KD_RESERVE_ZEROED(handle, 1));
    const kd_status status = scene_open(&handle->held, path, options, NULL);
    if (status != KD_OK) {
        memory_free(handle);
        return status_pass(status, __FILE__, __LINE__, "scene_open");
    }
    *loaded = handle;
    return KD_OK;
}

void kd_scene_close(kd_scene *owned) {
    if (!owned) return;
    scene_close(owned->held);
    memory_free(owned);
}

kd_scene_counts kd_scene_count(const kd_scene *of) {
    const scene_view view = scene_get_view(of->held);
    const kd_scene_counts counts = {view.mesh.triangle_count, view.material_count,
                                    view.light_count};
    return counts;
}

typedef struct listener {
    kd_progress progress;
    void *context;
    job watched;
} listener;

static void pass_on(void *context, const char *stage, int64_t done, int64_t total) {
    listener *to = (listener *)context;
    if (to->progress(to->context, stage, done, total) != 0)
        atomic_store(&to->watched.cancelled, true);
}

kd_status kd_render(kd_image **rendered, const kd_scene *from, const kd_render_options *options,
                    kd_progress progress, void *context) {
    KD_REQUIRE(rendered && from && options, KD_ERROR_USAGE,
               "kd_render needs a place for the image, a scene and options");
    *rendered = NULL;
    kd_image *handle = NULL;
    KD_TRY(KD_RESERVE_ZEROED(handle, 1));
    listener hears = {.progress = progress, .context = context};
    job_init(&hears.watched);
    if (progress) {
        hears.watched.report = pass_on;
        hears.watched.context = &hears;
    }
    const kd_status status = render_run(&handle->held, from->held, options, &hears.watched);
    if (status != KD_OK && status != KD_INTERRUPTED) {
        memory_free(handle);
        return status_pass(status, __FILE__, __LINE__, "render_run");
    }
    *rendered = handle;
    return status;
}

void kd_image_close(kd_image *owned) {
    if (!owned) return;
    render_close(&owned->held);
    memory_free(owned);
}

int32_t kd_image_width(const kd_image *of) {
    return of->held.picture.width;
}
int32_t kd_image_height(const kd_image *of) {
    return of->held.picture.height;
}
int32_t kd_image_samples(const kd_image *of) {
    return of->held.samples_done;
}
const float *kd_image_channel(const kd_image *of, const char *name) {
    return image_plane(&of->held.picture, name);
}
uint64_t kd_image_hash(const kd_image *of) {
    return of->held.image_hash;
}

kd_status kd_image_write(const kd_image *from, const char *path, float exposure,
                         kd_tonemap tonemap) {
    KD_REQUIRE(from && path, KD_ERROR_USAGE, "kd_image_write needs an image and a path");
    const image_encoding encoding = {exposure, tonemap};
    KD_TRY(image_write(&from->held.picture, path, &encoding));
    return KD_OK;
}
