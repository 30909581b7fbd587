// Compares Kandela with nanoflann, FLANN, CGAL, PicoTree and kiddo in one process: build and k
// nearest neighbours of uniform points of three floats. Queries are in random order (Kandela's own
// sort is included in its time) and along a Morton curve (sorted before, for all libraries).
//
//     compare_knn [--threads N] [--k A,B] [--alone] [--own] [--cloud FILE] [POINTS [QUERIES]]
//
// --k: numbers of neighbours [8,50]. --alone: one query per call for Kandela, too. --own: the
// second column of each k are self-queries in input order, by Kandela with `self` of the query.
// --cloud: the first POINTS of a file of floats x, y, z; queries are some of them. With one thread,
// the default: processor time of the process. With more: wall-clock time; the last lines say how
// each library uses threads. Each figure is the minimum of five runs. The libraries take turns, so
// that other load affects all of them. All must find the same distances; otherwise the exit code is
// 6.
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

enum { TURNS = 5, COLUMNS = 5 }; // columns: build; for both k random and sorted

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

    double visit_points(const Cloud &queries, unsigned k, bool sorted) override {
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

    double query_self(const Cloud &cloud, unsigned k) override {
        if (alone) return visit_points(cloud, k, true);
        ids.resize(cloud.size() / 3 * k);
        dist2.resize(ids.size());
        kd_points_query query;
        kd_points_query_default(&query);
        query.self = 1;
        demand(kd_points_nearest(tree, &query, k, ids.data(), dist2.data(), nullptr));
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

// Waits until the threads of the previous library have stopped spinning.
void let_threads_sleep(int threads) {
    if (threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

struct Row {
    double figure[COLUMNS]; // seconds, minimum so far
    double sum[2];          // sums of distances for both k
    double own_sum[2];      // sums for self-queries
};

void take_turns(const Contenders &all, std::vector<Row> &rows, int column, int threads,
                const std::function<void(Contender &, Row &)> &work) {
    for (int turn = 0; turn < TURNS; ++turn)
        for (size_t i = 0; i < all.size(); ++i) {
            if (column == 0) all[i]->drop();
            let_threads_sleep(threads);
            const double started = seconds_now(threads);
            work(*all[i], rows[i]);
            double &minimum = rows[i].figure[column];
            minimum = std::min(minimum, seconds_now(threads) - started);
        }
}

struct Input {
    Cloud cloud, random, sorted; // points; queries
    bool self_queries;           // self-queries instead of sorted queries
};

std::vector<Row> measure(const Contenders &all, const Input &input, const unsigned k[2],
                         int threads) {
    std::vector<Row> rows(all.size(), Row{{1e30, 1e30, 1e30, 1e30, 1e30}, {0, 0}, {0, 0}});
    take_turns(all, rows, 0, threads, [](Contender &one, Row &) { one.build(); });
    for (int i = 0; i < 4; ++i)
        take_turns(all, rows, 1 + i, threads, [&](Contender &one, Row &row) {
            if (i % 2 && input.self_queries)
                row.own_sum[i / 2] = one.query_self(input.cloud, k[i / 2]);
            else
                row.sum[i / 2] =
                    one.visit_points(i % 2 ? input.sorted : input.random, k[i / 2], i % 2);
        });
    return rows;
}

// Returns the speed-up of the first row over the fastest of the others.
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

// Returns true if all sums of distances agree up to the rounding of additions in another order.
bool same_sums(const double a[2], const double b[2], int k) {
    return std::fabs(a[k] - b[k]) <= 1e-6 * b[k];
}

bool print_rows(const Contenders &all, const std::vector<Row> &rows, const Input &input) {
    const double queries = double(input.random.size() / 3);
    const double second = input.self_queries ? double(input.cloud.size() / 3) : queries;
    bool same = true;
    for (size_t i = 0; i < all.size(); ++i) {
        const Row &row = rows[i];
        std::printf("%-16s %11.1f", all[i]->name().c_str(), 1e3 * row.figure[0]);
        for (int k = 0; k < 2; ++k) {
            std::printf(" %12.0f %11.0f (%.3f)", queries / row.figure[1 + 2 * k],
                        second / row.figure[2 + 2 * k], row.sum[k]);
            same &=
                same_sums(row.sum, rows[0].sum, k) && same_sums(row.own_sum, rows[0].own_sum, k);
        }
        std::printf("\n");
    }
    return same;
}

int usage() {
    std::fprintf(stderr,
                 "usage: compare_knn [--threads N] [--k A,B] [--alone] [--own] [--cloud FILE] "
                 "[POINTS >= A, B [QUERIES]]\n");
    return 2;
}

struct Request {
    long long given[3] = {1, 1000000, 100000}; // threads, points, queries
    unsigned k[2] = {8, 50};
    bool alone = false, self_queries = false;
    const char *file = nullptr;
};

bool read_line(Request &request, int argc, char **argv) {
    for (int i = 1, next = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool takes = word == "--threads" || word == "--k" || word == "--cloud";
        if (takes && ++i == argc) return false;
        if (word == "--alone") {
            request.alone = true;
        } else if (word == "--own") {
            request.self_queries = true;
        } else if (word == "--cloud") {
            request.file = argv[i];
        } else if (word == "--k") {
            if (std::sscanf(argv[i], "%u,%u", &request.k[0], &request.k[1]) != 2) return false;
        } else {
            if (!takes && next > 2) return false;
            request.given[takes ? 0 : next++] = std::atoll(argv[i]);
        }
    }
    const long long *numbers = request.given;
    return numbers[0] >= 1 && numbers[0] <= 1024 && request.k[0] && request.k[1] &&
           numbers[2] >= 1 && numbers[1] >= (long long)std::max(request.k[0], request.k[1]);
}

// Reads floats x, y, z of at most `maximum` points.
Cloud cloud_of_file(const char *path, size_t maximum) {
    Cloud cloud(3 * maximum);
    std::FILE *file = std::fopen(path, "rb");
    if (file) cloud.resize(std::fread(cloud.data(), 12, maximum, file) * 3);
    if (file) std::fclose(file);
    if (file && !cloud.empty()) return cloud;
    std::fprintf(stderr, "%s: no floats x, y, z there\n", path);
    std::exit(4);
}

Input input_of(Request &request) {
    Input input;
    const size_t queries = size_t(request.given[2]);
    input.self_queries = request.self_queries;
    if (!request.file) {
        input.cloud = random_cloud(size_t(request.given[1]), 1);
        input.random = random_cloud(queries, 2);
        input.sorted = along_a_curve(input.random);
        return input;
    }
    input.cloud = cloud_of_file(request.file, size_t(request.given[1]));
    request.given[1] = (long long)(input.cloud.size() / 3);
    std::mt19937 bits(2);
    std::vector<uint32_t> chosen;
    for (size_t i = 0; i < queries; ++i) chosen.push_back(uint32_t(bits() % request.given[1]));
    for (bool in_order : {false, true}) {
        if (in_order) std::sort(chosen.begin(), chosen.end());
        for (uint32_t at : chosen)
            for (int axis = 0; axis < 3; ++axis)
                (in_order ? input.sorted : input.random).push_back(input.cloud[3 * at + axis]);
    }
    return input;
}

Contenders contenders_of(const Input &input, bool alone, int threads) {
    Contenders all;
    all.push_back(std::make_unique<Kandela>(input.cloud, alone));
    add_nanoflann(all, input.cloud, threads);
    add_flann(all, input.cloud, threads);
#ifdef COMPARE_CGAL
    add_cgal(all, input.cloud, threads);
#ifdef COMPARE_TBB
    if (threads > 1) add_cgal_tbb(all, input.cloud, threads);
#endif
#endif
#ifdef COMPARE_PICO_TREE
    add_pico_tree(all, input.cloud, threads);
#endif
#ifdef COMPARE_KIDDO
    add_kiddo(all, input.cloud, threads);
#endif
    return all;
}

} // namespace

int main(int argc, char **argv) {
    Request request;
    if (!read_line(request, argc, argv)) return usage();
    const int threads = int(request.given[0]);
    omp_set_num_threads(threads); // OpenMP has read the environment before main
    const Input input = input_of(request);
    const Contenders all = contenders_of(input, request.alone, threads);
    const char *second = request.self_queries ? "own" : "sorted";
    std::printf("%lld points, %lld queries, %d thread%s, %s time, least of %d, in turns;\n"
                "%squeries a second, and the sum of k-th distances\n"
                "%-16s %11s %5s%2u random %11s %13s%3u random %11s\n",
                request.given[1], request.given[2], threads, threads > 1 ? "s" : "",
                threads > 1 ? "wall-clock" : "processor", TURNS,
                request.alone ? "one query a call; " : "", "", "build ms", "k =", request.k[0],
                second, "k =", request.k[1], second);
    const std::vector<Row> rows = measure(all, input, request.k, threads);
    const bool same = print_rows(all, rows, input);
    if (all.size() > 1) print_ratios(rows);
    for (const auto &one : all)
        if (threads > 1) std::printf("%s: %s\n", one->name().c_str(), one->on_threads().c_str());
    if (same) return 0;
    std::fprintf(stderr, "compare_knn: the distances found are not the same\n");
    return 6;
}
