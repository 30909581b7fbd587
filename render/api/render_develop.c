/* The result of a rendering from its film. */
#include "render/api/render_develop.h"
#include "core/status.h"
#include "render/frame/light_groups.h"
#include "scenes/mesh/origin.h"

/* The rows are the axes right, up and back, so the camera looks along its -z axis. The matrix is
   for positions in the coordinates of the scene's files. */
static void write_camera_matrix(float matrix[16], const camera *view, const double origin[3]) {
    const frame3 axes = camera_frame(view);
    const vec3 row[3] = {axes.tangent, axes.bitangent, vec3_negate(axes.normal)};
    for (int r = 0; r < 3; ++r) {
        matrix[4 * r] = row[r].x;
        matrix[4 * r + 1] = row[r].y;
        matrix[4 * r + 2] = row[r].z;
        matrix[4 * r + 3] = -vec3_dot(row[r], view->eye);
        if (!origin_is_zero(origin)) {
            double eye[3], sum = 0;
            origin_to_world(eye, origin, view->eye);
            for (int i = 0; i < 3; ++i) sum -= (double)vec3_axis(row[r], i) * eye[i];
            matrix[4 * r + 3] = (float)sum;
        }
    }
    matrix[12] = matrix[13] = matrix[14] = 0;
    matrix[15] = 1;
}

kd_status render_develop(render_result *out, const film *film, const frame *frame, double started) {
    film = light_groups_film(frame->groups, film);
    KD_TRY(film_resolve(film, &out->picture));
    if (film->width != frame->options->width || film->height != frame->options->height) {
        out->picture.left = film->x0;
        out->picture.top = film->y0;
        out->picture.whole_width = frame->options->width;
        out->picture.whole_height = frame->options->height;
    }
    write_camera_matrix(out->picture.world_to_camera, &out->view, frame->scene->origin);
    memcpy(out->picture.scene_origin, frame->scene->origin, sizeof out->picture.scene_origin);
    out->samples_done = (int32_t)film_min_samples(film);
    out->picture.samples_per_pixel = out->samples_done;
    strcpy(out->picture.method, frame->integrator->name);
    out->picture.render_seconds = timing_now() - started;
    out->frame = frame->statistics;
    out->image_hash = image_hash(&out->picture);
    KD_TRY(film_error(&out->error, film));
    out->on_target = frame->on_target;
    out->maps_cut = frame->film_cut;
    KD_TRY(film_mean(out->mean_radiance, film));
    if (frame->statistics.nan_samples)
        log_message(LOG_WARNING, "%llu samples were NaN or infinite and count as black",
                    (unsigned long long)frame->statistics.nan_samples);
    return KD_OK;
}
