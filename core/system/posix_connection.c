#include "core/system/connection.h"
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* macOS has the socket option SO_NOSIGPIPE instead */
#endif

/* Connects with a timeout. Returns 0 or an errno. */
static int connect_soon(int to, const struct addrinfo *place, int seconds) {
    const int flags = fcntl(to, F_GETFL, 0);
    fcntl(to, F_SETFL, flags | O_NONBLOCK);
    int reason = connect(to, place->ai_addr, place->ai_addrlen) == 0 ? 0 : errno;
    if (reason == EINPROGRESS) {
        struct pollfd ready = {to, POLLOUT, 0};
        socklen_t bytes = sizeof reason;
        if (poll(&ready, 1, seconds * 1000) != 1)
            reason = ETIMEDOUT;
        else if (getsockopt(to, SOL_SOCKET, SO_ERROR, &reason, &bytes) != 0)
            reason = errno;
    }
    fcntl(to, F_SETFL, flags);
    return reason;
}

static int connect_first(const struct addrinfo *places, int seconds, int *reason) {
    for (const struct addrinfo *place = places; place; place = place->ai_next) {
        const int made = socket(place->ai_family, place->ai_socktype, 0);
        if (made >= 0) fcntl(made, F_SETFD, FD_CLOEXEC);
        *reason = made < 0 ? errno : connect_soon(made, place, seconds);
        if (made >= 0 && *reason == 0) return made;
        if (made >= 0) close(made);
    }
    return -1;
}

intptr_t connection_open(const char *host, const char *port, int seconds,
                         char reason_text[CONNECTION_WHY]) {
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *places = NULL;
    const int failure = getaddrinfo(host, port, &hints, &places);
    if (failure) {
        snprintf(reason_text, CONNECTION_WHY, "%s", gai_strerror(failure));
        return -1;
    }
    int reason = EHOSTUNREACH;
    const int made = connect_first(places, seconds, &reason);
    freeaddrinfo(places);
    if (made < 0) {
        snprintf(reason_text, CONNECTION_WHY, "%s", strerror(reason));
        return -1;
    }
    const struct timeval patience = {seconds, 0};
    setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
#ifdef SO_NOSIGPIPE
    const int quiet = 1;
    setsockopt(made, SOL_SOCKET, SO_NOSIGPIPE, &quiet, sizeof quiet);
#endif
    return made;
}

bool connection_send(intptr_t to, const void *bytes, size_t count, char reason[CONNECTION_WHY]) {
    for (size_t sent = 0; sent < count;) {
        const ssize_t part = send((int)to, (const char *)bytes + sent, count - sent, MSG_NOSIGNAL);
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) {
            snprintf(reason, CONNECTION_WHY, "%s",
                     part < 0 ? strerror(errno) : "the server closed the connection");
            return false;
        }
        sent += (size_t)part;
    }
    return true;
}

void connection_close(intptr_t owned) {
    if (owned >= 0) close((int)owned);
}
