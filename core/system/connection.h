/* A TCP client connection. Messages about failures are written to a buffer of the caller. */
#ifndef KD_CORE_SYSTEM_CONNECTION_H
#define KD_CORE_SYSTEM_CONNECTION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CONNECTION_WHY = 256 }; /* size of a failure message, including the terminating zero */

/* Connects within `seconds`, which also becomes the timeout of each send. Returns a negative value
   and writes the reason to `reason_text` on failure. */
intptr_t connection_open(const char *host, const char *port, int seconds,
                         char reason_text[CONNECTION_WHY]);
/* Sends all bytes. Returns false and writes the reason to `reason` on failure. */
bool connection_send(intptr_t to, const void *bytes, size_t count, char reason[CONNECTION_WHY]);
void connection_close(intptr_t owned); /* accepts a negative value */

#ifdef __cplusplus
}
#endif

#endif
