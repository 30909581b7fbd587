/* photon/density/beams.h: the light of one beam against closed forms, the traversal against brute
   force over all pieces, and uniform brightness of uniformly lit media up to their walls. */
#include "accel/builders.h"
#include "core/parallel/parallel.h"
#include "photon/density/beam_radiance.h"
#include "photon/density/beams.h"
#include "photon/maps/photon_map.h"
#include "scene_fixture.h"
#include "test.h"

enum { BEAMS = 4000, RAYS = 400, STEPS = 400 };

static scene_fixture stage;
static tritree walls;
static scene_view fog;
static photon input_beams[BEAMS];

/* Builds the unit cube of medium 0, behind walls that transmit everything. */
static void build_cube(vec3 absorption, vec3 scattering, float g) {
    fixture_clear(&stage);
    material clear = material_default();
    clear.medium = fixture_medium(&stage, absorption, scattering, g);
    clear.opacity = 0;
    const uint32_t made_of = fixture_material(&stage, clear);
    const uint32_t faces[6] = {made_of, made_of, made_of, made_of, made_of, made_of};
    fixture_box(&stage, faces, vec3_all(0), vec3_all(1), false);
    fog = fixture_view(&stage);
    fog.environment.scene_centre = vec3_all(0.5f);
    fog.environment.scene_radius = 4;
    const tritree_input input = {fog.mesh.positions, fog.mesh.triangles, fog.mesh.position_count,
                                 fog.mesh.triangle_count};
    const tritree_options options = tritree_options_default();
    assert_int_equal(tritree_open(&walls, &input, &options, "auto", NULL), KD_OK);
    fog.tree = tritree_get_view(&walls);
}

static photon beam_from(vec3 start, vec3 direction, float length, vec3 power) {
    photon made;
    memset(&made, 0, sizeof made);
    made.position = start;
    made.direction = direction;
    made.normal = vec3_make(length, 0, 0);
    made.power = power;
    made.kind = PHOTON_INDIRECT;
    return made;
}

static beam_flight flight_of(vec3 origin, vec3 direction, float length) {
    beam_flight made;
    made.origin = origin;
    made.direction = direction;
    made.length = length;
    made.medium_index = 0;
    made.medium = &fog.media[0];
    return made;
}

static vec3 random_point(uint32_t stream, uint32_t i) {
    const rng_block r = rng_draw(rng_key_make(stream, 0, i), 0, 0);
    return vec3_make(r.value[0], r.value[1], r.value[2]);
}

static vec3 random_direction(uint32_t stream, uint32_t i) {
    const rng_block r = rng_draw(rng_key_make(stream, 1, i), 0, 0);
    return sample_sphere(r.value[0], r.value[1]);
}

/* Parallel rays that cross one beam at an angle: the sum of their radiances equals the light
   scattered at the crossing, for every kernel. */
static void test_single_beam_scatters_expected_light(void **state) {
    (void)state;
    const vec3 lost = vec3_make(0.7f, 1.2f, 2), scattering = vec3_make(0.5f, 0.7f, 0.2f);
    build_cube(vec3_sub(lost, scattering), scattering, 0.4f);
    const photon one =
        beam_from(vec3_make(0.1f, 0.5f, 0.5f), vec3_make(1, 0, 0), 0.8f, vec3_make(3, 2, 1));
    beam_set set;
    assert_int_equal(beam_set_open(&set, &one, 1, &fog, 50, NULL), KD_OK);
    for (int degrees = 5; degrees < 180; degrees += 34) {
        const double angle = degrees * M_PI / 180, t = 0.12, s = 0.35, radius = 0.05;
        const vec3 direction = vec3_make((float)cos(angle), (float)sin(angle), 0);
        for (int k = 0; k < PHOTON_KERNELS; ++k) {
            beam_view view = beam_set_get_view(&set, (photon_kernel)k, flux_scale(3));
            view.radius = (float)radius;
            double sum[3] = {0, 0, 0};
            for (int i = 0; i < STEPS; ++i) { /* rays shifted across the beam */
                const double u = ((i + 0.5) / STEPS * 2 - 1) * radius;
                const vec3 hit = vec3_make((float)(0.1 + s), 0.5f, (float)(0.5 + u));
                const beam_flight flight =
                    flight_of(vec3_along(hit, -(float)t, direction), direction, 0.2f);
                uint32_t rays = 0;
                const vec3 seen = beams_radiance(&fog, &view, &flight, &rays);
                sum[0] += (double)seen.x * 2 * radius / STEPS;
                sum[1] += (double)seen.y * 2 * radius / STEPS;
                sum[2] += (double)seen.z * 2 * radius / STEPS;
            }
            const double phase = (double)medium_phase(0.4f, -(float)cos(angle));
            const double power[3] = {3, 2, 1};
            for (int c = 0; c < 3; ++c) {
                const double expected = power[c] * phase * (double)vec3_axis(scattering, c) *
                                        exp(-(double)vec3_axis(lost, c) * (t + s)) / sin(angle);
                expect_near(sum[c] / expected, 1, 2e-3);
            }
        }
    }
    beam_set_close(&set);
    tritree_close(&walls);
}

/* A ray along a beam, where the one-dimensional kernel would diverge, uses the two-dimensional one:
   the kernel over the disc weights light beside the ray. */
static void test_beam_parallel_to_ray_is_finite(void **state) {
    (void)state;
    build_cube(vec3_all(0), vec3_all(1e-4f), 0);
    const photon one =
        beam_from(vec3_make(0.1f, 0.5f, 0.5f), vec3_make(1, 0, 0), 0.8f, vec3_all(1));
    beam_set set;
    assert_int_equal(beam_set_open(&set, &one, 1, &fog, 50, NULL), KD_OK);
    for (int k = 0; k < PHOTON_KERNELS; ++k)
        for (int back = 0; back < 2; ++back) {
            beam_view view = beam_set_get_view(&set, (photon_kernel)k, flux_scale(1));
            const float radius = view.radius = 0.05f, side = back ? -1 : 1;
            double sum = 0;
            for (int i = 0; i < STEPS; ++i) { /* concentric rings around the beam */
                const float off = ((float)i + 0.5f) / STEPS * radius;
                const beam_flight flight = flight_of(
                    vec3_make(0.5f - 0.45f * side, 0.5f + off, 0.5f), vec3_make(side, 0, 0), 0.9f);
                uint32_t rays = 0;
                sum += (double)beams_radiance(&fog, &view, &flight, &rays).x * 2 * M_PI *
                       (double)off * (double)radius / STEPS;
            }
            expect_near(sum * 4 * M_PI / 1e-4 / 0.8, 1,
                        5e-3); /* expected: length times scattering coefficient */
        }
    beam_set_close(&set);
    tritree_close(&walls);
}

/* Beams along x, uniform over the cube, one watt in all: a ray along y has the radiance phase
   function times scattering coefficient, in the middle, at the walls, and along an edge. */
static void test_radiance_at_medium_boundary(void **state) {
    (void)state;
    build_cube(vec3_all(0), vec3_all(1e-4f), 0);
    for (uint32_t i = 0; i < BEAMS; ++i) {
        const float z = ((float)i + 0.5f) / BEAMS;
        input_beams[i] = beam_from(vec3_make(0, random_point(3, i).y, z), vec3_make(1, 0, 0), 1,
                                   vec3_all(1.0f / BEAMS));
    }
    beam_set set;
    assert_int_equal(beam_set_open(&set, input_beams, BEAMS, &fog, 50, NULL), KD_OK);
    for (int k = 0; k < PHOTON_KERNELS; ++k) {
        beam_view view = beam_set_get_view(&set, (photon_kernel)k, flux_scale(1.0f / BEAMS));
        view.radius = 0.1f;
        for (int place = 0; place < 3; ++place) {
            double sum = 0;
            for (uint32_t i = 0; i < RAYS; ++i) {
                const float part = ((float)i + 0.5f) / RAYS;
                const float z = place == 0   ? 0.3f + 0.4f * part
                                : place == 1 ? 0.1f * part
                                             : 1 - 0.1f * part;
                const beam_flight flight =
                    flight_of(vec3_make(place == 2 ? 0.999f : 0.5f, 0, z), vec3_make(0, 1, 0), 1);
                uint32_t rays = 0;
                sum += (double)beams_radiance(&fog, &view, &flight, &rays).x / RAYS;
            }
            expect_near(sum * 4 * M_PI / 1e-4, 1, 5e-3);
        }
    }
    beam_set_close(&set);
    tritree_close(&walls);
}

/* --- traversal -------------------------------------------------------------------------------- */

/* Makes difficult beams: random ones, along axes, all in one place, without power, very short. */
static void make_difficult_beams(void) {
    for (uint32_t i = 0; i < BEAMS; ++i) {
        const vec3 start = random_point(4, i);
        vec3 direction = random_direction(4, i);
        float length = random_point(5, i).x;
        if (i % 8 == 1) direction = vec3_make(i % 16 == 1 ? 1 : -1, 0, 0);
        if (i % 8 == 2) direction = vec3_make(0, 0, 1);
        if (i % 8 == 3) length = 1e-7f;
        input_beams[i] = beam_from(start, direction, length, vec3_all(i % 8 == 4 ? 0 : 1));
        if (i % 8 == 5) input_beams[i] = input_beams[0];
    }
}

/* Returns ray i: random, along an axis or a beam, from a beam's origin, or of length zero. */
static beam_flight difficult_flight(uint32_t i) {
    beam_flight flight = flight_of(random_point(6, i), random_direction(6, i), 1);
    if (i % 8 == 1) flight.direction = vec3_make(0, i % 16 == 1 ? 1 : -1, 0);
    if (i % 8 == 2) flight.direction = vec3_make(1, 0, 0);
    if (i % 8 == 3) flight.origin = input_beams[i].position;
    if (i % 8 == 4) flight.direction = input_beams[i].direction;
    if (i % 8 == 5) {
        flight.origin = input_beams[i].position;
        flight.direction = input_beams[i].direction;
    }
    if (i % 8 == 6) flight.length = 0;
    return flight;
}

static bool same_sums(flux_sum a, flux_sum b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

/* The traversal equals the sum over every piece, and, if no beam is parallel to the ray, the sum
   over every beam as one piece. */
static void test_traversal_finds_every_crossing_once(void **state) {
    (void)state;
    build_cube(vec3_all(0.1f), vec3_make(0.5f, 1, 2), 0.7f);
    make_difficult_beams();
    beam_set set;
    assert_int_equal(beam_set_open(&set, input_beams, BEAMS, &fog, 50, NULL), KD_OK);
    uint32_t count = 0;
    for (int size = 0; size < 3; ++size) {
        beam_view view = beam_set_get_view(&set, PHOTON_KERNEL_CONE, flux_scale(1));
        view.radius *= size == 0 ? 1 : size == 1 ? 0.05f : 8;
        for (uint32_t i = 0; i < RAYS / 4; ++i) {
            const beam_flight flight = difficult_flight(i);
            uint32_t rays = 0;
            const flux_sum walked = beams_sum(&fog, &view, &flight, &rays);
            flux_sum all = flux_sum_none(), whole = flux_sum_none(), sum = flux_sum_none();
            for (uint32_t p = 0; p < set.piece_count; ++p)
                beam_add(&fog, &view, &flight, &set.pieces[p], &all, &rays);
            for (uint32_t b = 0; b < set.count; ++b) {
                const beam_piece one = {b, 0, set.beams[b].length};
                const beam_crossing at = beam_cross(&flight, &set.beams[b]);
                if (at.sine2 >= BEAM_PARALLEL * BEAM_PARALLEL)
                    beam_add(&fog, &view, &flight, &one, &whole, &rays);
            }
            for (uint32_t p = 0; p < set.piece_count; ++p) {
                const beam_crossing at = beam_cross(&flight, &set.beams[set.pieces[p].beam]);
                if (at.sine2 >= BEAM_PARALLEL * BEAM_PARALLEL)
                    beam_add(&fog, &view, &flight, &set.pieces[p], &sum, &rays);
            }
            assert_true(same_sums(walked, all) && same_sums(whole, sum));
            assert_true(walked.x >= 0 && walked.x < INT64_MAX / 2);
            count += walked.x > 0;
        }
    }
    assert_true(count > RAYS / 4);
    beam_set_close(&set);
    tritree_close(&walls);
}

static void test_piece_count_is_within_plan(void **state) {
    (void)state;
    build_cube(vec3_all(0.1f), vec3_all(1), 0);
    make_difficult_beams();
    for (uint32_t gather = 2; gather <= 200; gather *= 10) {
        beam_set set;
        assert_int_equal(beam_set_open(&set, input_beams, BEAMS, &fog, gather, NULL), KD_OK);
        const uint64_t kept = set.count * sizeof *set.beams + set.piece_count * sizeof *set.pieces +
                              set.node_count * sizeof *set.nodes;
        assert_true(kept <= beam_set_bytes_kept(BEAMS) && set.piece_count >= BEAMS);
        beam_set_close(&set);
    }
    beam_set none;
    assert_int_equal(beam_set_open(&none, NULL, 0, &fog, 50, NULL), KD_OK);
    const beam_view view = beam_set_get_view(&none, PHOTON_KERNEL_CONE, 1);
    const beam_flight flight = difficult_flight(0);
    uint32_t rays = 0;
    assert_true(vec3_is_zero(beams_radiance(&fog, &view, &flight, &rays)));
    beam_set_close(&none);
    tritree_close(&walls);
}

/* --- beams of a scene ------------------------------------------------------------------------- */

/* Builds a room of fog with a lamp and a partly transparent sheet that photons cross. */
static void build_room(void) {
    fixture_clear(&stage);
    stage.fog = fixture_medium(&stage, vec3_all(0.1f), vec3_make(0.6f, 0.9f, 1.2f), 0.5f);
    material wall = material_default(), veil = material_default();
    wall.diffuse = vec3_all(0.6f);
    wall.emission = vec3_make(1, 2, 3);
    veil.opacity = 0.5f;
    const uint32_t made = fixture_material(&stage, wall), thin = fixture_material(&stage, veil);
    const uint32_t faces[6] = {made, made, made, made, made, made};
    const uint32_t inner[6] = {thin, thin, thin, thin, thin, thin};
    fixture_box(&stage, faces, vec3_all(-1), vec3_all(1), true);
    fixture_box(&stage, inner, vec3_all(-0.3f), vec3_all(0.4f), false);
    fixture_finish(&stage);
    fog = fixture_view(&stage);
    const tritree_input input = {fog.mesh.positions, fog.mesh.triangles, fog.mesh.position_count,
                                 fog.mesh.triangle_count};
    const tritree_options options = tritree_options_default();
    assert_int_equal(tritree_open(&walls, &input, &options, "auto", NULL), KD_OK);
    fog.tree = tritree_get_view(&walls);
}

static void test_beams_are_independent_of_threads(void **state) {
    (void)state;
    build_room();
    photon_options options = photon_options_default();
    options.photons = options.caustics = 0;
    options.volume_photons = 5000;
    options.media = PHOTON_MEDIA_BEAMS;
    uint64_t hash = 0;
    float radius = 0;
    for (int turn = 0; turn < 3; ++turn) {
        photon_maps maps;
        parallel_set_threads(turn == 0 ? 1 : 4);
        options.batch_paths = turn == 2 ? 777 : 0;
        assert_int_equal(photon_maps_open(&maps, &fog, &options, NULL), KD_OK);
        assert_true(maps.beams.count == maps.media.count && maps.media.count >= 5000);
        assert_true(turn == 0 || (hash == maps.media.hash && radius == maps.media.radius));
        hash = maps.media.hash;
        radius = maps.media.radius;
        for (uint32_t i = 0; i < maps.beams.count; ++i) {
            const beam *at = &maps.beams.beams[i];
            const vec3 end = vec3_along(at->start, at->length, at->direction);
            assert_true(at->length > 0 && at->medium == stage.fog);
            assert_true(fabsf(end.x) < 1.001f && fabsf(end.y) < 1.001f && fabsf(end.z) < 1.001f);
        }
        photon_maps_close(&maps);
    }
    parallel_set_threads(0);
    tritree_close(&walls);
}

/* The wavefront version stores the same beams as tracing single paths. */
static void test_wavefront_beams_match_single_paths(void **state) {
    (void)state;
    build_room();
    photon_options options = photon_options_default();
    photon_order orders[PHOTON_LISTS];
    photon_list list;
    options.volume_photons = 3000;
    options.media = PHOTON_MEDIA_BEAMS;
    assert_int_equal(photon_orders_make(orders, &fog, &options), KD_OK);
    const photon_order *order = &orders[PHOTON_LIST_MEDIA];
    assert_int_equal(photon_list_open(&list, &fog, order, NULL), KD_OK);
    assert_true(list.count >= 3000);
    uint64_t at = 0;
    for (uint64_t path = 0; path < list.emitted; ++path) {
        photon slots[256];
        photon_ledger ledger;
        const uint32_t count =
            photon_trace(&fog, &order->emission, path, &order->filter, slots, 256, &ledger);
        for (uint32_t i = 0; i < count; ++i, ++at) {
            slots[i].power = vec3_scale(slots[i].power, (float)(1 / (double)list.emitted));
            assert_memory_equal(&slots[i], &list.photons[at], sizeof(photon));
        }
    }
    assert_int_equal(at, list.count);
    photon_list_close(&list);
    tritree_close(&walls);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_beam_scatters_expected_light),
        cmocka_unit_test(test_beam_parallel_to_ray_is_finite),
        cmocka_unit_test(test_radiance_at_medium_boundary),
        cmocka_unit_test(test_traversal_finds_every_crossing_once),
        cmocka_unit_test(test_piece_count_is_within_plan),
        cmocka_unit_test(test_beams_are_independent_of_threads),
        cmocka_unit_test(test_wavefront_beams_match_single_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
