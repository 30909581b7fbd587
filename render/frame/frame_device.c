/* The copy of a frame on a CUDA device: tree, scene, film. */
#include "accel/build_memory.h"
#include "accel/builders.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "render/frame/frame.h"

kd_status frame_cuda_pack(frame_cuda *device_frame) {
    KD_TRY(tritree_cuda_pack(&device_frame->tree, NULL));
    device_frame->scene.view.tree = device_frame->tree.view;
    return KD_OK;
}

void frame_cuda_remove_scene(frame_cuda *device_frame) {
    scene_cuda_close(&device_frame->scene);
    tritree_cuda_close(&device_frame->tree);
}

kd_status frame_cuda_open(frame_cuda *out, const device *device) {
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    KD_TRY(device_enter(device->index, &out->previous));
    out->entered = true;
    void *counts = NULL;
    const sample_counts none = {0, 0};
    KD_TRY_GOTO(device_memory_reserve(&counts, sizeof none));
    out->counts = (sample_counts *)counts;
    KD_TRY_GOTO(device_memory_upload(out->counts, &none, sizeof none));
    return KD_OK;
done:
    frame_cuda_close(out);
    return status;
}

void frame_cuda_close(frame_cuda *owned) {
    if (!owned->entered) return;
    frame_cuda_remove_scene(owned);
    device_buffer_free(&owned->work);
    device_memory_free(owned->pixels);
    device_memory_free(owned->counts);
    device_leave(owned->previous);
    memset(owned, 0, sizeof *owned);
}

/* --- tree and scene --------------------------------------------------------------------------- */

/* Makes *out from the tree that a build has left in device memory. */
static kd_status take_tree(tritree_cuda *out, const tritree_build_memory *memory,
                           const tritree_built *built, uint32_t triangle_count) {
    const tritree_build_cuda *build = &memory->build;
    tritree_view view;
    memset(&view, 0, sizeof view);
    view.nodes = build->nodes;
    view.references = build->references;
    view.positions = build->input.positions;
    view.triangles = build->input.triangles;
    view.box = built->box;
    view.node_count = built->node_count;
    view.reference_count = built->reference_count;
    view.triangle_count = triangle_count;
    KD_TRY(tritree_cuda_open_view(out, &view, build->input.position_count, build->stream));
    return device_wait();
}

static kd_status build_on_device(frame_cuda *device_frame, const scene_view *host,
                                 const tritree_options *options, const char *builder,
                                 tritree *built) {
    const tritree_input input = {host->mesh.positions, host->mesh.triangles,
                                 host->mesh.position_count, host->mesh.triangle_count};
    const tritree_builder_cuda *row = tritree_builder_cuda_find(builder);
    KD_REQUIRE(row, KD_ERROR_USAGE, "no tree builder of CUDA devices is called \"%s\"", builder);
    tritree_build_memory memory;
    tritree_built made;
    kd_status status = KD_OK;
    KD_TRY(tritree_build_memory_build(&memory, &made, &input, options, row));
    KD_TRY_GOTO(take_tree(&device_frame->tree, &memory, &made, input.triangle_count));
    if (built) KD_TRY_GOTO(tritree_build_download(&memory, built, &input));
done:
    tritree_build_memory_close(&memory);
    return status;
}

kd_status frame_cuda_place_scene(frame_cuda *device_frame, const scene_view *host,
                                 const tritree *host_tree, const tritree_options *options,
                                 const char *builder, tritree *built) {
    if (host_tree)
        KD_TRY(tritree_cuda_open(&device_frame->tree, host_tree));
    else
        KD_TRY(build_on_device(device_frame, host, options, builder, built));
    KD_TRY(tritree_cuda_settle(&device_frame->tree, NULL));
    KD_TRY(scene_cuda_open(&device_frame->scene, host, &device_frame->tree.view));
    return KD_OK;
}

/* --- film and samples ------------------------------------------------------------------------- */

static uint64_t film_bytes(const film *film) {
    return (uint64_t)film->width * (uint64_t)film->height * sizeof *film->pixels;
}

kd_status frame_cuda_place_film(frame_cuda *device_frame, const film *film) {
    void *pixels = NULL;
    if (!device_frame->pixels) {
        KD_TRY(device_memory_reserve(&pixels, film_bytes(film)));
        device_frame->pixels = (film_pixel *)pixels;
    }
    if (!film->resumed) return device_memory_clear(device_frame->pixels, film_bytes(film));
    return device_memory_upload(device_frame->pixels, film->pixels, film_bytes(film));
}

kd_status frame_cuda_fetch_film(const frame_cuda *device_frame, film *film) {
    return device_memory_download(film->pixels, device_frame->pixels, film_bytes(film));
}

kd_status frame_cuda_place_rows(frame_cuda *device_frame, const film *film, int32_t top,
                                int32_t bottom) {
    const int64_t begin = (int64_t)top * film->width, end = (int64_t)bottom * film->width;
    return device_memory_upload(device_frame->pixels + begin, film->pixels + begin,
                                (uint64_t)(end - begin) * sizeof *film->pixels);
}

kd_status frame_cuda_fetch_rows(const frame_cuda *device_frame, film *film, int32_t top,
                                int32_t bottom) {
    const int64_t begin = (int64_t)top * film->width, end = (int64_t)bottom * film->width;
    return device_memory_download(film->pixels + begin, device_frame->pixels + begin,
                                  (uint64_t)(end - begin) * sizeof *film->pixels);
}

uint64_t frame_cuda_launch_samples(const integrator *integrator, const kd_render_options *options) {
    return integrator->launch_samples ? integrator->launch_samples(options) : LAUNCH_SAMPLES;
}

uint64_t frame_cuda_tiled_pixels(int32_t width, int32_t height) {
    return ((uint64_t)width + 7) / 8 * (((uint64_t)height + 3) / 4) * 32;
}

int32_t frame_cuda_rows(int32_t width, int32_t height, uint32_t count, uint64_t launch_samples) {
    if (frame_cuda_tiled_pixels(width, height) * count <= launch_samples) return height;
    const uint64_t rows = launch_samples / ((uint64_t)width * count) / 8 * 8;
    return rows <= 8 ? 8 : rows > (uint64_t)height ? height : (int32_t)rows;
}

kd_status frame_cuda_take(const frame *frame, const integrator *integrator,
                          const sample_range *range, sample_counts *counts) {
    const sample_counts none = {0, 0};
    sample_counts sample;
    frame->device_frame->stopped = false;
    KD_TRY(integrator->launch(frame, range));
    KD_TRY(device_wait());
    KD_TRY(device_memory_download(&sample, frame->device_frame->counts, sizeof sample));
    KD_TRY(device_memory_upload(frame->device_frame->counts, &none, sizeof none));
    counts->rays += sample.rays;
    counts->nan_samples += sample.nan_samples;
    return KD_OK;
}
