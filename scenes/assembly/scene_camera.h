/* Default cameras: three quarters of an object; inside architectural interiors, closed meshes that
   show nothing from outside. */
#ifndef KD_SCENES_ASSEMBLY_SCENE_CAMERA_H
#define KD_SCENES_ASSEMBLY_SCENE_CAMERA_H
#include "shaders/scene_view.h"

typedef enum interior_kind {
    INTERIOR_NONE, /* no interior */
    INTERIOR_LIT,  /* light enters, from a lamp or from the sky through windows */
    INTERIOR_DARK  /* needs a lamp */
} interior_kind;

/* Returns what kind of interior the scene is. Three conditions must hold: (1) rays from the centre
   of the bounding box hit front faces (by winding) almost everywhere, so that the centre is not
   inside a solid; (2) the same holds at the position of room_camera; (3) some of these faces are
   upright or level, and the scene is no pipe. Without light, most faces must be upright or level,
   and something must be in the room, so that a solid with reversed winding is viewed from
   outside. */
interior_kind interior_kind_of(const scene_view *scene, vec3 up);

/* Returns the direction that is up in an interior: `usual` (y or z) unless the other of these two
   is more plausible. */
vec3 interior_up(const scene_view *scene, vec3 usual);

/* Places a camera near one end of the longest horizontal axis, looking along it, with a field of
   view of 70 degrees (90 if `aspect`, width over height, is below 1). Chooses, from a few heights
   and distances, those with the farthest view; not beside a window, if possible. `up`: along y or
   z. */
camera room_camera(const scene_view *scene, vec3 up, float aspect);

struct scene;
/* Fits the camera to the scene, from the left of the front and above, with its field of view and
   `up`. The vertices fill 80 % of the width or the height of the picture; those of a floor in the
   mesh do not count if it is much larger than what stands on it. */
void scene_three_quarters(const struct scene *scene, float aspect, camera *view);
#define THREE_QUARTERS_FOV 30.0f

#endif
