/* What is left to a process that reads a stranger's file with a library that nobody here wrote. */
#ifndef KD_SCENES_IMPORT_IMPORT_CONFINE_H
#define KD_SCENES_IMPORT_IMPORT_CONFINE_H
#include <stdbool.h>

/* From here on all threads of this process can use memory and the files that are open, say what
   time it is, and end; each other system call fails with EPERM: no file is opened, found or
   changed, there is no network, no other process is started or signalled, no memory becomes code,
   and no right can be gained (no_new_privs). There is no way back. False where the kernel has no
   seccomp filters, or this processor none here: then no_new_privs and a limit of no further open
   files are all that holds. */
bool import_confine(void);

#endif
