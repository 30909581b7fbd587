/* Bindings of <kandela/ray_scenes.h> under their C names. Hits are rows of 9 numbers of 32 bits: t,
   u, v, triangle, instance, geometry, normal; nearest points rows of 10: point, distance, u, v,
   triangle, feature, instance, geometry. */
#include "python/ext/triangles.h"
#include <kandela/ray_scenes.h>
#include <nanobind/stl/shared_ptr.h>

/* kd_ray_scene, and the trees that it borrows. Queries and changes pass through its gate. */
struct ray_scene {
    kd_ray_scene *c = nullptr;
    std::vector<triangles_use> trees;
    gate door;
    ray_scene() = default;
    ray_scene(const ray_scene &) = delete;
    ray_scene &operator=(const ray_scene &) = delete;
    ~ray_scene() { kd_ray_scene_close(c); }
};
typedef std::shared_ptr<ray_scene> scene_handle;

/* Holds a scene and its gate for the lifetime of the object. */
struct scene_use {
    scene_handle scene;
    std::shared_ptr<void> entered;
    explicit scene_use(const scene_handle &handle, bool alone = false)
        : scene(handle), entered(handle->door.enter(alone, "scene")) {
        if (!scene->c) check_said(KD_ERROR_USAGE, "the scene is closed");
    }
    kd_ray_scene *c() const { return scene->c; }
    const gate *door() const { return &scene->door; }
};

/* kd_ray_query and the Python arrays that it points to. */
struct scene_rays {
    kd_ray_query c;
    array keep[4];
    bool device = false;
};
struct scene_points {
    kd_point_query c;
    array keep[3];
    bool device = false;
};

static scene_handle scene_open(uint32_t worlds) {
    scene_handle made = std::make_shared<ray_scene>();
    check(kd_ray_scene_open(&made->c, worlds));
    return made;
}

static void scene_close(const scene_handle &scene) {
    const std::shared_ptr<void> entered = scene->door.enter(true, "scene");
    kd_ray_scene_close(scene->c);
    scene->c = nullptr;
    scene->trees.clear();
}

static uint32_t add_geometry(const scene_handle &scene, const triangles_tree &tree) {
    const scene_use used(scene, true);
    uint32_t geometry = 0;
    triangles_use added = tree.use("mesh");
    scene->trees.reserve(scene->trees.size() + 1);
    check(kd_ray_scene_add_geometry(used.c(), added.get(), &geometry));
    scene->trees.push_back(std::move(added));
    return geometry;
}

static void set_geometry(const scene_handle &scene, uint32_t geometry, const triangles_tree &tree) {
    const scene_use used(scene, true);
    triangles_use added = tree.use("mesh");
    check(kd_ray_scene_set_geometry(used.c(), geometry, added.get()));
    scene->trees[geometry] = std::move(added); /* no query runs before the next commit */
}

static std::vector<kd_ray_instance> instances_of(nb::handle transforms, nb::handle numbers) {
    array keep[2];
    const array shape = array_of(numbers, "numbers", false);
    const uint64_t count = shape.rows();
    const double *m = (const double *)array_data(transforms, "transforms", "float64", 12 * count,
                                                 false, &keep[0]);
    const uint32_t *n =
        (const uint32_t *)array_data(numbers, "numbers", "uint32", 3 * count, false, &keep[1]);
    std::vector<kd_ray_instance> made(count);
    for (uint64_t i = 0; i < count; ++i) {
        made[i] = kd_ray_instance_make(n[3 * i]);
        for (int k = 0; k < 12; ++k) made[i].transform[k] = m[12 * i + (uint64_t)k];
        made[i].mask = n[3 * i + 1];
        made[i].world = n[3 * i + 2];
    }
    return made;
}

static uint32_t add_instances(const scene_handle &scene, nb::handle transforms,
                              nb::handle numbers) {
    const std::vector<kd_ray_instance> made = instances_of(transforms, numbers);
    const scene_use used(scene, true);
    uint32_t first = 0;
    check(kd_ray_scene_add_instances(used.c(), made.data(), made.size(), &first));
    return first;
}

static void set_instances(const scene_handle &scene, uint32_t first, nb::handle transforms,
                          nb::handle numbers) {
    const std::vector<kd_ray_instance> made = instances_of(transforms, numbers);
    const scene_use used(scene, true);
    check(kd_ray_scene_set_instances(used.c(), first, made.data(), made.size()));
}

static void set_transforms(const scene_handle &scene, uint32_t first, nb::handle transforms) {
    array keep;
    const array shape = array_of(transforms, "transforms", false);
    const double *m =
        (const double *)array_data(transforms, "transforms", "float64", shape.size(), false, &keep);
    const scene_use used(scene, true);
    check(kd_ray_scene_set_transforms(used.c(), first, m, shape.size() / 12));
}

static void set_origin(const scene_handle &scene, double x, double y, double z) {
    const scene_use used(scene, true);
    const double origin[3] = {x, y, z};
    check(kd_ray_scene_set_origin(used.c(), origin));
}

static void commit(const scene_handle &scene) {
    const scene_use used(scene, true);
    check_with_progress([=](const std::atomic<bool> &) { return kd_ray_scene_commit(used.c()); },
                        true, used.door());
}

static nb::dict describe(const scene_handle &scene) {
    kd_ray_scene_info info;
    kd_ray_scene_describe(scene_use(scene).c(), &info);
    nb::dict out;
    out["geometries"] = info.geometries;
    out["instances"] = info.instances;
    out["worlds"] = info.worlds;
    out["nodes"] = info.nodes;
    out["triangles"] = info.triangles;
    out["lo"] = nb::make_tuple(info.lo[0], info.lo[1], info.lo[2]);
    out["hi"] = nb::make_tuple(info.hi[0], info.hi[1], info.hi[2]);
    out["origin"] = nb::make_tuple(info.origin[0], info.origin[1], info.origin[2]);
    out["commit_seconds"] = info.commit_seconds;
    out["bytes"] = info.bytes;
    out["device"] = info.device;
    return out;
}

/* Fills rays (count, 8) from origins and directions. */
static void rays_pack(nb::handle origins, nb::handle directions, double tmin, double tmax,
                      nb::handle rays) {
    array keep[3];
    const uint64_t count = array_of(rays, "rays", true).rows();
    const float *o =
        (const float *)array_data(origins, "origins", "float32", 3 * count, false, &keep[0]);
    const float *d =
        (const float *)array_data(directions, "directions", "float32", 3 * count, false, &keep[1]);
    kd_ray *to = (kd_ray *)array_data(rays, "rays", "float32", 8 * count, true, &keep[2]);
    for (uint64_t i = 0; i < count; ++i)
        to[i] = {{o[3 * i], o[3 * i + 1], o[3 * i + 2]},
                 (float)tmin,
                 {d[3 * i], d[3 * i + 1], d[3 * i + 2]},
                 (float)tmax};
}

static scene_rays query_make(nb::handle rays, nb::handle masks, nb::handle worlds,
                             nb::handle ignored, uintptr_t stream) {
    scene_rays out;
    kd_ray_query_default(&out.c);
    out.c.rays = rays_of(rays, &out.keep[0], &out.c.count);
    out.device = out.keep[0].device;
    const char *const types = "uint32|int32";
    const uint64_t count = out.c.count;
    out.c.masks = (const uint32_t *)array_data(masks, "masks", types, count, false, &out.keep[1]);
    out.c.worlds =
        (const uint32_t *)array_data(worlds, "worlds", types, count, false, &out.keep[2]);
    out.c.ignored =
        (const uint32_t *)array_data(ignored, "ignored", types, 2 * count, false, &out.keep[3]);
    out.c.stream = (void *)stream;
    return out;
}

static scene_points points_make(nb::handle points, nb::handle masks, nb::handle worlds,
                                float max_distance, uintptr_t stream) {
    scene_points out;
    const array data = array_of(points, "points", false);
    if (data.shape.size() != 2 || data.shape[1] != 3)
        throw nb::value_error("`points` must have the shape (count, 3)");
    kd_point_query_default(&out.c);
    const char *const types = "uint32|int32";
    const uint64_t count = out.c.count = data.rows();
    out.c.points =
        (const float *)array_data(points, "points", "float32", 3 * count, false, &out.keep[0]);
    out.c.masks = (const uint32_t *)array_data(masks, "masks", types, count, false, &out.keep[1]);
    out.c.worlds =
        (const uint32_t *)array_data(worlds, "worlds", types, count, false, &out.keep[2]);
    out.c.max_distance = max_distance;
    out.c.stream = (void *)stream;
    out.device = out.keep[0].device;
    return out;
}

/* Returns an array of the caller as an output of `size` numbers. */
static void *output_of(nb::handle object, const char *name, const char *types, uint64_t size,
                       std::vector<array> *keep) {
    keep->emplace_back();
    return array_data(object, name, types, size, true, &keep->back());
}

/* Runs call(scene, &query): on the CPU in pieces, between which Ctrl-C takes effect; `call` gets
   the index of the first ray of each. It must own everything that it uses. */
template <typename function>
static void query_pieces(const scene_handle &scene, const scene_rays &query, function call) {
    enum : uint64_t { PIECE = 1 << 20 };
    const scene_use used(scene);
    check_with_progress(
        [=](const std::atomic<bool> &left) {
            kd_status status = KD_OK;
            uint64_t begin = 0;
            do {
                const bool last = query.device || query.c.count - begin <= PIECE + PIECE / 2;
                const uint64_t end = last ? query.c.count : begin + PIECE;
                kd_ray_query piece = query.c;
                piece.count = end - begin;
                piece.rays += begin;
                if (piece.masks) piece.masks += begin;
                if (piece.worlds) piece.worlds += begin;
                if (piece.ignored) piece.ignored += 2 * begin;
                status = call(used.c(), &piece, begin);
                begin = end;
            } while (status == KD_OK && begin < query.c.count && !left);
            return status;
        },
        !query.device && query.c.count >= LONG_RAYS, used.door());
}

static void intersect(const scene_handle &scene, const scene_rays &query, nb::handle hits) {
    std::vector<array> keep;
    kd_scene_hit *to = (kd_scene_hit *)output_of(hits, "hits", "float32", 9 * query.c.count, &keep);
    query_pieces(scene, query,
                 [=](const kd_ray_scene *c, const kd_ray_query *piece, uint64_t begin) {
                     (void)keep;
                     return kd_ray_scene_intersect(c, piece, to ? to + begin : to);
                 });
}

static void occluded(const scene_handle &scene, const scene_rays &query, nb::handle blocked) {
    std::vector<array> keep;
    uint8_t *to = (uint8_t *)output_of(blocked, "blocked", "uint8|bool", query.c.count, &keep);
    query_pieces(scene, query,
                 [=](const kd_ray_scene *c, const kd_ray_query *piece, uint64_t begin) {
                     (void)keep;
                     return kd_ray_scene_occluded(c, piece, to ? to + begin : to);
                 });
}

static void count(const scene_handle &scene, const scene_rays &query, nb::handle counts) {
    std::vector<array> keep;
    uint32_t *to = (uint32_t *)output_of(counts, "counts", "uint32|int32", query.c.count, &keep);
    query_pieces(scene, query,
                 [=](const kd_ray_scene *c, const kd_ray_query *piece, uint64_t begin) {
                     (void)keep;
                     return kd_ray_scene_count(c, piece, to ? to + begin : to);
                 });
}

static void first(const scene_handle &scene, const scene_rays &query, uint32_t k, nb::handle hits,
                  nb::handle counts) {
    std::vector<array> keep;
    kd_scene_hit *to =
        (kd_scene_hit *)output_of(hits, "hits", "float32", 9 * k * query.c.count, &keep);
    uint32_t *number =
        (uint32_t *)output_of(counts, "counts", "uint32|int32", query.c.count, &keep);
    query_pieces(scene, query,
                 [=](const kd_ray_scene *c, const kd_ray_query *piece, uint64_t begin) {
                     (void)keep;
                     return kd_ray_scene_first(c, piece, k, to ? to + k * begin : to,
                                               number ? number + begin : number);
                 });
}

static void all(const scene_handle &scene, const scene_rays &query, nb::handle offsets,
                nb::handle hits) {
    std::vector<array> keep(1);
    const uint64_t *begins = (const uint64_t *)array_data(offsets, "offsets", "uint64|int64",
                                                          query.c.count + 1, false, &keep[0]);
    if (!begins || keep[0].device)
        throw nb::value_error("`offsets` must be an array in host memory");
    kd_scene_hit *to =
        (kd_scene_hit *)output_of(hits, "hits", "float32", 9 * begins[query.c.count], &keep);
    query_pieces(scene, query,
                 [=](const kd_ray_scene *c, const kd_ray_query *piece, uint64_t begin) {
                     (void)keep;
                     return kd_ray_scene_all(c, piece, begins + begin, to);
                 });
}

static void closest_point(const scene_handle &scene, const scene_points &query,
                          nb::handle nearest) {
    std::vector<array> keep;
    kd_scene_near *to =
        (kd_scene_near *)output_of(nearest, "nearest", "float32", 10 * query.c.count, &keep);
    const scene_use used(scene);
    check_with_progress(
        [=](const std::atomic<bool> &) {
            (void)keep;
            return kd_ray_scene_closest_point(used.c(), &query.c, to);
        },
        !query.device && query.c.count >= LONG_POINTS, used.door());
}

static void interpolate(const scene_handle &scene, uint32_t geometry, nb::handle attribute,
                        nb::handle hits, nb::handle out) {
    array keep[3];
    kd_triangles_info info;
    const scene_use used(scene);
    if (geometry >= scene->trees.size()) throw nb::value_error("`geometry` does not exist");
    kd_triangles_describe(scene->trees[geometry].get(), &info);
    const array shape = array_of(attribute, "attribute", false);
    const uint64_t width = info.vertices ? shape.size() / info.vertices : 0,
                   hit_count = array_of(hits, "hits", false).size() / 9;
    const float *from = (const float *)array_data(attribute, "attribute", "float32",
                                                  width * info.vertices, false, &keep[0]);
    const kd_scene_hit *at =
        (const kd_scene_hit *)array_data(hits, "hits", "float32", 9 * hit_count, false, &keep[1]);
    float *to = (float *)array_data(out, "out", "float32", width * hit_count, true, &keep[2]);
    check_unlocked([&] {
        return kd_ray_scene_interpolate(used.c(), geometry, from, width, at, hit_count, to);
    });
}

static void bind_queries(nb::module_ &m) {
    nb::class_<scene_rays>(m, "RayQuery", "kd_ray_query, and what it points to");
    nb::class_<scene_points>(m, "PointQuery", "kd_point_query, and what it points to");
    m.def("kd_ray_query_default", query_make, nb::arg("rays"), nb::arg("masks").none() = nb::none(),
          nb::arg("worlds").none() = nb::none(), nb::arg("ignored").none() = nb::none(),
          nb::arg("stream") = 0,
          "Rays (count, 8) float32; masks and worlds (count,) uint32; ignored (count, 2) uint32.");
    m.def("rays_pack", rays_pack, nb::arg("origins"), nb::arg("directions"), nb::arg("tmin"),
          nb::arg("tmax"), nb::arg("rays"),
          "Fills rays (count, 8) from origins and directions (count, 3) float32.");
    m.attr("kd_ray_query_default_sized") = m.attr("kd_ray_query_default");
    m.def("kd_point_query_default", points_make, nb::arg("points"),
          nb::arg("masks").none() = nb::none(), nb::arg("worlds").none() = nb::none(),
          nb::arg("max_distance") = INFINITY, nb::arg("stream") = 0,
          "Points (count, 3) float32; masks and worlds (count,) uint32.");
    m.attr("kd_point_query_default_sized") = m.attr("kd_point_query_default");
    m.def("kd_ray_scene_intersect", intersect, nb::arg("scene"), nb::arg("query"), nb::arg("hits"),
          "Fills hits (count, 9).");
    m.def("kd_ray_scene_occluded", occluded, nb::arg("scene"), nb::arg("query"), nb::arg("blocked"),
          "Fills blocked (count,) uint8 or bool.");
    m.def("kd_ray_scene_count", count, nb::arg("scene"), nb::arg("query"), nb::arg("counts"),
          "Fills counts (count,) uint32.");
    m.def("kd_ray_scene_first", first, nb::arg("scene"), nb::arg("query"), nb::arg("k"),
          nb::arg("hits").none(), nb::arg("counts").none(), "Fills hits (count, k, 9) and counts.");
    m.def("kd_ray_scene_all", all, nb::arg("scene"), nb::arg("query"), nb::arg("offsets"),
          nb::arg("hits"), "Fills hits (offsets[-1], 9).");
    m.def("kd_ray_scene_closest_point", closest_point, nb::arg("scene"), nb::arg("query"),
          nb::arg("nearest"), "Fills nearest (count, 10).");
    m.def("kd_ray_scene_interpolate", interpolate, nb::arg("scene"), nb::arg("geometry"),
          nb::arg("attribute"), nb::arg("hits"), nb::arg("out"),
          "Fills the rows of out (count, width) float32 of hits on the geometry.");
}

void bind_ray_scenes(nb::module_ &m) {
    nb::class_<ray_scene>(m, "RayScene", "kd_ray_scene: a scene");
    m.def("kd_ray_scene_open", scene_open, nb::arg("worlds"), "Opens a scene.");
    m.def("kd_ray_scene_close", scene_close, nb::arg("scene"),
          "Gives the memory back; UsageError from then on.");
    m.def("kd_ray_scene_add_geometry", add_geometry, nb::arg("scene"), nb::arg("tree"),
          "Adds a tree; returns its number.");
    m.def("kd_ray_scene_set_geometry", set_geometry, nb::arg("scene"), nb::arg("geometry"),
          nb::arg("tree"), "Replaces the tree of a geometry.");
    m.def("kd_ray_scene_add_instances", add_instances, nb::arg("scene"), nb::arg("transforms"),
          nb::arg("numbers"),
          "Transforms (count, 3, 4) float64; numbers (count, 3) uint32: geometry, mask, world. "
          "Returns the first instance's number.");
    m.def("kd_ray_scene_set_instances", set_instances, nb::arg("scene"), nb::arg("first"),
          nb::arg("transforms"), nb::arg("numbers"), "Replaces instances.");
    m.def("kd_ray_scene_set_transforms", set_transforms, nb::arg("scene"), nb::arg("first"),
          nb::arg("transforms"), "Replaces transforms, (count, 3, 4) float64.");
    m.def("kd_ray_scene_set_origin", set_origin, nb::arg("scene"), nb::arg("x"), nb::arg("y"),
          nb::arg("z"), "Sets the position to which rays are relative.");
    m.def("kd_ray_scene_commit", commit, nb::arg("scene"), "Builds the top level.");
    m.def("kd_ray_scene_describe", describe, nb::arg("scene"), "kd_ray_scene_info as a dict.");
    m.attr("kd_ray_scene_describe_sized") = m.attr("kd_ray_scene_describe");
    bind_queries(m);
}
