/* A scene: one world-space mesh, materials, textures, lights, environment, camera, and the render
   options of its file. The struct owns its data; rendering functions take a borrowed scene_view. */
#ifndef KD_SCENES_ASSEMBLY_SCENE_H
#define KD_SCENES_ASSEMBLY_SCENE_H
#include "core/job.h"
#include "core/status.h"
#include "shaders/scene_view.h"
#include <kandela/render.h>

typedef struct scene scene;

/* Opens the scene at `path`: "*.json" is a scene description, "gen:NAME:N" a generator, anything
   else a mesh file (reader by suffix: readers.h). A mesh file alone gets the lights and the first
   camera of the file. Without a camera, the view frames the bounding box from the front; without
   any light, a soft default sky is added (logged); the exposure is automatic (NAN). On entry
   `options` holds defaults; on return, the values of the file. All placements (instances) are
   expanded to copies. */
kd_status scene_open(scene **out, const char *path, kd_render_options *options, job_control *job);
/* As scene_open, but the image at path `environment` replaces the environment of the file. NULL
   keeps the file's environment. */
kd_status scene_open_lit(scene **out, const char *path, const char *environment,
                         kd_render_options *options, job_control *job);
/* As scene_open_instanced and scene_open, but parse a description in memory. The description may
   name the meshes `meshes`. Relative paths start in `folder`; NULL means the working directory. */
kd_status scene_parse_instanced(scene **out, const char *text, uint64_t bytes, const char *folder,
                                const kd_scene_mesh *meshes, uint64_t caller_mesh_count,
                                kd_render_options *options, job_control *job);
kd_status scene_parse(scene **out, const char *text, uint64_t bytes, const char *folder,
                      const kd_scene_mesh *meshes, uint64_t caller_mesh_count,
                      kd_render_options *options, job_control *job);
void scene_close(scene *owned); /* accepts NULL */

/* Returns the number of instances that are not expanded. Only scenes opened by scene_open_instanced
   or scene_parse_instanced have any. */
uint32_t scene_instance_count(const scene *scene);
/* Returns an estimate of the bytes that expanding the instances would take, including the tree of
   the copies. */
uint64_t scene_copies_bytes(const scene *scene);
/* Expands each instance to a copy of its mesh, appended after all triangles in the order of the
   instances. Returns KD_ERROR_MEMORY if there would be too many triangles or vertices. */
kd_status scene_copy_instances(scene *scene);
/* As scene_open_lit, but keeps instances. Exception: if an instanced mesh emits light, all
   instances are expanded. */
kd_status scene_open_instanced(scene **out, const char *path, const char *environment,
                               kd_render_options *options, job_control *job);

/* Opens the scene of the same files at another frame, for motion blur. Textures are shared with
   `from`, which must be closed later. Instances are expanded, and glass is solid, as in `from`.
   Returns KD_ERROR_USAGE if `from` does not move, and KD_ERROR_INPUT if its origin would differ. */
kd_status scene_open_at(scene **out, const scene *from, double frame, job_control *job);

/* Returns a view of the scene's data. The caller builds the tree and fills in `tree`. */
scene_view scene_get_view(const scene *scene);
/* Returns the origin, three doubles: what was subtracted from all positions in the scene's files.
   It is 0 unless the scene is far from (0, 0, 0). The camera and the view are relative to it. */
const double *scene_origin(const scene *scene);
/* Return the camera at the beginning and at the end of the exposure. */
camera scene_camera(const scene *scene);
camera scene_camera_end(const scene *scene);
/* Returns true if these two cameras differ. */
bool scene_camera_moves(const scene *scene);
/* Computes the cameras at options->frame and options->shutter frames later: the scene's camera, or
   that of the mesh file called `name` (scene_find_camera) if that is not NULL, at both times.
   Returns KD_ERROR_USAGE if there is no such camera. */
kd_status scene_cameras_at(const scene *scene, const kd_render_options *options, const char *name,
                           camera ends[2]);
void scene_set_cameras(scene *scene, const camera *begin, const camera *end);
/* Replaces the camera by one that is the default; `has_fov`: its field of view was chosen. */
void scene_set_default_camera(scene *scene, const camera *view, bool has_fov);
bool scene_has_fov(const scene *scene); /* the field of view was chosen */
/* Returns true if something other than the camera has keyframes, so that each frame needs a scene
   of its own. */
bool scene_moves(const scene *scene);
/* Returns the frame at which a scene that moves was opened. */
double scene_frame(const scene *scene);
/* Replaces the camera; options of the command line take precedence over the file. */
void scene_set_camera(scene *scene, const camera *view);
/* Finds a camera of the mesh file by name or by 0-based index. Returns KD_ERROR_USAGE with a list
   of the cameras if there is none. */
kd_status scene_find_camera(const scene *scene, const char *name, camera *view);
/* Names of sides from which a scene can be seen: "scene" (its own camera), "front", ...; NULL after
   the last. */
const char *scene_side_name(int index);
/* Places the camera so that it sees the whole scene from the side of this index, not 0, with the
   camera's field of view; `aspect`: width over height. The axis nearest to the camera's `up` is up;
   the front is towards +z, or towards -y if z is up. */
void scene_view_from(const scene *scene, int side, float aspect, camera *view);
/* Returns true if the camera is the default one, which frames the bounding box. */
bool scene_camera_is_default(const scene *scene);
/* Returns true if nothing lights the scene but the default sky. */
bool scene_is_unlit(const scene *scene);
/* Logs a line if scene_is_unlit; for what depends on light. */
void scene_report_default_light(const scene *scene);
/* Returns true for a mesh file without lights. */
bool scene_is_bare(const scene *scene);
/* The direction that is up, along an axis: +y, or +z in formats for CAD and printing (STL, 3MF) and
   if the mesh is a terrain over x and y. */
vec3 scene_up(const scene *scene);
/* Returns true if neither the format nor scene_set_up has chosen the direction that is up. */
bool scene_up_is_open(const scene *scene);
/* Reports a direction that is up and was chosen by the shape of the scene. */
void scene_log_up(vec3 up);

/* Lights that are scaled together: those of a material, or any other light by itself. */
typedef struct scene_light_group {
    char name[64];
    uint32_t material; /* KD_NONE: the light is `light` */
    uint32_t light;    /* first of the lights */
} scene_light_group;

/* Lists at most `maximum` groups of the scene's lights, and returns their number. Lights of a look
   are not among them. */
uint32_t scene_light_groups(const scene *scene, scene_light_group *out, uint32_t maximum);
/* Multiplies the emission of each group by a positive factor. */
kd_status scene_scale_lights(scene *scene, const scene_light_group *groups, const float *factors,
                             uint32_t count);

/* Turns all materials that may be glass (mesh_material.may_be_glass) into solid glass. */
kd_status scene_take_glass(scene *scene);

/* Hashes everything that light can interact with: mesh, materials, textures, lights and
   environment, but neither camera nor tree. Photon maps and saved states store it, to detect a
   scene that has changed. Work: reads the whole scene once. */
uint64_t scene_hash(const scene_view *view);

#endif
