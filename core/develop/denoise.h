/* Denoising by Open Image Denoise, which is looked for when it is asked for: no package of the
   system has it, so nothing is linked to it. Looked for in KANDELA_OIDN (the library or its
   folder); without that where the system looks for libraries, and in build-denoise beside the
   program's build folder, which tools/quickstart --denoise makes. Nowhere else: code is loaded from
   places that the user has named alone. */
#ifndef KD_CORE_DEVELOP_DENOISE_H
#define KD_CORE_DEVELOP_DENOISE_H
#include "core/image/image.h"

/* KD_ERROR_USAGE, with what to do, if it is not here. */
kd_status denoise_check(void);

/* R, G and B without noise. Takes "Albedo.R" "Albedo.G" "Albedo.B" and "N.X" "N.Y" "N.Z" into
   account where the picture has them; they are cleaned for that themselves and stay as they are.
   The same bytes from run to run. KD_ERROR_USAGE as denoise_check, KD_ERROR_RUNTIME with the
   library's words, KD_ERROR_MEMORY. */
kd_status denoise_image(image *of);

#endif
