// Kandela beside nanoflann, FLANN and CGAL in one run: build and k nearest neighbours of uniform
// points of three floats, one thread, process CPU time, the least of five. Queries in random order
// (Kandela's own sort of them counted) and along a Morton curve (sorted before, for everybody).
// All must give the same distances.
//     compare_knn [POINTS [QUERIES]]
#include <kandela/points.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#ifdef COMPARE_NANOFLANN
#include <nanoflann.hpp>
#endif
#ifdef COMPARE_FLANN
#include <flann/flann.hpp>
#endif
#ifdef COMPARE_CGAL
#include <CGAL/Orthogonal_k_neighbor_search.h>
#include <CGAL/Search_traits_3.h>
#include <CGAL/Simple_cartesian.h>
#endif

namespace {

using Cloud = std::vector<float>; // x, y, z, x, ...

double cpu_seconds() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

double least_of_five(const std::function<void()> &work) {
    double least = 1e30;
    for (int i = 0; i < 5; ++i) {
        const double started = cpu_seconds();
        work();
        least = std::min(least, cpu_seconds() - started);
    }
    return least;
}

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

// Answers one set of queries; the sum over them of the distance to the k-th neighbour.
using Ask = std::function<double(const Cloud &queries, unsigned k, bool sorted)>;

struct Row {
    const char *name;
    double build_ms;
    Ask ask;
};

void print_row(const Row &row, const Cloud &random, const Cloud &sorted) {
    std::printf("%-10s %9.1f", row.name, row.build_ms);
    for (unsigned k : {8u, 50u}) {
        double sum = 0;
        for (const Cloud *queries : {&random, &sorted}) {
            const double seconds =
                least_of_five([&] { sum = row.ask(*queries, k, queries == &sorted); });
            std::printf(" %11.0f", double(queries->size() / 3) / seconds);
        }
        std::printf(" (%.3f)", sum);
    }
    std::printf("\n");
    std::fflush(stdout);
}

void fail() {
    std::fprintf(stderr, "%s\n", kd_last_error());
    std::exit(1);
}

void run_kandela(const Cloud &cloud, const Cloud &random, const Cloud &sorted) {
    kd_points *tree = nullptr;
    const kd_point_array points = kd_point_array_make(cloud.data(), cloud.size() / 3, 3, KD_FLOAT);
    kd_points_options options;
    kd_points_options_default(&options);
    std::snprintf(options.device, sizeof options.device, "cpu");
    const double seconds = least_of_five([&] {
        kd_points_close(tree);
        if (kd_points_open(&tree, &points, &options) != KD_OK) fail();
    });
    std::vector<uint32_t> ids(random.size() / 3 * 50);
    std::vector<float> dist2(ids.size());
    const Ask ask = [&](const Cloud &queries, unsigned k, bool coherent) {
        kd_points_query query;
        kd_points_query_default(&query);
        query.points = kd_point_array_make(queries.data(), queries.size() / 3, 3, KD_FLOAT);
        query.coherent = coherent;
        if (kd_points_nearest(tree, &query, k, ids.data(), dist2.data(), nullptr) != KD_OK) fail();
        double sum = 0;
        for (size_t i = 0; i < queries.size() / 3; ++i) sum += std::sqrt(dist2[i * k + k - 1]);
        return sum;
    };
    print_row({"kandela", 1e3 * seconds, ask}, random, sorted);
    kd_points_close(tree);
}

#ifdef COMPARE_NANOFLANN
struct Adaptor {
    const Cloud &cloud;
    size_t kdtree_get_point_count() const { return cloud.size() / 3; }
    float kdtree_get_pt(size_t i, size_t axis) const { return cloud[3 * i + axis]; }
    template <class Box> bool kdtree_get_bbox(Box &) const { return false; }
};

void run_nanoflann(const Cloud &cloud, const Cloud &random, const Cloud &sorted) {
    using Tree = nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<float, Adaptor>,
                                                     Adaptor, 3, uint32_t>;
    const Adaptor adaptor{cloud};
    const double seconds = least_of_five([&] {
        Tree tree(3, adaptor, nanoflann::KDTreeSingleIndexAdaptorParams(10));
        tree.buildIndex();
    });
    Tree tree(3, adaptor, nanoflann::KDTreeSingleIndexAdaptorParams(10));
    tree.buildIndex();
    const Ask ask = [&](const Cloud &queries, unsigned k, bool) {
        std::vector<uint32_t> ids(k);
        std::vector<float> dist2(k);
        double sum = 0;
        for (size_t i = 0; i < queries.size(); i += 3) {
            tree.knnSearch(&queries[i], k, ids.data(), dist2.data());
            sum += std::sqrt(dist2[k - 1]);
        }
        return sum;
    };
    print_row({"nanoflann", 1e3 * seconds, ask}, random, sorted);
}
#endif

#ifdef COMPARE_FLANN
void run_flann(const Cloud &cloud, const Cloud &random, const Cloud &sorted) {
    using Tree = flann::Index<flann::L2_3D<float>>;
    const flann::Matrix<float> points(const_cast<float *>(cloud.data()), cloud.size() / 3, 3);
    const double seconds = least_of_five([&] {
        Tree tree(points, flann::KDTreeSingleIndexParams(10));
        tree.buildIndex();
    });
    Tree tree(points, flann::KDTreeSingleIndexParams(10));
    tree.buildIndex();
    const Ask ask = [&](const Cloud &queries, unsigned k, bool) {
        const size_t count = queries.size() / 3;
        std::vector<int> ids(count * k);
        std::vector<float> dist2(count * k);
        const flann::Matrix<float> asked(const_cast<float *>(queries.data()), count, 3);
        flann::Matrix<int> id_matrix(ids.data(), count, k);
        flann::Matrix<float> dist2_matrix(dist2.data(), count, k);
        flann::SearchParams exact(flann::FLANN_CHECKS_UNLIMITED);
        exact.cores = 1;
        tree.knnSearch(asked, id_matrix, dist2_matrix, k, exact);
        double sum = 0;
        for (size_t i = 0; i < count; ++i) sum += std::sqrt(dist2[i * k + k - 1]);
        return sum;
    };
    print_row({"FLANN", 1e3 * seconds, ask}, random, sorted);
}
#endif

#ifdef COMPARE_CGAL
void run_cgal(const Cloud &cloud, const Cloud &random, const Cloud &sorted) {
    using Kernel = CGAL::Simple_cartesian<float>;
    using Traits = CGAL::Search_traits_3<Kernel>;
    using Search = CGAL::Orthogonal_k_neighbor_search<Traits>;
    std::vector<Kernel::Point_3> points;
    for (size_t i = 0; i < cloud.size(); i += 3)
        points.emplace_back(cloud[i], cloud[i + 1], cloud[i + 2]);
    const double seconds = least_of_five([&] {
        Search::Tree tree(points.begin(), points.end());
        tree.build();
    });
    Search::Tree tree(points.begin(), points.end());
    tree.build();
    const Ask ask = [&](const Cloud &queries, unsigned k, bool) {
        double sum = 0;
        for (size_t i = 0; i < queries.size(); i += 3) {
            Search search(tree, Kernel::Point_3(queries[i], queries[i + 1], queries[i + 2]), k);
            sum += std::sqrt((search.end() - 1)->second);
        }
        return sum;
    };
    print_row({"CGAL", 1e3 * seconds, ask}, random, sorted);
}
#endif

} // namespace

int main(int argc, char **argv) {
    const size_t points = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000000;
    const size_t queries = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100000;
    if (points < 50 || queries < 1) {
        std::fprintf(stderr, "usage: compare_knn [POINTS >= 50 [QUERIES]]\n");
        return 2;
    }
    setenv("OMP_NUM_THREADS", "1", 1);
    const Cloud cloud = random_cloud(points, 1), random = random_cloud(queries, 2);
    const Cloud sorted = along_a_curve(random);
    std::printf("%zu points, %zu queries; queries a second, and the sum of k-th distances\n"
                "%-10s %9s %11s %11s %20s %11s\n",
                points, queries, "", "build ms", "k=8 random", "sorted", "k=50 random", "sorted");
    run_kandela(cloud, random, sorted);
#ifdef COMPARE_NANOFLANN
    run_nanoflann(cloud, random, sorted);
#endif
#ifdef COMPARE_FLANN
    run_flann(cloud, random, sorted);
#endif
#ifdef COMPARE_CGAL
    run_cgal(cloud, random, sorted);
#endif
}
