/* Ray casting with shadows: a sphere above a floor. Traces one closest-hit ray per pixel, then one
   any-hit shadow ray towards the sun.
       ray_shadows > picture.pgm       and pixel counts on stderr */
#include <kandela/triangles.h>
#include <math.h>
#include <stdio.h>

enum { SIDE = 240, RINGS = 24, SPOKES = 48 };

static float vertices[4 + (RINGS + 1) * SPOKES][3] = {
    {-4, -1, -4}, {4, -1, -4}, {4, -1, 4}, {-4, -1, 4}};
static uint32_t indices[2 + 2 * RINGS * SPOKES][3] = {{0, 2, 1}, {0, 3, 2}};
static kd_ray eye[SIDE * SIDE], sun[SIDE * SIDE];
static kd_ray_hit hits[SIDE * SIDE];
static uint8_t shadow[SIDE * SIDE];

/* Adds a sphere of radius 1 at the origin. The triangles at its poles are degenerate, which is
   allowed. */
static void make_ball(void) {
    for (int i = 0; i < (RINGS + 1) * SPOKES; ++i) {
        const double up = 3.14159265 * (i / SPOKES) / RINGS,
                     around = 6.2831853 * (i % SPOKES) / SPOKES;
        vertices[4 + i][0] = (float)(sin(up) * cos(around));
        vertices[4 + i][1] = (float)cos(up);
        vertices[4 + i][2] = (float)(sin(up) * sin(around));
    }
    for (uint32_t i = 0; i < RINGS * SPOKES; ++i) {
        const uint32_t a = 4 + i, b = 4 + i / SPOKES * SPOKES + (i + 1) % SPOKES;
        const uint32_t triangles[2][3] = {{a, b, a + SPOKES}, {b, b + SPOKES, a + SPOKES}};
        for (int k = 0; k < 6; ++k) indices[2 + 2 * i + k / 3][k % 3] = triangles[k / 3][k % 3];
    }
}

int main(void) {
    const float to_sun[3] = {0.5F, 1, 0.4F};
    unsigned seen = 0, dark = 0;
    kd_triangles *tree = NULL;
    make_ball();
    const kd_triangle_mesh mesh =
        kd_triangle_mesh_make(vertices[0], sizeof vertices / sizeof *vertices, indices[0],
                              sizeof indices / sizeof *indices);
    if (kd_triangles_open(&tree, &mesh, NULL) != KD_OK) goto failed;
    for (int i = 0; i < SIDE * SIDE; ++i) {
        const kd_ray ray = {{0, 1, 6},
                            0,
                            {(i % SIDE + 0.5F) / SIDE - 0.5F, 0.3F - (i / SIDE + 0.5F) / SIDE, -1},
                            INFINITY};
        eye[i] = ray;
    }
    if (kd_triangles_intersect(tree, eye, SIDE * SIDE, hits, NULL) != KD_OK) goto failed;
    for (int i = 0; i < SIDE * SIDE; ++i) {
        /* after a miss t is infinite, and so is the origin of the shadow ray: it hits nothing */
        for (int k = 0; k < 3; ++k) {
            sun[i].origin[k] = eye[i].origin[k] + hits[i].t * eye[i].direction[k];
            sun[i].direction[k] = to_sun[k];
        }
        sun[i].tmin = 1e-3F; /* avoids self-intersection */
        sun[i].tmax = INFINITY;
    }
    if (kd_triangles_occluded(tree, sun, SIDE * SIDE, shadow, NULL) != KD_OK) goto failed;
    printf("P5 %d %d 255\n", SIDE, SIDE);
    for (int i = 0; i < SIDE * SIDE; ++i) {
        const int hit = hits[i].triangle != KD_NO_TRIANGLE;
        seen += (unsigned)hit, dark += shadow[i];
        putchar(!hit ? 255 : shadow[i] ? 40 : hits[i].triangle < 2 ? 160 : 220);
    }
    fprintf(stderr, "%u pixels show a surface, %u of them are in shadow\n", seen, dark);
    kd_triangles_close(tree);
    return 0;
failed:
    fprintf(stderr, "%s\n", kd_last_error());
    kd_triangles_close(tree);
    return 1;
}
