/* The public face: handles around scenes and pictures. */
#include "core/memory.h"
#include "core/sized.h"
#include "render/api/render.h"
#include "render/api/render_placing.h"
#include <stddef.h>

struct kd_scene {
    scene *held;
};

struct kd_image {
    render_result held;
};

/* The texts of options end within their fields. */
static kd_status check_texts(const kd_render_options *options) {
#define TEXT(field)                                                                                \
    { #field, offsetof(kd_render_options, field), sizeof options->field }
    static const struct {
        const char *name;
        size_t offset, bytes;
    } texts[] = {TEXT(integrator), TEXT(builder),   TEXT(device), TEXT(kernel),
                 TEXT(channel),    TEXT(estimator), TEXT(lookup), TEXT(surface)};
#undef TEXT
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        KD_REQUIRE(memchr((const char *)options + texts[i].offset, 0, texts[i].bytes),
                   KD_ERROR_USAGE,
                   "the %s of the options has no end: fill options by kd_render_options_default",
                   texts[i].name);
    return KD_OK;
}

static kd_status take_options(kd_render_options *out, const kd_render_options *given) {
    kd_render_options_default(out);
    KD_TRY(sized_take(out, sizeof *out, given, "kd_render_options_default"));
    return check_texts(out);
}

/* What the program's table of options refuses by itself. */
static kd_status check_numbers(const kd_render_options *options) {
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"time_seconds", options->time_seconds},
                   {"target_error", options->target_error},
                   {"radius", (double)options->radius}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        KD_REQUIRE(numbers[i].value >= 0, KD_ERROR_USAGE, "%s %g, expected 0 or more",
                   numbers[i].name, numbers[i].value);
    KD_REQUIRE(options->alpha > 0 && options->alpha <= 1, KD_ERROR_USAGE,
               "alpha %g, expected a value in (0, 1]", (double)options->alpha);
    KD_REQUIRE(options->threads >= 0, KD_ERROR_USAGE, "%d threads, expected 0 (all cores) or more",
               options->threads);
    return KD_OK;
}

kd_status kd_scene_load(kd_scene **loaded, const char *path, kd_render_options *options) {
    KD_REQUIRE(loaded && path, KD_ERROR_USAGE,
               "kd_scene_load needs a place for the scene and a path");
    *loaded = NULL;
    kd_render_options taken;
    kd_render_options_default(&taken);
    if (options) KD_TRY(take_options(&taken, options));
    kd_scene *handle = NULL;
    KD_TRY(KD_RESERVE_ZEROED(handle, 1));
    const kd_status status = scene_open_placed(&handle->held, path, NULL, &taken, NULL);
    if (status != KD_OK) {
        memory_free(handle);
        return status_pass(status, __FILE__, __LINE__, "scene_open_placed");
    }
    if (options) sized_give(options, options->struct_size, &taken, sizeof taken);
    *loaded = handle;
    return KD_OK;
}

kd_status kd_scene_parse(kd_scene **parsed, const char *text, uint64_t bytes, const char *folder,
                         const kd_scene_mesh *meshes, uint64_t mesh_count,
                         kd_render_options *options) {
    KD_REQUIRE(parsed && text && (meshes || mesh_count == 0), KD_ERROR_USAGE,
               "kd_scene_parse needs a place for the scene, a text, and meshes if there are any");
    *parsed = NULL;
    kd_render_options taken;
    kd_render_options_default(&taken);
    if (options) KD_TRY(take_options(&taken, options));
    kd_scene *handle = NULL;
    KD_TRY(KD_RESERVE_ZEROED(handle, 1));
    const kd_status status =
        scene_parse_placed(&handle->held, text, bytes, folder, meshes, mesh_count, &taken, NULL);
    if (status != KD_OK) {
        memory_free(handle);
        return status_pass(status, __FILE__, __LINE__, "scene_parse_placed");
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

kd_scene_counts kd_scene_count(const kd_scene *of) {
    const kd_scene_counts none = {0, 0, 0};
    if (!of) return none;
    const scene_view view = scene_get_view(of->held);
    const kd_scene_counts counts = {view.mesh.stored_count, view.material_count, view.light_count};
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
    kd_render_options taken;
    KD_TRY(take_options(&taken, options));
    KD_TRY(check_numbers(&taken));
    kd_image *handle = NULL;
    KD_TRY(KD_RESERVE_ZEROED(handle, 1));
    listener hears = {.progress = progress, .context = context};
    job_init(&hears.watched);
    if (progress) {
        hears.watched.report = pass_on;
        hears.watched.context = &hears;
    }
    kd_status status = render_settle_placements(from->held, &taken, 0, RENDER_PLACING_AUTO);
    if (status == KD_OK) status = render_run(&handle->held, from->held, &taken, &hears.watched);
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
    return of ? of->held.picture.width : 0;
}
int32_t kd_image_height(const kd_image *of) {
    return of ? of->held.picture.height : 0;
}
int32_t kd_image_samples(const kd_image *of) {
    return of ? of->held.samples_done : 0;
}
const float *kd_image_channel(const kd_image *of, const char *name) {
    return of && name ? image_plane(&of->held.picture, name) : NULL;
}
uint64_t kd_image_hash(const kd_image *of) {
    return of ? of->held.image_hash : 0;
}

kd_status kd_image_write(const kd_image *from, const char *path, float exposure,
                         kd_tonemap tonemap) {
    KD_REQUIRE(from && path, KD_ERROR_USAGE, "kd_image_write needs an image and a path");
    KD_REQUIRE(tonemap >= KD_TONEMAP_LINEAR && tonemap <= KD_TONEMAP_NEUTRAL, KD_ERROR_USAGE,
               "tone mapping %d, expected 0 to %d: kd_tonemap", (int)tonemap,
               (int)KD_TONEMAP_NEUTRAL);
    const image_encoding encoding = {exposure, tonemap};
    KD_TRY(image_write(&from->held.picture, path, &encoding));
    return KD_OK;
}
