// nanoflann and FLANN for compare_knn.
#include "tools/peers/compare_knn.hpp"

#ifdef COMPARE_NANOFLANN
#include <nanoflann.hpp>
namespace {

struct Adaptor {
    const Cloud &cloud;
    size_t kdtree_get_point_count() const { return cloud.size() / 3; }
    float kdtree_get_pt(size_t i, size_t axis) const { return cloud[3 * i + axis]; }
    template <class Box> bool kdtree_get_bbox(Box &) const { return false; }
};

class Nanoflann : public Contender {
    using Tree = nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<float, Adaptor>,
                                                     Adaptor, 3, uint32_t>;

  public:
    Nanoflann(const Cloud &cloud, int threads_in) : adaptor{cloud}, threads(threads_in) {}

    std::string name() const override {
        const unsigned v = NANOFLANN_VERSION;
        return "nanoflann " + std::to_string(v >> 8) + "." + std::to_string(v >> 4 & 15) + "." +
               std::to_string(v & 15);
    }

    std::string on_threads() const override {
        return MANY_BUILD ? "builds on threads of its own, queries by an OpenMP loop"
                          : "builds on one thread (as all before 1.5), queries by an OpenMP loop";
    }

    void build() override { // the constructor builds the tree
#if NANOFLANN_VERSION >= 0x150
        tree = std::make_unique<Tree>(
            3, adaptor,
            nanoflann::KDTreeSingleIndexAdaptorParams(
                10, nanoflann::KDTreeSingleIndexAdaptorFlags::None, unsigned(threads)));
#else
        tree = std::make_unique<Tree>(3, adaptor, nanoflann::KDTreeSingleIndexAdaptorParams(10));
#endif
    }

    void drop() override {
        tree.reset();
    }

    double visit_points(const Cloud &queries, unsigned k, bool) override {
        return query_each(queries, threads, [&] {
            return [this, k, ids = std::vector<uint32_t>(k),
                    dist2 = std::vector<float>(k)](const float *q) mutable {
                tree->knnSearch(q, k, ids.data(), dist2.data());
                return dist2[k - 1];
            };
        });
    }

  private:
    static constexpr bool MANY_BUILD = NANOFLANN_VERSION >= 0x150;
    Adaptor adaptor;
    int threads;
    std::unique_ptr<Tree> tree;
};

} // namespace

void add_nanoflann(Contenders &all, const Cloud &cloud, int threads) {
    all.push_back(std::make_unique<Nanoflann>(cloud, threads));
}
#else
void add_nanoflann(Contenders &, const Cloud &, int) {}
#endif

#ifdef COMPARE_FLANN
#include <flann/flann.hpp>
namespace {

class Flann : public Contender {
    using Tree = flann::Index<flann::L2_3D<float>>;

  public:
    Flann(const Cloud &cloud, int threads_in)
        : points(const_cast<float *>(cloud.data()), cloud.size() / 3, 3), threads(threads_in) {}

    std::string name() const override { return "FLANN " FLANN_VERSION_; }

    std::string on_threads() const override {
        return "builds on one thread (knows no other), queries by its own `cores`";
    }

    void build() override {
        tree = std::make_unique<Tree>(points, flann::KDTreeSingleIndexParams(10));
        tree->buildIndex();
    }

    void drop() override { tree.reset(); }

    double visit_points(const Cloud &queries, unsigned k, bool) override {
        const size_t count = queries.size() / 3;
        ids.resize(count * k);
        dist2.resize(count * k);
        const flann::Matrix<float> matrix(const_cast<float *>(queries.data()), count, 3);
        flann::Matrix<int> id_matrix(ids.data(), count, k);
        flann::Matrix<float> dist2_matrix(dist2.data(), count, k);
        flann::SearchParams exact(flann::FLANN_CHECKS_UNLIMITED);
        exact.cores = threads;
        tree->knnSearch(matrix, id_matrix, dist2_matrix, k, exact);
        return sum_of_last(dist2, k);
    }

  private:
    flann::Matrix<float> points;
    int threads;
    std::unique_ptr<Tree> tree;
    std::vector<int> ids;
    std::vector<float> dist2;
};

} // namespace

void add_flann(Contenders &all, const Cloud &cloud, int threads) {
    all.push_back(std::make_unique<Flann>(cloud, threads));
}
#else
void add_flann(Contenders &, const Cloud &, int) {}
#endif
