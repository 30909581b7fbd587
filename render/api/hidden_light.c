/* Decides whether the light of a scene reaches what the camera sees through openings only, so that
   vcm guides paths through them (vcm_guide.h). Traces the pilot of vcm, in a tree of its own. */
#include "accel/builders.h"
#include "render/api/omissions.h"
#include "render/integrators/integrators.h"
#include "render/integrators/vcm.h"
#include "render/photon_mapping/photon.h"

/* Limits of the tree, whose construction takes about 10 ms, and of the picture that the pilot
 * takes.
 */
enum { TRIANGLES_MAX = 1 << 14, PIXELS_MAX = 1 << 16 };

static bool guides(frame *frame) {
    const integrator *method = integrator_find("vcm");
    bool found = false;
    if (method->prepare(frame) == KD_OK) {
        light_source light;
        memset(&light, 0, sizeof light);
        method->show_light(frame, &light);
        found = light.vcm && light.vcm->guide.count > 0;
        method->close(frame);
    }
    return found;
}

bool scene_light_is_hidden(const scene *scene, const kd_render_options *options) {
    scene_view view = scene_get_view(scene);
    kd_render_options reduced = *options;
    while ((int64_t)reduced.width * reduced.height > PIXELS_MAX) {
        reduced.width = (reduced.width + 1) / 2;
        reduced.height = (reduced.height + 1) / 2;
    }
    const tritree_options tree_options = tritree_options_default();
    const tritree_input input = {view.mesh.positions, view.mesh.triangles, view.mesh.position_count,
                                 view.mesh.triangle_count};
    frame frame = {.scene = &view,
                   .options = &reduced,
                   .view = scene_camera(scene),
                   .view_end = scene_camera_end(scene),
                   .moves = scene_camera_moves(scene)};
    tritree tree;
    bool hidden = false;
    memset(&tree, 0, sizeof tree);
    if (options->width < 1 || options->height < 1 || view.mesh.triangle_count == 0 ||
        view.mesh.triangle_count > TRIANGLES_MAX || scene_instance_count(scene) > 0 ||
        scene_camera_is_default(scene))
        return false;
    if (tritree_open(&tree, &input, &tree_options, "auto", NULL) == KD_OK) {
        view.tree = tritree_get_view(&tree);
        hidden = guides(&frame);
    }
    tritree_close(&tree);
    return hidden;
}
