/* A scene: one world-space mesh, materials, textures, lights, environment, camera, and the render
   options its file asks for. Owner; what per-item functions get is its scene_view. */
#ifndef KD_SCENES_ASSEMBLY_SCENE_H
#define KD_SCENES_ASSEMBLY_SCENE_H
#include "core/job.h"
#include "core/status.h"
#include "shaders/scene_view.h"
#include <kandela/render.h>

typedef struct scene scene;

/* Loads by suffix and form: "*.json" a scene description, "gen:NAME:N" a generator, anything else a
   mesh file (by its reader: readers.h). A mesh alone gets its file's lights and
   first camera, else a camera that frames its box from the front, a soft default light if nothing
   shines (log_message says so), and an exposure by the picture (NAN). `options` holds defaults on
   entry and what the file says on return. */
kd_status scene_open(scene **out, const char *path, kd_render_options *options, job *watched);
/* The same, lit by the picture `environment` (a path) instead of the environment that the file
   describes, if it has one. NULL: as it is. */
kd_status scene_open_lit(scene **out, const char *path, const char *environment,
                         kd_render_options *options, job *watched);
/* The same from a description in memory and meshes that it may name. Relative paths in it begin in
   `folder`; NULL: the working directory. */
kd_status scene_parse_placed(scene **out, const char *text, uint64_t bytes, const char *folder,
                             const kd_scene_mesh *given, uint64_t given_count,
                             kd_render_options *options, job *watched);
kd_status scene_parse(scene **out, const char *text, uint64_t bytes, const char *folder,
                      const kd_scene_mesh *given, uint64_t given_count, kd_render_options *options,
                      job *watched);
void scene_close(scene *owned); /* takes NULL */

/* How many placements the scene has in memory as such, and the bytes that copies of their meshes
   would take with a tree above them, about. Scenes are opened with all placements copied, but by
   scene_open_placed. */
uint32_t scene_placement_count(const scene *of);
uint64_t scene_copies_bytes(const scene *of);
/* Each placement becomes a copy of its mesh, behind all triangles and in the placements' order.
   KD_ERROR_MEMORY: they are too many. */
kd_status scene_copy_placements(scene *of);
/* scene_open_lit, but what is placed stays so, unless it emits. */
kd_status scene_open_placed(scene **out, const char *path, const char *environment,
                            kd_render_options *options, job *watched);

/* Borrowed, complete but for `tree`, which the caller fills after building. */
scene_view scene_get_view(const scene *from);
camera scene_camera(const scene *from);
/* As the shutter closes; and whether that is another one. */
camera scene_camera_end(const scene *from);
bool scene_camera_moves(const scene *from);
/* As options->frame begins, and after options->shutter frames: by the camera's keys, if it has any,
   else both as it is. */
void scene_cameras_at(const scene *from, const kd_render_options *options, camera ends[2]);
void scene_set_cameras(scene *to, const camera *begin, const camera *end);
/* Whether another frame is another scene: something other than the camera has keys. */
bool scene_moves(const scene *of);
/* Another view of the same scene: what the command line says beats what the file says. */
void scene_set_camera(scene *to, const camera *view);
/* The camera of that name, or of that number counted from 0, of those that the mesh file has.
   KD_ERROR_USAGE with their names. */
kd_status scene_find_camera(const scene *from, const char *wanted, camera *view);
/* Whether the camera is the default one, which frames the box: nobody has said where to stand. */
bool scene_camera_is_default(const scene *from);

/* Materials that may be glass (mesh_material.perhaps_glass) are glass from now on, through and
   through. */
kd_status scene_take_glass(scene *to);

/* One number for all that light can meet in a scene: what files kept from one run to the next say
   of the scene they belong to. */

/* Mesh, materials, textures, lights and environment; not the camera, nor the tree. Work: reads the
   whole scene once. */
uint64_t scene_hash(const scene_view *of);

#endif
