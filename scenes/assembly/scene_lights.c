/* Builds the light table: every emissive triangle, then the lights of the description, then the
   sky, lights at infinity last; the power of each, a distribution that selects lights in proportion
   to power, and the tree for direct light. */
#include "shaders/surface.h" /* must come first: its functions have parameters named scene */

#include "core/memory.h"
#include "core/status.h"
#include "scenes/assembly/scene_light_tree.h"
#include "scenes/assembly/scene_parts.h"
#include "scenes/sky/clear_sky.h"

static const double pi = 3.14159265358979323846;

static float channel_mean(vec3 colour) {
    return (colour.x + colour.y + colour.z) / 3;
}

/* --- triangles -------------------------------------------------------------------------------- */

/* The area of a triangle, in double: squared lengths of small models underflow a float. */
static double triangle_area(const mesh *mesh, uint64_t triangle) {
    double edges[2][3], cross[3];
    const vec3 a = mesh->positions[mesh->triangles[3 * triangle]];
    for (uint64_t i = 0; i < 2; ++i) {
        const vec3 b = mesh->positions[mesh->triangles[3 * triangle + 1 + i]];
        edges[i][0] = (double)b.x - (double)a.x;
        edges[i][1] = (double)b.y - (double)a.y;
        edges[i][2] = (double)b.z - (double)a.z;
    }
    for (int i = 0; i < 3; ++i) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        cross[i] = edges[0][j] * edges[1][k] - edges[0][k] * edges[1][j];
    }
    return 0.5 * sqrt(cross[0] * cross[0] + cross[1] * cross[1] + cross[2] * cross[2]);
}

/* The mean of a texture over a triangle, sampled at the centroids of n x n congruent parts; n is
   about twice the number of texels along the longest side, at most 256. */
static vec3 map_mean(const texture_view *map, const vec2 corners[3]) {
    float span = 0;
    for (int i = 0; i < 3; ++i) {
        const vec2 p = corners[i], q = corners[(i + 1) % 3];
        const float u = fabsf(p.x - q.x), v = fabsf(p.y - q.y);
        span = float_max(span,
                         (u * fabsf(map->scale.x) + v * fabsf(map->shear.x)) * (float)map->width);
        span = float_max(span,
                         (v * fabsf(map->scale.y) + u * fabsf(map->shear.y)) * (float)map->height);
    }
    const int n = span < 127 ? 1 + 2 * (int)ceilf(span) : 256;
    double sum[3] = {0, 0, 0};
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < 2 * (n - i) - 1; ++j) {
            /* strip i: alternately upright and inverted triangles */
            const float third = 1.0f / 3, half = (float)(j / 2), odd = (float)(j % 2);
            const float b = ((float)i + third * (1 + odd)) / (float)n;
            const float c = (half + third * (1 + odd)) / (float)n, a = 1 - b - c;
            const vec2 at = vec2_make(a * corners[0].x + b * corners[1].x + c * corners[2].x,
                                      a * corners[0].y + b * corners[1].y + c * corners[2].y);
            const vec3 texel = texture_sample(map, at);
            sum[0] += (double)texel.x;
            sum[1] += (double)texel.y;
            sum[2] += (double)texel.z;
        }
    const double parts = (double)n * n;
    return vec3_make((float)(sum[0] / parts), (float)(sum[1] / parts), (float)(sum[2] / parts));
}

/* Mean radiance of an emissive triangle. */
static vec3 triangle_radiance(const scene *scene, uint64_t triangle) {
    const mesh *geometry = &scene->geometry;
    const material *made_of = &scene->materials[geometry->triangle_materials[triangle]];
    if (made_of->emission_map == KD_NONE || !geometry->texcoord_indices) return made_of->emission;
    vec2 corners[3];
    for (uint64_t i = 0; i < 3; ++i) {
        const uint32_t index = geometry->texcoord_indices[3 * triangle + i];
        if (index == KD_NONE) return made_of->emission;
        corners[i] = geometry->texcoords[index];
    }
    return vec3_mul(made_of->emission,
                    map_mean(&scene->textures.views[made_of->emission_map], corners));
}

static bool emits(const scene *scene, uint64_t triangle) {
    const material *made_of = &scene->materials[scene->geometry.triangle_materials[triangle]];
    return vec3_largest(made_of->emission) > 0 && !(made_of->flags & MATERIAL_UNLIT);
}

static light triangle_light(const scene *scene, uint64_t triangle) {
    const material *made_of = &scene->materials[scene->geometry.triangle_materials[triangle]];
    const mesh_material *from =
        &scene->geometry.materials[scene->geometry.triangle_materials[triangle]];
    const double area = triangle_area(&scene->geometry, triangle);
    light made;
    memset(&made, 0, sizeof made);
    made.kind = LIGHT_TRIANGLE;
    made.triangle = (uint32_t)triangle;
    made.emitted = made_of->emission;
    made.area = (float)area;
    made.two_sided = made_of->two_sided;
    made.cos_inner = from->beam_inner;
    made.cos_outer = from->beam_outer;
    const uint32_t *corner = scene->geometry.triangles + 3 * triangle;
    const vec3 *at = scene->geometry.positions;
    light_on_triangle(&made, at[corner[0]], at[corner[1]], at[corner[2]]);
    made.power = (float)(pi * area * (double)channel_mean(triangle_radiance(scene, triangle)) *
                         mesh_material_beam_power(from) * (made_of->two_sided ? 2 : 1));
    return made;
}

static kd_status add_triangles(scene *scene, uint32_t other_lights) {
    const uint64_t triangles = scene->plain_count; /* instanced meshes do not emit */
    uint64_t count = 0;
    for (uint64_t i = 0; i < triangles; ++i) count += emits(scene, i);
    KD_REQUIRE(count + other_lights < KD_NONE, KD_ERROR_INPUT,
               "%llu emissive triangles exceed the limit of 2^32 lights",
               (unsigned long long)count);
    KD_TRY(KD_RESERVE(scene->lights, count + other_lights));
    if (count == 0) return KD_OK;
    const uint64_t all = scene->geometry.triangle_count;
    KD_TRY(KD_RESERVE(scene->triangle_lights, all));
    memset(scene->triangle_lights, 0xff, all * sizeof *scene->triangle_lights);
    for (uint64_t i = 0; i < triangles; ++i) {
        if (!emits(scene, i)) continue;
        const light made = triangle_light(scene, i);
        if (!(made.power > 0) || !(made.area > 0)) continue;
        scene->triangle_lights[i] = scene->light_count;
        scene->lights[scene->light_count++] = made;
    }
    return KD_OK;
}

/* --- other lights ----------------------------------------------------------------------------- */

/* Power in W that the light sends into the scene. Directional lights and the sky are limited to
   the bounding sphere. */
double light_power(const scene *scene, const light *light) {
    const double strength = (double)channel_mean(light->emitted);
    const double radius = (double)scene->environment.scene_radius;
    switch (light->kind) {
    case LIGHT_POINT: return 4 * pi * strength;
    case LIGHT_SPOT: /* the integral of light_spot_falloff over the sphere */
        return pi * (2 - (double)light->cos_inner - (double)light->cos_outer) * strength;
    case LIGHT_DIRECTIONAL: /* a disc has more radiance than irradiance per solid angle */
        return pi * radius * radius * strength / (1 - 0.5 * (double)light->area);
    /* sky; `strength` is its mean radiance */
    default: return 4 * pi * pi * radius * radius * strength;
    }
}

static void bound_scene(scene *scene) {
    const vec3 size = box3_size(scene->box);
    const vec3 half = vec3_scale(size, 0.5f);
    const double radius = sqrt((double)half.x * (double)half.x + (double)half.y * (double)half.y +
                               (double)half.z * (double)half.z);
    scene->environment.light = scene->environment.texture = KD_NONE;
    scene->environment.scene_centre = box3_centre(scene->box);
    /* slightly enlarged, so that rounded corners lie inside; a single point, such as an object that
       is hidden by a scale of 0, has a sky, too */
    scene->environment.scene_radius = radius > 0 ? (float)(radius * (1 + 0x1p-20)) : 1;
}

static kd_status add_sky(scene *scene, vec3 factor, vec3 mean) {
    light made;
    memset(&made, 0, sizeof made);
    made.kind = LIGHT_ENVIRONMENT;
    made.triangle = KD_NONE;
    made.emitted = vec3_mul(factor, mean);
    made.power = (float)light_power(scene, &made);
    made.emitted = factor;
    if (!(made.power > 0)) {
        log_message(LOG_WARNING, "the environment is black and emits no light");
        return KD_OK;
    }
    scene->environment.light = scene->light_count;
    scene->lights[scene->light_count++] = made;
    return KD_OK;
}

/* Resamples an equal-area sky to latitude-longitude. */
static kd_status turn_equal_area(texture_store *store, uint32_t index) {
    texture_image *image = &store->images[store->view_images[index]];
    float *floats = NULL;
    KD_REQUIRE(image->width == image->height, KD_ERROR_INPUT,
               "%s: found %d x %d texels, expected a square image for the projection equal_area",
               image->path, image->width, image->height);
    if (!image->floats) KD_TRY(texture_make_floats(image, &store->views[index]));
    KD_TRY(equal_area_to_latlong(&floats, image->floats, image->width));
    memory_free(image->floats);
    image->floats = floats;
    image->width *= 2;
    KD_TRY(texture_store_load(store)); /* update the views */
    return KD_OK;
}

static kd_status load_sky(scene *scene, const scene_draft *draft) {
    texture_store *in = &scene->textures;
    uint32_t *index = &scene->environment.texture;
    if (draft->sky_is_clear) {
        float *floats = NULL;
        KD_TRY(clear_sky_picture(&floats, &draft->clear));
        KD_TRY(texture_store_adopt(in, floats, CLEAR_SKY_WIDTH, CLEAR_SKY_HEIGHT, index));
        return texture_store_load(in);
    }
    const texture_request request = {
        .path = draft->sky_image, .role = TEXTURE_SKY, .scale = vec2_make(1, 1)};
    KD_TRY(texture_store_add(in, &request, index));
    KD_TRY(texture_store_load(in));
    const texture_image *image = &in->images[in->view_images[*index]];
    KD_REQUIRE(image->loaded, KD_ERROR_INPUT, "%s", image->message);
    if (draft->sky_equal_area && !image->borrowed) KD_TRY(turn_equal_area(in, *index));
    return KD_OK;
}

static kd_status add_described_sky(scene *scene, const scene_draft *draft) {
    vec3 mean = vec3_all(1);
    scene->environment.rotation = draft->sky_rotation;
    if (draft->sky_image || draft->sky_is_clear) {
        KD_TRY(load_sky(scene, draft));
        KD_TRY(scene_build_sky_tables(scene, &mean));
    }
    KD_TRY(add_sky(scene, draft->sky_radiance, mean));
    return KD_OK;
}

void scene_report_default_light(const scene *scene) {
    if (scene->unlit)
        log_message(LOG_INFO, "the scene has no light%s; a default light is used",
                    scene->light_count > 1 ? " except surfaces that glow" : "");
}

static kd_status add_default_light(scene *scene) {
    vec3 mean = vec3_all(1);
    KD_TRY(scene_add_default_sky(scene));
    KD_TRY(scene_build_sky_tables(scene, &mean));
    KD_TRY(add_sky(scene, vec3_all(1), mean));
    scene->unlit = true;
    scene->sky_mean = mean;
    return KD_OK;
}

/* cdf[i] is the fraction of the power of all lights before i, summed in double precision in index
   order. */
static kd_status build_cdf(scene *scene) {
    double total = 0, before = 0;
    memory_free(scene->light_cdf);
    scene->light_cdf = NULL;
    for (uint32_t i = 0; i < scene->light_count; ++i) total += (double)scene->lights[i].power;
    KD_REQUIRE(
        total <= (double)FLT_MAX, KD_ERROR_INPUT,
        "the total power of the lights is %g W, which exceeds the range of float; lower the powers",
        total);
    KD_TRY(KD_RESERVE(scene->light_cdf, (uint64_t)scene->light_count + 1));
    for (uint32_t i = 0; i < scene->light_count; ++i) {
        scene->light_cdf[i] = (float)(before / total);
        before += (double)scene->lights[i].power;
    }
    scene->light_cdf[scene->light_count] = 1;
    scene->total_power = (float)total;
    return KD_OK;
}

/* Adds the lights of the description, at infinity or not. */
static void add_described(scene *scene, const scene_draft *draft, bool far) {
    for (uint32_t i = 0; i < draft->light_count; ++i) {
        light made = draft->lights[i];
        if (light_is_far(&made) != far) continue;
        made.triangle = KD_NONE;
        made.power = (float)light_power(scene, &made);
        if (!(made.power > 0)) continue;
        if (made.kind == LIGHT_DIRECTIONAL && made.area > 0) {
            environment_view *sky = &scene->environment;
            if (sky->sun_count == 0) sky->sun_first = scene->light_count;
            sky->sun_count = scene->light_count + 1 - sky->sun_first;
        }
        scene->lights[scene->light_count++] = made;
    }
}

/* Builds the tree of the first `count` lights, those not at infinity. A single one needs none. */
static kd_status build_tree(scene *scene, uint32_t count) {
    const light_tree_input input = {scene->lights,
                                    count,
                                    scene->geometry.triangles,
                                    scene->geometry.positions,
                                    scene->environment.scene_centre,
                                    scene->environment.scene_radius};
    light_tree_view *tree = &scene->light_tree;
    if (input.count < 2) return KD_OK;
    KD_REQUIRE(input.count < LIGHT_NODE_LEAF, KD_ERROR_INPUT,
               "%u emissive triangles and lights exceed the limit of 2^31", input.count);
    KD_TRY(KD_RESERVE(scene->light_nodes, light_tree_nodes_max(input.count)));
    KD_TRY(KD_RESERVE(scene->light_trails, input.count));
    KD_TRY(light_tree_build(tree, scene->light_nodes, scene->light_trails, &input));
    KD_TRY(KD_GROW(scene->light_nodes, tree->node_count, tree->node_count)); /* free the rest */
    tree->nodes = scene->light_nodes;
    return KD_OK;
}

kd_status scene_build_lights(scene *scene, const scene_draft *draft) {
    bound_scene(scene);
    KD_TRY(add_triangles(scene, draft->light_count + 1)); /* + 1: the sky */
    add_described(scene, draft, false);
    KD_TRY(build_tree(scene, scene->light_count));
    add_described(scene, draft, true);
    if (draft->sky) KD_TRY(add_described_sky(scene, draft));
    if (scene->light_count == 0 || (draft->glows && !draft->sky)) KD_TRY(add_default_light(scene));
    KD_TRY(build_cdf(scene));
    KD_TRY(scene_report_light_copies(scene));
    return KD_OK;
}

/* --- groups ----------------------------------------------------------------------------------- */

static uint32_t light_material(const scene *scene, const light *of) {
    return of->kind == LIGHT_TRIANGLE ? scene->geometry.triangle_materials[of->triangle] : KD_NONE;
}

static void name_group(scene_light_group *group, const scene *scene, uint32_t number) {
    static const char *const kinds[] = {"surface", "point", "spot", "directional", "environment"};
    const char *kind = kinds[scene->lights[group->light].kind];
    const char *name =
        group->material == KD_NONE ? NULL : scene->geometry.materials[group->material].name;
    if (name && *name)
        snprintf(group->name, sizeof group->name, "%.63s", name);
    else if (scene->lights[group->light].kind == LIGHT_ENVIRONMENT)
        snprintf(group->name, sizeof group->name, "%s", kind);
    else
        snprintf(group->name, sizeof group->name, "%s %u", kind, number + 1);
}

uint32_t scene_light_groups(const scene *scene, scene_light_group *out, uint32_t maximum) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < scene->light_count && count < maximum && !scene->unlit; ++i) {
        const uint32_t material = light_material(scene, &scene->lights[i]);
        bool known = false;
        for (uint32_t g = 0; g < count && material != KD_NONE; ++g)
            known |= out[g].material == material;
        if (known) continue;
        out[count].material = material;
        out[count].light = i;
        name_group(&out[count], scene, count);
        ++count;
    }
    return count;
}

static void scale_light(light *scaled, float factor) {
    scaled->emitted = vec3_scale(scaled->emitted, factor);
    scaled->power *= factor;
}

kd_status scene_scale_lights(scene *scene, const scene_light_group *groups, const float *factors,
                             uint32_t count) {
    uint32_t near = 0;
    for (uint32_t g = 0; g < count; ++g) {
        const uint32_t material = groups[g].material;
        if (material == KD_NONE)
            scale_light(&scene->lights[groups[g].light], factors[g]);
        else
            scene->materials[material].emission =
                vec3_scale(scene->materials[material].emission, factors[g]);
        for (uint32_t i = 0; i < scene->light_count && material != KD_NONE; ++i)
            if (light_material(scene, &scene->lights[i]) == material)
                scale_light(&scene->lights[i], factors[g]);
    }
    while (near < scene->light_count && !light_is_far(&scene->lights[near])) ++near;
    memory_free(scene->light_nodes);
    memory_free(scene->light_trails);
    scene->light_nodes = NULL;
    scene->light_trails = NULL;
    memset(&scene->light_tree, 0, sizeof scene->light_tree);
    KD_TRY(build_tree(scene, near));
    return build_cdf(scene);
}
