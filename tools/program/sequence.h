/* Pictures of many frames: their names, and a camera that goes round. */
#ifndef KD_TOOLS_PROGRAM_SEQUENCE_H
#define KD_TOOLS_PROGRAM_SEQUENCE_H
#include "core/status.h"
#include "shaders/scene_view.h"
#include <stddef.h>

/* "out_##.png" of frame 7 is "out_07.png", the last row of # counts; "out.png" is "out0007.png".
   KD_ERROR_USAGE: the name is too long. */
kd_status sequence_name(char *out, size_t bytes, const char *name, int32_t frame);
/* Round what it looks at, about what is up, by that part of a turn. */
camera sequence_turned(camera view, double turns);

#endif
