/* Objects of a JSON file, read by tables of keys: a row says a key's name, type, range, unit and
   help; reading into a struct, the errors with the key's path, and the documentation all come from
   it. */
#ifndef KD_SCENES_TEXT_JSON_KEYS_H
#define KD_SCENES_TEXT_JSON_KEYS_H
#include "core/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum json_kind {
    JSON_FLOAT,  /* float; `count` of them in a list if count > 1 */
    JSON_DOUBLE, /* double; likewise */
    JSON_INT,    /* int32_t; likewise */
    JSON_COUNT,  /* uint64_t up to 2^53 */
    JSON_BOOL,   /* bool */
    JSON_COLOUR, /* vec3: three numbers, or one for all three */
    JSON_VECTOR, /* vec3 */
    JSON_TEXT,   /* const char *, valid as long as the parsed file */
    JSON_NAME,   /* char[bytes]; one of `choices` if there are any */
    JSON_CHOICE, /* int32_t or an enum: its number in `choices` */
    JSON_OBJECT, /* const cJSON * of an object with the keys `inner` */
    JSON_LIST,   /* const cJSON * of a list of such objects */
    JSON_MAP,    /* const cJSON * of an object whose keys are free names */
    JSON_VALUE,  /* const cJSON *: read by hand; `expected` says what it is */
    JSON_REMARK  /* a text that is read by nobody */
} json_kind;

typedef struct json_key {
    const char *name;
    json_kind kind;
    size_t offset, bytes;
    int count;
    double least, most;  /* of each number; both 0: any finite one */
    bool open;           /* neither bound is itself allowed */
    const char *choices; /* "diffuse|mirror" */
    const struct json_key *inner;
    const char *expected;              /* of a JSON_VALUE */
    const char *unit, *initial, *help; /* NULL: nothing to say */
} json_key;

/* .offset and .bytes of a row */
#define JSON_FIELD(type, member)                                                                   \
    .offset = offsetof(type, member), .bytes = sizeof(((type *)0)->member)

/* Where in the file something stands: file: lights[2].power */
typedef struct json_place {
    const struct json_place *parent;
    const char *name; /* of a key; of the file where parent is NULL; NULL: an item of a list */
    int index;
} json_place;

json_place json_place_file(const char *file);
json_place json_place_key(const json_place *parent, const char *key);
json_place json_place_item(const json_place *parent, int index);

/* lights[2].power: the place within its file, "" for the file itself. */
void json_place_text(char *text, size_t bytes, const json_place *at);

/* KD_ERROR_INPUT "file: path: message" */
kd_status json_fail(const json_place *at, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* KD_ERROR_INPUT "file: path: found VALUE, expected ..." */
kd_status json_unexpected(const json_place *at, const cJSON *found, const char *expected);

/* Reads all keys of `object` into the struct at `target`, which holds the defaults. Unknown keys
   (the nearest right one is suggested), doubled ones and unfit values are errors. */
kd_status json_read(const json_place *at, const cJSON *object, const json_key *keys, void *target);

/* Reads one value by its row into `field`. */
kd_status json_read_value(const json_place *at, const cJSON *item, const json_key *row,
                          void *field);

bool json_has(const cJSON *object, const char *key);

/* What the row expects, as errors and the documentation say it. */
void json_describe(char *text, size_t bytes, const json_key *row);

/* The tree of `text`, freed by cJSON_Delete. KD_ERROR_INPUT with file:line at a syntax error. */
kd_status json_parse(cJSON **out, const char *text, size_t bytes, const char *file);

#endif
