/* <kandela/render.h> by its own names: scenes, options, pictures. */
#include "python/ext/render.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

/* kd_image, closed with the object or before; planes that were given out keep it. */
struct image_handle : closable<kd_image, kd_image_close> {
    bool interrupted;
    image_handle(kd_image *image, bool cut) : closable(image), interrupted(cut) {}
};

/* --- scenes --------------------------------------------------------------------------------------
 */

/* make(&scene, &options) of a scene, which takes its time; the options take what it says. */
template <typename function>
static scene_handle *make_scene(function make, render_options &options) {
    struct making {
        kd_scene *scene = nullptr;
        render_options options;
        ~making() { kd_scene_close(scene); }
    };
    const auto of = std::make_shared<making>();
    of->options = options;
    check_heard([=](const std::atomic<bool> &) { return make(&of->scene, &of->options.c); }, true,
                nullptr);
    options = of->options;
    kd_scene *made = of->scene;
    of->scene = nullptr;
    return new scene_handle(made);
}

static scene_handle *scene_load(const std::string &path, render_options &options) {
    return make_scene(
        [=](kd_scene **made, kd_render_options *taken) {
            return kd_scene_load(made, path.c_str(), taken);
        },
        options);
}

/* name, vertices, indices, normals, texcoords; the last three may be None. */
typedef std::tuple<std::string, nb::object, nb::object, nb::object, nb::object> given_mesh;

static uint64_t rows_of(nb::handle given, const char *name, uint64_t columns) {
    const array taken = array_of(given, name, false);
    if (taken.shape.size() != 2 || (uint64_t)taken.shape[1] != columns)
        throw nb::value_error((std::string(name) + " have another shape than expected: (count, " +
                               std::to_string(columns) + ")")
                                  .c_str());
    return taken.rows();
}

static kd_scene_mesh mesh_of(const given_mesh &from, array keep[4]) {
    kd_scene_mesh mesh = {};
    const nb::object &indices = std::get<2>(from);
    mesh.name = std::get<0>(from).c_str();
    mesh.vertex_count = rows_of(std::get<1>(from), "vertices", 3);
    mesh.vertices = (const float *)array_data(std::get<1>(from), "vertices", "float32",
                                              3 * mesh.vertex_count, false, &keep[0]);
    mesh.triangle_count = indices.is_none() ? mesh.vertex_count / 3 : rows_of(indices, "faces", 3);
    mesh.indices = (const uint32_t *)array_data(indices, "faces", "uint32|int32",
                                                3 * mesh.triangle_count, false, &keep[1]);
    mesh.normals = (const float *)array_data(std::get<3>(from), "normals", "float32",
                                             3 * mesh.vertex_count, false, &keep[2]);
    mesh.texcoords = (const float *)array_data(std::get<4>(from), "texcoords", "float32",
                                               2 * mesh.vertex_count, false, &keep[3]);
    return mesh;
}

static scene_handle *scene_parse(const std::string &text, std::optional<std::string> folder,
                                 const std::vector<given_mesh> &given, render_options &options) {
    std::vector<array> keep(4 * given.size());
    std::vector<kd_scene_mesh> meshes;
    for (size_t i = 0; i < given.size(); ++i) meshes.push_back(mesh_of(given[i], &keep[4 * i]));
    std::vector<std::string> names;
    for (const given_mesh &one : given) names.push_back(std::get<0>(one));
    return make_scene(
        [=](kd_scene **made, kd_render_options *taken) {
            (void)keep;
            std::vector<kd_scene_mesh> all = meshes;
            for (size_t i = 0; i < all.size(); ++i) all[i].name = names[i].c_str();
            return kd_scene_parse(made, text.data(), text.size(),
                                  folder ? folder->c_str() : nullptr, all.data(), all.size(),
                                  taken);
        },
        options);
}

/* --- rendering -----------------------------------------------------------------------------------
 */

static image_handle *render(const scene_handle &of, const render_options &given,
                            nb::object progress) {
    const scene_use scene(of);
    const render_options options = given;
    const gate::inside marked(scene.door);
    kd_image *image = nullptr;
    const kd_status status =
        watch([&](kd_progress hear,
                  void *by) { return kd_render(&image, scene.c.get(), &options.c, hear, by); },
              progress, [&] { kd_image_close(image); });
    return new image_handle(image, status == KD_INTERRUPTED);
}

/* A plane as it lies in the image, which it keeps; None if there is none. */
static nb::object channel(const image_handle &of, const std::string &name) {
    const std::shared_ptr<kd_image> used = of.use("picture");
    const kd_image *image = used.get();
    const float *plane = kd_image_channel(image, name.c_str());
    if (!plane) return nb::none();
    const size_t shape[2] = {(size_t)kd_image_height(image), (size_t)kd_image_width(image)};
    return nb::cast(nb::ndarray<nb::numpy, const float>(plane, 2, shape, kept(used)));
}

static void image_write(const image_handle &image, const std::string &path, float exposure,
                        int tonemap) {
    const std::shared_ptr<kd_image> used = image.use("picture");
    check_unlocked(
        [&] { return kd_image_write(used.get(), path.c_str(), exposure, (kd_tonemap)tonemap); });
}

/* --- names ---------------------------------------------------------------------------------------
 */

typedef nb::class_<render_options> options_class;

static void bind_option_texts(options_class &bound) {
#define TEXT(field)                                                                                \
    bound.def_prop_rw(                                                                             \
        #field, [](const render_options &self) { return std::string(self.c.field); },              \
        [](render_options &self, const std::string &to) { text_set(self.c.field, to, #field); })
    TEXT(integrator);
    TEXT(builder);
    TEXT(device);
    TEXT(kernel);
    TEXT(channel);
    TEXT(estimator);
    TEXT(lookup);
    TEXT(maps);
    TEXT(media);
#undef TEXT
    bound.def_prop_rw(
        "photon_map",
        [](const render_options &self) {
            return self.c.photon_map ? nb::cast(self.c.photon_map) : nb::none();
        },
        [](render_options &self, const std::string &to) {
            self.photon_map = to;
            self.c.photon_map = self.photon_map.c_str();
        });
}

static void bind_option_numbers(options_class &bound) {
#define NUMBER(field)                                                                              \
    bound.def_prop_rw(                                                                             \
        #field, [](const render_options &self) { return self.c.field; },                           \
        [](render_options &self, decltype(kd_render_options::field) to) { self.c.field = to; })
    NUMBER(width);
    NUMBER(height);
    NUMBER(spp);
    NUMBER(max_depth);
    NUMBER(photons);
    NUMBER(caustic_photons);
    NUMBER(gather);
    NUMBER(radius);
    NUMBER(final_gather);
    NUMBER(seed);
    NUMBER(threads);
    NUMBER(time_seconds);
    NUMBER(exposure);
    NUMBER(sah_traversal_cost);
    NUMBER(sah_intersect_cost);
    NUMBER(sah_empty_factor);
    NUMBER(precompute);
    NUMBER(passes);
    NUMBER(alpha);
    NUMBER(target_error);
    NUMBER(batches);
    NUMBER(media_photons);
    NUMBER(device_paths);
    NUMBER(filter);
    NUMBER(frame);
    NUMBER(shutter);
    NUMBER(clamp);
    NUMBER(maps_ahead);
    NUMBER(allow_outside);
    NUMBER(max_texture_memory);
#undef NUMBER
    bound.def_prop_rw(
        "tonemap", [](const render_options &self) { return (int)self.c.tonemap; },
        [](render_options &self, int to) { self.c.tonemap = (kd_tonemap)to; });
    bound.def_prop_rw(
        "crop",
        [](const render_options &self) {
            return std::make_tuple(self.c.crop[0], self.c.crop[1], self.c.crop[2], self.c.crop[3]);
        },
        [](render_options &self, std::tuple<int, int, int, int> to) {
            std::tie(self.c.crop[0], self.c.crop[1], self.c.crop[2], self.c.crop[3]) = to;
        });
}

static void bind_image(nb::module_ &m) {
    nb::class_<image_handle>(m, "Image", "kd_image: a rendered picture")
        .def_ro("interrupted", &image_handle::interrupted);
    m.def("kd_render", render, nb::arg("scene"), nb::arg("options"),
          nb::arg("progress").none() = nb::none(),
          "Renders; progress(stage, done, total) is called in this thread, True from it ends the "
          "work.");
    m.def(
        "kd_image_close", [](image_handle &image) { image.close(); }, nb::arg("image"));
    m.def("kd_image_width",
          [](const image_handle &image) { return kd_image_width(image.use("picture").get()); });
    m.def("kd_image_height",
          [](const image_handle &image) { return kd_image_height(image.use("picture").get()); });
    m.def("kd_image_samples",
          [](const image_handle &image) { return kd_image_samples(image.use("picture").get()); });
    m.def("kd_image_hash",
          [](const image_handle &image) { return kd_image_hash(image.use("picture").get()); });
    m.def("kd_image_channel", channel, nb::arg("image"), nb::arg("name"),
          "(height, width) float32, not a copy; None if there is no such channel.");
    m.def("kd_image_write", image_write, nb::arg("image"), nb::arg("path"), nb::arg("exposure"),
          nb::arg("tonemap"), "By suffix: .png, .exr, .pfm.");
}

void bind_render(nb::module_ &m) {
    options_class bound(m, "RenderOptions", "kd_render_options: made by kd_render_options_default");
    bind_option_texts(bound);
    bind_option_numbers(bound);
    bound.def("copy", [](const render_options &self) { return render_options(self); });
    m.def(
        "kd_render_options_default", [] { return render_options(); },
        "Options with their defaults.");
    m.attr("kd_render_options_default_sized") = m.attr("kd_render_options_default");
    nb::class_<scene_handle>(m, "Scene", "kd_scene");
    m.def("kd_scene_load", scene_load, nb::arg("path"), nb::arg("options"),
          "A scene of a file; the options take what it says.");
    m.def("kd_scene_parse", scene_parse, nb::arg("text"), nb::arg("folder").none(),
          nb::arg("meshes"), nb::arg("options"),
          "A scene of a description; meshes are (name, vertices, faces, normals, texcoords).");
    m.def(
        "kd_scene_close", [](scene_handle &scene) { scene.close(); }, nb::arg("scene"));
    m.def(
        "kd_scene_count",
        [](const scene_handle &scene) {
            const kd_scene_counts counts = kd_scene_count(scene.use("scene").get());
            nb::dict out;
            out["triangles"] = counts.triangles;
            out["materials"] = counts.materials;
            out["lights"] = counts.lights;
            return out;
        },
        nb::arg("scene"));
    bind_image(m);
    bind_photons(m);
}
