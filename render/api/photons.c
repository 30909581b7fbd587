#include "render/api/photons.h"
#include "accel/builders.h"
#include "photon/maps/photon_map.h"
#include "render/api/render_placing.h"
#include "scenes/assembly/scene.h"
#include <string.h>

kd_status photons_emit(photon_file *out, scene *from, const kd_render_options *asked,
                       job *watched) {
    kd_status status = KD_OK;
    kd_render_options method = *asked;
    strcpy(method.integrator, "photon");
    KD_TRY(render_settle_placements(from, &method, 0, RENDER_PLACING_AUTO));
    scene_view view = scene_get_view(from);
    tritree tree;
    memset(&tree, 0, sizeof tree);
    const tritree_input input = {view.mesh.positions, view.mesh.triangles, view.mesh.position_count,
                                 view.mesh.triangle_count};
    const tritree_options how = tritree_options_default();
    job_stage_begin(watched, "build", view.mesh.triangle_count);
    KD_TRY_GOTO(tritree_open(&tree, &input, &how, "auto", watched));
    view.tree = tritree_get_view(&tree);
    photon_options options = photon_options_default();
    options.seed = asked->seed;
    options.photons = asked->photons;
    options.caustics = asked->caustic_photons ? asked->caustic_photons : asked->photons;
    options.strayed = asked->media_photons ? asked->media_photons : asked->photons;
    options.max_depth = (uint32_t)asked->max_depth;
    out->scene = scene_hash(&view);
    KD_TRY_GOTO(photon_lists_open(out->lists, &view, &options, watched));
done:
    tritree_close(&tree);
    return status;
}
