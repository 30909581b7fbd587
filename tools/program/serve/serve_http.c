/* The plug-in kandela-serve.so, the only file that uses libmicrohttpd: a thread for each
   connection, so that a slow client delays only itself.
   Idea: a connection is of unknown role until the program has answered a request with its token,
         then that of a viewer or of the owner. Each of these roles has a number of connections of
         its own: a further one closes another of its role, one of the address that has most of
         them. Therefore clients without a token and viewers, however many connections they open,
         leave some for the owner, and those without a token at one address some for others. */
#include "tools/program/serve/serve_http.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef union any_address {
    struct sockaddr whole;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
} any_address;

/* Largest number of connections of a role. */
static const int role_limits[SERVE_ROLES] = {SERVE_UNKNOWN_MAX, SERVE_VIEWERS_MAX,
                                             SERVE_OWNERS_MAX};

/* A connection. */
typedef struct peer {
    int socket; /* a duplicate, because the library may close its own before it says so */
    serve_role role;
    bool busy; /* the program answers it, or sends events */
    bool shut; /* being closed: does not count */
    unsigned char address[16];
    struct peer *older, *newer;
} peer;

typedef struct server {
    const serve_handler *handler;
    struct MHD_Daemon *daemon;
    pthread_mutex_t lock;
    /* below: guarded by `lock` */
    peer *oldest, *newest;
} server;

/* The body of a request that arrives in parts. */
typedef struct arriving {
    char *body;
    size_t bytes;
} arriving;

/* A stream of events, as the library reads it. */
typedef struct streaming {
    const serve_handler *handler;
    void *stream;
} streaming;

/* --- connections ------------------------------------------------------------------------------ */

/* With the lock. */
static void list_peer(server *to, peer *one) {
    one->older = to->newest;
    one->newer = NULL;
    *(to->newest ? &to->newest->newer : &to->oldest) = one;
    to->newest = one;
}

/* With the lock. */
static void unlist_peer(server *to, peer *one) {
    *(one->older ? &one->older->newer : &to->oldest) = one->newer;
    *(one->newer ? &one->newer->older : &to->newest) = one->older;
}

static bool same_address(const peer *a, const peer *b) {
    return memcmp(a->address, b->address, sizeof a->address) == 0;
}

/* Counts a role's connections, those of the address of `of` if it is not NULL. With the lock. */
static int count_peers(const server *in, serve_role role, const peer *of) {
    int count = 0;
    for (const peer *one = in->oldest; one; one = one->newer)
        count += one->role == role && !one->shut && (!of || same_address(one, of));
    return count;
}

/* Closes connections that are too many of a role: of the address that has most, the oldest that is
   not busy, or the oldest. With the lock. */
static void close_surplus(server *to, serve_role role) {
    while (count_peers(to, role, NULL) > role_limits[role]) {
        peer *closed = NULL;
        int most = 0;
        for (peer *one = to->oldest; one; one = one->newer) {
            if (one->role != role || one->shut) continue;
            const int count = count_peers(to, role, one);
            if (count < most || (count == most && !(closed->busy && !one->busy))) continue;
            closed = one;
            most = count;
        }
        closed->shut = true;
        shutdown(closed->socket, SHUT_RDWR); /* its thread closes it */
    }
}

static peer *open_peer(struct MHD_Connection *connection) {
    peer *made = (peer *)calloc(1, sizeof *made);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!made) return NULL;
    made->socket = fcntl(info->connect_fd, F_DUPFD_CLOEXEC, 0);
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (!info) return made;
    any_address from;
    const bool six = info->client_addr->sa_family == AF_INET6;
    memcpy(&from, info->client_addr, six ? sizeof from.six : sizeof from.four);
    if (six) /* whoever has one address of a network of 64 bits has all */
        memcpy(made->address, &from.six.sin6_addr, 8);
    else
        memcpy(made->address, &from.four.sin_addr, 4);
    return made;
}

/* A connection begins or ends. */
static void notify(void *context, struct MHD_Connection *connection, void **owned,
                   enum MHD_ConnectionNotificationCode what) {
    server *to = (server *)context;
    peer *made = what == MHD_CONNECTION_NOTIFY_STARTED ? open_peer(connection) : NULL;
    pthread_mutex_lock(&to->lock);
    if (what == MHD_CONNECTION_NOTIFY_CLOSED && *owned) {
        peer *closed = (peer *)*owned;
        unlist_peer(to, closed);
        close(closed->socket);
        free(closed);
        *owned = NULL;
    }
    if (made) {
        list_peer(to, made);
        *owned = made;
        close_surplus(to, SERVE_UNKNOWN);
    }
    pthread_mutex_unlock(&to->lock);
}

static void set_idle(server *to, peer *one) {
    pthread_mutex_lock(&to->lock);
    one->busy = false;
    pthread_mutex_unlock(&to->lock);
}

static void set_role(server *to, struct MHD_Connection *connection, serve_role role, bool busy) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    peer *one = info ? (peer *)info->socket_context : NULL;
    if (!one) return;
    pthread_mutex_lock(&to->lock);
    one->busy = busy;
    one->role = role;
    close_surplus(to, role);
    pthread_mutex_unlock(&to->lock);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* A value with a zero byte counts as "%00", which is not valid for any argument. */
static const char *argument_of(void *connection, const char *name) {
    const char *value = NULL;
    size_t bytes = 0;
    MHD_lookup_connection_value_n((struct MHD_Connection *)connection, MHD_GET_ARGUMENT_KIND, name,
                                  strlen(name), &value, &bytes);
    return value && strlen(value) != bytes ? "%00" : value;
}

static const char *header_of(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static ssize_t read_stream(void *context, uint64_t at, char *out, size_t maximum) {
    const streaming *from = (const streaming *)context;
    (void)at;
    const size_t count = from->handler->stream_read(from->stream, out, maximum);
    return count > 0 ? (ssize_t)count : MHD_CONTENT_READER_END_OF_STREAM;
}

static void close_stream(void *context) {
    streaming *owned = (streaming *)context;
    owned->handler->stream_close(owned->stream);
    free(owned);
}

static void release_nothing(void *owner) {
    (void)owner;
}

static struct MHD_Response *response_of(const serve_handler *handler, const serve_answer *answer) {
    if (!answer->stream)
        return MHD_create_response_from_buffer_with_free_callback_cls(
            answer->count, (void *)(uintptr_t)answer->bytes,
            answer->release ? answer->release : release_nothing, answer->owner);
    streaming *of = (streaming *)malloc(sizeof *of);
    struct MHD_Response *response = NULL;
    if (of) {
        *of = (streaming){handler, answer->stream};
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1 << 16, read_stream, of,
                                                     close_stream);
    }
    if (response) return response;
    handler->stream_close(answer->stream);
    free(of);
    return NULL;
}

static enum MHD_Result send_answer(const server *to, struct MHD_Connection *connection,
                                   const serve_answer *answer) {
    struct MHD_Response *response = response_of(to->handler, answer);
    if (!response) {
        if (answer->release) answer->release(answer->owner);
        return MHD_NO;
    }
    /* the page holds all of its parts, and its address holds the token */
    static const char *const fixed[][2] = {
        {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src "
         "'self'; img-src 'self' data: blob:; worker-src blob:; base-uri 'none'; form-action "
         "'none'"}};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; ++i)
        MHD_add_response_header(response, fixed[i][0], fixed[i][1]);
    MHD_add_response_header(response, "Content-Type", answer->type);
    if (answer->attachment) {
        char disposition[128];
        snprintf(disposition, sizeof disposition, "attachment; filename=\"%s\"",
                 answer->attachment);
        MHD_add_response_header(response, "Content-Disposition", disposition);
    }
    const enum MHD_Result queued = MHD_queue_response(connection, answer->code, response);
    MHD_destroy_response(response);
    return queued;
}

/* `text`: static. */
static enum MHD_Result refuse(const server *to, struct MHD_Connection *connection, unsigned code,
                              const char *text) {
    const serve_answer answer = {
        .code = code, .type = "application/json", .bytes = text, .count = strlen(text)};
    return send_answer(to, connection, &answer);
}

static enum MHD_Result count_host(void *context, enum MHD_ValueKind kind, const char *name,
                                  const char *value) {
    (void)kind;
    (void)value;
    *(int *)context += strcasecmp(name, "Host") == 0;
    return MHD_YES;
}

/* --- requests --------------------------------------------------------------------------------- */

/* The first call for a request: its headers have arrived. */
static enum MHD_Result begin(const server *to, struct MHD_Connection *connection, void **state) {
    const char *length = header_of(connection, "Content-Length");
    int hosts = 0;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, count_host, &hosts);
    if (hosts > 1)
        return refuse(to, connection, MHD_HTTP_BAD_REQUEST,
                      "{\"error\": \"the request has more than one Host\"}");
    if (length && strtoull(length, NULL, 10) > SERVE_BODY_MAX)
        return refuse(to, connection, MHD_HTTP_CONTENT_TOO_LARGE,
                      "{\"error\": \"the request is too large\"}");
    *state = calloc(1, sizeof(arriving));
    return *state ? MHD_YES : MHD_NO;
}

static enum MHD_Result take_part(arriving *to, const char *part, size_t bytes) {
    if (bytes > SERVE_BODY_MAX - to->bytes) return MHD_NO; /* closes the connection */
    char *longer = (char *)realloc(to->body, to->bytes + bytes + 1);
    if (!longer) return MHD_NO;
    memcpy(longer + to->bytes, part, bytes);
    to->body = longer;
    to->bytes += bytes;
    longer[to->bytes] = '\0';
    return MHD_YES;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *part,
                              size_t *part_bytes, void **state) {
    server *to = (server *)context;
    (void)version;
    if (!*state) return begin(to, connection, state);
    arriving *body = (arriving *)*state;
    if (*part_bytes > 0) {
        const enum MHD_Result taken = take_part(body, part, *part_bytes);
        *part_bytes = 0;
        return taken;
    }
    const char *token = header_of(connection, "X-Kandela-Token");
    const serve_request request = {.method = method,
                                   .path = url,
                                   .host = header_of(connection, "Host"),
                                   .origin = header_of(connection, "Origin"),
                                   .token = token ? token : argument_of(connection, "token"),
                                   .body = body->body ? body->body : "",
                                   .body_bytes = body->bytes,
                                   .argument = argument_of,
                                   .connection = connection};
    serve_answer answer = {.code = MHD_HTTP_INTERNAL_SERVER_ERROR};
    const serve_role role = to->handler->role(to->handler->context, &request);
    set_role(to, connection, role, role != SERVE_UNKNOWN);
    to->handler->answer(to->handler->context, &request, &answer);
    return send_answer(to, connection, &answer);
}

static void complete(void *context, struct MHD_Connection *connection, void **state,
                     enum MHD_RequestTerminationCode how) {
    arriving *body = (arriving *)*state;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    (void)how;
    if (info && info->socket_context) set_idle((server *)context, (peer *)info->socket_context);
    if (!body) return;
    free(body->body);
    free(body);
    *state = NULL;
}

/* --- the server ------------------------------------------------------------------------------- */

/* Messages about misbehaving clients are of no use to the user. */
static void drop_message(void *context, const char *format, va_list arguments) {
    (void)context;
    (void)format;
    (void)arguments;
}

static bool read_address(any_address *out, const char *address, uint16_t port) {
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, address, &out->four.sin_addr) == 1) {
        out->four.sin_family = AF_INET;
        out->four.sin_port = htons(port);
        return true;
    }
    out->six.sin6_family = AF_INET6;
    out->six.sin6_port = htons(port);
    return inet_pton(AF_INET6, address, &out->six.sin6_addr) == 1;
}

static struct MHD_Daemon *start(server *to, const any_address *at) {
    const unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
                           MHD_USE_ERROR_LOG |
                           (at->whole.sa_family == AF_INET6 ? (unsigned)MHD_USE_IPv6 : 0);
    return MHD_start_daemon(flags, 0, NULL, NULL, handle, to, MHD_OPTION_EXTERNAL_LOGGER,
                            drop_message, NULL, MHD_OPTION_SOCK_ADDR, &at->whole,
                            MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVE_CONNECTIONS_MAX,
                            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SERVE_IDLE_SECONDS,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768,
                            MHD_OPTION_NOTIFY_COMPLETED, complete, to, MHD_OPTION_NOTIFY_CONNECTION,
                            notify, to, MHD_OPTION_END);
}

static void *open_server(const serve_handler *handler, const char *address, uint16_t port,
                         uint16_t *bound, char reason[SERVE_REASON]) {
    any_address at;
    if (!read_address(&at, address, port)) {
        snprintf(reason, SERVE_REASON, "expected a numeric address such as 127.0.0.1 or [::1]");
        return NULL;
    }
    server *made = (server *)calloc(1, sizeof *made);
    if (made) {
        made->handler = handler;
        pthread_mutex_init(&made->lock, NULL);
        errno = 0;
        made->daemon = start(made, &at);
    }
    if (!made || !made->daemon) {
        snprintf(reason, SERVE_REASON, "%s", strerror(errno ? errno : ENOMEM));
        if (made) pthread_mutex_destroy(&made->lock);
        free(made);
        return NULL;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(made->daemon, MHD_DAEMON_INFO_BIND_PORT);
    *bound = info ? info->port : port;
    return made;
}

static void close_server(void *owned) {
    server *closed = (server *)owned;
    MHD_stop_daemon(closed->daemon);
    pthread_mutex_destroy(&closed->lock);
    free(closed);
}

static bool fill_random(void *out, size_t bytes) {
    return getrandom(out, bytes, 0) == (ssize_t)bytes;
}

static bool open_folder(char path[SERVE_FOLDER]) {
    snprintf(path, SERVE_FOLDER, "/tmp/kandela-XXXXXX");
    return mkdtemp(path) != NULL;
}

static void close_folder(const char *path) {
    rmdir(path);
}

static void yield_to_others(void) {
    enum { LOWEST = 19 };
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), LOWEST); /* of the thread alone */
}

__attribute__((visibility("default"))) extern const serve_calls kandela_serve_calls;
const serve_calls kandela_serve_calls = {SERVE_VERSION, open_server,  close_server,   fill_random,
                                         open_folder,   close_folder, yield_to_others};
