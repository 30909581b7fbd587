/* Bindings of <kandela/photons.h> under their C names. */
#include "python/ext/render.h"
#include <kandela/photons.h>
#include <stddef.h>

/* kd_photons. Arrays returned by list() keep it alive after it is closed. */
struct photons_handle : closable<kd_photons, kd_photons_close> {
    using closable::closable;
};

static photons_handle *emit(const scene_handle &handle, const render_options &caller_options,
                            nb::object progress) {
    const scene_use scene(handle);
    const render_options options = caller_options;
    const gate::inside marked(scene.door);
    kd_photons *photons = nullptr;
    const kd_status status = watch(
        [&](kd_progress on_progress, void *by) {
            return kd_photons_emit(&photons, scene.c.get(), &options.c, on_progress, by);
        },
        progress, [&] { kd_photons_close(photons); });
    if (status == KD_INTERRUPTED) check_said(status, "the emission of photons was interrupted");
    return new photons_handle(photons);
}

static nb::dict count(const photons_handle &photons, int map) {
    const kd_photon_counts counts =
        kd_photons_count(photons.use("photon map").get(), (kd_photon_map)map);
    nb::dict out;
    out["stored"] = counts.stored;
    out["emitted"] = counts.emitted;
    out["watts"] = counts.watts;
    out["complete"] = counts.complete != 0;
    return out;
}

/* Returns the photons as bytes, (stored, sizeof(kd_photon)), without copying them. */
static nb::object list(const photons_handle &photons, int map) {
    const std::shared_ptr<kd_photons> used = photons.use("photon map");
    const kd_photon *first = kd_photons_list(used.get(), (kd_photon_map)map);
    const size_t shape[2] = {(size_t)kd_photons_count(used.get(), (kd_photon_map)map).stored,
                             sizeof(kd_photon)};
    return nb::cast(nb::ndarray<nb::numpy, const uint8_t>(first, 2, shape, kept(used)));
}

static photons_handle *load(const std::string &path) {
    kd_photons *photons = nullptr;
    check_unlocked([&] { return kd_photons_load(&photons, path.c_str()); });
    return new photons_handle(photons);
}

void bind_photons(nb::module_ &m) {
    nb::class_<photons_handle>(m, "Photons", "kd_photons");
    m.def("kd_photons_emit", emit, nb::arg("scene"), nb::arg("options"),
          nb::arg("progress").none() = nb::none(),
          "Emits; progress(stage, done, total) is called in this thread, True from it ends the "
          "work.");
    m.def(
        "kd_photons_close", [](photons_handle &photons) { photons.close(); }, nb::arg("photons"));
    m.def("kd_photons_count", count, nb::arg("photons"), nb::arg("map"),
          "kd_photon_counts as a dict; map 0 global, 1 caustic, 2 media.");
    m.def("kd_photons_list", list, nb::arg("photons"), nb::arg("map"),
          "(stored, 60) bytes, a kd_photon a row, not a copy.");
    m.def(
        "kd_photons_write",
        [](const photons_handle &photons, const std::string &path) {
            const std::shared_ptr<kd_photons> used = photons.use("photon map");
            check_unlocked([&] { return kd_photons_write(used.get(), path.c_str()); });
        },
        nb::arg("photons"), nb::arg("path"), "A file that RenderOptions.photon_map takes.");
    m.def("kd_photons_load", load, nb::arg("path"), "Reads a file that kd_photons_write wrote.");
}
