/* Output files, named and tested before the work that produces them. An output must be neither an
   input nor another output: files are identified by device and inode, files that do not exist yet
   by directory and name. Devices and pipes are exempt. */
#ifndef KD_TOOLS_PROGRAM_OUTPUT_H
#define KD_TOOLS_PROGRAM_OUTPUT_H
#include "core/option.h"
#include "core/status.h"
#include <stdbool.h>
#include <stddef.h>

/* Tests the names of pictures to write before anything is opened; FILE_STDOUT
   (core/files/file.h) becomes standard output, in the format of this name, "": png. `frames`: a
   sequence is rendered, in which output_is_animation applies. */
kd_status output_pictures(const option_list *outputs, const char *format, bool frames);

/* Returns true if the output of a sequence is one file for all frames: .webp, .gif or .mp4, without
   a '#' for the number of the frame. */
bool output_is_animation(const char *path);

/* Prints the names of the pictures that have been written. */
void output_print_names(const option_list *outputs);

/* Returns the first picture that is a file; NULL if there is none. */
const char *output_first_file(const option_list *outputs);

/* Replaces directory and suffix: "scenes/box.json" becomes "box.png". ':' and other characters
   that are unsuitable in file names become '-'. */
void output_name(char *out, size_t bytes, const char *path, const char *suffix);

/* Counts every file that core/files/file.h opens from now on as an input. */
void output_watch_inputs(void);

/* Tests whether the output can be opened, and leaves no file behind. Returns KD_ERROR_RUNTIME if
   not, for example because the directory does not exist or is not writable, a pipe has no reader,
   or file descriptors are exhausted; KD_ERROR_USAGE if it is already an output. A pipe stays open
   until the program ends. */
kd_status output_check(const char *path);

/* Returns KD_ERROR_USAGE if the file `path`, which will be read, is an output. NULL and files that
   do not exist are accepted. */
kd_status output_check_input(const char *path);

/* The same for all files that have been read: textures, materials, meshes. Call it after reading
   everything and before writing anything. */
kd_status output_check_inputs(void);

#endif
