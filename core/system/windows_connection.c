#include "core/system/connection.h"
#include <stdio.h>
#include <winsock2.h>
/* requires winsock2.h */
#include <ws2tcpip.h>

static void reason_write(char reason[CONNECTION_WHY]) {
    snprintf(reason, CONNECTION_WHY, "Windows error %d", WSAGetLastError());
}

/* Connects with a timeout. Returns false on failure, with the reason in WSAGetLastError. */
static bool connect_soon(SOCKET to, const struct addrinfo *place, int seconds) {
    u_long on = 1, off = 0;
    struct timeval patience = {seconds, 0};
    ioctlsocket(to, (long)FIONBIO, &on);
    bool made = connect(to, place->ai_addr, (int)place->ai_addrlen) == 0;
    if (!made && WSAGetLastError() == WSAEWOULDBLOCK) {
        fd_set writable;
        FD_ZERO(&writable);
        FD_SET(to, &writable);
        made = select(0, NULL, &writable, NULL, &patience) == 1;
        if (!made) WSASetLastError(WSAETIMEDOUT);
    }
    ioctlsocket(to, (long)FIONBIO, &off);
    return made;
}

intptr_t connection_open(const char *host, const char *port, int seconds,
                         char reason_text[CONNECTION_WHY]) {
    WSADATA about;
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *places = NULL;
    SOCKET made = INVALID_SOCKET;
    if (WSAStartup(MAKEWORD(2, 2), &about) != 0 || getaddrinfo(host, port, &hints, &places) != 0) {
        reason_write(reason_text);
        return -1;
    }
    for (const struct addrinfo *place = places; place && made == INVALID_SOCKET;
         place = place->ai_next) {
        made = socket(place->ai_family, place->ai_socktype, 0);
        if (made == INVALID_SOCKET || connect_soon(made, place, seconds)) continue;
        reason_write(reason_text);
        closesocket(made);
        made = INVALID_SOCKET;
    }
    freeaddrinfo(places);
    if (made == INVALID_SOCKET) return -1;
    const DWORD patience = (DWORD)seconds * 1000;
    setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, (const char *)&patience, sizeof patience);
    return (intptr_t)made;
}

bool connection_send(intptr_t to, const void *bytes, size_t count, char reason[CONNECTION_WHY]) {
    for (size_t sent = 0; sent < count;) {
        const size_t left = count - sent;
        const int part =
            send((SOCKET)to, (const char *)bytes + sent, left < (1 << 20) ? (int)left : 1 << 20, 0);
        if (part <= 0) {
            reason_write(reason);
            return false;
        }
        sent += (size_t)part;
    }
    return true;
}

void connection_close(intptr_t owned) {
    if (owned >= 0) closesocket((SOCKET)owned);
}
