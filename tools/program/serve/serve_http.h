/* The interface between the program and the plug-in kandela-serve.so, which speaks HTTP. The
   plug-in knows nothing of renderings: it reads requests within limits, hands each to the program,
   and sends the answer. */
#ifndef KD_TOOLS_PROGRAM_SERVE_SERVE_HTTP_H
#define KD_TOOLS_PROGRAM_SERVE_SERVE_HTTP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name of the plug-in's symbol, a serve_calls, and the version of this interface */
#define SERVE_SYMBOL "kandela_serve_calls"
enum { SERVE_VERSION = 3 };

enum {
    SERVE_BODY_MAX = 1 << 16, /* bytes of a request's body */
    SERVE_IDLE_SECONDS = 30,  /* after which a silent connection is closed */
    SERVE_REASON = 256,       /* bytes of a message */
    SERVE_FOLDER = 64         /* bytes of a temporary directory's path */
};

/* Who sends requests on a connection; one of unknown role has sent no token. */
typedef enum serve_role { SERVE_UNKNOWN, SERVE_VIEWER, SERVE_OWNER, SERVE_ROLES } serve_role;

/* Connections of each role at a time. While closed ones end, a few more exist. */
enum {
    SERVE_UNKNOWN_MAX = 64,
    SERVE_VIEWERS_MAX = 160,
    SERVE_OWNERS_MAX = 32,
    SERVE_CONNECTIONS_MAX = SERVE_UNKNOWN_MAX + SERVE_VIEWERS_MAX + SERVE_OWNERS_MAX + 64
};

typedef struct serve_request {
    /* strings of the request; NULL: absent */
    const char *method, *path, *host, *origin, *token;
    const char *body;
    size_t body_bytes;
    /* Returns the value of an argument of the query; NULL: absent. */
    const char *(*argument)(void *connection, const char *name);
    void *connection;
} serve_request;

typedef struct serve_answer {
    unsigned code;
    const char *type;       /* of the content, a static string */
    const char *attachment; /* name for saving the content, a static string; NULL: none */
    const void *bytes;      /* the content */
    size_t count;
    void (*release)(void *owner); /* called when the content is no longer needed; may be NULL */
    void *owner;
    void *stream; /* events instead of `bytes`; NULL: none */
} serve_answer;

/* What the program does. Called by the threads of connections. */
typedef struct serve_handler {
    void *context;
    serve_role (*role)(void *context, const serve_request *request);
    void (*answer)(void *context, const serve_request *request, serve_answer *out);
    /* Waits for the next events of a stream and writes at most `maximum` bytes of them. Returns
       their number; 0 ends the stream. */
    size_t (*stream_read)(void *stream, char *out, size_t maximum);
    void (*stream_close)(void *stream);
} serve_handler;

typedef struct serve_calls {
    int32_t version;
    /* Listens on `address`, a numeric IPv4 or IPv6 address, and `port`; 0: any free one. Writes the
       port. Returns NULL and writes the reason on failure. `handler` must outlive the server. */
    void *(*open)(const serve_handler *handler, const char *address, uint16_t port, uint16_t *bound,
                  char reason[SERVE_REASON]);
    void (*close)(void *server);             /* waits for all connections to end */
    bool (*random)(void *out, size_t bytes); /* for secrets */
    /* Creates an empty folder that no other user can access, and removes it when it is empty
       again. */
    bool (*folder_open)(char path[SERVE_FOLDER]);
    void (*folder_close)(const char *path);
    /* Gives the calling thread, and those that it starts, the lowest priority. */
    void (*yield_to_others)(void);
} serve_calls;

#endif
