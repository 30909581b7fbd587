/* One rendering on several devices of this machine. */
#ifndef KD_RENDER_API_RENDER_DEVICES_H
#define KD_RENDER_API_RENDER_DEVICES_H
#include "render/api/render.h"

/* render_run_kept where options->device is a list (device_list_count): a thread for each device,
   which are the ranks. A device may be named twice; "cpu" may be one. */
kd_status render_on_devices(render_result *out, const scene *from, const kd_render_options *options,
                            const render_keeping *keeping, job *watched);

#endif
