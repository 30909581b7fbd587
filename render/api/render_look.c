#include "render/api/render_look.h"
#include "core/image_processing/finish.h"
#include "core/status.h"
#include "render/frame/catcher.h"
#include "scenes/assembly/scene_camera.h"

bool look_hide_environment(scene_view *view, const kd_render_options *options) {
    const bool named = strcmp(options->background, "environment") != 0;
    view->environment.hidden = named || catcher_exists(view);
    return named;
}

kd_status look_show_background(image **opened, scene_view *view, const kd_render_options *options) {
    if (look_hide_environment(view, options))
        KD_TRY(image_background_open(opened, options->background, options->width, options->height));
    else if (view->environment.hidden)
        log_message(LOG_INFO, "a shadow catcher replaces the environment behind it by --background "
                              "transparent");
    return KD_OK;
}

kd_status render_look_open(render_look *look, const scene *scene, const frame *frame,
                           scene_view *view) {
    const integrator *integrator = frame->integrator;
    /* light paths start in the scene's box, which does not contain the ground */
    const bool traces_light =
        integrator->state_bytes || integrator_maps(integrator, frame->options) != 0;
    const look_request request = {frame->options, &frame->view, integrator->studio, !traces_light};
    return scene_look_open(&look->shown, scene, &request, view);
}

static kd_status light_interior(render_look *look, const render_trees *trees, scene_view *view,
                                const frame *frame, const scene *scene) {
    bool changed = false;
    KD_TRY(scene_look_inside(&look->shown, scene, &frame->view, view, look->lamp, &changed));
    if (!changed || !frame->device_frame) return KD_OK;
    return render_trees_place(frame->device_frame, trees, view, frame->options);
}

kd_status render_look_go_inside(render_look *look, const render_trees *trees, scene_view *view,
                                frame *frame, const scene *scene) {
    const kd_render_options *options = frame->options;
    scene_view interior = *view; /* without the ground */
    interior.mesh.triangle_count = look->shown.triangle_count;
    const vec3 usual = scene_up(scene);
    const vec3 up = scene_up_is_open(scene) ? interior_up(&interior, usual) : usual;
    const interior_kind kind = interior_kind_of(&interior, up);
    if (kind == INTERIOR_NONE || (kind == INTERIOR_DARK && !look_may_change(&look->shown)))
        return KD_OK;
    const float fov_degrees = frame->view.fov_degrees;
    frame->view = room_camera(&interior, up, (float)options->width / (float)options->height);
    if (scene_has_fov(scene)) frame->view.fov_degrees = fov_degrees;
    frame->view_end = frame->view;
    log_message(LOG_INFO, "the scene is an interior; the default camera is inside");
    if (up.z != usual.z) scene_log_up(up);
    look->inside = true;
    look->lamp = kind == INTERIOR_DARK;
    return light_interior(look, trees, view, frame, scene);
}

kd_status render_look_move(render_look *look, const render_trees *trees, scene_view *view,
                           const frame *frame) {
    return look->inside ? light_interior(look, trees, view, frame, trees->moved) : KD_OK;
}
