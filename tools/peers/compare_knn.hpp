/* The interface of the libraries that compare_knn.cpp compares. */
#ifndef KD_TOOLS_PEERS_COMPARE_KNN_HPP
#define KD_TOOLS_PEERS_COMPARE_KNN_HPP
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using Cloud = std::vector<float>; // x, y, z, x, ...

// A library with a tree of a cloud; the cloud must outlive it.
class Contender {
  public:
    virtual ~Contender() = default;
    virtual std::string name() const = 0;
    virtual std::string on_threads() const = 0; // how it uses more than one thread
    virtual void build() = 0;                   // builds everything that queries need
    virtual void drop() = 0;                    // frees it
    // Finds the k nearest of all queries; returns the sum of the distances to the k-th. `sorted`:
    // consecutive queries are close together.
    virtual double visit_points(const Cloud &queries, unsigned k, bool sorted) = 0;
    // The same for the points of the cloud, in input order.
    virtual double query_self(const Cloud &cloud, unsigned k) {
        return visit_points(cloud, k, true);
    }
};

using Contenders = std::vector<std::unique_ptr<Contender>>;

// For libraries with one query per call: returns the sum of the distances to the k-th, with an
// OpenMP loop over the queries. make() returns for each thread a function from a query to that
// squared distance.
template <class Make> double query_each(const Cloud &queries, int threads, const Make &make) {
    const int64_t count = int64_t(queries.size() / 3);
    double sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
        auto visit_points = make();
#pragma omp for schedule(dynamic, 256)
        for (int64_t i = 0; i < count; ++i) sum += std::sqrt(visit_points(&queries[size_t(3 * i)]));
    }
    return sum;
}

// For libraries with batches: k sorted squared distances per query.
inline double sum_of_last(const std::vector<float> &dist2, unsigned k) {
    double sum = 0;
    for (size_t i = k; i <= dist2.size(); i += k) sum += std::sqrt(dist2[i - 1]);
    return sum;
}

// Each appends its library; nanoflann and FLANN only if they were found at build time.
void add_nanoflann(Contenders &all, const Cloud &cloud, int threads);
void add_pico_tree(Contenders &all, const Cloud &cloud, int threads);
void add_kiddo(Contenders &all, const Cloud &cloud, int threads); // one for each of its tree types
void add_flann(Contenders &all, const Cloud &cloud, int threads);
void add_cgal(Contenders &all, const Cloud &cloud, int threads); // builds on one thread
void add_cgal_tbb(Contenders &all, const Cloud &cloud,
                  int threads); // builds on all threads with TBB

#endif
