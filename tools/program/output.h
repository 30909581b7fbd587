/* Names of files to write, settled and tried before the work that they are for. No output is also
   an input or another output: files are told apart by device and inode, those that are not there
   yet by their folder and name. Devices and pipes may be anything. */
#ifndef KD_TOOLS_PROGRAM_OUTPUT_H
#define KD_TOOLS_PROGRAM_OUTPUT_H
#include "core/status.h"
#include <stddef.h>

/* The last part of `path` with another suffix: "scenes/box.json" to "box.png"; ':' and other
   characters that file names do without become '-'. */
void output_name(char *out, size_t bytes, const char *path, const char *suffix);

/* From now on every file that core/files/file.h opens counts as an input. */
void output_watch_inputs(void);

/* Opens it as it will be opened and leaves nothing behind: KD_ERROR_RUNTIME if that fails, as in a
   folder that is absent or closed to us, of a pipe that nobody reads, without descriptors to spare;
   KD_ERROR_USAGE if it is an output already. A pipe stays open to the program's end. */
kd_status output_check(const char *path);

/* KD_ERROR_USAGE if this file, which will be read, is one of the outputs; NULL and what does not
   exist are none. */
kd_status output_check_input(const char *path);

/* The same of all that has been read: textures, materials, meshes. To be called when everything is
   read and nothing is written yet. */
kd_status output_check_inputs(void);

#endif
