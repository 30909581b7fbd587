/* Looks of scenes without lights.
   Idea: all light comes from infinity, so that it is the same for a mesh of any size and is never in
     the way of a camera: discs, and light from all around. The ground is a disc of rings, darker
   from ring to ring, whose rim reflects as much as the surroundings emit, so that there is no
   horizon.
   Work: two triangles per ring and sector; a clear sky needs an image, which is made for each
     rendering because it turns with the camera. */
#include "scenes/assembly/look.h"
#include "accel/rays/batch.h"
#include "core/memory.h"
#include "scenes/assembly/scene_camera.h"
#include "scenes/assembly/scene_parts.h"
#include "scenes/describe/render_options.h"
#include "scenes/sky/clear_sky.h"

enum { RINGS = LOOK_RINGS, SKY_WIDTH = 512, DISCS = 3 };

static const float ground_albedo[3] = {0.20f, 0.215f, 0.24f};

/* A round soft box at infinity: degrees to the right of the camera and above the ground, solid
   angle, radiance. */
typedef struct soft_box {
    float azimuth, elevation, solid_angle, radiance[3];
} soft_box;

static const soft_box boxes[DISCS] = {{-44, 44, 0.193f, {24, 22.3f, 19.7f}}, /* key */
                                      {65, 20, 0.331f, {1.2f, 1.4f, 1.8f}},  /* fill */
                                      {150, 38, 0.131f, {9.5f, 10.0f, 11.2f}} /* rim */};
static const float all_round[3] = {0.074f, 0.079f, 0.092f};

/* --- what is chosen --------------------------------------------------------------------------- */

/* Returns the index of `name` among the names of `list`. */
static int index_of(const char *(*list)(int), const char *name) {
    int index = 0;
    while (list(index) && strcmp(list(index), name) != 0) ++index;
    return index;
}

static look_kind choose(const scene *scene, const kd_render_options *options, bool studio) {
    const look_kind wanted = (look_kind)index_of(look_name, options->look);
    if (!scene->unlit) return LOOK_PLAIN;
    if (wanted != LOOK_AUTO) return wanted;
    return scene->bare && studio ? LOOK_STUDIO : LOOK_PLAIN;
}

bool look_fits_camera(const scene *scene, const kd_render_options *options) {
    return scene->unlit && (scene->bare || choose(scene, options, false) != LOOK_PLAIN);
}

void look_camera(camera *view, const scene *scene, float aspect) {
    if (!scene->has_fov) view->fov_degrees = THREE_QUARTERS_FOV;
    view->up = scene->up;
    scene_three_quarters(scene, aspect, view);
}

bool scene_is_unlit(const scene *scene) {
    return scene->unlit;
}

bool scene_is_bare(const scene *scene) {
    return scene->bare && scene->unlit;
}

vec3 scene_up(const scene *scene) {
    return scene->up;
}

bool scene_up_is_open(const scene *scene) {
    return scene->up_is_open;
}

/* --- surroundings ----------------------------------------------------------------------------- */

/* The axes of the light: right, up and towards the camera. */
static void face_camera(vec3 axes[3], vec3 up, const camera *view) {
    const frame3 sight = camera_frame(view);
    scene_upright(axes, up);
    vec3 facing = vec3_negate(sight.normal);
    const float upright = vec3_dot(facing, axes[1]);
    if (fabsf(upright) > 0.99f) /* from the top or the bottom */
        facing = vec3_scale(sight.bitangent, upright > 0 ? -1 : 1);
    facing = vec3_along(facing, -vec3_dot(facing, axes[1]), axes[1]);
    axes[2] = vec3_normalize(facing);
    axes[0] = vec3_cross(axes[1], axes[2]);
}

static vec3 by_angles(float azimuth, float elevation) {
    const float a = azimuth * (KD_PI / 180), e = elevation * (KD_PI / 180);
    return vec3_make(sinf(a) * cosf(e), sinf(e), cosf(a) * cosf(e));
}

/* What is at infinity, in the axes of the light, relative to the default light. */
typedef struct surroundings {
    float *texels; /* an image in world space, or NULL: all_round */
    int32_t width, height;
    vec3 axes[3];       /* axes of the light */
    vec3 ground;        /* irradiance of a horizontal plane */
    light discs[DISCS]; /* lights, without power */
    uint32_t disc_count;
    float choice; /* of the other light, relative to its power */
} surroundings;

/* Adds a disc by its direction in the axes of the light and the irradiance that it causes. */
static void add_disc(surroundings *out, vec3 to, float solid_angle, vec3 irradiance, bool seen) {
    light *disc = out->discs + out->disc_count++;
    memset(disc, 0, sizeof *disc);
    disc->kind = LIGHT_DIRECTIONAL;
    disc->triangle = KD_NONE;
    disc->area = solid_angle / (2 * KD_PI);
    disc->emitted = irradiance;
    disc->two_sided = !seen; /* by the camera */
    disc->direction = vec3_negate(vec3_normalize(vec3_along(
        vec3_along(vec3_scale(out->axes[0], to.x), to.y, out->axes[1]), to.z, out->axes[2])));
    out->ground = vec3_along(out->ground, float_max(to.y, 0), irradiance);
}

/* Samples of the BSDF find what is around the discs with less noise. */
static void make_studio(surroundings *out) {
    out->ground = vec3_scale(vec3_make(all_round[0], all_round[1], all_round[2]), KD_PI);
    out->choice = 0.03f;
    for (int i = 0; i < DISCS; ++i) {
        const soft_box *box = boxes + i;
        const float perpendicular = box->solid_angle * (1 - box->solid_angle / (4 * KD_PI));
        add_disc(out, by_angles(box->azimuth, box->elevation), box->solid_angle,
                 vec3_scale(vec3_make(box->radiance[0], box->radiance[1], box->radiance[2]),
                            perpendicular),
                 false);
    }
}

static vec3 texel_direction(const surroundings *out, int32_t x, int32_t y) {
    const vec3 world = latlong_to_direction(
        vec2_make(((float)x + 0.5f) / (float)out->width, ((float)y + 0.5f) / (float)out->height),
        0);
    return vec3_make(vec3_dot(world, out->axes[0]), vec3_dot(world, out->axes[1]),
                     vec3_dot(world, out->axes[2]));
}

static float texel_solid_angle(const surroundings *out, int32_t y) {
    const float step = KD_PI / (float)out->height;
    return 2 * KD_PI / (float)out->width * (cosf((float)y * step) - cosf((float)(y + 1) * step));
}

/* Scales the sky's light so that a white horizontal plane is as bright as in the studio. */
#define SKY_IRRADIANCE 4.2f
#define SUN_SHARE 0.5f        /* of its irradiance: a veiled sun makes softer contrasts */
#define SUN_SOLID_ANGLE 1e-3f /* enlarged: soft shadows, less noise */

/* `sun`: in the axes of the light. */
static kd_status make_sky(surroundings *out, vec3 sun) {
    const clear_sky sky = {sun, 3, true, false, vec3_all(0.2f)};
    clear_sky_model model;
    KD_TRY(clear_sky_open(&model, &sky)); /* allocates nothing */
    out->width = SKY_WIDTH;
    out->height = SKY_WIDTH / 2;
    KD_TRY(KD_RESERVE(out->texels, 3 * (uint64_t)out->width * (uint64_t)out->height));
    double level[3] = {0, 0, 0};
    for (int32_t y = 0; y < out->height; ++y)
        for (int32_t x = 0; x < out->width; ++x) {
            const vec3 d = texel_direction(out, x, y);
            const double direction[3] = {(double)d.x, (double)d.y, (double)d.z};
            double light[3] = {0, 0, 0};
            if (d.y > 0) clear_sky_radiance(light, &model, direction);
            for (int c = 0; c < 3; ++c) {
                out->texels[3 * ((int64_t)y * out->width + x) + c] = (float)light[c];
                level[c] += light[c] * (double)(float_max(d.y, 0) * texel_solid_angle(out, y));
            }
        }
    const vec3 direct = vec3_make((float)model.sun_irradiance[0], (float)model.sun_irradiance[1],
                                  (float)model.sun_irradiance[2]);
    out->ground = vec3_make((float)level[0], (float)level[1], (float)level[2]);
    out->choice = 1;
    add_disc(out, sun, SUN_SOLID_ANGLE, vec3_scale(direct, SUN_SHARE), true);
    const float scale = SKY_IRRADIANCE * 3 / (out->ground.x + out->ground.y + out->ground.z);
    out->ground = vec3_scale(out->ground, scale);
    out->discs->emitted = vec3_scale(out->discs->emitted, scale);
    for (int32_t y = 0; y < out->height; ++y)
        for (int32_t x = 0; x < out->width; ++x) {
            float *rgb = out->texels + 3 * ((int64_t)y * out->width + x);
            const bool below = !(texel_direction(out, x, y).y > 0);
            for (int c = 0; c < 3; ++c)
                rgb[c] = below ? 0.2f / KD_PI * vec3_axis(out->ground, c) : rgb[c] * scale;
        }
    return KD_OK;
}

/* Shows an image instead of the default sky. */
static kd_status set_image(scene_look *out, const scene *scene, const surroundings *made,
                           scene_view *shown, vec3 *mean) {
    environment_view *sky = &shown->environment;
    const uint32_t texture = scene->textures.view_count;
    if (!out->textures) KD_TRY(KD_RESERVE_ZEROED(out->textures, (uint64_t)texture + 1));
    if (texture) memcpy(out->textures, scene->textures.views, texture * sizeof *out->textures);
    /* as the view of the default sky */
    out->textures[texture] = scene->textures.views[scene->environment.texture];
    out->textures[texture].floats = made->texels;
    out->textures[texture].width = made->width;
    out->textures[texture].height = made->height;
    KD_TRY(sky_tables_make(&out->row_cdf, &out->column_cdf, out->textures + texture, mean));
    sky->texture = texture;
    sky->width = made->width;
    sky->height = made->height;
    shown->textures = out->textures;
    shown->texture_count = texture + 1;
    return KD_OK;
}

/* The chance that a light is sampled, relative to those of the others: by power, but the sun not
   more often than the sky, because what it does not reach would be noisy otherwise. */
static double light_chance(const scene_look *out, const scene *scene, const surroundings *made,
                           uint32_t which) {
    const double power = (double)out->lights[which].power;
    const double sky = (double)(out->lights[scene->environment.light].power * made->choice);
    if (which == scene->environment.light) return sky;
    return made->texels && which >= scene->light_count ? fmin(power, sky) : power;
}

/* Replaces the default sky of the view. */
static kd_status set_surroundings(scene_look *out, const scene *scene, const surroundings *made,
                                  scene_view *shown) {
    environment_view *sky = &shown->environment;
    const uint32_t lamps = scene->light_count, all = lamps + made->disc_count;
    const light *before = scene->lights + scene->environment.light;
    const vec3 usual = scene->sky_mean;
    vec3 mean = vec3_make(all_round[0], all_round[1], all_round[2]);
    memory_free(out->texels);
    memory_free(out->row_cdf);
    memory_free(out->column_cdf);
    out->texels = made->texels;
    out->row_cdf = out->column_cdf = NULL;
    if (!out->lights) KD_TRY(KD_RESERVE(out->lights, (uint64_t)lamps + DISCS + 1));
    if (!out->light_cdf) KD_TRY(KD_RESERVE(out->light_cdf, (uint64_t)lamps + DISCS + 2));
    memcpy(out->lights, scene->lights, lamps * sizeof *out->lights);
    light *around = out->lights + scene->environment.light;
    sky->texture = KD_NONE;
    if (made->texels)
        KD_TRY(set_image(out, scene, made, shown, &mean));
    else
        around->emitted = vec3_mul(before->emitted, mean);
    around->power = before->power * (mean.x + mean.y + mean.z) / (usual.x + usual.y + usual.z);
    for (uint32_t i = 0; i < made->disc_count; ++i) {
        light *disc = out->lights + lamps + i;
        *disc = made->discs[i];
        disc->emitted = vec3_mul(before->emitted, disc->emitted);
        disc->power = (float)light_power(scene, disc);
    }
    double total = 0, chances = 0, sum = 0;
    for (uint32_t i = 0; i < all; ++i) {
        total += (double)out->lights[i].power;
        chances += light_chance(out, scene, made, i);
    }
    for (uint32_t i = 0; i < all; ++i) {
        out->light_cdf[i] = (float)(sum / chances);
        sum += light_chance(out, scene, made, i);
    }
    out->light_cdf[all] = 1;
    sky->row_cdf = out->row_cdf;
    sky->column_cdf = out->column_cdf;
    sky->sun_first = lamps;
    sky->sun_count = made->disc_count;
    shown->lights = out->lights;
    shown->light_cdf = out->light_cdf;
    shown->light_count = all;
    shown->total_power = (float)total;
    return KD_OK;
}

/* --- materials -------------------------------------------------------------------------------- */

typedef struct look_material {
    int32_t kind;
    vec3 diffuse, specular;
    float roughness;
} look_material;

/* In the order of SHOWN_MATERIAL_NAMES, without the first. */
static const look_material materials[] = {
    {MATERIAL_PLASTIC, {0.66f, 0.56f, 0.47f}, {0, 0, 0}, 0.45f},
    {MATERIAL_PLASTIC, {0.58f, 0.06f, 0.05f}, {0, 0, 0}, 0.15f},
    {MATERIAL_CONDUCTOR, {0, 0, 0}, {0.62f, 0.61f, 0.60f}, 0.3f},
    {MATERIAL_CONDUCTOR, {0, 0, 0}, {1, 0.77f, 0.34f}, 0.25f},
    {MATERIAL_CONDUCTOR, {0, 0, 0}, {0.95f, 0.64f, 0.54f}, 0.25f},
    {MATERIAL_GLASS, {0, 0, 0}, {0, 0, 0}, 0},
    {MATERIAL_MIRROR, {0, 0, 0}, {0.92f, 0.92f, 0.92f}, 0}};

static void paint(material *to, const look_material *from) {
    const material before = *to;
    *to = material_default();
    to->kind = from->kind;
    to->diffuse = from->diffuse;
    to->specular = from->specular;
    to->roughness = from->roughness;
    to->opacity = before.opacity;
    to->opacity_map = before.opacity_map;
    to->flags = before.flags & MATERIAL_MASK;
}

static void choose_materials(scene_look *out, const scene *scene, const kd_render_options *options,
                             scene_view *shown) {
    const material plain = material_default();
    const int wanted = index_of(shown_material_name, options->material);
    for (uint32_t i = 0; i < scene->geometry.material_count; ++i) {
        material *at = out->materials + i;
        const bool own = scene->geometry.colours || memcmp(at, &plain, sizeof plain) != 0;
        if (!vec3_is_zero(at->emission)) continue;
        if (wanted) paint(at, materials + wanted - 1);
        if (!wanted && !own && out->kind != LOOK_PLAIN) paint(at, materials);
    }
    if (wanted) {
        shown->mesh.colours = NULL;
        memset(&shown->nested, 0, sizeof shown->nested); /* one material everywhere */
    }
}

static void ground_materials(scene_look *out, const scene *scene, vec3 irradiance) {
    for (int ring = 0; ring < RINGS; ++ring) {
        material *at = out->materials + scene->geometry.material_count + ring;
        const float far = float_clamp((float)ring / (RINGS - 2), 0, 1);
        const float share = out->kind == LOOK_STUDIO ? far * far * (3 - 2 * far) : 0;
        *at = material_default();
        for (int c = 0; c < 3; ++c) {
            const float rim = KD_PI * all_round[c] / vec3_axis(irradiance, c);
            const float near = out->kind == LOOK_STUDIO ? ground_albedo[c] : 0.2f;
            vec3_set_axis(&at->diffuse, c, near + share * (rim - near));
        }
    }
}

static kd_status set_materials(scene_look *out, const scene *scene,
                               const kd_render_options *options, vec3 irradiance, bool ground,
                               scene_view *shown) {
    const uint32_t own = scene->geometry.material_count, all = own + (ground ? RINGS : 0);
    KD_TRY(KD_RESERVE(out->materials, all));
    memcpy(out->materials, scene->materials, own * sizeof *out->materials);
    choose_materials(out, scene, options, shown);
    if (scene->layers) {
        KD_TRY(KD_RESERVE(out->layers, all));
        memcpy(out->layers, scene->layers, own * sizeof *out->layers);
        for (uint32_t i = own; i < all; ++i) out->layers[i] = principled_default();
        shown->layers = out->layers;
    }
    if (ground) ground_materials(out, scene, irradiance);
    shown->materials = out->materials;
    shown->material_count = all;
    return KD_OK;
}

/* --- looks ------------------------------------------------------------------------------------ */

kd_status scene_look_open(scene_look *out, const scene *scene, const look_request *request,
                          scene_view *shown) {
    const kd_render_options *options = request->options;
    surroundings made;
    memset(&made, 0, sizeof made);
    memset(out, 0, sizeof *out);
    out->kind = choose(scene, options, request->studio);
    out->chosen = strcmp(options->look, look_name(LOOK_AUTO)) != 0;
    out->triangle_count = shown->mesh.triangle_count;
    if (out->chosen && !scene->unlit && strcmp(options->look, look_name(LOOK_PLAIN)) != 0)
        log_message(LOG_WARNING, "the scene has lights of its own; --look %s is ignored",
                    options->look);
    const bool studio = out->kind == LOOK_STUDIO, sky = out->kind == LOOK_SKY;
    const bool hidden = strcmp(options->background, "environment") != 0;
    const bool ground =
        (studio || sky) && request->ground && !hidden && look_sees_ground(scene, request->view);
    out->exposed = studio || sky;
    if (studio || sky) {
        face_camera(made.axes, scene->up, request->view);
        if (studio) make_studio(&made);
        if (sky) KD_TRY(make_sky(&made, by_angles(-50, 40)));
        KD_TRY(set_surroundings(out, scene, &made, shown));
    }
    if (out->kind != LOOK_PLAIN || strcmp(options->material, shown_material_name(0)) != 0)
        KD_TRY(set_materials(out, scene, options, made.ground, ground, shown));
    if (ground) look_show_ground(scene, shown);
    return KD_OK;
}

/* The number of rays through the picture whose first surface the sun reaches. */
static int sunlit(const scene_view *shown, uint32_t triangle_count, const camera *view, vec3 sun) {
    enum { RAYS = 16 };
    int count = 0;
    for (int i = 0; i < RAYS * RAYS; ++i) {
        const rng_block middle = {{0.5f, 0.5f, 0.5f, 0.5f}};
        const ray ray = camera_ray(view, RAYS, RAYS, i % RAYS, i / RAYS, middle);
        const ray_hit hit = tritree_closest(&shown->tree, ray);
        if (hit.triangle >= triangle_count) continue; /* nothing, or the ground */
        const vec3 at = vec3_along(ray.origin, hit.t * 0.9999f, ray.direction);
        count += tritree_closest(&shown->tree, ray_make(at, sun, 0, INFINITY)).triangle == KD_NONE;
    }
    return count;
}

bool look_may_change(const scene_look *look) {
    return look->kind != LOOK_PLAIN && !look->chosen;
}

/* Adds a lamp below the ceiling, above the middle of the scene, which lights it about as the sky
   lights what is outside. */
static void add_lamp(scene_look *look, const scene *scene, vec3 up, scene_view *shown) {
    const vec3 middle = box3_centre(scene->box);
    const ray_hit above = tritree_closest(&shown->tree, ray_make(middle, up, 0, INFINITY));
    const float half = 0.5f * scene_extent(scene, up);
    const float rise = 0.55f * (above.triangle == KD_NONE ? half : float_min(above.t, half));
    light *lamp = look->lights;
    /* lights at infinity are the last */
    memmove(look->lights + 1, look->lights, shown->light_count * sizeof *lamp);
    memset(lamp, 0, sizeof *lamp);
    lamp->kind = LIGHT_POINT;
    lamp->triangle = KD_NONE;
    lamp->position = vec3_along(middle, rise, up);
    lamp->emitted = vec3_all(float_min(SKY_IRRADIANCE * half * half, 1e30f));
    lamp->power = 4 * KD_PI * lamp->emitted.x;
    for (uint32_t i = shown->light_count + 1; i > 0; --i)
        look->light_cdf[i] = 0.75f + 0.25f * look->light_cdf[i - 1];
    look->light_cdf[0] = 0;
    ++shown->environment.light;
    ++shown->environment.sun_first;
    ++shown->light_count;
    shown->total_power += lamp->power;
}

kd_status scene_look_inside(scene_look *look, const scene *scene, const camera *view,
                            scene_view *shown, bool lamp, bool *changed) {
    static const float elevations[] = {65, 45, 28};
    surroundings made;
    int most = -1;
    vec3 sun = vec3_make(0, 1, 0);
    memset(&made, 0, sizeof made);
    *changed = false;
    if (!look_may_change(look)) return KD_OK;
    face_camera(made.axes, view->up, view);
    for (int i = 0; i < 36; ++i) {
        const vec3 to = by_angles((float)(i / 3) * 30 + 15, elevations[i % 3]);
        const vec3 world = vec3_along(
            vec3_along(vec3_scale(made.axes[0], to.x), to.y, made.axes[1]), to.z, made.axes[2]);
        const int reached = sunlit(shown, look->triangle_count, view, world);
        if (reached <= most) continue;
        most = reached;
        sun = to;
    }
    KD_TRY(make_sky(&made, sun));
    KD_TRY(set_surroundings(look, scene, &made, shown));
    look->kind = LOOK_SKY;
    look->exposed = false;
    if (shown->material_count > scene->geometry.material_count)
        ground_materials(look, scene, made.ground);
    if (lamp && scene->light_count == 1) add_lamp(look, scene, view->up, shown);
    *changed = true;
    return KD_OK;
}

void scene_look_close(scene_look *owned) {
    memory_free(owned->materials);
    memory_free(owned->layers);
    memory_free(owned->textures);
    memory_free(owned->texels);
    memory_free(owned->row_cdf);
    memory_free(owned->column_cdf);
    memory_free(owned->light_cdf);
    memory_free(owned->lights);
    memset(owned, 0, sizeof *owned);
}
