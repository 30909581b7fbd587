/* Bindings of the queries of <kandela/points.h> under their C names. */
#include "python/ext/points.h"
#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>

enum { LONG_BOXES = 256 };

static points_query query_default() {
    points_query query;
    kd_points_query_default(&query.c);
    return query;
}

static void query_set_points(points_query &query, nb::handle object) {
    point_arrays taken = point_arrays::make(object, nb::none());
    query.points = std::move(taken.keep);
    query.c.points = taken.c;
    query.radii = array(); /* they belonged to the previous points */
    query.c.radii = nullptr;
}

static void query_set_radii(points_query &query, nb::handle object) {
    query.c.radii = array_data(object, "radii", query.points.dtype.c_str(), query.c.points.count,
                               false, &query.radii);
}

static const char *scalar_name(const points_query &query) {
    return query.c.points.scalar == KD_DOUBLE ? "float64" : "float32";
}

template <typename id> static const char *ids_name() {
    return sizeof(id) == 8 ? "uint64|int64" : "uint32|int32";
}

static void set_ids(kd_points_rows &rows, uint32_t *ids) {
    rows.ids = ids;
}
static void set_ids(kd_points_rows &rows, uint64_t *ids) {
    rows.ids64 = ids;
}

/* Returns rows of ids and dist2, each of which may be NULL. */
template <typename id> static kd_points_rows rows_of(id *ids, void *dist2) {
    kd_points_rows rows;
    kd_points_rows_default(&rows);
    set_ids(rows, ids);
    rows.dist2 = dist2;
    return rows;
}

template <typename id>
static void nearest(const points_handle &handle, const points_query &query, uint32_t k,
                    nb::handle ids, nb::handle dist2, nb::handle counts) {
    const points_use tree(handle);
    std::vector<array> keep(3);
    const uint64_t count = query.c.points.count,
                   scalar = query.c.points.scalar == KD_DOUBLE ? 8 : 4;
    id *to_ids = (id *)array_data(ids, "ids", ids_name<id>(), count * k, true, &keep[0]);
    char *to_dist2 =
        (char *)array_data(dist2, "dist2", scalar_name(query), count * k, true, &keep[1]);
    uint32_t *to_counts =
        (uint32_t *)array_data(counts, "counts", "uint32|int32", count, true, &keep[2]);
    in_pieces(tree, query, k, [=](const kd_points_query *piece, uint64_t at) {
        (void)keep;
        kd_points_rows rows = rows_of(to_ids ? to_ids + at * k : nullptr,
                                      to_dist2 ? to_dist2 + at * k * scalar : nullptr);
        rows.counts = to_counts ? to_counts + at : nullptr;
        return kd_points_search_nearest(tree.c, piece, k, &rows);
    });
}

/* Converts squared distances (of the Euclidean norm) and ids to SciPy's convention: distances, and
   infinity with the id `missing` at or beyond the bound. */
template <typename scalar>
static void rooted(scalar *dist, int64_t *ids, uint64_t count, const kd_points_query &query,
                   int64_t missing) {
    const double bound = query.max_radius;
    for (uint64_t i = 0; query.norm == 2 && i < count; ++i) dist[i] = std::sqrt(dist[i]);
    for (uint64_t i = 0; i < count; ++i) {
        const bool is_near = (double)dist[i] < bound;
        dist[i] = is_near ? dist[i] : std::numeric_limits<scalar>::infinity();
        ids[i] = is_near ? ids[i] : missing;
    }
}

static void nearest_distances(const points_handle &handle, const points_query &query, uint32_t k,
                              nb::handle ids, nb::handle dist, int64_t missing) {
    const points_use tree(handle);
    std::vector<array> keep(2);
    const uint64_t count = query.c.points.count;
    const bool wide = query.c.points.scalar == KD_DOUBLE;
    int64_t *to_ids = (int64_t *)array_data(ids, "ids", "int64", count * k, true, &keep[0]);
    void *to = array_data(dist, "distances", scalar_name(query), count * k, true, &keep[1]);
    if (keep[0].device || keep[1].device)
        throw nb::value_error(
            "the output arrays must be in host memory, because the tree is on the CPU");
    in_pieces(tree, query, k, [=](const kd_points_query *piece, uint64_t at) {
        (void)keep;
        const kd_points_rows rows =
            rows_of((uint64_t *)to_ids + at * k, (char *)to + at * k * (wide ? 8 : 4));
        const kd_status status = kd_points_search_nearest(tree.c, piece, k, &rows);
        if (status != KD_OK) return status;
        const uint64_t answers = piece->points.count * k;
        if (wide)
            rooted((double *)rows.dist2, to_ids + at * k, answers, *piece, missing);
        else
            rooted((float *)rows.dist2, to_ids + at * k, answers, *piece, missing);
        return status;
    });
}

template <typename id>
static void closest(const points_handle &handle, const points_query &query, nb::handle ids,
                    nb::handle dist2) {
    nearest<id>(handle, query, 1, ids, dist2, nb::none());
}

/* Offsets of each piece begin at 0; the last offset of the previous piece is added to them. */
static void within_count(const points_handle &handle, const points_query &query,
                         nb::handle offsets) {
    const points_use tree(handle);
    array keep;
    const uint64_t count = query.c.points.count;
    uint64_t *to =
        (uint64_t *)array_data(offsets, "offsets", "uint64|int64", count + 1, true, &keep);
    if (!to) check(kd_points_within_count(tree.c, &query.c, nullptr));
    in_pieces(tree, query, 64, [=](const kd_points_query *piece, uint64_t at) {
        (void)keep;
        const uint64_t before = at ? to[at] : 0;
        const kd_status status = kd_points_within_count(tree.c, piece, to + at);
        for (uint64_t i = 0; status == KD_OK && before && i <= piece->points.count; ++i)
            to[at + i] += before;
        return status;
    });
}

/* Returns the number of results, which is the required length of ids and dist2: offsets[count], or
   the length of ids or dist2 if the offsets are in device memory. */
static uint64_t answers_of(const uint64_t *from, const array &keep, uint64_t count, nb::handle ids,
                           nb::handle dist2) {
    if (from && !keep.device) {
        for (uint64_t i = 0; i < count; ++i)
            if (from[i] > from[count])
                check_said(KD_ERROR_USAGE,
                           ("offsets[" + std::to_string(i) + "] is " + std::to_string(from[i]) +
                            ", beyond the last, " + std::to_string(from[count]))
                               .c_str());
        return from[count];
    }
    if (!ids.is_none()) return array_of(ids, "ids", true).size();
    return dist2.is_none() ? 0 : array_of(dist2, "dist2", true).size();
}

template <typename id>
static void within(const points_handle &handle, const points_query &query, nb::handle offsets,
                   nb::handle ids, nb::handle dist2) {
    const points_use tree(handle);
    std::vector<array> keep(3);
    const uint64_t count = query.c.points.count,
                   scalar = query.c.points.scalar == KD_DOUBLE ? 8 : 4;
    uint64_t *from =
        (uint64_t *)array_data(offsets, "offsets", "uint64|int64", count + 1, false, &keep[0]);
    if (keep[0].device && tree->on_cpu())
        throw nb::value_error("`offsets` must be in host memory, because the tree is on the CPU");
    if (!from) check(kd_points_within(tree.c, &query.c, nullptr, nullptr, nullptr));
    const uint64_t answers = answers_of(from, keep[0], count, ids, dist2);
    id *to_ids = (id *)array_data(ids, "ids", ids_name<id>(), answers, true, &keep[1]);
    char *to_dist2 =
        (char *)array_data(dist2, "dist2", scalar_name(query), answers, true, &keep[2]);
    in_pieces(tree, query, 64, [=](const kd_points_query *piece, uint64_t at) {
        (void)keep;
        if (piece->points.count == count) {
            kd_points_rows rows = rows_of(to_ids, to_dist2);
            rows.offsets = from;
            return kd_points_search_within(tree.c, piece, &rows);
        }
        std::vector<uint64_t> row_offsets(from + at, from + at + piece->points.count + 1);
        for (uint64_t &offset : row_offsets) offset -= from[at];
        kd_points_rows rows = rows_of(to_ids ? to_ids + from[at] : nullptr,
                                      to_dist2 ? to_dist2 + from[at] * scalar : nullptr);
        rows.offsets = row_offsets.data();
        return kd_points_search_within(tree.c, piece, &rows);
    });
}

/* Runs call(query) for the self-query with these options; the points and radii are not used. `call`
   must own everything that it uses, including `keep`. */
template <typename function>
static void query_all_points(const points_use &tree, const points_query &query,
                             const std::vector<array> &keep, function call) {
    kd_points_query all = query.c;
    all.points.count = 0;
    all.radii = nullptr;
    all.self = 1;
    check_with_progress(
        [=](const std::atomic<bool> &) {
            (void)keep;
            return call(&all);
        },
        tree->on_cpu() && kd_points_count(tree.c) >= LONG_QUERIES, tree.door());
}

/* Self-query; `order` may be None. */
static void self_nearest(const points_handle &handle, const points_query &query, uint32_t k,
                         nb::handle order, nb::handle ids, nb::handle dist2, nb::handle counts) {
    const points_use tree(handle);
    std::vector<array> keep(4);
    const uint64_t count = kd_points_count(tree.c);
    const char *scalar = tree->info.scalar == KD_DOUBLE ? "float64" : "float32";
    uint32_t *to_order =
        (uint32_t *)array_data(order, "order", "uint32|int32", count, true, &keep[0]);
    uint32_t *to_ids =
        (uint32_t *)array_data(ids, "ids", "uint32|int32", count * k, true, &keep[1]);
    void *to_dist2 = array_data(dist2, "dist2", scalar, count * k, true, &keep[2]);
    uint32_t *to_counts =
        (uint32_t *)array_data(counts, "counts", "uint32|int32", count, true, &keep[3]);
    query_all_points(tree, query, keep, [=](const kd_points_query *all) {
        kd_points_rows rows = rows_of(to_ids, to_dist2);
        rows.order = to_order;
        rows.counts = to_counts;
        return kd_points_search_nearest(tree.c, all, k, &rows);
    });
}

static void self_within_count(const points_handle &handle, const points_query &query,
                              nb::handle order, nb::handle offsets) {
    const points_use tree(handle);
    std::vector<array> keep(2);
    const uint64_t count = kd_points_count(tree.c);
    uint32_t *to_order =
        (uint32_t *)array_data(order, "order", "uint32|int32", count, true, &keep[0]);
    uint64_t *to =
        (uint64_t *)array_data(offsets, "offsets", "uint64|int64", count + 1, true, &keep[1]);
    query_all_points(tree, query, keep, [=](const kd_points_query *all) {
        kd_points_rows rows = rows_of((uint32_t *)nullptr, nullptr);
        rows.order = to_order;
        rows.offsets = to;
        return kd_points_search_count(tree.c, all, &rows);
    });
}

static void self_within(const points_handle &handle, const points_query &query, nb::handle order,
                        nb::handle offsets, nb::handle ids, nb::handle dist2) {
    const points_use tree(handle);
    std::vector<array> keep(4);
    const uint64_t count = kd_points_count(tree.c);
    uint32_t *to_order =
        (uint32_t *)array_data(order, "order", "uint32|int32", count, true, &keep[0]);
    uint64_t *from =
        (uint64_t *)array_data(offsets, "offsets", "uint64|int64", count + 1, false, &keep[1]);
    if (keep[1].device && tree->on_cpu())
        throw nb::value_error("`offsets` must be in host memory, because the tree is on the CPU");
    const uint64_t answers = answers_of(from, keep[1], count, ids, dist2);
    uint32_t *to_ids = (uint32_t *)array_data(ids, "ids", "uint32|int32", answers, true, &keep[2]);
    void *to_dist2 =
        array_data(dist2, "dist2", tree->info.scalar == KD_DOUBLE ? "float64" : "float32", answers,
                   true, &keep[3]);
    query_all_points(tree, query, keep, [=](const kd_points_query *all) {
        kd_points_rows rows = rows_of(to_ids, to_dist2);
        rows.order = to_order;
        rows.offsets = from;
        return kd_points_search_within(tree.c, all, &rows);
    });
}

static kd_points_query box_query(const point_arrays &lo, const point_arrays &hi) {
    kd_points_query query;
    kd_points_query_default(&query);
    query.lo = lo.c;
    query.hi = hi.c;
    return query;
}

static void in_box_count(const points_handle &handle, const point_arrays &lo,
                         const point_arrays &hi, nb::handle offsets) {
    const points_use tree(handle);
    array keep;
    uint64_t *to =
        (uint64_t *)array_data(offsets, "offsets", "uint64|int64", lo.c.count + 1, true, &keep);
    const kd_points_query query = box_query(lo, hi);
    check_with_progress(
        [=](const std::atomic<bool> &) {
            (void)keep, (void)lo, (void)hi;
            return kd_points_within_count(tree.c, &query, to);
        },
        tree->on_cpu() && lo.c.count >= LONG_BOXES, tree.door());
}

static void in_box(const points_handle &handle, const point_arrays &lo, const point_arrays &hi,
                   nb::handle offsets, nb::handle ids) {
    const points_use tree(handle);
    std::vector<array> keep(2);
    const uint64_t *from =
        (uint64_t *)array_data(offsets, "offsets", "uint64|int64", lo.c.count + 1, false, &keep[0]);
    if (keep[0].device && tree->on_cpu())
        throw nb::value_error("`offsets` must be in host memory, because the tree is on the CPU");
    const uint64_t answers = answers_of(from, keep[0], lo.c.count, ids, nb::none());
    uint32_t *to = (uint32_t *)array_data(ids, "ids", "uint32|int32", answers, true, &keep[1]);
    const kd_points_query query = box_query(lo, hi);
    check_with_progress(
        [=](const std::atomic<bool> &) {
            (void)keep, (void)lo, (void)hi;
            return kd_points_within(tree.c, &query, from, to, nullptr);
        },
        tree->on_cpu() && lo.c.count >= LONG_BOXES, tree.door());
}

/* A Python callback of kd_points_visit, called by any thread with the GIL held. Its first exception
   ends the query; a result of None leaves the bound unchanged. */
struct visit_context {
    nb::object call;
    const gate *door;
    std::exception_ptr raised;
};

static double visit_callback(void *context, uint64_t query, uint64_t id, double dist2,
                             double bound) {
    visit_context *to = (visit_context *)context;
    nb::gil_scoped_acquire locked;
    if (to->raised) return -1;
    const gate::inside marked(to->door);
    try {
        check_signals();
        const nb::object answer = to->call(query, id, dist2, bound);
        return answer.is_none() ? bound : nb::cast<double>(answer);
    } catch (...) {
        to->raised = std::current_exception();
        return -1;
    }
}

/* Runs in the calling thread. An exception of the callback, or Ctrl-C, ends the call. */
static void visit(const points_handle &handle, const points_query &arguments, nb::handle call) {
    const points_use tree(handle);
    const points_query query = arguments;
    visit_context to = {nb::borrow(call), tree.door(), nullptr};
    if (call.is_none()) check(kd_points_visit(tree.c, &query.c, nullptr, nullptr));
    check_unlocked([&] { return kd_points_visit(tree.c, &query.c, visit_callback, &to); });
    if (to.raised) std::rethrow_exception(to.raised);
}

static nb::list query_period(const points_query &self) {
    nb::list out;
    for (double side : self.c.period) out.append(side);
    return out;
}

static void query_set_period(points_query &self, nb::sequence to) {
    const size_t sides = nb::len(to);
    if (sides > 8) throw nb::value_error("`period` must have at most 8 elements, one per axis");
    for (size_t axis = 0; axis < 8; ++axis)
        self.c.period[axis] = axis < sides ? nb::cast<double>(to[axis]) : 0;
}

static void bind_self(nb::module_ &m) {
    m.def("kd_points_in_box_count", in_box_count, nb::arg("tree"), nb::arg("lo"), nb::arg("hi"),
          nb::arg("offsets").none(), "Fills offsets (count + 1,) for boxes of two PointArrays.");
    m.def("kd_points_in_box", in_box, nb::arg("tree"), nb::arg("lo"), nb::arg("hi"),
          nb::arg("offsets").none(), nb::arg("ids").none(), "Fills ids (offsets[-1],).");
    m.def("kd_points_self_nearest", self_nearest, nb::arg("tree"), nb::arg("query"), nb::arg("k"),
          nb::arg("order").none(), nb::arg("ids").none(), nb::arg("dist2").none(),
          nb::arg("counts").none() = nb::none(),
          "All points ask: order (count,) uint32 or None, ids (count, k), dist2, counts.");
    m.def("kd_points_self_within_count", self_within_count, nb::arg("tree"), nb::arg("query"),
          nb::arg("order").none(), nb::arg("offsets").none(),
          "All points ask: fills offsets (count + 1,) of 64 bits.");
    m.def("kd_points_self_within", self_within, nb::arg("tree"), nb::arg("query"),
          nb::arg("order").none(), nb::arg("offsets").none(), nb::arg("ids").none(),
          nb::arg("dist2").none(), "All points ask: fills ids and dist2 by the offsets' rows.");
}

static void bind_query(nb::module_ &m) {
    nb::class_<points_query> bound(m, "PointsQuery",
                                   "kd_points_query: made by kd_points_query_default");
    bound
        .def_prop_rw(
            "points", [](const points_query &self) { return self.points.owner; }, query_set_points,
            nb::for_setter(nb::arg("points")), "(count, dims) of the tree's type: set this first")
        .def_prop_rw(
            "radii", [](const points_query &self) { return self.radii.owner; }, query_set_radii,
            nb::for_setter(nb::arg("radii").none()), "(count,) of the tree's type, or None")
        .def_prop_rw("period", query_period, query_set_period);
    bind_number<double>(bound, "max_radius", BIND_FIELD(c.max_radius));
    bind_number<double>(bound, "norm", BIND_FIELD(c.norm));
    bind_number<bool>(bound, "coherent", BIND_FIELD(c.coherent));
    bind_number<bool>(bound, "skip_self", BIND_FIELD(c.skip_self));
    bind_number<bool>(bound, "asynchronous", BIND_FIELD(c.asynchronous));
    bind_number<uintptr_t>(bound, "stream", BIND_FIELD(c.stream));
    bind_text(bound, "method", BIND_FIELD(c.method));
    m.def("kd_points_query_default", query_default, "A query with its defaults.");
    m.attr("kd_points_query_default_sized") = m.attr("kd_points_query_default");
    m.def(
        "kd_points_scratch_bytes",
        [](const points_handle &tree, const points_query &query) {
            return kd_points_scratch_bytes(points_use(tree).c, &query.c);
        },
        nb::arg("tree"), nb::arg("query"), "Bytes of working room that the query takes.");
}

void bind_points_query(nb::module_ &m) {
    bind_query(m);
    bind_points_rows(m);
    m.def("kd_points_visit", visit, nb::arg("tree"), nb::arg("query"), nb::arg("visit").none(),
          "Calls visit(query, id, dist2, bound) for the points within each radius.");
    bind_self(m);
    m.def("kd_points_nearest", nearest<uint32_t>, nb::arg("tree"), nb::arg("query"), nb::arg("k"),
          nb::arg("ids").none(), nb::arg("dist2").none(), nb::arg("counts").none() = nb::none(),
          "Fills ids (count, k) uint32, dist2 (count, k) and counts (count,) uint32.");
    m.def("kd_points_nearest64", nearest<uint64_t>, nb::arg("tree"), nb::arg("query"), nb::arg("k"),
          nb::arg("ids").none(), nb::arg("dist2").none(), nb::arg("counts").none() = nb::none(),
          "The same with ids of 64 bits.");
    m.def("nearest_distances", nearest_distances, nb::arg("tree"), nb::arg("query"), nb::arg("k"),
          nb::arg("ids"), nb::arg("distances"), nb::arg("missing"),
          "kd_points_nearest64 with distances, not squares, below max_radius; ids int64, `missing` "
          "for none.");
    m.def("kd_points_closest", closest<uint32_t>, nb::arg("tree"), nb::arg("query"),
          nb::arg("ids").none(), nb::arg("dist2").none(),
          "Fills ids (count,) uint32 and dist2 (count,).");
    m.def("kd_points_closest64", closest<uint64_t>, nb::arg("tree"), nb::arg("query"),
          nb::arg("ids").none(), nb::arg("dist2").none(), "The same with ids of 64 bits.");
    m.def("kd_points_within_count", within_count, nb::arg("tree"), nb::arg("query"),
          nb::arg("offsets").none(), "Fills offsets (count + 1,) of 64 bits.");
    m.def("kd_points_within", within<uint32_t>, nb::arg("tree"), nb::arg("query"),
          nb::arg("offsets").none(), nb::arg("ids").none(), nb::arg("dist2").none(),
          "Fills ids and dist2 (offsets[-1],) by the offsets' rows.");
    m.def("kd_points_within64", within<uint64_t>, nb::arg("tree"), nb::arg("query"),
          nb::arg("offsets").none(), nb::arg("ids").none(), nb::arg("dist2").none(),
          "The same with ids of 64 bits.");
}
