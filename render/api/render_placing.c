#include "render/api/render_placing.h"
#include "core/device/device.h"
#include "core/status.h"
#include "render/integrators.h"
#include "scenes/assembly/scene.h"

enum { COPIES_SHARE = 8 }; /* copies may take a part of so many of the memory, if nobody says */

const char *render_placing_name(int index) {
    static const char *const names[] = {"auto", "keep", "copy", NULL};
    return names[index];
}

kd_status render_settle_placements(scene *of, const kd_render_options *options, uint64_t most,
                                   render_placing how) {
    const uint32_t count = scene_placement_count(of);
    const integrator *method = integrator_find(options->integrator);
    device here;
    if (count == 0) return KD_OK;
    KD_REQUIRE(method, KD_ERROR_USAGE, "no integrator is called \"%s\"", options->integrator);
    device_cpu_describe(&here);
    const uint64_t bytes = scene_copies_bytes(of), room = most ? most : here.memory_bytes;
    KD_REQUIRE(method->placed || how != RENDER_PLACING_KEEP, KD_ERROR_USAGE,
               "%s takes copies of placed meshes alone", method->name);
    KD_REQUIRE(method->placed || room == 0 || bytes <= room, KD_ERROR_USAGE,
               "%s takes copies of placed meshes alone: of %u placements they need about %llu "
               "bytes of %llu (some integrators, as path, need none)",
               method->name, count, (unsigned long long)bytes, (unsigned long long)room);
    const bool small = bytes <= room / COPIES_SHARE;
    if (method->placed && (how == RENDER_PLACING_KEEP || (how == RENDER_PLACING_AUTO && !small))) {
        log_message(LOG_INFO, "%u placements in memory, no copies", count);
        return KD_OK;
    }
    log_message(LOG_INFO, "%u placements: copies, about %llu bytes with their tree", count,
                (unsigned long long)bytes);
    return scene_copy_placements(of);
}
