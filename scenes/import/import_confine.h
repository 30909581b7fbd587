/* Sandbox for a process that parses an untrusted file with a third-party library. */
#ifndef KD_SCENES_IMPORT_IMPORT_CONFINE_H
#define KD_SCENES_IMPORT_IMPORT_CONFINE_H
#include <stdbool.h>

/* Restricts all threads of this process, permanently, to using memory and open files, reading
   clocks, and exiting. Any other system call fails with EPERM: no opening, finding or changing of
   files, no network, no starting or signalling of processes, no executable memory, no new
   privileges (no_new_privs). Returns false if the kernel has no seccomp filters, or there is no
   filter for this processor; then only no_new_privs and a limit that prevents opening files are in
   effect. */
bool import_confine(void);

#endif
