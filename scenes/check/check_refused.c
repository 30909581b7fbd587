/* What a rendering refuses although each line and triangle is sound: it is asked for, by putting
   the scene together as a rendering does. */
#include "core/memory.h"
#include "core/status.h"
#include "scenes/assembly/scene_parts.h"
#include "scenes/check/check_parts.h"

static void textures_tell(examination *of, const texture_store *textures) {
    for (uint32_t i = 0; i < textures->image_count; ++i) {
        const texture_image *image = &textures->images[i];
        if (image->trouble[0])
            check_note(of, of->path, 0, "unusable-texture", CHECK_WARNING,
                       "found a texture that cannot be used: %s", image->trouble);
    }
}

kd_status check_refused(examination *of) {
    scene_draft draft;
    scene *made = NULL;
    kd_render_options options;
    memset(&draft, 0, sizeof draft);
    kd_render_options_default(&options);
    draft.geometry = of->body; /* lent: taken back below */
    KD_TRY(KD_RESERVE_ZEROED(made, 1));
    log_mute(true); /* the report says it */
    kd_status status = scene_assemble_parts(made, &draft, &options);
    log_mute(false);
    if (status == KD_ERROR_INPUT) {
        check_note(of, of->path, 0, "refused", CHECK_ERROR, "%s", kd_last_error());
        status_clear();
        status = KD_OK;
    }
    textures_tell(of, &made->textures);
    memset(&draft.geometry, 0, sizeof draft.geometry);
    memset(&made->geometry, 0, sizeof made->geometry);
    scene_draft_close(&draft);
    scene_close(made);
    return status;
}
