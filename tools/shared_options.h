/* Rows that several verbs share; their fields are those of kd_render_options. */
#ifndef KD_TOOLS_SHARED_OPTIONS_H
#define KD_TOOLS_SHARED_OPTIONS_H
#include "core/options.h"
#include <kandela/render.h>

extern const option_row device_rows[];  /* --device */
extern const option_row tritree_rows[]; /* --builder, --sah-costs, --empty-factor */

#endif
