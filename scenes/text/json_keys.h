/* Table-driven reading of JSON objects. A row describes a key: name, type, range, unit, help.
   Reading into a struct, error messages with the key's path, and the documentation are all derived
   from it. */
#ifndef KD_SCENES_TEXT_JSON_KEYS_H
#define KD_SCENES_TEXT_JSON_KEYS_H
#include "core/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum json_kind {
    JSON_FLOAT,  /* float; a list of `count` floats if count > 1 */
    JSON_DOUBLE, /* double; lists as above */
    JSON_INT,    /* int32_t; lists as above */
    JSON_COUNT,  /* uint64_t up to 2^53 */
    JSON_BOOL,   /* bool */
    JSON_COLOUR, /* vec3: three numbers, or one for all three */
    JSON_VECTOR, /* vec3 */
    JSON_POINT, /* double[3], finite as floats: a position, rounded after an origin is subtracted */
    JSON_TEXT,  /* const char *, valid as long as the parsed file */
    JSON_NAME,  /* char[bytes]; one of `choices` if that is set */
    JSON_CHOICE, /* int32_t or an enum: index in `choices` */
    JSON_OBJECT, /* const cJSON *: an object with the keys `inner` */
    JSON_LIST,   /* const cJSON *: a list of such objects */
    JSON_MAP,    /* const cJSON *: an object with arbitrary keys */
    JSON_VALUE,  /* const cJSON *: not checked; `expected` describes it */
    JSON_REMARK  /* a string that is ignored */
} json_kind;

typedef struct json_key {
    const char *name;
    json_kind kind;
    size_t offset, bytes;
    int count;
    double minimum, maximum; /* range of each number; both 0: any finite value */
    bool open;               /* the bounds are exclusive */
    const char *automatic;   /* JSON_FLOAT: the word that sets NAN; NULL: none */
    const char *choices;     /* separated by |: "diffuse|mirror" */
    /* returns the replacement of a choice that no longer exists, or NULL; may be NULL */
    const char *(*replaced)(const char *name);
    const struct json_key *inner;
    const char *expected; /* description of a JSON_VALUE, or of a JSON_COLOUR that is no colour */
    const char *unit, *initial, *help; /* for the documentation; may be NULL */
} json_key;

/* Sets .offset and .bytes of a row. */
#define JSON_FIELD(type, member)                                                                   \
    .offset = offsetof(type, member), .bytes = sizeof(((type *)0)->member)

/* A location in a file, such as file: lights[2].power. Items live on the stack of the reader and
   link to their parent. */
typedef struct json_place {
    const struct json_place *parent;
    /* name of the key; name of the file if `parent` is NULL; NULL for a list item */
    const char *name;
    int index;
    const char *text; /* text of the file, if `parent` is NULL; may be NULL */
    size_t bytes;
} json_place;

/* `text`: the file's `bytes` bytes, for line and column in errors; NULL: without. It must remain
   valid as long as the place. */
json_place json_place_file(const char *file, const char *text, size_t bytes);
json_place json_place_key(const json_place *parent, const char *key);
json_place json_place_item(const json_place *parent, int index);

/* Writes the location within the file, such as lights[2].power; "" for the file itself. */
void json_place_text(char *text, size_t bytes, const json_place *at);

/* Returns KD_ERROR_INPUT with "file:line:column: path: message"; the position is that of the key or
   list item, or of the object that misses it. */
kd_status json_fail(const json_place *at, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns KD_ERROR_INPUT with "...: found VALUE, expected ...". */
kd_status json_unexpected(const json_place *at, const cJSON *json, const char *expected);

/* Reads all keys of `object` into the struct at `target`, which holds the defaults. Unknown keys
   (the error suggests the nearest name), duplicate keys and values out of range are errors. A
   table may have at most 64 rows. */
kd_status json_read(const json_place *at, const cJSON *object, const json_key *keys, void *target);

/* Reads one value into `field`, as described by `row`. */
kd_status json_read_value(const json_place *at, const cJSON *item, const json_key *row,
                          void *field);

bool json_has(const cJSON *object, const char *key);

/* Describes the values that the row accepts, for errors and the documentation. */
void json_describe(char *text, size_t bytes, const json_key *row);

/* Parses `text`; the caller frees *out by cJSON_Delete. Returns KD_ERROR_INPUT with
   file:line:column and what was expected there on a syntax error. */
kd_status json_parse(cJSON **out, const char *text, size_t bytes, const char *file);

#endif
