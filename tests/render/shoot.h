/* Renders a scene built in code, as render_run does for a scene from a file. */
#ifndef KD_TESTS_SHOOT_H
#define KD_TESTS_SHOOT_H
#include "accel/builders.h"
#include "core/image/image.h"
#include "core/job.h"
#include "core/parallel/parallel.h"
#include "render/frame/film.h"
#include "render/frame/frame.h"
#include "render/integrators/integrators.h"
#include "scene_fixture.h"
#include "scenes/describe/render_options.h"

typedef struct shot {
    image picture;
    frame_statistics statistics;
    kd_status status;
} shot;

/* Expects KD_OK or an interruption; after any other status the picture is zeroed. */
static inline shot shoot(const scene_fixture *stage, const camera *view,
                         const kd_render_options *options, job_control *job) {
    shot taken;
    memset(&taken, 0, sizeof taken);
    scene_view shown = fixture_view(stage);
    const tritree_input input = {shown.mesh.positions, shown.mesh.triangles,
                                 shown.mesh.position_count, shown.mesh.triangle_count};
    const tritree_options tree_options = tritree_options_default();
    const int32_t whole[4] = {0, 0, options->width, options->height};
    tritree tree;
    film negative;
    memset(&tree, 0, sizeof tree);
    memset(&negative, 0, sizeof negative);
    parallel_set_threads(options->threads);
    frame frame = {.scene = &shown, .options = options, .view = *view, .job = job};
    if (options->time_seconds > 0) frame.deadline = timing_now() + options->time_seconds;
    const integrator *integrator = integrator_find(options->integrator);
    taken.status = render_options_check(options); /* as render_run does */
    if (taken.status == KD_OK)
        taken.status = tritree_open(&tree, &input, &tree_options, "auto", NULL);
    if (taken.status == KD_OK) {
        shown.tree = tritree_get_view(&tree);
        taken.status = film_open(&negative, options->crop[2] ? options->crop : whole);
    }
    if (taken.status == KD_OK && integrator->prepare) taken.status = integrator->prepare(&frame);
    if (taken.status == KD_OK) {
        taken.status = frame_run(&frame, integrator, &negative);
        if (integrator->close) integrator->close(&frame);
        taken.statistics = frame.statistics;
        const kd_status developed = film_resolve(&negative, &taken.picture);
        if (developed != KD_OK) taken.status = developed;
    }
    film_close(&negative);
    tritree_close(&tree);
    return taken;
}

static inline double shot_mean(const shot *shot, const char *channel) {
    const float *plane = image_plane(&shot->picture, channel);
    const int64_t count = (int64_t)shot->picture.width * shot->picture.height;
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += (double)plane[i];
    return sum / (double)count;
}

#endif
