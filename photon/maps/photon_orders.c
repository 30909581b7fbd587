/* Emission orders of the photon maps: what is emitted, where it is stored, and where it ends. */
#include "photon/density/estimators.h"
#include "photon/maps/photon_map.h"

enum { PHOTON_DEPTH_MAX = 255 };
/* first pass number of media emission, above those of the other maps */
enum { MEDIA_PASS = 0x40000000 };

/* Returns which rule of emit.h ended an incomplete list. */
static const char *end_of(const photon_list *list, const photon_order *order) {
    const uint64_t per_photons = emit_paths_per_photons(order);
    if (list->emitted >= per_photons) return "the limit of paths for this number of photons";
    if (list->emitted >= emit_paths_max(order)) return "the limit of paths for this image size";
    return "next to nothing can be hit";
}

void photon_map_say_missing(const photon_list *list, const char *name, const photon_order *order) {
    const uint64_t target = order->target;
    const uint32_t pass = order->emission.pass;
    const uint64_t count = list->count + list->remote_count;
    if (list->complete || target == 0 || (pass >= 2 && pass != MEDIA_PASS)) return;
    if (list->emitted == 0)
        log_message(LOG_WARNING, "%s photon map: empty, because no light emits any power", name);
    else if (list->cut)
        log_message(LOG_WARNING,
                    "%s photon map: the time limit ended emission after %llu of %llu photons", name,
                    (unsigned long long)count, (unsigned long long)target);
    else if (count == 0)
        log_message(LOG_WARNING,
                    "%s photon map: empty, because none of %llu emitted photons was stored; its "
                    "light is missing from the image",
                    name, (unsigned long long)list->emitted);
    else if (order->faint)
        log_message(LOG_WARNING,
                    "%s photon map: emission ended after %llu paths with %llu of %llu photons, "
                    "because the map has less than 1/1000 of the image's light",
                    name, (unsigned long long)list->emitted, (unsigned long long)count,
                    (unsigned long long)target);
    else
        log_message(
            LOG_WARNING,
            "%s photon map: only %llu of %llu photons were stored after emitting %llu (%s); "
            "using these",
            name, (unsigned long long)count, (unsigned long long)target,
            (unsigned long long)list->emitted, end_of(list, order));
}

static photon_order order_make(const photon_options *options, uint32_t kinds, uint64_t target) {
    photon_order order;
    memset(&order, 0, sizeof order);
    order.filter.kinds = kinds;
    order.filter.max_depth =
        options->max_depth < PHOTON_DEPTH_MAX ? options->max_depth : PHOTON_DEPTH_MAX;
    order.filter.max_specular = options->max_specular;
    order.target = target;
    order.batch_paths = options->batch_paths;
    order.comm = options->comm;
    order.distributed = options->distributed;
    return order;
}

/* Applies the limit and the targets that suit the image. */
static void order_suit(photon_order *order, const photon_suit *suit) {
    order->paths_max = suit->paths_max;
    order->faint = suit->faint;
    if (suit->guide_count == 0) return;
    memcpy(order->emission.targets + 1, suit->guides, sizeof suit->guides);
    order->emission.target_count = 1 + suit->guide_count;
    order->emission.guided = PHOTON_GUIDED_SHARE;
}

/* Emission orders of the global and the caustic map. */
static photon_order global_order(const scene_view *scene, const photon_options *options) {
    photon_order order = order_make(options, 1u << PHOTON_INDIRECT, options->photons);
    order.emission = photon_emission_make(options->seed, 2 * options->pass, box3_centre(scene->box),
                                          0.5f * vec3_length(box3_size(scene->box)), false);
    return order;
}

static kd_status caustic_order(photon_order *out, const scene_view *scene,
                               const photon_options *options) {
    emission_target targets[EMISSION_TARGETS] = {{{0, 0, 0}, 0}};
    uint32_t count = 0;
    if (options->caustics) KD_TRY(aim_targets(targets, &count, scene));
    *out = order_make(options, 1u << PHOTON_CAUSTIC, count ? options->caustics : 0);
    out->filter.only_specular = true;
    out->emission = photon_emission_make(options->seed, 2 * options->pass + 1, targets[0].centre,
                                         targets[0].radius, true);
    for (uint32_t i = 1; i < count; ++i) out->emission.targets[i] = targets[i];
    if (count) out->emission.target_count = count;
    return KD_OK;
}

/* Light that media scatter, except light straight from a source. */
static photon_order media_order(const scene_view *scene, const photon_options *options) {
    photon_order order =
        order_make(options, 0, photon_scene_scatters(scene) ? options->volume_photons : 0);
    order.distributed = false; /* lookups in media need all photons */
    order.filter.in_media = 1u << PHOTON_CAUSTIC | 1u << PHOTON_INDIRECT;
    order.filter.beams = photon_media_rows[options->media].beams;
    order.emission =
        photon_emission_make(options->seed, MEDIA_PASS + options->pass, box3_centre(scene->box),
                             0.5f * vec3_length(box3_size(scene->box)), false);
    return order;
}

kd_status photon_orders_make(photon_order out[PHOTON_LISTS], const scene_view *scene,
                             const photon_options *options) {
    out[PHOTON_LIST_GLOBAL] = global_order(scene, options);
    out[PHOTON_LIST_MEDIA] = media_order(scene, options);
    KD_TRY(caustic_order(&out[PHOTON_LIST_CAUSTIC], scene, options));
    for (int i = 0; i < PHOTON_LISTS; ++i) {
        out[i].deadline = options->deadlines[i];
        order_suit(&out[i], &options->suit[i]);
    }
    return KD_OK;
}

void photon_orders_renew(photon_order orders[PHOTON_LISTS], const photon_options *options) {
    photon_emission_renew(&orders[PHOTON_LIST_GLOBAL].emission, 2 * options->pass);
    photon_emission_renew(&orders[PHOTON_LIST_CAUSTIC].emission, 2 * options->pass + 1);
    photon_emission_renew(&orders[PHOTON_LIST_MEDIA].emission, MEDIA_PASS + options->pass);
    for (int i = 0; i < PHOTON_LISTS; ++i) orders[i].deadline = options->deadlines[i];
}

bool photon_scene_scatters(const scene_view *scene) {
    for (uint32_t i = 0; i < scene->medium_count; ++i)
        if (vec3_largest(scene->media[i].scattering) > 0) return true;
    return false;
}
