#include "scenes/describe/draft.h"
#include "core/memory.h"

kd_status scene_draft_add_light(scene_draft *to, const light *added) {
    if (to->light_count == to->light_room) {
        const uint32_t room = to->light_room ? 2 * to->light_room : 8;
        KD_TRY(KD_GROW(to->lights, to->light_count, room));
        to->light_room = room;
    }
    to->lights[to->light_count++] = *added;
    return KD_OK;
}

void scene_draft_close(scene_draft *owned) {
    mesh_close(&owned->geometry);
    memory_free(owned->lights);
    memory_free(owned->sky_image);
    memory_free(owned->photon_map);
    memory_free(owned->media);
    memset(owned, 0, sizeof *owned);
}
