/* The difficult rays of nasty_rays.h on the trees of every builder, by every CPU traversal, against
   the two references of nasty_rays.h. */
#include "accel/builders.h"
#include "accel/rays/batch.h"
#include "accel/wide/wide_tree.h"
#include "nasty_rays.h"

enum { RAYS = 1024, TRIANGLES = 400 };

typedef struct answers {
    ray rays[RAYS];
    ray_hit expected[RAYS], got[RAYS];
    uint8_t blocked[RAYS];
} answers;

static void expect(const answers *a, uint32_t i, ray_hit got, const char *form, const char *name) {
    const ray_hit reference = a->expected[i];
    if (memcmp(&got, &reference, sizeof got) != 0)
        fail_msg("%s, %s, ray %u (kind %u): triangle %u at %.9g, expected %u at %.9g", name, form,
                 i, i % NASTY_KINDS, got.triangle, (double)got.t, reference.triangle,
                 (double)reference.t);
}

/* Casts rays singly, in streams and in batches; with the CPU's packed leaves, with triangle rows
   only, and with neither. */
static void cast_by_all_walks(const tritree_view *view, answers *a, const char *name) {
    static uint32_t listed[RAYS];
    tritree_view bare = *view, rows = *view;
    bare.rows = NULL;
    bare.wide = rows.wide = NULL;
    for (uint32_t i = 0; i < RAYS; ++i) {
        listed[i] = i;
        expect(a, i, tritree_closest(&bare, a->rays[i]), "plain walk", name);
        expect(a, i, tritree_closest(&rows, a->rays[i]), "plain walk by rows", name);
        expect(a, i, tritree_closest(view, a->rays[i]), "wide walk", name);
        const bool hit = a->expected[i].triangle != KD_NONE;
        if (tritree_occluded(&bare, a->rays[i]) != hit || tritree_occluded(view, a->rays[i]) != hit)
            fail_msg("%s: ray %u is %s", name, i, hit ? "not blocked" : "blocked");
    }
    trace_wide(view, a->rays, listed, RAYS, a->got);
    for (uint32_t i = 0; i < RAYS; ++i) expect(a, i, a->got[i], "stream", name);
    assert_int_equal(trace_closest(view, a->rays, a->got, RAYS, NULL, NULL), KD_OK);
    assert_int_equal(trace_occluded(view, a->rays, a->blocked, RAYS, NULL, NULL), KD_OK);
    for (uint32_t i = 0; i < RAYS; ++i) {
        expect(a, i, a->got[i], "batch", name);
        assert_int_equal(a->blocked[i], a->expected[i].triangle != KD_NONE);
    }
}

static void expect_hits_match(triangle_set *set, const char *name) {
    static answers a;
    for (uint32_t i = 0; i < RAYS; ++i) {
        uint32_t id = 0;
        a.rays[i] = nasty_ray(set, i);
        a.expected[i] = nasty_answer(&set->input, a.rays[i]);
        const char *wrong = nasty_complaint(&set->input, &a.rays[i], a.expected[i], &id);
        if (wrong)
            fail_msg("%s, ray %u (kind %u), triangle %u at %.9g: %s: %u", name, i, i % NASTY_KINDS,
                     a.expected[i].triangle, (double)a.expected[i].t, wrong, id);
    }
    for (const tritree_builder *const *row = tritree_builders; *row; ++row) {
        char directions[80];
        const tritree_options options = tritree_options_default();
        tritree tree;
        snprintf(directions, sizeof directions, "%s, %s", name, (*row)->name);
        assert_int_equal(tritree_open(&tree, &set->input, &options, (*row)->name, NULL), KD_OK);
        const tritree_view view = tritree_get_view(&tree);
        cast_by_all_walks(&view, &a, directions);
        tritree_close(&tree);
    }
    triangle_set_close(set);
}

static void test_all_traversals_agree(void **state) {
    (void)state;
    static const case_triangles sets[] = {CASE_SOUP,     CASE_LONG_SOUP, CASE_FLAT,
                                          CASE_SLANTED,  CASE_SLIVERS,   CASE_FAN,
                                          CASE_FAR_SOUP, CASE_TINY_SOUP, CASE_HUGE_SOUP};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
        if (test_leaves_out((uint32_t)i, 2)) continue;
        triangle_set set = triangle_set_make(sets[i], TRIANGLES);
        expect_hits_match(&set, case_triangles_name(sets[i]));
    }
}

static void test_all_traversals_agree_on_needles(void **state) {
    (void)state;
    triangle_set set = triangle_set_needles(TRIANGLES);
    expect_hits_match(&set, "needles");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_traversals_agree),
                                       cmocka_unit_test(test_all_traversals_agree_on_needles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
