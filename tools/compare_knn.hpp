/* What compare_knn.cpp asks of each library that it compares. */
#ifndef KD_TOOLS_COMPARE_KNN_HPP
#define KD_TOOLS_COMPARE_KNN_HPP
#include <cstddef>
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
};

using Contenders = std::vector<std::unique_ptr<Contender>>;

// Each appends its library, the first two if that was there when this was built.
void add_nanoflann(Contenders &all, const Cloud &cloud, int threads);
void add_flann(Contenders &all, const Cloud &cloud, int threads);
void add_cgal(Contenders &all, const Cloud &cloud, int threads);     // builds on one thread
void add_cgal_tbb(Contenders &all, const Cloud &cloud, int threads); // on all, by TBB

#endif
