/* photon/crease_groups, photon/density/boundary_integral.h: estimates amid many pieces of outlines
   look at few of them, and find what all of them say. */
#include "photon/maps/photon_map.h"
#include "scenes/generate/generate.h"
#include "tests/test.h"

enum { PLACES = 400, KERNELS = 4 };

/* Small things in a large box, about the origin. */
typedef struct planted {
    const char *name;
    void (*put)(mesh_builder *to);
    uint32_t most; /* pieces and groups that an estimate may look at */
} planted;

static const float small = 1; /* half the side of the small thing; the box's is ten */

static void put_box(mesh_builder *to) {
    const transform inward = transform_scale(vec3_make(-1, 1, 1));
    mesh_builder_box(to, vec3_all(-10), vec3_all(10), &inward);
}

/* A deck of boxes with gaps between them, their tops in one plane. */
static void put_tiles(mesh_builder *to) {
    enum { SIDE = 50 };
    const transform unmoved = transform_identity();
    const float width = 2 * small / SIDE;
    for (int i = 0; i < SIDE * SIDE; ++i) {
        const float x = -small + width * (float)(i % SIDE), y = -small + width * (float)(i / SIDE);
        mesh_builder_box(to, vec3_make(x, y, -0.01f),
                         vec3_make(x + 0.9f * width, y + 0.8f * width, 0), &unmoved);
    }
}

/* Upright prisms of `sides` sides, tops in one plane, with facets 360 / sides degrees apart. */
static void put_prisms(mesh_builder *to, int across, int sides) {
    const float width = 2 * small / (float)across;
    for (int i = 0; i < across * across; ++i) {
        const vec3 middle = vec3_make(-small + width * (0.5f + (float)(i % across)),
                                      -small + width * (0.5f + (float)(i / across)), 0);
        for (int s = 0; s < sides; ++s) {
            vec3 foot[2], head[2];
            for (int k = 0; k < 2; ++k) {
                const float turn = 2 * KD_PI * (float)(s + k) / (float)sides + 0.1f;
                head[k] = vec3_add(
                    middle, vec3_make(0.45f * width * cosf(turn), 0.45f * width * sinf(turn), 0));
                foot[k] = vec3_add(head[k], vec3_make(0, 0, -0.5f));
            }
            mesh_builder_flat_triangle(to, middle, head[0], head[1]);
            mesh_builder_flat_triangle(to, foot[0], foot[1], head[1]);
            mesh_builder_flat_triangle(to, foot[0], head[1], head[0]);
        }
    }
}

static void put_nuts(mesh_builder *to) {
    put_prisms(to, 40, 6);
}

/* A few wheels with very fine rims. */
static void put_wheels(mesh_builder *to) {
    put_prisms(to, 3, 3000);
}

/* A vaulted hall made small: columns with flutes, arches, banners. */
static void put_ship(mesh_builder *to) {
    mesh hall;
    assert_int_equal(procedural_load(&hall, "gen:hall:60000"), KD_OK);
    const transform smaller = transform_scale(vec3_all(small / 14));
    mesh_builder_append(to, &hall, &smaller);
    mesh_close(&hall);
}

static const planted scenes[] = {{"tiles", put_tiles, CREASE_MOST},
                                 {"nuts", put_nuts, CREASE_MOST},
                                 {"wheels", put_wheels, CREASE_MOST},
                                 {"ship", put_ship, 2500}};
enum { SCENES = sizeof scenes / sizeof *scenes };

static mesh_view view_of(const mesh *from) {
    mesh_view view;
    memset(&view, 0, sizeof view);
    view.positions = from->positions;
    view.triangles = from->triangles;
    view.position_count = from->position_count;
    view.triangle_count = from->triangle_count;
    return view;
}

/* A place on the mesh; on the large box one in sixteen. */
static estimate_point place_on(const mesh *on, uint32_t number) {
    const rng_block r = rng_draw(rng_key_make(7, 0, number), 0, 0);
    uint32_t t = (uint32_t)(r.value[0] * (float)on->triangle_count);
    if (number % 16 == 0) t = number / 16 % 12;
    const uint32_t *corner = on->triangles + 3 * (size_t)t;
    const vec3 a = on->positions[corner[0]], b = on->positions[corner[1]],
               c = on->positions[corner[2]];
    const float u = r.value[1] * (1 - r.value[2]), v = r.value[2];
    estimate_point at;
    at.position = vec3_along(vec3_along(a, u, vec3_sub(b, a)), v, vec3_sub(c, a));
    at.back = number % 4 == 3;
    at.normal = triangle_unit_normal(a, b, c);
    if (at.back) at.normal = vec3_negate(at.normal);
    at.triangle = t;
    return at;
}

typedef struct comparison {
    double error, worst;        /* of the whole disc's integral: root of the mean square, largest */
    uint32_t most, most_before; /* looked at */
    int compared, ragged;
} comparison;

static void compare_at(comparison *with, const crease_view *creases, const estimate_point *at,
                       float radius, int32_t kernel) {
    uint32_t before, now;
    const float whole = 2 * KD_PI * photon_kernel_sector(kernel);
    const float exact =
        crease_kernel_integral_with(creases, at, radius, kernel, UINT32_MAX, &before);
    const float found =
        crease_kernel_integral_with(creases, at, radius, kernel, CREASE_EXACT, &now);
    assert_true(found == crease_kernel_integral(creases, at, radius, kernel));
    if (now > with->most) with->most = now;
    if (before > with->most_before) with->most_before = before;
    if (before <= CREASE_EXACT) assert_true(found == exact);
    if (before <= CREASE_EXACT) return;
    const double error = fabs((double)found - (double)exact) / (double)whole;
    with->error += error * error;
    if (error > with->worst) with->worst = error;
    ++with->compared;
    with->ragged += exact == whole;
}

static comparison compare_scene(const planted *scene) {
    mesh_builder to;
    mesh made;
    comparison with;
    crease_set creases;
    memset(&to, 0, sizeof to);
    memset(&with, 0, sizeof with);
    put_box(&to);
    scene->put(&to);
    assert_int_equal(mesh_builder_finish(&to, &made), KD_OK);
    const mesh_view view = view_of(&made);
    assert_int_equal(crease_set_open(&creases, &view, 4 * small, NULL), KD_OK);
    const crease_view outlines = crease_set_get_view(&creases);
    for (uint32_t i = 0; i < PLACES; ++i) {
        const estimate_point at = place_on(&made, i);
        if (vec3_is_zero(at.normal)) continue;
        const float radius =
            2 * small * powf(0.02f, rng_draw(rng_key_make(8, 0, i), 0, 0).value[0]);
        compare_at(&with, &outlines, &at, radius, (int32_t)(i % KERNELS));
    }
    with.error = sqrt(with.error / with.compared);
    print_message("%s: %u pieces, %u groups; at most %u looked at instead of %u; %d compared (%d "
                  "ragged): error %.2g, worst %.2g\n",
                  scene->name, outlines.middles.count, outlines.group_count, with.most,
                  with.most_before, with.compared, with.ragged, with.error, with.worst);
    crease_set_close(&creases);
    mesh_close(&made);
    return with;
}

static void few_are_looked_at_and_the_sum_is_there(void **state) {
    (void)state;
    for (int i = 0; i < SCENES; ++i) {
        const comparison with = compare_scene(&scenes[i]);
        assert_true(with.compared > PLACES / 8);
        assert_true(with.most <= scenes[i].most);
        assert_true(with.error <= (double)CREASE_ERROR && with.worst <= 8 * (double)CREASE_ERROR);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_are_looked_at_and_the_sum_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
