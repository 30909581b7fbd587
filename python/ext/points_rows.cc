/* Rows of points within a radius, and counts of pairs by distance, collected by kd_points_visit in
   one pass and without sorting the rows by distance.
   Idea: each thread of the library appends to arrays of its own. A row is contiguous in the arrays
         of one thread, so the rows are copied to their places when all are known, and neither they
         nor sums depend on the number of threads. */
#include "python/ext/points.h"
#include <cmath>
#include <deque>
#include <limits>
#include <nanobind/stl/vector.h>

/* --- one part per thread --------------------------------------------------------------------- */

static std::atomic<uint64_t> last_number{0};

/* What the threads of one call collect. `number` distinguishes calls, because a later collector may
   have the address of an earlier one. */
template <typename part> struct collector {
    const uint64_t number = ++last_number;
    std::mutex mutex;
    std::deque<part> parts;
    /* for each query the part of the thread that processes it: faster than thread-local memory,
       which is read once per query */
    std::vector<part *> part_of;
    std::atomic<bool> failed{false}; /* out of memory */
    uint64_t first = 0;              /* index of the first query of the current piece */

    explicit collector(uint64_t queries) : part_of(queries) {}
    part &of_thread() {
        static thread_local uint64_t known = 0;
        static thread_local part *its = nullptr;
        if (known == number) return *its;
        std::lock_guard<std::mutex> locked(mutex);
        parts.emplace_back();
        its = &parts.back();
        known = number;
        return *its;
    }
    void check_memory() const {
        if (failed) check_said(KD_ERROR_MEMORY, "out of memory for the points within the radius");
    }
};

template <typename type> static nb::object numpy_array(std::vector<type> &&values, size_t columns) {
    std::vector<type> *owned = new std::vector<type>(std::move(values));
    const nb::capsule owner(owned, [](void *at) noexcept { delete (std::vector<type> *)at; });
    const size_t shape[] = {owned->size() / columns, columns};
    return nb::cast(nb::ndarray<nb::numpy, type>(owned->data(), columns > 1 ? 2 : 1, shape, owner));
}

/* --- rows ------------------------------------------------------------------------------------ */

struct row_run {
    uint64_t query, begin; /* the row begins here in the arrays of its part */
};

struct row_part {
    std::vector<uint32_t> ids;
    std::vector<double> dist2;
    std::vector<row_run> runs;
};

struct row_collector : collector<row_part> {
    const bool later, distances;
    row_collector(uint64_t queries, bool later, bool distances)
        : collector(queries), later(later), distances(distances) {}
};

static double row_callback(void *context, uint64_t query, uint64_t id, double dist2, double bound) {
    row_collector *rows = (row_collector *)context;
    query += rows->first;
    if (rows->later && id <= query) return bound;
    try {
        row_part *part = rows->part_of[query];
        if (!part) {
            part = &rows->of_thread();
            part->runs.push_back({query, part->ids.size()});
            rows->part_of[query] = part;
        }
        part->ids.push_back((uint32_t)id);
        if (rows->distances) part->dist2.push_back(dist2);
    } catch (const std::exception &) {
        rows->failed = true;
        return -1;
    }
    return bound;
}

static std::shared_ptr<row_collector> collect(const points_use &tree, const points_query &query,
                                              bool later, bool distances) {
    const auto rows = std::make_shared<row_collector>(query.c.points.count, later, distances);
    in_pieces(tree, query, 64, [=](const kd_points_query *piece, uint64_t at) {
        rows->first = at;
        return kd_points_visit(tree.c, piece, row_callback, rows.get());
    });
    rows->check_memory();
    return rows;
}

static uint64_t run_end(const row_part &part, size_t run) {
    return run + 1 < part.runs.size() ? part.runs[run + 1].begin : part.ids.size();
}

static std::vector<int64_t> offsets_of(const row_collector &rows, uint64_t count) {
    std::vector<int64_t> offsets(count + 1);
    for (const row_part &part : rows.parts)
        for (size_t run = 0; run < part.runs.size(); ++run)
            offsets[part.runs[run].query + 1] =
                (int64_t)(run_end(part, run) - part.runs[run].begin);
    for (uint64_t i = 0; i < count; ++i) offsets[i + 1] += offsets[i];
    return offsets;
}

/* Stores the distances of a part, which are squared only in the Euclidean norm. */
template <typename scalar>
static void put_distances(const row_collector &rows, const std::vector<int64_t> &offsets,
                          bool squared, std::vector<scalar> &to) {
    for (const row_part &part : rows.parts)
        for (size_t run = 0; run < part.runs.size(); ++run) {
            const uint64_t begin = part.runs[run].begin, end = run_end(part, run);
            scalar *row = to.data() + offsets[part.runs[run].query];
            for (uint64_t i = begin; i < end; ++i)
                row[i - begin] = (scalar)(squared ? std::sqrt(part.dist2[i]) : part.dist2[i]);
        }
}

/* Returns offsets (count + 1,) and ids, int64, and distances of the tree's type, or None. */
static nb::tuple within_rows(const points_handle &handle, const points_query &query,
                             bool distances) {
    const points_use tree(handle);
    const auto rows = collect(tree, query, false, distances);
    std::vector<int64_t> offsets = offsets_of(*rows, query.c.points.count);
    std::vector<int64_t> ids((size_t)offsets.back());
    for (const row_part &part : rows->parts)
        for (size_t run = 0; run < part.runs.size(); ++run)
            std::copy(part.ids.begin() + (ptrdiff_t)part.runs[run].begin,
                      part.ids.begin() + (ptrdiff_t)run_end(part, run),
                      ids.begin() + offsets[part.runs[run].query]);
    nb::object found = nb::none();
    if (distances && query.c.points.scalar == KD_DOUBLE) {
        std::vector<double> to(ids.size());
        put_distances(*rows, offsets, query.c.norm == 2, to);
        found = numpy_array(std::move(to), 1);
    } else if (distances) {
        std::vector<float> to(ids.size());
        put_distances(*rows, offsets, query.c.norm == 2, to);
        found = numpy_array(std::move(to), 1);
    }
    return nb::make_tuple(numpy_array(std::move(offsets), 1), numpy_array(std::move(ids), 1),
                          found);
}

/* Returns the pairs of a query and a point with a greater number, (count, 2) int64. */
static nb::object later_pairs(const points_handle &handle, const points_query &query) {
    const points_use tree(handle);
    const auto rows = collect(tree, query, true, false);
    const std::vector<int64_t> offsets = offsets_of(*rows, query.c.points.count);
    std::vector<int64_t> pairs(2 * (size_t)offsets.back());
    for (const row_part &part : rows->parts)
        for (size_t run = 0; run < part.runs.size(); ++run) {
            int64_t *to = pairs.data() + 2 * offsets[part.runs[run].query];
            for (uint64_t i = part.runs[run].begin, end = run_end(part, run); i < end; ++i) {
                *to++ = (int64_t)part.runs[run].query;
                *to++ = (int64_t)part.ids[i];
            }
        }
    return numpy_array(std::move(pairs), 2);
}

static nb::object list_of(const int64_t *values, size_t count) {
    nb::object list = nb::steal(PyList_New((Py_ssize_t)count));
    if (!list.is_valid()) throw nb::python_error();
    for (size_t i = 0; i < count; ++i) {
        PyObject *one = PyLong_FromLongLong(values[i]);
        if (!one || PyList_SetItem(list.ptr(), (Py_ssize_t)i, one) != 0) throw nb::python_error();
    }
    return list;
}

/* Converts rows to a list of lists, each sorted on request. */
static nb::list row_lists(const nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig> &offsets,
                          const nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig> &ids,
                          bool sorted) {
    nb::list out;
    std::vector<int64_t> row;
    for (size_t i = 0; i + 1 < offsets.shape(0); ++i) {
        row.assign(ids.data() + offsets.data()[i], ids.data() + offsets.data()[i + 1]);
        if (sorted) std::sort(row.begin(), row.end());
        out.append(list_of(row.data(), row.size()));
    }
    return out;
}

/* --- one query per call: fewer steps than a batch takes ------------------------------------- */

typedef nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu> one_point;

/* Sets *query to the query for one point of doubles. Returns false if only the general path can
   answer it or report what is wrong with it: an array of another type or size, coordinates that are
   not finite or too large to be squared, a wrong radius. */
static bool one_query(const points_use &tree, nb::handle object, double radius, one_point *point,
                      kd_points_query *query) {
    if (!nb::try_cast(object, *point, false) || point->shape(0) != tree->info.dims ||
        !(radius >= 0) || tree->info.scalar != KD_DOUBLE)
        return false;
    for (size_t axis = 0; axis < point->shape(0); ++axis)
        if (!(std::fabs(point->data()[axis]) < 1e153)) return false;
    kd_points_query_default(query);
    query->points = kd_point_array_make(point->data(), 1, tree->info.dims, KD_DOUBLE);
    query->max_radius = radius;
    return true;
}

struct one_ball_ids {
    std::vector<int64_t> ids;
    bool failed = false; /* out of memory */
};

static double one_callback(void *context, uint64_t query, uint64_t id, double dist2, double bound) {
    (void)query;
    (void)dist2;
    one_ball_ids *to = (one_ball_ids *)context;
    try {
        to->ids.push_back((int64_t)id);
    } catch (const std::exception &) {
        to->failed = true;
        return -1;
    }
    return bound;
}

/* Returns the list of points within the radius, or None if the general path has to be taken. */
static nb::object one_ball(const points_handle &handle, nb::handle object, double radius,
                           bool sorted) {
    const points_use tree(handle);
    one_point point;
    kd_points_query query;
    one_ball_ids found;
    if (!one_query(tree, object, radius, &point, &query)) return nb::none();
    check_unlocked([&] { return kd_points_visit(tree.c, &query, one_callback, &found); });
    if (found.failed) check_said(KD_ERROR_MEMORY, "out of memory for the points within the radius");
    if (sorted) std::sort(found.ids.begin(), found.ids.end());
    return list_of(found.ids.data(), found.ids.size());
}

/* Returns the nearest point's distance and id, infinity and the number of points if there is none
   nearer than the radius; or None if the general path has to be taken. */
static nb::object one_nearest(const points_handle &handle, nb::handle object, double radius) {
    const points_use tree(handle);
    one_point point;
    kd_points_query query;
    if (!one_query(tree, object, radius, &point, &query)) return nb::none();
    uint32_t id = KD_NO_POINT;
    double dist2 = 0;
    check_unlocked([&] { return kd_points_closest(tree.c, &query, &id, &dist2); });
    const double distance = std::sqrt(dist2);
    if (id == KD_NO_POINT || !(distance < radius))
        return nb::make_tuple(std::numeric_limits<double>::infinity(), kd_points_count(tree.c));
    return nb::make_tuple(distance, id);
}

/* --- counts of pairs ------------------------------------------------------------------------- */

/* The sums of one thread, one for each radius. */
struct pair_part {
    std::vector<uint64_t> counts;
};

struct pair_counter : collector<pair_part> {
    using collector::collector;
    std::vector<double> limits; /* ascending, in the units of dist2 */
    const double *weights = nullptr;
    std::vector<double> sums; /* with weights: a row for each query of the piece */
};

/* Returns the greatest value of dist2 whose distance, rounded to the scalar, is within a radius. */
template <typename scalar> static double limit_of(double radius, bool squared) {
    const scalar infinity = std::numeric_limits<scalar>::infinity();
    if (!squared || !(radius > 0) || std::isinf(radius)) return radius;
    scalar limit = (scalar)(radius * radius);
    while (limit > 0 && (double)std::sqrt(limit) > radius) limit = std::nextafter(limit, (scalar)0);
    while (limit < infinity && (double)std::sqrt(std::nextafter(limit, infinity)) <= radius)
        limit = std::nextafter(limit, infinity);
    return (double)limit;
}

static double pair_callback(void *context, uint64_t query, uint64_t id, double dist2,
                            double bound) {
    pair_counter *counter = (pair_counter *)context;
    const std::vector<double> &limits = counter->limits;
    size_t bin = 0;
    if (limits.size() <= 32)
        for (double limit : limits) bin += dist2 > limit;
    else
        bin = (size_t)(std::lower_bound(limits.begin(), limits.end(), dist2) - limits.begin());
    if (bin == limits.size()) return bound;
    if (counter->weights) {
        counter->sums[query * limits.size() + bin] += counter->weights[id];
        return bound;
    }
    try {
        pair_part *&part = counter->part_of[counter->first + query];
        if (!part) {
            part = &counter->of_thread();
            part->counts.resize(limits.size());
        }
        ++part->counts[bin];
    } catch (const std::exception &) {
        counter->failed = true;
        return -1;
    }
    return bound;
}

/* Returns, for each of the ascending radii, the number of pairs of a query and a point whose
   distance is within it but not within the one before it; or, unless None, the sum of the products
   of the weights of both. */
static nb::object count_pairs(const points_handle &handle, const points_query &query,
                              const std::vector<double> &radii, nb::handle query_side,
                              nb::handle point_weights) {
    const points_use tree(handle);
    std::vector<array> keep(2);
    const uint64_t count = query.c.points.count, bins = radii.size();
    const double *query_weights =
        (const double *)array_data(query_side, "query_weights", "float64", count, false, &keep[0]);
    const auto counter = std::make_shared<pair_counter>(count);
    counter->weights = (const double *)array_data(point_weights, "point_weights", "float64",
                                                  kd_points_count(tree.c), false, &keep[1]);
    for (double radius : radii)
        counter->limits.push_back(query.c.points.scalar == KD_DOUBLE
                                      ? limit_of<double>(radius, query.c.norm == 2)
                                      : limit_of<float>(radius, query.c.norm == 2));
    const auto totals = std::make_shared<std::vector<double>>(bins);
    /* with weights a piece has few queries, so that the sums of each fit into memory */
    const uint64_t answers = counter->weights ? PIECE_ANSWERS : 64;
    in_pieces(tree, query, answers, [=](const kd_points_query *piece, uint64_t at) {
        (void)keep;
        const uint64_t rows = piece->points.count;
        try {
            if (counter->weights) counter->sums.assign(rows * bins, 0);
        } catch (const std::exception &) {
            counter->failed = true;
        }
        if (counter->failed) return KD_OK;
        counter->first = at;
        const kd_status status = kd_points_visit(tree.c, piece, pair_callback, counter.get());
        for (uint64_t i = 0; counter->weights && i < rows; ++i)
            for (uint64_t bin = 0; bin < bins; ++bin)
                (*totals)[bin] += query_weights[at + i] * counter->sums[i * bins + bin];
        return status;
    });
    counter->check_memory();
    for (const pair_part &part : counter->parts)
        for (size_t bin = 0; bin < part.counts.size(); ++bin)
            (*totals)[bin] += (double)part.counts[bin];
    return numpy_array(std::move(*totals), 1);
}

void bind_points_rows(nb::module_ &m) {
    m.def("within_rows", within_rows, nb::arg("tree"), nb::arg("query"), nb::arg("distances"),
          "Offsets, ids and distances (or None) of the points within the radius, unsorted.");
    m.def("later_pairs", later_pairs, nb::arg("tree"), nb::arg("query"),
          "Pairs of a query and a point within the radius that has a greater id.");
    m.def("one_ball", one_ball, nb::arg("tree"), nb::arg("x"), nb::arg("radius"), nb::arg("sorted"),
          "The points within the radius of one point; None if the general way has to be taken.");
    m.def("one_nearest", one_nearest, nb::arg("tree"), nb::arg("x"), nb::arg("radius"),
          "Distance and id of the nearest point; None if the general way has to be taken.");
    m.def("row_lists", row_lists, nb::arg("offsets"), nb::arg("ids"), nb::arg("sorted"),
          "Rows as a list of lists.");
    m.def("count_pairs", count_pairs, nb::arg("tree"), nb::arg("query"), nb::arg("radii"),
          nb::arg("query_weights").none(), nb::arg("point_weights").none(),
          "Number of pairs, or sum of their weights, between each radius and the one before.");
}
