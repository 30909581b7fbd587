/* A TCP connection to a server. */
#ifndef KD_CORE_SYSTEM_CONNECTION_H
#define KD_CORE_SYSTEM_CONNECTION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CONNECTION_WHY = 256 }; /* characters of a reason */

/* Negative with a reason, if there is none within `seconds`; sending gives up after as many. */
intptr_t connection_open(const char *host, const char *port, int seconds, char why[CONNECTION_WHY]);
/* All of them; false with a reason. */
bool connection_send(intptr_t to, const void *bytes, size_t count, char why[CONNECTION_WHY]);
void connection_close(intptr_t owned); /* takes a negative one */

#ifdef __cplusplus
}
#endif

#endif
