// PicoTree for compare_knn.
#include "tools/peers/compare_knn.hpp"
#include <pico_tree/array_traits.hpp>
#include <pico_tree/kd_tree.hpp>
#include <pico_tree/map_traits.hpp>

namespace {

class Pico : public Contender {
    using Point = pico_tree::point_map<float, 3>;
    using Space = pico_tree::space_map<Point>;
    using Tree = pico_tree::kd_tree<Space>;

  public:
    Pico(const Cloud &points_given, int threads_in) : cloud(points_given), threads(threads_in) {}

    std::string name() const override { return "PicoTree"; }
    std::string on_threads() const override {
        return "builds on one thread, queries by an OpenMP loop";
    }
    void build() override {
        // the mapped points are only read
        tree = std::make_unique<Tree>(Space(const_cast<float *>(cloud.data()), cloud.size() / 3),
                                      pico_tree::max_leaf_size_t(10));
    }
    void drop() override { tree.reset(); }
    double visit_points(const Cloud &queries, unsigned k, bool) override {
        return query_each(queries, threads, [&] {
            return [this, k, found = std::vector<Tree::neighbor_type>(k)](const float *q) mutable {
                const Point at(const_cast<float *>(q));
                if (k == 1)
                    tree->search_nn(at, found[0]);
                else
                    tree->search_knn(at, found.begin(), found.end());
                return found[k - 1].distance;
            };
        });
    }

  private:
    const Cloud &cloud;
    int threads;
    std::unique_ptr<Tree> tree;
};

} // namespace

void add_pico_tree(Contenders &all, const Cloud &cloud, int threads) {
    all.push_back(std::make_unique<Pico>(cloud, threads));
}
