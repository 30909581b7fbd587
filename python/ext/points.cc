/* Bindings of <kandela/points.h> under their C names: trees, their construction and their files. */
#include "python/ext/points.h"
#include <nanobind/stl/vector.h>

point_arrays point_arrays::make(nb::handle object, nb::handle ids) {
    point_arrays out;
    out.keep = array_of(object, "points", false);
    const array &a = out.keep;
    const bool is_double = a.dtype == "float64";
    if (!is_double && a.dtype != "float32")
        throw nb::type_error(
            ("`points` is an array of " + a.dtype + "; expected float32 or float64").c_str());
    if (a.shape.size() != 2)
        throw nb::value_error(("`points` has " + std::to_string(a.shape.size()) +
                               " axes; expected shape (count, dimensions)")
                                  .c_str());
    if (a.rows() > 0 &&
        ((a.shape[1] > 1 && a.strides[1] != 1) || (a.rows() > 1 && a.strides[0] < a.shape[1])))
        throw nb::value_error("`points`: the coordinates of each point must be contiguous; pass "
                              "numpy.ascontiguousarray(...) of the points");
    out.c = kd_point_array_make(a.data, a.rows(), (uint32_t)a.shape[1],
                                is_double ? KD_DOUBLE : KD_FLOAT);
    if (a.rows() > 1) out.c.stride_bytes = (uint64_t)a.strides[0] * (uint64_t)a.item_bytes;
    out.c.ids = (const uint32_t *)array_data(ids, "ids", "uint32|int32", a.rows(), false, &out.ids);
    return out;
}

/* Returns the options, or the defaults for None. */
static kd_points_options options_of(nb::handle options) {
    if (!options.is_none()) return *nb::cast<kd_points_options *>(options);
    kd_points_options made;
    kd_points_options_default(&made);
    return made;
}

/* A tree being built by a worker thread; closed if the call was interrupted before taking it. */
typedef std::shared_ptr<kd_points *> points_made;
static points_made made_none() {
    return points_made(new kd_points *(nullptr), [](kd_points **tree) {
        kd_points_close(*tree);
        delete tree;
    });
}
static points_tree *take_made(const points_made &made) {
    points_tree *tree = new points_tree(*made);
    *made = nullptr;
    return tree;
}

static points_tree *tree_open(const point_arrays &points, nb::handle options) {
    const kd_points_options c_options = options_of(options);
    const points_made made = made_none();
    check_with_progress(
        [=](const std::atomic<bool> &) {
            return kd_points_open(made.get(), &points.c, &c_options);
        },
        points.c.count >= LONG_BUILD, nullptr);
    return take_made(made);
}

/* `arrays`: one for each device of the options. */
static points_tree *tree_open_arrays(const std::vector<point_arrays *> &arrays,
                                     nb::handle options) {
    const kd_points_options c_options = options_of(options);
    std::vector<point_arrays> keep;
    std::vector<kd_point_array> all;
    for (const point_arrays *one : arrays) {
        keep.push_back(*one);
        all.push_back(one->c);
    }
    const points_made made = made_none();
    check_with_progress(
        [=](const std::atomic<bool> &) {
            (void)keep;
            return kd_points_open_arrays(made.get(), all.data(), (uint32_t)all.size(), &c_options);
        },
        true, nullptr);
    return take_made(made);
}

/* After Ctrl-C an update is completed, not rolled back; the next call waits for it at the gate. */
static void tree_update(const points_handle &handle, const point_arrays &points) {
    const points_use tree(handle, true);
    check_with_progress(
        [=](const std::atomic<bool> &) {
            const kd_status status = kd_points_update(tree.c, &points.c);
            if (status == KD_OK) tree.tree->refresh();
            return status;
        },
        points.c.count >= LONG_BUILD, tree.door());
}

/* Returns the first id that was assigned to the new points; None if they have their own. */
static nb::object tree_insert(const points_handle &handle, const point_arrays &points) {
    const points_use tree(handle, true);
    const auto first = std::make_shared<uint32_t>(KD_NO_POINT);
    check_with_progress(
        [=](const std::atomic<bool> &) { return kd_points_insert(tree.c, &points.c, first.get()); },
        points.c.count + kd_points_count(tree.c) >= LONG_BUILD, tree.door());
    return *first == KD_NO_POINT ? nb::object(nb::none()) : nb::object(nb::int_(*first));
}

static void tree_remove(const points_handle &handle, nb::handle ids) {
    const points_use tree(handle, true);
    array keep = array_of(ids, "ids", false);
    const uint32_t *new_ids =
        (const uint32_t *)array_data(ids, "ids", "uint32|int32", keep.size(), false, &keep);
    const uint64_t count = keep.size();
    check_with_progress(
        [=](const std::atomic<bool> &) {
            (void)keep;
            return kd_points_remove(tree.c, new_ids, count);
        },
        count + kd_points_count(tree.c) >= LONG_BUILD, tree.door());
}

static void tree_rebuild(const points_handle &handle) {
    const points_use tree(handle, true);
    check_with_progress([=](const std::atomic<bool> &) { return kd_points_rebuild(tree.c); },
                        kd_points_count(tree.c) >= LONG_BUILD, tree.door());
}

/* Closing a tree twice is allowed. */
static void tree_close(const points_handle &handle) {
    const std::shared_ptr<void> entered = handle->door.enter(true, "tree");
    kd_points_close(handle->c);
    handle->c = nullptr;
}

static void tree_save(const points_handle &handle, const std::string &path) {
    const points_use tree(handle);
    check_with_progress(
        [=](const std::atomic<bool> &) { return kd_points_save(tree.c, path.c_str()); },
        kd_points_count(tree.c) >= LONG_BUILD, tree.door());
}

static points_tree *tree_load(const std::string &path, nb::handle options) {
    const kd_points_options c_options = options_of(options);
    const points_made made = made_none();
    check_with_progress(
        [=](const std::atomic<bool> &) {
            return kd_points_load(made.get(), path.c_str(), &c_options);
        },
        true, nullptr);
    return take_made(made);
}

static const char *scalar_of(const kd_points_info &info) {
    return info.scalar == KD_DOUBLE ? "float64" : "float32";
}

static nb::tuple box_of(const kd_points_info &info) {
    nb::list lo, hi;
    for (uint32_t axis = 0; axis < std::min(info.dims, 8u); ++axis) {
        lo.append(info.lo[axis]);
        hi.append(info.hi[axis]);
    }
    return nb::make_tuple(lo, hi);
}

static nb::dict tree_describe(const points_handle &handle) {
    const points_use tree(handle);
    kd_points_info info;
    kd_points_describe(tree.c, &info);
    nb::dict out;
    const nb::tuple box = box_of(info);
    out["count"] = info.count;
    out["dims"] = info.dims;
    out["scalar"] = scalar_of(info);
    out["split"] = (int)info.split;
    out["builder"] = info.builder;
    out["device"] = info.device;
    out["lo"] = box[0];
    out["hi"] = box[1];
    out["build_seconds"] = info.build_seconds;
    out["bytes"] = info.bytes;
    out["hash"] = info.hash;
    out["layers"] = info.layers;
    out["touched"] = info.touched;
    out["parts"] = info.parts;
    out["copies"] = info.copies != 0;
    out["top_seconds"] = info.top_seconds;
    out["sent"] = info.sent;
    return out;
}

template <typename id>
static void tree_download(const points_handle &handle, nb::handle coordinates, nb::handle ids,
                          nb::handle axes) {
    const points_use tree(handle);
    const uint64_t count = kd_points_count(tree.c);
    array keep[3];
    void *to = array_data(coordinates, "coordinates", scalar_of(tree->info),
                          count * tree->info.dims, true, &keep[0]);
    id *to_ids = (id *)array_data(ids, "ids", sizeof(id) == 8 ? "uint64|int64" : "uint32|int32",
                                  count, true, &keep[1]);
    uint8_t *to_axes = (uint8_t *)array_data(axes, "axes", "uint8", count, true, &keep[2]);
    check_unlocked([&] {
        return sizeof(id) == 8
                   ? kd_points_download_nodes(tree.c, to, nullptr, (uint64_t *)to_ids, to_axes)
                   : kd_points_download(tree.c, to, (uint32_t *)to_ids, to_axes);
    });
}

static kd_points_options options_default() {
    kd_points_options options;
    kd_points_options_default(&options);
    return options;
}

static void bind_options(nb::module_ &m) {
    typedef kd_points_options options;
    nb::class_<options> bound(m, "PointsOptions",
                              "kd_points_options: made by kd_points_options_default");
    bind_text(bound, "device", BIND_FIELD(device));
    bind_text(bound, "builder", BIND_FIELD(builder));
    bind_number<int>(bound, "split", BIND_FIELD(split));
    bind_number<int>(bound, "spread", BIND_FIELD(spread));
    bind_number<uintptr_t>(bound, "stream", BIND_FIELD(stream));
    bound.def_rw("first_id", &options::first_id);
    m.def("kd_points_options_default", options_default, "Options with their defaults.");
    m.attr("kd_points_options_default_sized") = m.attr("kd_points_options_default");
}

void bind_points(nb::module_ &m) {
    nb::class_<point_arrays>(m, "PointArray", "kd_point_array, and the arrays that it points to")
        .def_prop_ro("count", [](const point_arrays &self) { return self.c.count; })
        .def_prop_ro("dims", [](const point_arrays &self) { return self.c.dims; });
    m.def("kd_point_array_make", point_arrays::make, nb::arg("points"), nb::arg("ids") = nb::none(),
          "Points (count, dimensions), float32 or float64, as they lie; ids uint32 (count,) or "
          "None.");
    bind_options(m);
    nb::class_<points_tree>(m, "Points", "kd_points: a tree")
        .def_prop_ro("dims", [](const points_handle &self) { return points_use(self)->info.dims; })
        .def_prop_ro("scalar",
                     [](const points_handle &self) { return scalar_of(points_use(self)->info); })
        .def_prop_ro("on_cpu", [](const points_handle &self) { return points_use(self)->on_cpu(); })
        .def_prop_ro(
            "box", [](const points_handle &self) { return box_of(points_use(self)->info); },
            "lo and hi, when it was opened or updated");
    m.def("kd_points_open", tree_open, nb::arg("points"), nb::arg("options") = nb::none(),
          "Builds a tree of copies of the points.");
    m.def("kd_points_open_arrays", tree_open_arrays, nb::arg("arrays"),
          nb::arg("options") = nb::none(),
          "Builds one tree of several arrays' points, one array for each device of the options.");
    m.def("kd_points_update", tree_update, nb::arg("tree"), nb::arg("points"),
          "Builds again from other points.");
    m.def("kd_points_insert", tree_insert, nb::arg("tree"), nb::arg("points"),
          "Points come; returns the first of the ids that they get, or None.");
    m.def("kd_points_remove", tree_remove, nb::arg("tree"), nb::arg("ids"),
          "The points with these ids, uint32 (count,), go.");
    m.def(
        "kd_points_count",
        [](const points_handle &tree) { return kd_points_count(points_use(tree).c); },
        nb::arg("tree"), "Points that are there.");
    m.def("kd_points_rebuild", tree_rebuild, nb::arg("tree"), "One tree of all that is there.");
    m.def("kd_points_close", tree_close, nb::arg("tree"),
          "Gives the memory back when the calls that use it are over; UsageError from then on.");
    m.def("kd_points_describe", tree_describe, nb::arg("tree"), "kd_points_info as a dict.");
    m.attr("kd_points_describe_sized") = m.attr("kd_points_describe");
    m.def("kd_points_download", tree_download<uint32_t>, nb::arg("tree"),
          nb::arg("coordinates").none(), nb::arg("ids").none(), nb::arg("axes").none(),
          "The tree itself in level order; each array may be None.");
    m.def("kd_points_download64", tree_download<uint64_t>, nb::arg("tree"),
          nb::arg("coordinates").none(), nb::arg("ids").none(), nb::arg("axes").none(),
          "The same with ids of 64 bits.");
    m.def("kd_points_save", tree_save, nb::arg("tree"), nb::arg("path"), "Writes a file.");
    m.def("kd_points_load", tree_load, nb::arg("path"), nb::arg("options") = nb::none(),
          "Reads a file that kd_points_save wrote.");
    m.attr("KD_NO_POINT") = KD_NO_POINT;
    m.attr("KD_NO_POINT64") = KD_NO_POINT64;
}
