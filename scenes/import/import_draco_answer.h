/* The answer of kandela-import when it decodes Draco data: this header, 3 indices per triangle,
   and for each attribute its id, its number of components (uint32_t) and its values (float). */
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

/* Decodes Draco data and writes the answer. Returns false on a write error. */
bool import_packed(const file_view *packed, FILE *answer);

#ifdef __cplusplus
}
#endif

#endif
