/* The weights of all techniques that find a path, by the recursion of both kinds of path, against
   ratios of densities of whole paths. */
#include "render/integrators/vcm_weights.h"
#include "test.h"

enum { VERTICES_MAX = 6 };

/* A path with vertices 1 to `count` between the light (0) and the camera (count + 1). */
typedef struct test_path {
    int count;
    float to_light[VERTICES_MAX + 2], to_eye[VERTICES_MAX + 2]; /* cosines with both neighbours */
    float eye_pdf[VERTICES_MAX + 2];   /* 1/sr, of sampling the next vertex towards the light */
    float light_pdf[VERTICES_MAX + 2]; /* towards the eye */
    float square[VERTICES_MAX + 2];    /* squared distance to the next vertex towards the light */
    bool specular[VERTICES_MAX + 2], holds[VERTICES_MAX + 2];
    bool in_medium[VERTICES_MAX + 2];
    float lamp, emitted, camera, paths, disc, ball; /* ball: times the scattering coefficient */
} test_path;

static float draw(uint64_t *number) {
    return 0.1f + 2 * rng_draw(rng_key_make(3, 1, ++*number), 0, 0).value[0];
}

static test_path random_path(uint64_t *number) {
    test_path path;
    memset(&path, 0, sizeof path);
    path.count = 1 + (int)(draw(number) * 0.5f * VERTICES_MAX) % VERTICES_MAX;
    for (int i = 0; i < VERTICES_MAX + 2; ++i) {
        path.to_light[i] = draw(number);
        path.to_eye[i] = draw(number);
        path.eye_pdf[i] = draw(number);
        path.light_pdf[i] = draw(number);
        path.square[i] = draw(number);
        path.holds[i] = draw(number) < 1.4f;
        path.specular[i] = draw(number) < 0.8f;
        path.in_medium[i] = draw(number) < 0.8f;
        if (path.in_medium[i]) {
            path.to_eye[i] = path.to_light[i] = 1;
            path.eye_pdf[i] = path.light_pdf[i];
            path.holds[i] = true;
            path.specular[i] = false;
        }
        if (!path.specular[i]) continue;
        path.eye_pdf[i] = path.light_pdf[i] = 1;
        path.to_eye[i] = path.to_light[i] = draw(number);
    }
    path.lamp = draw(number);
    path.emitted = draw(number);
    path.camera = draw(number);
    path.paths = 7;
    path.disc = draw(number);
    path.ball = draw(number);
    return path;
}

static bool is_lens(const test_path *path, int i) {
    return path->specular[i] || !path->holds[i];
}

static bool merges_at(const test_path *path, int i) {
    return i > 1 && is_lens(path, i - 1) && path->holds[i] && !path->specular[i];
}

/* Merging paths per density at a vertex. */
static float merges_of(const test_path *path, int i) {
    return (path->in_medium[i] ? path->ball : path->disc) * path->paths;
}

/* Density per area with which eye paths sample the vertices from `count` down to `last`. */
static double eye_density(const test_path *path, int last) {
    const int n = path->count;
    double product = (double)(path->camera * path->to_eye[n] / path->square[n + 1]);
    for (int i = n; i > last; --i)
        product *= (double)(path->eye_pdf[i] * path->to_eye[i - 1] / path->square[i]);
    return product;
}

/* The same of light paths from the light to `last`, times their number. */
static double light_density(const test_path *path, int last) {
    double product = (double)(path->paths * path->emitted * path->to_light[1] / path->square[1]);
    for (int i = 1; i < last; ++i)
        product *= (double)(path->light_pdf[i] * path->to_light[i + 1] / path->square[i + 1]);
    return product;
}

static vcm_turn turn_at(const test_path *path, int i, bool eye) {
    vcm_turn turn = {eye ? path->eye_pdf[i] : path->light_pdf[i],
                     eye ? path->light_pdf[i] : path->eye_pdf[i],
                     eye ? path->to_light[i] : path->to_eye[i],
                     path->specular[i],
                     is_lens(path, i),
                     0};
    if (path->holds[i] && !path->specular[i] && (eye || merges_at(path, i)))
        turn.merges = merges_of(path, i);
    return turn;
}

static void expect_weight(const char *name, double weight, double density, double sum) {
    if (!(fabs(weight - density / sum) < 1e-4))
        fail_msg("%s: weight %g, expected %g", name, weight, density / sum);
}

static void test_weights(void **state) {
    (void)state;
    uint64_t number = 0;
    for (int repeat = 0; repeat < 20000; ++repeat) {
        const test_path path = random_path(&number);
        const int n = path.count;
        double hit = eye_density(&path, 0), lamp = eye_density(&path, 1) * (double)path.lamp;
        double splat = light_density(&path, n), merge[VERTICES_MAX + 2] = {0};
        if (path.specular[1]) lamp = 0;
        if (path.specular[n]) splat = 0;
        double sum = hit + lamp + splat;
        for (int i = 2; i <= n; ++i) {
            if (!merges_at(&path, i)) continue;
            merge[i] = light_density(&path, i) * eye_density(&path, i) *
                       (double)(merges_of(&path, i) / path.paths);
            sum += merge[i];
        }
        /* The chains at each vertex. */
        vcm_chain eye[VERTICES_MAX + 2], light[VERTICES_MAX + 2];
        vcm_chain now = vcm_chain_begin(path.paths / path.camera, 0);
        for (int i = n; i > 0; --i) {
            vcm_chain_land(&now, path.square[i + 1], path.to_eye[i]);
            eye[i] = now;
            const vcm_turn turn = turn_at(&path, i, true);
            vcm_chain_turn(&now, &turn, true);
        }
        vcm_chain_land(&now, path.square[1], path.to_eye[0]);
        expect_weight("eye", (double)vcm_weight(path.emitted * now.others, path.lamp * now.inverse),
                      hit, sum);
        now = vcm_chain_begin(path.lamp / path.emitted, path.to_eye[0] / path.emitted);
        for (int i = 1; i <= n; ++i) {
            vcm_chain_land(&now, path.square[i], path.to_light[i]);
            light[i] = now;
            const vcm_turn turn = turn_at(&path, i, false);
            vcm_chain_turn(&now, &turn, false);
        }
        if (splat > 0) {
            const float arrives = path.camera * path.to_eye[n] / path.square[n + 1] / path.paths;
            const float others = (merges_at(&path, n) ? merges_of(&path, n) : 0) +
                                 vcm_chain_join(&light[n]) + light[n].others * path.eye_pdf[n];
            expect_weight("splat", (double)vcm_weight(arrives * others, 0), splat, sum);
        }
        if (lamp > 0) {
            const float density = path.lamp * path.square[1];
            const float earlier = eye[1].others + (is_lens(&path, 1) ? eye[1].pending : 0);
            const float by_light = path.emitted * path.to_light[1] / density *
                                   (vcm_chain_join(&eye[1]) + earlier * path.light_pdf[1]);
            const float by_hit = path.eye_pdf[1] * path.to_eye[0] / density;
            expect_weight("lamps", (double)vcm_weight(by_light, by_hit), lamp, sum);
        }
        for (int i = 2; i <= n; ++i) {
            if (!(merge[i] > 0)) continue;
            const float merges = merges_of(&path, i);
            const float by_light = light[i].others * path.eye_pdf[i] / merges;
            const float by_eye =
                (vcm_chain_join(&eye[i]) + eye[i].others * path.light_pdf[i]) / merges;
            expect_weight("merge", (double)vcm_weight(by_light, by_eye), merge[i], sum);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_weights)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
