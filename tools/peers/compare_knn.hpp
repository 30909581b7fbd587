/* What compare_knn.cpp asks of each library that it compares. */
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

// A library with a tree of a cloud that outlives it.
class Contender {
  public:
    virtual ~Contender() = default;
    virtual std::string name() const = 0;
    virtual std::string on_threads() const = 0; // what it does with more than one
    virtual void build() = 0;                   // with all that queries need
    virtual void drop() = 0;                    // what was built
    // The k nearest of all queries; the sum over these of the distance to the k-th. `sorted`:
    // neighbours in the list are near each other.
    virtual double ask(const Cloud &queries, unsigned k, bool sorted) = 0;
    // The same of the cloud's own points, in the order they came in.
    virtual double ask_own(const Cloud &cloud, unsigned k) { return ask(cloud, k, true); }
};

using Contenders = std::vector<std::unique_ptr<Contender>>;

// For libraries that answer one query at a time: the sum of the distances to the k-th, queries
// shared out by an OpenMP loop. make() gives each thread what answers: a query to the square of
// that distance.
template <class Make> double ask_each(const Cloud &queries, int threads, const Make &make) {
    const int64_t count = int64_t(queries.size() / 3);
    double sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
        auto ask = make();
#pragma omp for schedule(dynamic, 256)
        for (int64_t i = 0; i < count; ++i) sum += std::sqrt(ask(&queries[size_t(3 * i)]));
    }
    return sum;
}

// For those that answer all at once, k squares a query, sorted.
inline double sum_of_last(const std::vector<float> &dist2, unsigned k) {
    double sum = 0;
    for (size_t i = k; i <= dist2.size(); i += k) sum += std::sqrt(dist2[i - 1]);
    return sum;
}

// Each appends its library; nanoflann and FLANN if they were there when this was built.
void add_nanoflann(Contenders &all, const Cloud &cloud, int threads);
void add_pico_tree(Contenders &all, const Cloud &cloud, int threads);
void add_kiddo(Contenders &all, const Cloud &cloud, int threads); // its kinds of trees, each
void add_flann(Contenders &all, const Cloud &cloud, int threads);
void add_cgal(Contenders &all, const Cloud &cloud, int threads);     // builds on one thread
void add_cgal_tbb(Contenders &all, const Cloud &cloud, int threads); // on all, by TBB

#endif
