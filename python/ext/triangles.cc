/* Bindings of <kandela/triangles.h> under their C names: trees, batches of rays, files. */
#include "python/ext/triangles.h"

/* kd_triangle_mesh and kd_ray_batch, and the Python arrays that they point to. */
struct triangle_mesh {
    kd_triangle_mesh c;
    array vertices, indices;
};
struct ray_batch {
    kd_ray_batch c;
    array rays, hits, blocked, counts;
};

static triangle_mesh mesh_make(nb::handle vertices, nb::handle indices) {
    triangle_mesh out;
    const array data = array_of(vertices, "vertices", false);
    const float *xyz = (const float *)array_data(vertices, "vertices", "float32", data.size(),
                                                 false, &out.vertices);
    if (data.shape.size() != 2 || data.shape[1] != 3)
        throw nb::value_error("`vertices` must have the shape (count, 3)");
    if (indices.is_none()) {
        if (data.rows() % 3 != 0)
            throw nb::value_error(
                "`vertices` without `indices` must be a multiple of 3, three for each triangle");
        out.c = kd_triangle_mesh_make(xyz, data.rows(), nullptr, data.rows() / 3);
        return out;
    }
    const array corners = array_of(indices, "indices", false);
    if (corners.shape.size() != 2 || corners.shape[1] != 3)
        throw nb::value_error("`indices` must have the shape (count, 3)");
    const uint32_t *at = (const uint32_t *)array_data(indices, "indices", "uint32|int32",
                                                      corners.size(), false, &out.indices);
    out.c = kd_triangle_mesh_make(xyz, data.rows(), at, corners.rows());
    return out;
}

static kd_triangles_options options_of(nb::handle options) {
    if (!options.is_none()) return *nb::cast<kd_triangles_options *>(options);
    kd_triangles_options made;
    kd_triangles_options_default(&made);
    return made;
}

/* Creates a tree by open(&tree); it is closed if Ctrl-C interrupts the call. */
template <typename function> static triangles_tree *make_tree(function open, bool is_long) {
    const std::shared_ptr<kd_triangles *> made(new kd_triangles *(nullptr),
                                               [](kd_triangles **tree) {
                                                   kd_triangles_close(*tree);
                                                   delete tree;
                                               });
    check_with_progress([=](const std::atomic<bool> &) { return open(made.get()); }, is_long,
                        nullptr);
    kd_triangles *taken = *made;
    *made = nullptr;
    return new triangles_tree(taken);
}

static triangles_tree *tree_open(const triangle_mesh &mesh, nb::handle options) {
    const kd_triangles_options c_options = options_of(options);
    return make_tree(
        [=](kd_triangles **made) { return kd_triangles_open(made, &mesh.c, &c_options); },
        mesh.c.triangle_count >= LONG_RAYS);
}

static triangles_tree *tree_load(const std::string &path, nb::handle options) {
    const kd_triangles_options c_options = options_of(options);
    return make_tree(
        [=](kd_triangles **made) { return kd_triangles_load(made, path.c_str(), &c_options); },
        true);
}

static void tree_save(const triangles_tree &tree, const std::string &path) {
    const triangles_use used = tree.use("mesh");
    check_with_progress(
        [=](const std::atomic<bool> &) { return kd_triangles_save(used.get(), path.c_str()); },
        true, nullptr);
}

static nb::dict tree_describe(const triangles_tree &tree) {
    kd_triangles_info info;
    kd_triangles_describe(tree.use("mesh").get(), &info);
    nb::dict out;
    out["vertices"] = info.vertices;
    out["triangles"] = info.triangles;
    out["degenerate_triangles"] = info.degenerate_triangles;
    out["nodes"] = info.nodes;
    out["leaves"] = info.leaves;
    out["empty_leaves"] = info.empty_leaves;
    out["references"] = info.references;
    out["depth"] = info.depth;
    out["sah_cost"] = info.sah_cost;
    out["build_seconds"] = info.build_seconds;
    out["builder"] = info.builder;
    out["device"] = info.device;
    out["lo"] = nb::make_tuple(info.lo[0], info.lo[1], info.lo[2]);
    out["hi"] = nb::make_tuple(info.hi[0], info.hi[1], info.hi[2]);
    out["bytes"] = info.bytes;
    out["hash"] = info.hash;
    out["form"] = info.form;
    return out;
}

static void download(const triangles_tree &tree, nb::handle vertices, nb::handle indices) {
    array keep[2];
    kd_triangles_info info;
    const triangles_use used = tree.use("mesh");
    kd_triangles_describe(used.get(), &info);
    float *xyz =
        (float *)array_data(vertices, "vertices", "float32", 3 * info.vertices, true, &keep[0]);
    uint32_t *at = (uint32_t *)array_data(indices, "indices", "uint32|int32", 3 * info.triangles,
                                          true, &keep[1]);
    if (keep[0].device || keep[1].device)
        throw nb::value_error("`vertices` and `indices` must be in host memory");
    check_unlocked([&] { return kd_triangles_download(used.get(), xyz, at); });
}

/* Nodes are passed as rows of two 32-bit words. */
static void download_nodes(const triangles_tree &tree, nb::handle nodes, nb::handle references) {
    array keep[2];
    kd_triangles_info info;
    const triangles_use used = tree.use("mesh");
    kd_triangles_describe(used.get(), &info);
    void *rows = array_data(nodes, "nodes", "uint32", 2 * info.nodes, true, &keep[0]);
    void *ids = array_data(references, "references", "uint32", info.references, true, &keep[1]);
    if (keep[0].device || keep[1].device)
        throw nb::value_error("`nodes` and `references` must be in host memory");
    check_unlocked([&] {
        return kd_triangles_download_nodes(used.get(), (kd_triangle_node *)rows, (uint32_t *)ids);
    });
}

const kd_ray *rays_of(nb::handle object, array *keep, uint64_t *count) {
    const array rays = array_of(object, "rays", false);
    if (rays.shape.size() != 2 || rays.shape[1] != 8)
        throw nb::value_error(
            "`rays` must have the shape (count, 8): origin, tmin, direction, tmax");
    *count = rays.rows();
    return (const kd_ray *)array_data(object, "rays", "float32", rays.size(), false, keep);
}

/* `object`: (count, 3) 64-bit integers or None. */
static kd_ray_counts *counts_of(nb::handle object, uint64_t count, array *keep) {
    return (kd_ray_counts *)array_data(object, "counts", "uint64|int64", 3 * count, true, keep);
}

/* Runs call(tree, begin, count) for consecutive pieces of a batch, on a device for all of it at
   once. Ctrl-C ends the loop after a piece. `call` must own everything that it uses. */
template <typename function>
static void in_pieces(const triangles_tree &tree, uint64_t count, bool on_device, uint64_t is_long,
                      function call) {
    enum : uint64_t { PIECE = 1 << 20 };
    const triangles_use used = tree.use("mesh");
    check_with_progress(
        [=](const std::atomic<bool> &left) {
            kd_status status = KD_OK;
            uint64_t begin = 0;
            do {
                const bool last = on_device || count - begin <= PIECE + PIECE / 2;
                const uint64_t end = last ? count : begin + PIECE;
                status = call(used.get(), begin, end - begin);
                begin = end;
            } while (status == KD_OK && begin < count && !left);
            return status;
        },
        !on_device && count >= is_long, nullptr);
}

static void intersect(const triangles_tree &tree, nb::handle object, nb::handle hits,
                      nb::handle counts) {
    std::vector<array> keep(3);
    uint64_t count = 0;
    const kd_ray *rays = rays_of(object, &keep[0], &count);
    kd_ray_hit *to = (kd_ray_hit *)array_data(hits, "hits", "float32", 4 * count, true, &keep[1]);
    kd_ray_counts *ray_counts = counts_of(counts, count, &keep[2]);
    in_pieces(tree, count, keep[0].device, LONG_RAYS,
              [=](const kd_triangles *used, uint64_t at, uint64_t some) {
                  (void)keep;
                  return kd_triangles_intersect(used, rays + at, some, to ? to + at : to,
                                                ray_counts ? ray_counts + at : ray_counts);
              });
}

static void occluded(const triangles_tree &tree, nb::handle object, nb::handle blocked,
                     nb::handle counts) {
    std::vector<array> keep(3);
    uint64_t count = 0;
    const kd_ray *rays = rays_of(object, &keep[0], &count);
    uint8_t *to = (uint8_t *)array_data(blocked, "blocked", "uint8|bool", count, true, &keep[1]);
    kd_ray_counts *ray_counts = counts_of(counts, count, &keep[2]);
    in_pieces(tree, count, keep[0].device, LONG_RAYS,
              [=](const kd_triangles *used, uint64_t at, uint64_t some) {
                  (void)keep;
                  return kd_triangles_occluded(used, rays + at, some, to ? to + at : to,
                                               ray_counts ? ray_counts + at : ray_counts);
              });
}

static void closest_point(const triangles_tree &tree, nb::handle points, float max_distance,
                          nb::handle nearest) {
    std::vector<array> keep(2);
    const array data = array_of(points, "points", false);
    if (data.shape.size() != 2 || data.shape[1] != 3)
        throw nb::value_error("`points` must have the shape (count, 3)");
    const uint64_t count = data.rows();
    const float *from =
        (const float *)array_data(points, "points", "float32", 3 * count, false, &keep[0]);
    kd_near_triangle *to =
        (kd_near_triangle *)array_data(nearest, "nearest", "float32", 8 * count, true, &keep[1]);
    in_pieces(tree, count, keep[0].device, LONG_POINTS,
              [=](const kd_triangles *used, uint64_t at, uint64_t some) {
                  (void)keep;
                  return kd_triangles_closest_point(used, from + 3 * at, some, max_distance,
                                                    to ? to + at : to);
              });
}

/* Returns the points, (count, 3) float32 in host memory. */
static const float *points_of(nb::handle object, uint64_t *count, array *keep) {
    const array data = array_of(object, "points", false);
    if (data.shape.size() != 2 || data.shape[1] != 3)
        throw nb::value_error("`points` must have the shape (count, 3)");
    *count = data.rows();
    return (const float *)array_data(object, "points", "float32", 3 * *count, false, keep);
}

static void winding_number(const triangles_tree &tree, nb::handle points, double accuracy,
                           nb::handle winding) {
    std::vector<array> keep(2);
    uint64_t count = 0;
    const float *from = points_of(points, &count, &keep[0]);
    double *to = (double *)array_data(winding, "winding", "float64", count, true, &keep[1]);
    in_pieces(tree, count, false, LONG_POINTS,
              [=](const kd_triangles *used, uint64_t at, uint64_t some) {
                  (void)keep;
                  return kd_triangles_winding_number(used, from + 3 * at, some, accuracy,
                                                     to ? to + at : to);
              });
}

static void crossings(const triangles_tree &tree, nb::handle points, nb::handle counts,
                      nb::handle winding) {
    std::vector<array> keep(3);
    uint64_t count = 0;
    const float *from = points_of(points, &count, &keep[0]);
    uint32_t *all =
        (uint32_t *)array_data(counts, "crossings", "uint32|int32", count, true, &keep[1]);
    int32_t *sum = (int32_t *)array_data(winding, "winding", "int32", count, true, &keep[2]);
    in_pieces(tree, count, false, LONG_POINTS,
              [=](const kd_triangles *used, uint64_t at, uint64_t some) {
                  (void)keep;
                  return kd_triangles_crossings(used, from + 3 * at, some, all ? all + at : all,
                                                sum ? sum + at : sum);
              });
}

static void cast(const triangles_tree &tree, const ray_batch &rays) {
    const triangles_use used = tree.use("mesh");
    const ray_batch batch = rays;
    check_with_progress(
        [=](const std::atomic<bool> &) { return kd_triangles_cast(used.get(), &batch.c); },
        !batch.rays.device && batch.c.count >= LONG_RAYS, nullptr);
}

static void bind_batch(nb::module_ &m) {
    nb::class_<ray_batch> bound(m, "RayBatch", "kd_ray_batch: made by kd_ray_batch_default");
    bound
        .def_prop_rw(
            "rays", [](const ray_batch &self) { return self.rays.owner; },
            [](ray_batch &self, nb::handle to) {
                self.c.rays = rays_of(to, &self.rays, &self.c.count);
                self.c.hits = nullptr; /* they belonged to the previous rays */
                self.c.blocked = nullptr;
                self.hits = self.blocked = array();
            },
            "(count, 8) float32: origin, tmin, direction, tmax; set this first")
        .def_prop_rw(
            "hits", [](const ray_batch &self) { return self.hits.owner; },
            [](ray_batch &self, nb::handle to) {
                self.c.hits = (kd_ray_hit *)array_data(to, "hits", "float32", 4 * self.c.count,
                                                       true, &self.hits);
            },
            nb::for_setter(nb::arg("hits").none()),
            "(count, 4) float32: t, u, v and the triangle's 32 bits; or None")
        .def_prop_rw(
            "blocked", [](const ray_batch &self) { return self.blocked.owner; },
            [](ray_batch &self, nb::handle to) {
                self.c.blocked = (uint8_t *)array_data(to, "blocked", "uint8|bool", self.c.count,
                                                       true, &self.blocked);
            },
            nb::for_setter(nb::arg("blocked").none()), "(count,) uint8 or bool; or None");
    bind_number<int>(bound, "order", BIND_FIELD(c.order));
    bind_number<uint32_t>(bound, "width", BIND_FIELD(c.width));
    bind_number<uintptr_t>(bound, "stream", BIND_FIELD(c.stream));
    m.def(
        "kd_ray_batch_default",
        [] {
            ray_batch batch;
            kd_ray_batch_default(&batch.c);
            return batch;
        },
        "A batch with its defaults.");
    m.attr("kd_ray_batch_default_sized") = m.attr("kd_ray_batch_default");
    m.def("kd_triangles_cast", cast, nb::arg("tree"), nb::arg("batch"), "Answers a batch.");
}

static void bind_options(nb::module_ &m) {
    typedef kd_triangles_options options;
    nb::class_<options> bound(m, "TrianglesOptions",
                              "kd_triangles_options: made by kd_triangles_options_default");
    bind_text(bound, "device", BIND_FIELD(device));
    bind_text(bound, "builder", BIND_FIELD(builder));
    bind_number<uintptr_t>(bound, "stream", BIND_FIELD(stream));
    bound.def_rw("traversal_cost", &options::traversal_cost)
        .def_rw("intersect_cost", &options::intersect_cost)
        .def_rw("empty_factor", &options::empty_factor)
        .def_rw("max_depth", &options::max_depth);
    m.def(
        "kd_triangles_options_default",
        [] {
            kd_triangles_options made;
            kd_triangles_options_default(&made);
            return made;
        },
        "Options with their defaults.");
    m.attr("kd_triangles_options_default_sized") = m.attr("kd_triangles_options_default");
}

void bind_triangles(nb::module_ &m) {
    nb::class_<triangle_mesh>(m, "TriangleArrays", "kd_triangle_mesh, and what it points to")
        .def_prop_ro("vertex_count", [](const triangle_mesh &self) { return self.c.vertex_count; })
        .def_prop_ro("triangle_count",
                     [](const triangle_mesh &self) { return self.c.triangle_count; });
    m.def("kd_triangle_mesh_make", mesh_make, nb::arg("vertices"), nb::arg("indices") = nb::none(),
          "Vertices (count, 3) float32 as they lie; indices (count, 3) uint32 or None.");
    bind_options(m);
    nb::class_<triangles_tree>(m, "Triangles", "kd_triangles: a tree");
    m.def("kd_triangles_open", tree_open, nb::arg("mesh"), nb::arg("options") = nb::none(),
          "Builds a tree of copies of the triangles.");
    m.def(
        "kd_triangles_close", [](triangles_tree &tree) { tree.close(); }, nb::arg("tree"),
        "Gives the memory back when the calls that use it are over; UsageError from then on.");
    m.def("kd_triangles_describe", tree_describe, nb::arg("tree"), "kd_triangles_info as a dict.");
    m.attr("kd_triangles_describe_sized") = m.attr("kd_triangles_describe");
    bind_batch(m);
    m.def("kd_triangles_intersect", intersect, nb::arg("tree"), nb::arg("rays"), nb::arg("hits"),
          nb::arg("counts").none() = nb::none(),
          "Fills hits (count, 4) float32: t, u, v and the triangle's 32 bits.");
    m.def("kd_triangles_occluded", occluded, nb::arg("tree"), nb::arg("rays"), nb::arg("blocked"),
          nb::arg("counts").none() = nb::none(), "Fills blocked (count,) uint8 or bool.");
    m.def("kd_triangles_closest_point", closest_point, nb::arg("tree"), nb::arg("points"),
          nb::arg("max_distance"), nb::arg("nearest"),
          "Fills nearest (count, 8) float32: x, y, z, distance, u, v and the bits of triangle and "
          "feature.");
    m.def("kd_triangles_winding_number", winding_number, nb::arg("tree"), nb::arg("points"),
          nb::arg("accuracy"), nb::arg("winding"), "Fills winding (count,) float64.");
    m.def("kd_triangles_crossings", crossings, nb::arg("tree"), nb::arg("points"),
          nb::arg("crossings").none(), nb::arg("winding").none(),
          "Fills crossings (count,) uint32 and winding (count,) int32.");
    m.def("kd_triangles_download", download, nb::arg("tree"), nb::arg("vertices").none(),
          nb::arg("indices").none(),
          "Fills vertices (vertices, 3) float32 and indices (triangles, 3) uint32; each may be "
          "None.");
    m.def("kd_triangles_download_nodes", download_nodes, nb::arg("tree"), nb::arg("nodes"),
          nb::arg("references"),
          "Fills nodes (nodes, 2) uint32 and references (references,) uint32.");
    m.def("kd_triangles_save", tree_save, nb::arg("tree"), nb::arg("path"),
          "Writes the tree with its triangles.");
    m.def("kd_triangles_load", tree_load, nb::arg("path"), nb::arg("options") = nb::none(),
          "Reads a tree that kd_triangles_save wrote.");
}
