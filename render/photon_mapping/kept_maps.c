#include "render/photon_mapping/kept_maps.h"
#include "core/hash.h"

/* Identity of what light meets, without reading the mesh, which does not change while trees are
   kept (render_trees.h). */
static uint64_t identity_of(const frame *frame) {
    const scene_view *scene = frame->scene;
    const kd_render_options *options = frame->options;
    const void *mesh[] = {scene->mesh.positions, scene->mesh.triangles,
                          scene->mesh.triangle_materials};
    const uint32_t counts[] = {scene->mesh.triangle_count, scene->material_count,
                               scene->light_count, scene->medium_count};
    uint64_t hash = hash_combine(0, mesh, sizeof mesh);
    hash = hash_combine(hash, counts, sizeof counts);
    hash = hash_combine(hash, scene->lights, scene->light_count * sizeof *scene->lights);
    hash = hash_combine(hash, scene->materials, scene->material_count * sizeof *scene->materials);
    hash = hash_combine(hash, scene->media, scene->medium_count * sizeof *scene->media);
    hash = hash_combine(hash, &scene->total_power, sizeof scene->total_power);
    hash = hash_combine(hash, options->look, strlen(options->look));
    return hash_combine(hash, options->material, strlen(options->material));
}

/* The options that the photons of a map depend on. */
static photon_options essence_of(const photon_options *options, bool rough) {
    photon_options essence = *options;
    memset(essence.deadlines, 0, sizeof essence.deadlines);
    essence.batch_paths = 0;
    if (!rough) return essence;
    memset(essence.suit, 0, sizeof essence.suit);
    essence.photons = essence.caustics = essence.volume_photons = 0;
    return essence;
}

bool kept_maps_take(photon_maps *out, photon_options *made, kept_maps *kept, int slot,
                    const frame *frame, const photon_options *options) {
    if (!kept || !kept->slots[slot].full || ranks_shared(options->comm)) return false;
    kept_slot *from = &kept->slots[slot];
    const bool rough = kept->rough && slot == KEPT_MAPS;
    const photon_options wanted = essence_of(options, rough),
                         is = essence_of(&from->options, rough);
    if (memcmp(&wanted, &is, sizeof wanted) != 0 || from->scene != identity_of(frame) ||
        (!rough && photon_maps_cut(&from->maps)))
        return false;
    *out = from->maps;
    *made = from->options;
    memset(&from->maps, 0, sizeof from->maps);
    from->full = false;
    return true;
}

void kept_maps_give(kept_maps *kept, int slot, const frame *frame, const photon_options *options,
                    photon_maps *owned) {
    const bool made = owned->gather > 0;
    if (!kept || !made || ranks_shared(options->comm)) {
        photon_maps_close(owned);
        return;
    }
    kept_slot *to = &kept->slots[slot];
    photon_maps_close(&to->maps);
    *to = (kept_slot){*owned, *options, identity_of(frame), true};
    memset(owned, 0, sizeof *owned);
}

void kept_maps_drop(kept_maps *kept) {
    for (int i = 0; i < KEPT_SLOTS; ++i) photon_maps_close(&kept->slots[i].maps);
    memset(kept->slots, 0, sizeof kept->slots);
}
