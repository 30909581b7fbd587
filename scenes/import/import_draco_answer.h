/* How kandela-import's answer begins when it has unpacked what Draco packed: then come 3 indices a
   triangle, and of each attribute its id, its components (uint32_t) and its values (float). */
#ifndef KD_SCENES_IMPORT_IMPORT_DRACO_ANSWER_H
#define KD_SCENES_IMPORT_IMPORT_DRACO_ANSWER_H
#include "core/files/file.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DRACO_ANSWER_MAGIC 0x6f6361726477616bull

typedef enum draco_answer_status { DRACO_FINE, DRACO_CANNOT, DRACO_ABSENT } draco_answer_status;

typedef struct draco_answer_head {
    uint64_t magic;
    uint32_t status, points, triangles, attributes;
} draco_answer_head;

/* Unpacks a file's bytes into the answer of scenes/import/import_program.h. False if the stream
   refuses it. */
bool import_packed(const file_view *packed, FILE *answer);

#ifdef __cplusplus
}
#endif

#endif
