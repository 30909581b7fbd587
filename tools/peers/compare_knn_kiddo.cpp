// kiddo for compare_knn, through the C functions of tools/peers/kiddo/kiddo_calls.rs.
#include "tools/peers/compare_knn.hpp"

extern "C" {
void *kiddo_open(const float *points, size_t count, uint32_t kind);
void kiddo_close(void *tree);
double kiddo_query(const void *tree, const float *queries, size_t count, uint32_t k);
}

namespace {

const char *const kinds[] = {"kiddo", "kiddo flat", "kiddo blocks"};

class Kiddo : public Contender {
  public:
    Kiddo(const Cloud &points_given, int threads_in, uint32_t kind_in)
        : cloud(points_given), threads(threads_in), kind(kind_in) {}
    ~Kiddo() override { drop(); }

    std::string name() const override { return kinds[kind]; }
    std::string on_threads() const override {
        return "builds on one thread, queries by an OpenMP loop";
    }
    void build() override { tree = kiddo_open(cloud.data(), cloud.size() / 3, kind); }
    void drop() override {
        if (tree) kiddo_close(tree);
        tree = nullptr;
    }
    double visit_points(const Cloud &queries, unsigned k, bool) override {
        const int64_t count = int64_t(queries.size() / 3);
        double sum = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) reduction(+ : sum)
        for (int64_t i = 0; i < count; i += 256)
            sum += kiddo_query(tree, &queries[size_t(3 * i)],
                               size_t(std::min(count - i, int64_t(256))), k);
        return sum;
    }

  private:
    const Cloud &cloud;
    int threads;
    uint32_t kind;
    void *tree = nullptr;
};

} // namespace

void add_kiddo(Contenders &all, const Cloud &cloud, int threads) {
    for (uint32_t kind = 0; kind < 3; ++kind)
        all.push_back(std::make_unique<Kiddo>(cloud, threads, kind));
}
