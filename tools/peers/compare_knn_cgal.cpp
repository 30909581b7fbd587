// CGAL for compare_knn. Compiled twice if TBB is installed: CGAL then uses other containers, which
// its single-threaded build does not need, so both configurations are measured.
#include "tools/peers/compare_knn.hpp"

#ifdef COMPARE_TBB
#define CGAL_LINKED_WITH_TBB
#include <tbb/global_control.h>
#define ADD_CGAL add_cgal_tbb
#else
#define ADD_CGAL add_cgal
#endif
#include <CGAL/Orthogonal_k_neighbor_search.h>
#include <CGAL/Search_traits_3.h>
#include <CGAL/Simple_cartesian.h>
#include <CGAL/version.h>

namespace {

using Kernel = CGAL::Simple_cartesian<float>;
struct Traits : CGAL::Search_traits_3<Kernel> {
}; // local to this file, and so are the templates instantiated with it
using Search = CGAL::Orthogonal_k_neighbor_search<Traits>;

class Cgal : public Contender {
  public:
    Cgal(const Cloud &cloud, int threads_in) : threads(threads_in) {
        for (size_t i = 0; i < cloud.size(); i += 3)
            points.emplace_back(cloud[i], cloud[i + 1], cloud[i + 2]);
    }

#ifdef COMPARE_TBB
    std::string name() const override {
        return "CGAL " CGAL_VERSION_STR " TBB";
    }

    std::string on_threads() const override {
        return "builds by build<Parallel_tag>, that is by TBB, queries by an OpenMP loop";
    }

    void build() override {
        tree = std::make_unique<Search::Tree>(points.begin(), points.end());
        tree->build<CGAL::Parallel_tag>();
    }
#else
    std::string name() const override {
        return "CGAL " CGAL_VERSION_STR;
    }

    std::string on_threads() const override {
        return "builds on one thread (its threads need TBB), queries by an OpenMP loop";
    }

    void build() override {
        tree = std::make_unique<Search::Tree>(points.begin(), points.end());
        tree->build();
    }
#endif

    void drop() override {
        tree.reset();
    }

    double visit_points(const Cloud &queries, unsigned k, bool) override {
        return query_each(queries, threads, [&] {
            return [this, k](const float *q) {
                Search search(*tree, Kernel::Point_3(q[0], q[1], q[2]), k);
                return (search.end() - 1)->second;
            };
        });
    }

  private:
    int threads;
    std::vector<Kernel::Point_3> points;
    std::unique_ptr<Search::Tree> tree;
#ifdef COMPARE_TBB
    tbb::global_control limit{tbb::global_control::max_allowed_parallelism, size_t(threads)};
#endif
};

} // namespace

void ADD_CGAL(Contenders &all, const Cloud &cloud, int threads) {
    all.push_back(std::make_unique<Cgal>(cloud, threads));
}
