/* Runs kandela-import (scenes/assimp/kandela_import.c), which reads bytes of strangers by libraries
   that may crash, abort, hang or take all memory over them. It is looked for where the
   environment's KANDELA_IMPORT says, else beside this library or program, and from there in ../bin,
   ../libexec/kandela and ../../libexec/kandela. It has IMPORT_SECONDS and one more for each MiB of
   the file (the environment's KANDELA_IMPORT_SECONDS: so many instead), and 4 GiB of address space
   and 64 bytes more for each of the file's; builds with sanitizers do not limit address space. */
#ifndef KD_SCENES_IMPORT_IMPORT_PROGRAM_H
#define KD_SCENES_IMPORT_IMPORT_PROGRAM_H
#include "core/job.h"
#include "scenes/import/import_answer.h"

enum { IMPORT_SECONDS = 60 };

typedef struct import_asked {
    const char *path;    /* for messages */
    const char *file;    /* what the program opens */
    const char *library; /* that reads it, for messages */
    const char *form;    /* the program's last argument; NULL: none */
    uint64_t bytes;      /* of the file */
    job *watched;
} import_asked;

/* Takes the program's answer; nothing is to be reserved beyond `most_bytes`. */
typedef kd_status (*import_taker)(void *to, const char *path, uint64_t most_bytes,
                                  import_source source, void *from);

/* KD_ERROR_INPUT if the library came to grief over the file or took too long, if there is no such
   program; KD_INTERRUPTED soon after the job is cancelled; what the taker says. No process and no
   file remains. */
kd_status import_program_run(const import_asked *asked, import_taker take, void *to);

#endif
