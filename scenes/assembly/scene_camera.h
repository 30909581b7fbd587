/* The camera of a mesh that is a room, of which nothing can be seen from outside. */
#ifndef KD_SCENES_ASSEMBLY_SCENE_CAMERA_H
#define KD_SCENES_ASSEMBLY_SCENE_CAMERA_H
#include "shaders/scene_view.h"

/* Whether the middle of the scene is a hollow: rays from there meet a surface nearly everywhere,
   and meet its outside (the winding's side), so that it is not the inside of a solid; the same
   holds where room_camera would stand; and light comes in, by a lamp or from the sky by windows,
   so that a solid wound inwards is seen from outside and not black from within. */
bool room_camera_is_room(const scene_view *scene);

/* Stands near one end of the longest axis and looks along it, 70 degrees: from the height and the
   distance, of a few, that see farthest. `aspect` is width over height. */
camera room_camera(const scene_view *scene, float aspect);

#endif
