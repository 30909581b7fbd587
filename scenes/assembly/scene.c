/* Opens scenes: reads a description or a mesh into a draft (scenes/describe/draft.h), then
   assembles the scene from the draft, one step per file of this directory. */
#include "scenes/assembly/scene.h"
#include "accel/instances.h"
#include "core/files/file.h"
#include "core/memory.h"
#include "core/status.h"
#include "scenes/assembly/look.h"
#include "scenes/assembly/scene_parts.h"
#include "scenes/describe/describe_json.h"
#include "scenes/describe/readers.h"
#include "scenes/import/gltf.h"
#include "scenes/mesh/generate.h"
#include "scenes/mesh/origin.h"
#include "scenes/text/paths.h"
#include <stdio.h>
#include <strings.h>

/* Computes the bounding box, and validates the mesh: indices are in range, positions are finite.
   Later code relies on both. */
static kd_status measure_box(scene *scene) {
    const mesh *geometry = &scene->geometry;
    scene->box = scene_instance_box(scene);
    for (uint64_t i = 0; i < 3 * (uint64_t)geometry->triangle_count; ++i) {
        const uint32_t index = geometry->triangles[i];
        KD_REQUIRE(index < geometry->position_count, KD_ERROR_INPUT,
                   "triangle %llu has vertex index %u; the mesh has %u vertices",
                   (unsigned long long)(i / 3), index, geometry->position_count);
        const vec3 at = geometry->positions[index];
        KD_REQUIRE(vec3_is_finite(at), KD_ERROR_INPUT,
                   "triangle %llu has the vertex (%g, %g, %g); coordinates must be finite",
                   (unsigned long long)(i / 3), (double)at.x, (double)at.y, (double)at.z);
        if (i < 3 * (uint64_t)scene->plain_count) box3_include(&scene->box, at);
    }
    for (uint64_t i = 0; i < geometry->position_count && geometry->triangle_count == 0; ++i)
        if (vec3_is_finite(geometry->positions[i]))
            box3_include(&scene->box, geometry->positions[i]);
    for (uint64_t i = 0; i < geometry->triangle_count; ++i)
        KD_REQUIRE(geometry->triangle_materials[i] < geometry->material_count, KD_ERROR_INPUT,
                   "triangle %llu has material index %u; the mesh has %u materials",
                   (unsigned long long)i, geometry->triangle_materials[i],
                   geometry->material_count);
    return KD_OK;
}

kd_status scene_assemble_parts(scene *scene, scene_draft *draft, const kd_render_options *options) {
    scene->geometry = draft->geometry;
    memset(&draft->geometry, 0, sizeof draft->geometry);
    memcpy(scene->origin, draft->origin, sizeof scene->origin);
    if (!origin_is_zero(scene->origin))
        log_message(LOG_INFO,
                    "the scene is far from (0, 0, 0); it is computed relative to (%.15g, %.15g, "
                    "%.15g), for precision",
                    scene->origin[0], scene->origin[1], scene->origin[2]);
    scene->media = draft->media;
    scene->medium_count = draft->medium_count;
    scene->fog = draft->fog;
    draft->media = NULL;
    scene->textures.budget = options->max_texture_memory;
    KD_TRY(scene_take_instances(scene, draft));
    KD_TRY(measure_box(scene));
    if (!vec3_is_zero(draft->format_up)) draft->view.up = scene_guess_up(scene, draft->format_up);
    KD_REQUIRE(!box3_is_empty(scene->box), KD_ERROR_INPUT,
               "the scene has no triangles and no points");
    if (scene->geometry.triangle_count == 0)
        log_message(LOG_WARNING,
                    "the scene has no triangles; the image shows only the environment");
    KD_TRY(scene_build_materials(scene));
    if (scene_instance_emits(scene)) {
        log_message(LOG_INFO, "an emissive mesh has instances; each becomes a copy");
        KD_TRY(scene_copy_instances(scene));
    }
    KD_TRY(scene_build_lights(scene, draft));
    const float aspect = (float)options->width / (float)options->height;
    scene->view = scene_frame_camera(draft, scene->box, aspect);
    scene->view_end = scene->described = scene->view;
    scene->keys = draft->keys;
    scene->key_count = draft->key_count;
    scene->moves = draft->moves;
    draft->keys = NULL;
    for (uint32_t i = 0; i < scene->key_count; ++i) {
        scene_draft keyed = *draft; /* the draft, with the view of this key */
        keyed.view = scene->keys[i].view;
        scene->keys[i].view = scene_frame_camera(&keyed, scene->box, aspect);
    }
    scene->view_is_default = !draft->has_eye && !draft->has_look_at && !draft->inside;
    scene->has_fov = draft->has_fov;
    scene->bare = draft->bare;
    scene_set_up(scene, scene->view.up);
    scene->up_is_open = !vec3_is_zero(draft->format_up);
    return KD_OK;
}

kd_status scene_assemble(scene **out, scene_draft *draft, const scene *lender,
                         const kd_render_options *options) {
    scene *made = NULL;
    *out = NULL;
    KD_TRY(KD_RESERVE_ZEROED(made, 1));
    made->textures.lender = lender ? &lender->textures : NULL;
    made->photon_map = draft->photon_map;
    draft->photon_map = NULL;
    kd_status status = scene_assemble_parts(made, draft, options);
    if (status == KD_OK && made->unlit) status = scene_add_ground(made);
    if (status != KD_OK) scene_close(made);
    KD_TRY(status);
    *out = made;
    return KD_OK;
}

/* Turns the parts of a mesh file into shapes, and their transforms into placements. */
static kd_status draft_parts(scene_draft *draft) {
    const mesh *from = &draft->geometry;
    for (uint32_t i = 0; i < from->part_count; ++i) {
        const mesh_part *part = &from->parts[i];
        const draft_shape made = {
            part->first,  part->count,        part->position, part->position_count,
            part->normal, part->normal_count, KD_NONE};
        KD_TRY(scene_draft_add_shape(draft, &made));
    }
    for (uint32_t i = 0; i < from->put_count; ++i) {
        instance made;
        KD_TRY(instance_make(&made, &from->puts[i].to_world, from->puts[i].part));
        if (from->parts[made.shape].count) KD_TRY(scene_draft_add_instance(draft, &made));
    }
    return KD_OK;
}

/* Formats for CAD and printing have z up. */
static vec3 format_up(const char *path) {
    const char *suffix = file_suffix(path);
    const bool z_up = !procedural_is_path(path) &&
                      (strcasecmp(suffix, ".stl") == 0 || strcasecmp(suffix, ".3mf") == 0);
    return vec3_make(0, !z_up, z_up);
}

/* A mesh file alone is a scene, with the lights and the first camera of the file. */
static kd_status draft_mesh(scene_draft *draft, const char *path, const kd_render_options *timed,
                            job_control *job) {
    const obj_options options = {.keep_parts = true,
                                 .recentre = true,
                                 .clip = timed->clip,
                                 .seconds = (double)timed->frame / (double)timed->frame_rate};
    KD_TRY(mesh_load(&draft->geometry, path, &options, job));
    memcpy(draft->origin, draft->geometry.origin, sizeof draft->origin);
    draft->moves = draft->geometry.moves;
    if (timed->clip && *timed->clip && !draft->moves)
        log_message(LOG_WARNING, "%s has no animation; --clip %.60s is ignored", path, timed->clip);
    draft->bare = true;
    const bool is_gltf = mesh_reader_find(path)->load == gltf_load; /* which defines y as up */
    if (!is_gltf && !draft->geometry.camera_count) draft->format_up = format_up(path);
    KD_TRY(draft_parts(draft));
    for (uint32_t i = 0; i < draft->geometry.light_count; ++i)
        KD_TRY(scene_draft_add_light(draft, &draft->geometry.lights[i]));
    draft->glows = scene_adapt_materials(&draft->geometry, path);
    if (draft->geometry.medium_count) draft->fog = KD_NONE;
    draft->media = draft->geometry.media;
    draft->medium_count = draft->geometry.medium_count;
    draft->geometry.media = NULL;
    draft->geometry.medium_count = 0;
    if (draft->geometry.camera_count) {
        draft->view = draft->geometry.cameras[0].view;
        draft->has_eye = draft->has_look_at = draft->has_fov = true;
    }
    if (procedural_is_path(path)) {
        const procedural_generator *row = NULL;
        KD_TRY(procedural_find(&row, path));
        draft->inside = row->inside;
    }
    return KD_OK;
}

/* Returns true if nothing has a material of its own. */
static bool is_plain(const scene *scene) {
    const material plain = material_default();
    bool own = scene->geometry.colours != NULL;
    for (uint32_t i = 0; i < scene->geometry.material_count; ++i)
        own |= memcmp(scene->materials + i, &plain, sizeof plain) != 0;
    return !own;
}

/* Options that the looks of mesh files are made for, unless others are set. What is of clay has
   less noise than what has images, and than interiors, which seldom are of clay. */
static void take_look_options(kd_render_options *options, const scene *scene) {
    enum { LOOK_SPP = 32, CLAY_SPP = 22 };
    kd_render_options usual;
    kd_render_options_default(&usual);
    if (options->spp == usual.spp) options->spp = is_plain(scene) ? CLAY_SPP : LOOK_SPP;
    if (options->tonemap == usual.tonemap) options->tonemap = KD_TONEMAP_AGX;
}

/* Replaces the environment of the description. */
static kd_status replace_sky(scene_draft *draft, const char *environment) {
    const size_t bytes = strlen(environment) + 1;
    memory_free(draft->sky_image);
    draft->sky_image = NULL;
    draft->sky = true;
    draft->sky_is_clear = draft->sky_equal_area = false;
    draft->sky_radiance = vec3_all(1);
    draft->sky_rotation = 0;
    KD_TRY(KD_RESERVE(draft->sky_image, bytes));
    memcpy(draft->sky_image, environment, bytes);
    return KD_OK;
}

kd_status scene_open(scene **out, const char *path, kd_render_options *options, job_control *job) {
    return scene_open_lit(out, path, NULL, options, job);
}

/* Expands all placements, for integrators without support for instances. Closes the scene on
   failure. */
static kd_status copy_all(scene **scene, kd_status status) {
    if (status == KD_OK) status = scene_copy_instances(*scene);
    if (status == KD_OK) return KD_OK;
    scene_close(*scene);
    *scene = NULL;
    return status;
}

kd_status scene_open_lit(scene **out, const char *path, const char *environment,
                         kd_render_options *options, job_control *job) {
    return copy_all(out, scene_open_instanced(out, path, environment, options, job));
}

static kd_status read_draft(scene_draft *draft, const scene_source *from,
                            kd_render_options *options, job_control *job) {
    const char *path = from->path;
    if (from->text) {
        const describe_source source = {path, mesh_load, from->meshes, from->mesh_count};
        KD_TRY(describe_json_parse(draft, from->text, from->bytes, &source, options, job));
    } else if (strcasecmp(file_suffix(path), ".json") == 0 && !procedural_is_path(path)) {
        KD_TRY(describe_json_read(draft, path, options, job));
    } else {
        KD_TRY(draft_mesh(draft, path, options, job));
        options->exposure = NAN;
    }
    if (from->environment) KD_TRY(replace_sky(draft, from->environment));
    return KD_OK;
}

kd_status scene_open_source(scene **out, const scene_source *from, kd_render_options *options,
                            job_control *job) {
    scene_draft draft;
    path_scope scope;
    kd_status status = KD_OK;
    memset(&draft, 0, sizeof draft);
    *out = NULL;
    path_scope_begin(&scope, from->path, options->allow_outside);
    job_stage_begin(job, "load", 0);
    KD_TRY_GOTO(read_draft(&draft, from, options, job));
    job_stage_begin(job, "load", 0); /* restart the stage: the mesh readers have ended it */
    status = scene_assemble(out, &draft, from->lender, options);
    if (status == KD_ERROR_INPUT)
        status_fail(status, __FILE__, __LINE__, "%s: %s", from->path, kd_last_error());
    if (status == KD_OK && scene_is_bare(*out)) take_look_options(options, *out);
done:
    path_scope_end(&scope);
    scene_draft_close(&draft);
    job_stage_end(job);
    return status;
}

/* Opens the scene. One that moves keeps what it was read from, for scene_open_at. */
static kd_status open_first(scene **out, const scene_source *from, kd_render_options *options,
                            job_control *job) {
    KD_TRY(scene_open_source(out, from, options, job));
    const kd_status status = (*out)->moves ? scene_source_keep(*out, from) : KD_OK;
    if (status == KD_OK) return KD_OK;
    scene_close(*out);
    *out = NULL;
    return status_pass(status, __FILE__, __LINE__, "scene_source_keep");
}

kd_status scene_open_instanced(scene **out, const char *path, const char *environment,
                               kd_render_options *options, job_control *job) {
    const scene_source source = {.path = path, .environment = environment, .options = *options};
    return open_first(out, &source, options, job);
}

kd_status scene_parse(scene **out, const char *text, uint64_t bytes, const char *folder,
                      const kd_scene_mesh *meshes, uint64_t caller_mesh_count,
                      kd_render_options *options, job_control *job) {
    return copy_all(out, scene_parse_instanced(out, text, bytes, folder, meshes, caller_mesh_count,
                                               options, job));
}

kd_status scene_parse_instanced(scene **out, const char *text, uint64_t bytes, const char *folder,
                                const kd_scene_mesh *meshes, uint64_t caller_mesh_count,
                                kd_render_options *options, job_control *job) {
    static const char name[] = "description";
    scene_source source = {.path = name,
                           .text = text,
                           .bytes = bytes,
                           .meshes = meshes,
                           .mesh_count = caller_mesh_count,
                           .options = *options};
    char *path = NULL;
    *out = NULL;
    if (folder) {
        const size_t capacity = strlen(folder) + sizeof name + 1;
        KD_TRY(KD_RESERVE(path, capacity));
        snprintf(path, capacity, "%s/%s", folder, name);
        source.path = path;
    }
    const kd_status status = open_first(out, &source, options, job);
    memory_free(path);
    return status;
}

void scene_close(scene *owned) {
    if (!owned) return;
    mesh_close(&owned->geometry);
    scene_source_close(owned->source);
    memory_free(owned->keys);
    memory_free(owned->parts);
    memory_free(owned->shapes);
    memory_free(owned->instances);
    texture_store_close(&owned->textures);
    memory_free(owned->materials);
    memory_free(owned->layers);
    memory_free(owned->media);
    memory_free(owned->lights);
    memory_free(owned->light_cdf);
    memory_free(owned->light_nodes);
    memory_free(owned->light_trails);
    memory_free(owned->triangle_lights);
    memory_free(owned->row_cdf);
    memory_free(owned->column_cdf);
    memory_free(owned->photon_map);
    memory_free(owned);
}

/* --- accessors -------------------------------------------------------------------------------- */

scene_view scene_get_view(const scene *scene) {
    const mesh *geometry = &scene->geometry;
    const bool placed = scene->shape_count > 0;
    scene_view view;
    memset(&view, 0, sizeof view);
    view.mesh.positions = geometry->positions;
    view.mesh.normals = geometry->normals;
    view.mesh.texcoords = geometry->texcoords;
    view.mesh.colours = geometry->colours;
    view.mesh.texcoords_second = geometry->texcoords_second;
    view.mesh.tangents = geometry->tangents;
    view.mesh.triangles = geometry->triangles;
    view.mesh.normal_indices = geometry->normal_indices;
    view.mesh.texcoord_indices = geometry->texcoord_indices;
    view.mesh.triangle_materials = geometry->triangle_materials;
    view.mesh.position_count = geometry->position_count - scene->ground_positions;
    view.mesh.normal_count = geometry->normal_count;
    view.mesh.texcoord_count = geometry->texcoord_count;
    view.mesh.triangle_count = scene->plain_count - (placed ? 0 : scene->ground_triangles);
    view.mesh.stored_count = geometry->triangle_count - scene->ground_triangles;
    view.instances.shapes = scene->shapes;
    view.instances.list = scene->instances;
    view.instances.count = scene_instance_count(scene);
    view.instances.shape_count = scene->shape_count - (placed && scene->ground_triangles ? 1 : 0);
    view.materials = scene->materials;
    view.layers = scene->layers;
    view.material_count = geometry->material_count;
    view.textures = scene->textures.views;
    view.texture_count = scene->textures.view_count;
    view.lights = scene->lights;
    view.light_cdf = scene->light_cdf;
    view.light_tree = scene->light_tree;
    view.light_count = scene->light_count;
    view.triangle_lights = scene->triangle_lights;
    view.environment = scene->environment;
    view.box = scene->box;
    memcpy(view.origin, scene->origin, sizeof view.origin);
    view.total_power = scene->total_power;
    view.media = scene->media;
    view.medium_count = scene->medium_count;
    view.fog = scene->fog;
    view.nested = scene->nested;
    return view;
}

const double *scene_origin(const scene *scene) {
    return scene->origin;
}

camera scene_camera(const scene *scene) {
    return scene->view;
}

camera scene_camera_end(const scene *scene) {
    return scene->view_end;
}

bool scene_camera_moves(const scene *scene) {
    return memcmp(&scene->view, &scene->view_end, sizeof scene->view) != 0;
}

/* Returns true if the camera is an object of the mesh file, which may move. */
static bool camera_may_move(const scene *scene, const kd_render_options *options, bool named) {
    return scene->moves && options->shutter > 0 && scene->geometry.camera_count &&
           (named || (scene->key_count == 0 && !scene->view_is_default));
}

kd_status scene_cameras_at(const scene *from, const kd_render_options *options, const char *name,
                           camera ends[2]) {
    const double frame = (double)options->frame, end = frame + (double)options->shutter;
    ends[0] = ends[1] = from->described;
    if (from->key_count && !name) {
        ends[0] = keyframes_camera(from->keys, from->key_count, frame);
        ends[1] = keyframes_camera(from->keys, from->key_count, end);
    }
    if (name) KD_TRY(scene_find_camera(from, name, &ends[0]));
    if (name) ends[1] = ends[0];
    if (!camera_may_move(from, options, name)) return KD_OK;
    scene *later = NULL;
    KD_TRY(scene_open_at(&later, from, end, NULL));
    ends[1] = later->described;
    const kd_status status = name ? scene_find_camera(later, name, &ends[1]) : KD_OK;
    scene_close(later);
    return status;
}

void scene_set_cameras(scene *scene, const camera *begin, const camera *end) {
    scene_set_camera(scene, begin);
    scene->view_end = *end;
}

void scene_set_default_camera(scene *scene, const camera *view, bool has_fov) {
    scene->view = scene->view_end = *view;
    scene->view_is_default = true;
    scene->has_fov |= has_fov;
}

bool scene_has_fov(const scene *scene) {
    return scene->has_fov;
}

bool scene_moves(const scene *scene) {
    return scene->moves;
}

void scene_set_camera(scene *scene, const camera *view) {
    if (memcmp(&scene->view, view, sizeof *view) != 0) scene->view_is_default = false;
    scene->view = scene->view_end = *view;
}

static bool is_number_of(const char *text, uint32_t index) {
    char number[16];
    snprintf(number, sizeof number, "%u", index);
    return strcmp(text, number) == 0;
}

kd_status scene_find_camera(const scene *scene, const char *name, camera *view) {
    const mesh *all = &scene->geometry;
    char names[256] = "";
    for (uint32_t i = 0; i < all->camera_count; ++i)
        if (strcmp(all->cameras[i].name, name) == 0) {
            *view = all->cameras[i].view;
            return KD_OK;
        }
    for (uint32_t i = 0; i < all->camera_count; ++i) {
        const size_t used = strlen(names);
        if (is_number_of(name, i)) {
            *view = all->cameras[i].view;
            return KD_OK;
        }
        snprintf(names + used, sizeof names - used, "%s%u (%.40s)", i ? ", " : "", i,
                 all->cameras[i].name);
    }
    KD_FAIL(KD_ERROR_USAGE, "--camera %.80s: no such camera; the scene has %s%s", name,
            all->camera_count ? "" : "none", names);
}

bool scene_camera_is_default(const scene *scene) {
    return scene->view_is_default;
}
