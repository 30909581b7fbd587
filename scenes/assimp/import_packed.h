/* Bytes that Draco packed, to an answer. */
#ifndef KD_SCENES_ASSIMP_IMPORT_PACKED_H
#define KD_SCENES_ASSIMP_IMPORT_PACKED_H
#include "core/files/file.h"
#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Unpacks a file's bytes into the answer of scenes/import/import_draco.h. False if the stream
   refuses it. */
bool import_packed(const file_view *packed, FILE *answer);

#ifdef __cplusplus
}
#endif
#endif
