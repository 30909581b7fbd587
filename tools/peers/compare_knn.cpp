// Kandela beside nanoflann, FLANN and CGAL in one run: build and k nearest neighbours of uniform
// points of three floats. Queries in random order (Kandela's own sort of them counted) and along a
// Morton curve (sorted before, for everybody).
//     compare_knn [--threads N] [--k A,B] [--alone] [POINTS [QUERIES]]
// --k: how many neighbours, 8,50 unless told. --alone: Kandela, too, is asked one query a call.
// One thread, the default: processor time of the process. More: wall-clock time; each library does
// with threads what it can, and the last lines say what that is. Each figure is the least of five,
// and the libraries take turns, so that whatever else the machine does meets all of them. All must
// give the same distances: exit 6 if one does not.
#include "tools/peers/compare_knn.hpp"
#include <kandela/points.h>

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>
#include <thread>

namespace {

enum { TURNS = 5, COLUMNS = 5 }; // build; both k, each random and sorted

Cloud random_cloud(size_t count, unsigned seed) {
    std::mt19937 bits(seed);
    Cloud cloud(3 * count);
    for (float &x : cloud) x = float(bits() >> 8) * 0x1p-24f;
    return cloud;
}

Cloud along_a_curve(const Cloud &cloud) {
    std::vector<std::pair<uint32_t, uint32_t>> order(cloud.size() / 3);
    for (uint32_t i = 0; i < order.size(); ++i) {
        uint32_t code = 0;
        for (int bit = 9; bit >= 0; --bit)
            for (int axis = 0; axis < 3; ++axis)
                code = code << 1 | (uint32_t(cloud[3 * i + axis] * 1024) >> bit & 1);
        order[i] = {code, i};
    }
    std::sort(order.begin(), order.end());
    Cloud sorted;
    for (const auto &item : order)
        for (int axis = 0; axis < 3; ++axis) sorted.push_back(cloud[3 * item.second + axis]);
    return sorted;
}

class Kandela : public Contender {
  public:
    Kandela(const Cloud &cloud, bool each_alone)
        : points(kd_point_array_make(cloud.data(), cloud.size() / 3, 3, KD_FLOAT)),
          alone(each_alone) {}
    ~Kandela() override { drop(); }
    std::string name() const override { return "kandela"; }
    std::string on_threads() const override { return "builds and answers on threads of its own"; }

    void build() override {
        kd_points_options options;
        kd_points_options_default(&options);
        std::snprintf(options.device, sizeof options.device, "cpu");
        demand(kd_points_open(&tree, &points, &options));
    }

    void drop() override {
        kd_points_close(tree);
        tree = nullptr;
    }

    double ask(const Cloud &queries, unsigned k, bool sorted) override {
        const size_t count = queries.size() / 3;
        ids.resize(count * k);
        dist2.resize(count * k);
        kd_points_query query;
        kd_points_query_default(&query);
        query.points = kd_point_array_make(queries.data(), count, 3, KD_FLOAT);
        query.coherent = sorted;
        if (alone) query.points.count = 1;
        for (size_t i = 0; i < (alone ? count : 1); ++i) {
            query.points.coordinates = &queries[3 * i];
            demand(kd_points_nearest(tree, &query, k, &ids[i * k], &dist2[i * k], nullptr));
        }
        return sum_of_last(dist2, k);
    }

  private:
    static void demand(kd_status status) {
        if (status == KD_OK) return;
        std::fprintf(stderr, "%s\n", kd_last_error());
        std::exit(1);
    }

    kd_point_array points;
    bool alone;
    kd_points *tree = nullptr;
    std::vector<uint32_t> ids;
    std::vector<float> dist2;
};

double seconds_now(int threads) {
    timespec t;
    clock_gettime(threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// Threads of the one before wait awake for a while: none shall do so on another's time.
void let_threads_sleep(int threads) {
    if (threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

struct Row {
    double figure[COLUMNS]; // seconds, the least so far
    double sum[2];          // of distances, of both k
};

void take_turns(const Contenders &all, std::vector<Row> &rows, int column, int threads,
                const std::function<void(Contender &, Row &)> &work) {
    for (int turn = 0; turn < TURNS; ++turn)
        for (size_t i = 0; i < all.size(); ++i) {
            if (column == 0) all[i]->drop();
            let_threads_sleep(threads);
            const double started = seconds_now(threads);
            work(*all[i], rows[i]);
            double &least = rows[i].figure[column];
            least = std::min(least, seconds_now(threads) - started);
        }
}

std::vector<Row> measure(const Contenders &all, const Cloud &random, const unsigned k[2],
                         int threads) {
    const Cloud sorted = along_a_curve(random);
    std::vector<Row> rows(all.size(), Row{{1e30, 1e30, 1e30, 1e30, 1e30}, {0, 0}});
    take_turns(all, rows, 0, threads, [](Contender &one, Row &) { one.build(); });
    for (int i = 0; i < 4; ++i)
        take_turns(all, rows, 1 + i, threads, [&](Contender &one, Row &row) {
            row.sum[i / 2] = one.ask(i % 2 ? sorted : random, k[i / 2], i % 2);
        });
    return rows;
}

// How many times faster the first row is than the fastest of the others.
void print_ratios(const std::vector<Row> &rows) {
    std::printf("%-16s", "times the best");
    for (int column = 0; column < COLUMNS; ++column) {
        double best = 1e30;
        for (size_t i = 1; i < rows.size(); ++i) best = std::min(best, rows[i].figure[column]);
        std::printf(column == 1 || column == 3 ? " %12.2f" : " %11.2f",
                    best / rows[0].figure[column]);
        if (column == 2) std::printf("%11s", "");
    }
    std::printf("\n");
}

// Whether all found the same: sums differ by the order of their addition at most.
bool print_rows(const Contenders &all, const std::vector<Row> &rows, double queries) {
    bool same = true;
    for (size_t i = 0; i < all.size(); ++i) {
        const Row &row = rows[i];
        std::printf("%-16s %11.1f", all[i]->name().c_str(), 1e3 * row.figure[0]);
        for (int k = 0; k < 2; ++k) {
            std::printf(" %12.0f %11.0f (%.3f)", queries / row.figure[1 + 2 * k],
                        queries / row.figure[2 + 2 * k], row.sum[k]);
            same &= std::fabs(row.sum[k] - rows[0].sum[k]) <= 1e-6 * rows[0].sum[k];
        }
        std::printf("\n");
    }
    return same;
}

int usage() {
    std::fprintf(stderr, "usage: compare_knn [--threads N] [--k A,B] [--alone] [POINTS >= A, B "
                         "[QUERIES]]\n");
    return 2;
}

} // namespace

int main(int argc, char **argv) {
    long long given[3] = {1, 1000000, 100000}; // threads, points, queries
    unsigned k[2] = {8, 50};
    bool alone = false;
    for (int i = 1, next = 1; i < argc; ++i) {
        const bool is_threads = std::strcmp(argv[i], "--threads") == 0;
        if (std::strcmp(argv[i], "--alone") == 0) {
            alone = true;
            continue;
        }
        if (std::strcmp(argv[i], "--k") == 0) {
            if (++i == argc || std::sscanf(argv[i], "%u,%u", &k[0], &k[1]) != 2) return usage();
            continue;
        }
        if (is_threads ? ++i == argc : next > 2) return usage();
        given[is_threads ? 0 : next++] = std::atoll(argv[i]);
    }
    if (given[0] < 1 || given[0] > 1024 || !k[0] || !k[1] || given[2] < 1 ||
        given[1] < (long long)std::max(k[0], k[1]))
        return usage();
    const int threads = int(given[0]);
    omp_set_num_threads(threads); // the environment was read before main
    const Cloud cloud = random_cloud(size_t(given[1]), 1);
    const Cloud random = random_cloud(size_t(given[2]), 2);
    Contenders all;
    all.push_back(std::make_unique<Kandela>(cloud, alone));
    add_nanoflann(all, cloud, threads);
    add_flann(all, cloud, threads);
#ifdef COMPARE_CGAL
    add_cgal(all, cloud, threads);
#ifdef COMPARE_TBB
    if (threads > 1) add_cgal_tbb(all, cloud, threads);
#endif
#endif
    std::printf("%lld points, %lld queries, %d thread%s, %s time, least of %d, in turns;\n"
                "%squeries a second, and the sum of k-th distances\n"
                "%-16s %11s %5s%2u random %11s %13s%3u random %11s\n",
                given[1], given[2], threads, threads > 1 ? "s" : "",
                threads > 1 ? "wall-clock" : "processor", TURNS, alone ? "one query a call; " : "",
                "", "build ms", "k =", k[0], "sorted", "k =", k[1], "sorted");
    const std::vector<Row> rows = measure(all, random, k, threads);
    const bool same = print_rows(all, rows, double(given[2]));
    if (all.size() > 1) print_ratios(rows);
    for (const auto &one : all)
        if (threads > 1) std::printf("%s: %s\n", one->name().c_str(), one->on_threads().c_str());
    if (same) return 0;
    std::fprintf(stderr, "compare_knn: the distances found are not the same\n");
    return 6;
}
