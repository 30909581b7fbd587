/* Default cameras: three quarters of an object; inside architectural interiors, closed meshes that
   show nothing from outside. */
#ifndef KD_SCENES_ASSEMBLY_SCENE_CAMERA_H
#define KD_SCENES_ASSEMBLY_SCENE_CAMERA_H
#include "shaders/scene_view.h"

/* Returns true if the scene is an interior. Three conditions must hold: (1) rays from the centre
   of the bounding box hit front faces (by winding) almost everywhere, so that the centre is not
   inside a solid; (2) the same holds at the position of room_camera; (3) light enters, from a lamp
   or from the sky through windows, so that a solid with reversed winding is viewed from outside
   instead of from its dark inside. */
bool room_camera_is_room(const scene_view *scene);

/* Returns true for a room that meets (1) and (2) only, with upright walls and with something in it:
   it needs a lamp. */
bool interior_needs_lamp(const scene_view *scene);

/* Places a camera near one end of the longest axis, looking along it, with a field of view of 70
   degrees (90 if `aspect`, width over height, is below 1). Chooses, from a few heights and
   distances, those with the farthest view. */
camera room_camera(const scene_view *scene, float aspect);

struct scene;
/* Fits the camera to the scene, from the left of the front and above, with its field of view and
   `up`. The vertices fill 80 % of the width or the height of the picture; those of a floor in the
   mesh do not count if it is much larger than what stands on it. */
void scene_three_quarters(const struct scene *scene, float aspect, camera *view);
#define THREE_QUARTERS_FOV 30.0f

#endif
