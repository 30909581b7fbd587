/* Bindings of <kandela/render.h> under their C names: scenes, options, images. */
#include "python/ext/render.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

/* kd_image. Arrays returned by channel() keep it alive after it is closed. */
struct image_handle : closable<kd_image, kd_image_close> {
    bool interrupted;
    image_handle(kd_image *image, bool cut) : closable(image), interrupted(cut) {}
};

/* --- scenes ----------------------------------------------------------------------------------- */

/* Creates a scene by make(&scene, &options) as a long call; the scene sets some of the options. */
template <typename function>
static scene_handle *make_scene(function make, render_options &options) {
    struct making {
        kd_scene *scene = nullptr;
        render_options options;
        ~making() { kd_scene_close(scene); }
    };
    const auto task = std::make_shared<making>();
    task->options = options;
    check_with_progress(
        [=](const std::atomic<bool> &) { return make(&task->scene, &task->options.c); }, true,
        nullptr);
    options = task->options;
    kd_scene *made = task->scene;
    task->scene = nullptr;
    return new scene_handle(made);
}

static scene_handle *scene_load(const std::string &path, render_options &options) {
    return make_scene(
        [=](kd_scene **made, kd_render_options *taken) {
            return kd_scene_load(made, path.c_str(), taken);
        },
        options);
}

/* (name, vertices, indices, normals, texcoords); the last three may be None. */
typedef std::tuple<std::string, nb::object, nb::object, nb::object, nb::object> given_mesh;

static uint64_t rows_of(nb::handle object, const char *name, uint64_t columns) {
    const array taken = array_of(object, name, false);
    if (taken.shape.size() != 2 || (uint64_t)taken.shape[1] != columns)
        throw nb::value_error(("`" + std::string(name) + "` must have the shape (count, " +
                               std::to_string(columns) + ")")
                                  .c_str());
    return taken.rows();
}

static kd_scene_mesh mesh_of(const given_mesh &given_mesh, array keep[4]) {
    kd_scene_mesh mesh = {};
    const nb::object &indices = std::get<2>(given_mesh);
    mesh.name = std::get<0>(given_mesh).c_str();
    mesh.vertex_count = rows_of(std::get<1>(given_mesh), "vertices", 3);
    mesh.vertices = (const float *)array_data(std::get<1>(given_mesh), "vertices", "float32",
                                              3 * mesh.vertex_count, false, &keep[0]);
    mesh.triangle_count = indices.is_none() ? mesh.vertex_count / 3 : rows_of(indices, "faces", 3);
    mesh.indices = (const uint32_t *)array_data(indices, "faces", "uint32|int32",
                                                3 * mesh.triangle_count, false, &keep[1]);
    mesh.normals = (const float *)array_data(std::get<3>(given_mesh), "normals", "float32",
                                             3 * mesh.vertex_count, false, &keep[2]);
    mesh.texcoords = (const float *)array_data(std::get<4>(given_mesh), "texcoords", "float32",
                                               2 * mesh.vertex_count, false, &keep[3]);
    return mesh;
}

static scene_handle *scene_parse(const std::string &text, std::optional<std::string> folder,
                                 const std::vector<given_mesh> &given_meshes,
                                 render_options &options) {
    std::vector<array> keep(4 * given_meshes.size());
    std::vector<kd_scene_mesh> meshes;
    for (size_t i = 0; i < given_meshes.size(); ++i)
        meshes.push_back(mesh_of(given_meshes[i], &keep[4 * i]));
    std::vector<std::string> names;
    for (const given_mesh &one : given_meshes) names.push_back(std::get<0>(one));
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

/* --- rendering -------------------------------------------------------------------------------- */

static image_handle *render(const scene_handle &handle, const render_options &caller_options,
                            nb::object progress) {
    const scene_use scene(handle);
    const render_options options = caller_options;
    const gate::inside marked(scene.door);
    kd_image *image = nullptr;
    const kd_status status = watch(
        [&](kd_progress on_progress, void *by) {
            return kd_render(&image, scene.c.get(), &options.c, on_progress, by);
        },
        progress, [&] { kd_image_close(image); });
    return new image_handle(image, status == KD_INTERRUPTED);
}

/* Returns a channel without copying it; None if the image has no such channel. */
static nb::object channel(const image_handle &handle, const std::string &name) {
    const std::shared_ptr<kd_image> used = handle.use("picture");
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

/* --- names ------------------------------------------------------------------------------------ */

/* kd_render_options does not copy file names, so the string is stored beside it. */
static void option_set(render_options &options, const std::string &name, const std::string &text) {
    const bool file = name == "photon_map";
    if (file) options.photon_map = text;
    const char *kept = file ? options.photon_map.c_str() : text.c_str();
    check(kd_render_options_set(&options.c, name.c_str(), kept));
}

static std::string option_get(const render_options &options, const std::string &name) {
    char text[4096];
    check(kd_render_options_get(&options.c, name.c_str(), text, sizeof text));
    return text;
}

static nb::dict option_info(int index) {
    static const char *const kinds[] = {"integer", "number", "name", "file"};
    kd_render_option row;
    check(kd_render_option_get_info(&row, index));
    nb::dict out;
    out["name"] = row.name;
    out["kind"] = kinds[row.kind];
    out["count"] = row.count;
    out["alias"] = row.alias != 0;
    out["expected"] = row.expected;
    out["unit"] = row.unit;
    out["initial"] = row.initial;
    out["help"] = row.help;
    return out;
}

static void bind_options(nb::module_ &m) {
    nb::class_<render_options>(m, "RenderOptions",
                               "kd_render_options: made by kd_render_options_default")
        .def("copy", [](const render_options &self) { return render_options(self); });
    m.def(
        "kd_render_options_default", [] { return render_options(); },
        "Options with their defaults.");
    m.attr("kd_render_options_default_sized") = m.attr("kd_render_options_default");
    m.def("kd_render_option_count", kd_render_option_count);
    m.def("kd_render_option_get_info", option_info, nb::arg("index"),
          "A row of the options, as a dict.");
    m.def("kd_render_options_set", option_set, nb::arg("options"), nb::arg("name"), nb::arg("text"),
          "Sets an option from text, as the command line does.");
    m.def("kd_render_options_get", option_get, nb::arg("options"), nb::arg("name"),
          "An option's value as text.");
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
    m.def(
        "kd_image_read",
        [](const std::string &path, const render_options &options) {
            kd_image *image = nullptr;
            check_unlocked([&] { return kd_image_read(&image, path.c_str(), &options.c); });
            return new image_handle(image, false);
        },
        nb::arg("path"), nb::arg("options"), "Reads a picture of any format.");
    m.def("kd_image_write", image_write, nb::arg("image"), nb::arg("path"), nb::arg("exposure"),
          nb::arg("tonemap"), "By suffix: .png, .exr, .pfm.");
}

void bind_render(nb::module_ &m) {
    bind_options(m);
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
    m.def(
        "kd_scene_origin",
        [](const scene_handle &scene) {
            double origin[3];
            kd_scene_origin(scene.use("scene").get(), origin);
            return nb::make_tuple(origin[0], origin[1], origin[2]);
        },
        nb::arg("scene"), "The origin of a scene far from (0, 0, 0).");
    bind_image(m);
    bind_photons(m);
}
