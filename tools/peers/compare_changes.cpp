// Compares Kandela's dynamic trees with PSI's k-d tree (checkouts of PSI and parlaylib:
// -DKD_PEERS).
//
//     compare_changes [--threads N] [--batches N] [POINTS]
//
// POINTS uniform points of three floats [1,000,000]. 16 batches of 0.1, 1 and 10 % of them are
// inserted (kd_points_insert, batch_insert), then as many points are removed, sampled from the
// initial ones (kd_points_remove, batch_delete), with the two trees in turns. Figures are means
// over batches, since batches that merge layers take longer. After each kind of change both answer
// the 8 nearest of 100,000 queries. With one thread, the default: processor time of the process,
// and the part in the kernel (first access to memory; PSI keeps its memory). With more: wall-clock
// time. Kandela's ids must equal those of a new tree of the same points; otherwise the exit code
// is 6. Rows in which PSI's k-th distance differs (it compares floats with a tolerance) are
// counted.
#include <kandela/points.h>

#include <parlay/primitives.h>
#include <psi/base_tree.h>
#include <psi/dependence/splitter.h>
#include <psi/kd_tree.h>

#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr size_t K = 8, QUERIES = 100000, SHARES = 3;
const double shares[SHARES] = {0.001, 0.01, 0.1};

using Cloud = std::vector<float>; // x, y, z, x, ...

struct Id {
    using id_type = int64_t;
    id_type id;
    bool operator<(const Id &other) const { return id < other.id; }
    bool operator==(const Id &other) const { return id == other.id; }
    friend std::ostream &operator<<(std::ostream &out, const Id &id) { return out << id.id; }
};

using Point = psi::aug_point<float, 3, Id>;
using Points = parlay::sequence<Point>;
using Rule = psi::orthogonal_split_rule<psi::max_stretch_dim<Point>, psi::object_median<Point>>;
using PsiTree = psi::kd_tree<psi::tree_traits<Point, Rule>>;

struct Request {
    long long threads = 1, batches = 16, points = 1000000;
};

struct Took {
    double all = 0, kernel = 0; // seconds: total; in the kernel
};

Took now(const Request &request) {
    timespec t;
    rusage used;
    clock_gettime(request.threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    getrusage(RUSAGE_SELF, &used);
    return {double(t.tv_sec) + 1e-9 * double(t.tv_nsec),
            double(used.ru_stime.tv_sec) + 1e-6 * double(used.ru_stime.tv_usec)};
}

template <class Work> Took time_of(const Request &request, const Work &work) {
    const Took started = now(request);
    work();
    const Took ended = now(request);
    return {ended.all - started.all, ended.kernel - started.kernel};
}

void add(Took &sum, const Took &more) {
    sum.all += more.all;
    sum.kernel += more.kernel;
}

void demand(kd_status status) {
    if (status == KD_OK) return;
    std::fprintf(stderr, "%s\n", kd_last_error());
    std::exit(1);
}

Cloud random_cloud(size_t count, unsigned seed) {
    std::mt19937 bits(seed);
    Cloud cloud(3 * count);
    for (float &x : cloud) x = float(bits() >> 8) * 0x1p-24f;
    return cloud;
}

Points psi_points(const Cloud &cloud, const std::vector<uint32_t> &ids) {
    Points points(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
        for (size_t axis = 0; axis < 3; ++axis)
            points[i][uint8_t(axis)] = cloud[3 * size_t(ids[i]) + axis];
        points[i].aug.id = ids[i];
    }
    return points;
}

std::vector<uint32_t> ids_from(size_t first, size_t count, size_t step) {
    std::vector<uint32_t> ids(count);
    for (size_t i = 0; i < count; ++i) ids[i] = uint32_t(first + i * step);
    return ids;
}

// `named`: points have the given ids; otherwise ids are assigned in order.
kd_points *open_tree(const Cloud &cloud, const std::vector<uint32_t> &ids, bool named) {
    Cloud device_cloud(3 * ids.size());
    for (size_t i = 0; i < ids.size(); ++i)
        for (size_t axis = 0; axis < 3; ++axis)
            device_cloud[3 * i + axis] = cloud[3 * size_t(ids[i]) + axis];
    kd_points_options options;
    kd_points_options_default(&options);
    std::snprintf(options.device, sizeof options.device, "cpu");
    kd_point_array points = kd_point_array_make(device_cloud.data(), ids.size(), 3, KD_FLOAT);
    if (named) points.ids = ids.data();
    kd_points *tree = nullptr;
    demand(kd_points_open(&tree, &points, &options));
    return tree;
}

struct Answers {
    std::vector<uint32_t> ids;
    std::vector<float> dist2;
    double seconds;
};

Answers visit_points(const Request &request, const kd_points *tree, const Cloud &queries) {
    Answers out;
    out.ids.resize(QUERIES * K);
    out.dist2.resize(out.ids.size());
    kd_points_query query;
    kd_points_query_default(&query);
    query.points = kd_point_array_make(queries.data(), QUERIES, 3, KD_FLOAT);
    out.seconds =
        time_of(request, [&] {
            demand(kd_points_nearest(tree, &query, K, out.ids.data(), out.dist2.data(), nullptr));
        }).all;
    return out;
}

// Squared distances to the eighth neighbour.
Answers query_psi(const Request &request, PsiTree &tree, const Cloud &queries) {
    using Near = std::pair<std::reference_wrapper<Point>, Point::dis_type>;
    static Point origin_point;
    Answers out;
    out.dist2.resize(QUERIES);
    out.seconds =
        time_of(request, [&] {
            parlay::parallel_for(0, QUERIES, [&](size_t i) {
                Point at;
                for (size_t axis = 0; axis < 3; ++axis) at[uint8_t(axis)] = queries[3 * i + axis];
                at.aug.id = -1;
                Near buffer[K] = {{std::ref(origin_point), 0}, {std::ref(origin_point), 0},
                                  {std::ref(origin_point), 0}, {std::ref(origin_point), 0},
                                  {std::ref(origin_point), 0}, {std::ref(origin_point), 0},
                                  {std::ref(origin_point), 0}, {std::ref(origin_point), 0}};
                psi::bounded_queue<Point, Near> nearest(parlay::make_slice(buffer, buffer + K));
                tree.knn(at, nearest);
                out.dist2[i] = float(nearest.top_value());
            });
        }).all;
    return out;
}

size_t psi_differs(const Answers &kd_answers, const Answers &peer_answers) {
    size_t rows = 0;
    for (size_t i = 0; i < QUERIES; ++i) {
        const float a = kd_answers.dist2[i * K + K - 1], b = peer_answers.dist2[i];
        rows += a - b > 1e-6f * a || b - a > 1e-6f * a;
    }
    return rows;
}

struct Change {
    const Request &request;
    const Cloud &cloud, &queries;
    size_t batch;
    kd_points *tree;
    PsiTree &peer;
    bool same = true;
};

// Measures one kind of change; `ids`: ids of all points in the trees.
void print_row(Change &change, const char *label, double share, const Took times[2],
               const std::vector<uint32_t> &ids) {
    const Answers kd_answers = visit_points(change.request, change.tree, change.queries);
    const Answers peer_answers = query_psi(change.request, change.peer, change.queries);
    kd_points *rebuilt = nullptr;
    const double built =
        time_of(change.request, [&] { rebuilt = open_tree(change.cloud, ids, true); }).all;
    const Answers expected = visit_points(change.request, rebuilt, change.queries);
    kd_points_close(rebuilt);
    const bool same = kd_answers.ids == expected.ids && kd_answers.dist2 == expected.dist2;
    change.same &= same;
    const double each = 1e3 / double(change.request.batches);
    std::printf(
        "%5g %% %-6s %9.2f %8.2f %9.2f %8.2f %9.2f %9.1f %9.2f %9.2f %9.2f %8zu%s\n", 100 * share,
        label, each * times[0].all, each * times[0].kernel, each * times[1].all, each * times[1].kernel,
        times[1].all / times[0].all, 1e3 * built, 1e-6 * double(QUERIES) / kd_answers.seconds,
        1e-6 * double(QUERIES) / peer_answers.seconds, 1e-6 * double(QUERIES) / expected.seconds,
        psi_differs(kd_answers, peer_answers), same ? "" : "  OURS DIFFER FROM A TREE BUILT ANEW");
    std::fflush(stdout);
}

void insert_batches(Change &change, Took times[2]) {
    for (long long b = 0; b < change.request.batches; ++b) {
        const size_t first = size_t(change.request.points) + size_t(b) * change.batch;
        const std::vector<uint32_t> ids = ids_from(first, change.batch, 1);
        Points peer_points = psi_points(change.cloud, ids);
        const kd_point_array more =
            kd_point_array_make(&change.cloud[3 * first], change.batch, 3, KD_FLOAT);
        add(times[0], time_of(change.request,
                             [&] { demand(kd_points_insert(change.tree, &more, nullptr)); }));
        add(times[1], time_of(change.request,
                             [&] { change.peer.batch_insert(parlay::make_slice(peer_points)); }));
    }
}

void remove_batches(Change &change, Took times[2], const std::vector<uint32_t> &gone) {
    for (long long b = 0; b < change.request.batches; ++b) {
        const size_t from = size_t(b) * change.batch;
        const std::vector<uint32_t> ids(gone.begin() + long(from),
                                        gone.begin() + long(from + change.batch));
        Points peer_points = psi_points(change.cloud, ids);
        add(times[0], time_of(change.request, [&] {
                demand(kd_points_remove(change.tree, ids.data(), ids.size()));
            }));
        add(times[1], time_of(change.request,
                             [&] { change.peer.batch_delete(parlay::make_slice(peer_points)); }));
    }
}

bool run_share(const Request &request, double share) {
    const size_t batch = size_t(double(request.points) * share),
                 all = batch * size_t(request.batches);
    const size_t points = size_t(request.points);
    if (batch == 0) return true;
    const Cloud cloud = random_cloud(points + all, 1), queries = random_cloud(QUERIES, 2);
    std::vector<uint32_t> ids = ids_from(0, points, 1);
    Points peer_points = psi_points(cloud, ids);
    PsiTree peer;
    peer.build(parlay::make_slice(peer_points));
    Change change = {request, cloud, queries, batch, open_tree(cloud, ids, false), peer};
    Took times[2][2];
    insert_batches(change, times[0]);
    ids = ids_from(0, points + all, 1);
    print_row(change, "insert", share, times[0], ids);
    const size_t step = points / all ? points / all : 1;
    if (all <= points) {
        const std::vector<uint32_t> gone = ids_from(0, all, step);
        remove_batches(change, times[1], gone);
        std::vector<uint32_t> left;
        for (uint32_t id : ids)
            if (id % step || id / step >= all) left.push_back(id);
        print_row(change, "remove", share, times[1], left);
    }
    peer.delete_tree();
    kd_points_close(change.tree);
    return change.same;
}

bool read_line(Request &request, int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        long long *to = word == "--threads"   ? &request.threads
                        : word == "--batches" ? &request.batches
                                              : &request.points;
        if (to != &request.points && ++i == argc) return false;
        *to = std::atoll(argv[i]);
        if (*to < 1) return false;
    }
    return request.threads <= 1024 && request.points >= 1000 && request.points <= 1000000000;
}

} // namespace

int main(int argc, char **argv) {
    Request request;
    if (!read_line(request, argc, argv)) {
        std::fprintf(stderr,
                     "usage: compare_changes [--threads N] [--batches N] [POINTS >= 1000]\n");
        return 2;
    }
    const std::string threads = std::to_string(request.threads);
    setenv("PARLAY_NUM_THREADS", threads.c_str(), 1); // read when its first loop starts
    setenv("OMP_NUM_THREADS", threads.c_str(), 1);
    std::printf("%lld points, %lld batches, %lld thread%s, %s time, in turns; ms a batch\n"
                "%-14s %9s %8s %9s %8s %9s %9s %9s %9s %9s %8s\n",
                request.points, request.batches, request.threads, request.threads > 1 ? "s" : "",
                request.threads > 1 ? "wall-clock" : "processor", "", "kandela", "kernel", "PSI",
                "kernel", "x of PSI", "anew, ms", "ask M/s", "PSI's", "anew's", "differ");
    bool same = true;
    for (double share : shares) same &= run_share(request, share);
    if (same) return 0;
    std::fprintf(stderr, "compare_changes: a changed tree answers otherwise than one built anew\n");
    return 6;
}
