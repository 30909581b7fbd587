/* Where the bytes of a uri are: in itself, or in a file that does not leave the folder. */
#include "core/memory.h"
#include "scenes/gltf/gltf_file.h"

/* --- base64 ----------------------------------------------------------------------------------- */

static int digit_of(char c) { /* -1: none */
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+' || c == '-') return 62;
    if (c == '/' || c == '_') return 63;
    return -1;
}

/* Stops at what is no digit; *end says where. */
static uint64_t base64_decode(const char *at, unsigned char *to, const char **end) {
    uint32_t held = 0;
    int bits = 0;
    uint64_t count = 0;
    for (int digit; (digit = digit_of(*at)) >= 0; ++at) {
        held = held << 6 | (uint32_t)digit;
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        to[count++] = (unsigned char)(held >> bits);
    }
    *end = at;
    return count;
}

kd_status gltf_uri_decode(gltf_file *of, const json_place *at, const char *uri,
                          unsigned char **bytes, uint64_t *count) {
    const char *comma = strchr(uri, ','), *end = NULL;
    *bytes = NULL;
    if (!comma || comma - uri < 7 || strncmp(comma - 7, ";base64", 7) != 0)
        return gltf_fail(of, "bad-uri", at, "found \"%.40s...\", expected data in base64", uri);
    KD_TRY(KD_RESERVE(*bytes, strlen(comma) / 4 * 3 + 3));
    *count = base64_decode(comma + 1, *bytes, &end);
    while (*end == '=') ++end;
    if (!*end) return KD_OK;
    memory_free(*bytes);
    *bytes = NULL;
    return gltf_fail(of, "bad-uri", at,
                     "found byte %lld of its base64 to be none, expected A-Z, "
                     "a-z, 0-9, + and /",
                     (long long)(end - comma - 1));
}

/* --- files ------------------------------------------------------------------------------------ */

static int hex_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* %20 becomes a blank. False if there is a 0 in it. */
static bool name_decode(const char *uri, char *name) {
    while (*uri) {
        const int high = *uri == '%' ? hex_of(uri[1]) : -1;
        const int low = high >= 0 ? hex_of(uri[2]) : -1;
        *name = low >= 0 ? (char)(high * 16 + low) : *uri;
        if (!*name) return false;
        uri += low >= 0 ? 3 : 1;
        ++name;
    }
    *name = '\0';
    return true;
}

/* No root, no scheme or drive, never above the folder. */
static bool stays_below(const char *name) {
    int depth = 0;
    if (strcspn(name, "/\\") == 0 || strchr(name, ':')) return false;
    while (*name) {
        const size_t length = strcspn(name, "/\\");
        if (length == 2 && name[0] == '.' && name[1] == '.')
            --depth;
        else if (length && !(length == 1 && name[0] == '.'))
            ++depth;
        if (depth < 0) return false;
        name += length + (name[length] != '\0');
    }
    return depth > 0;
}

kd_status gltf_uri_path(gltf_file *of, const json_place *at, const char *uri, char **path) {
    char *name = NULL;
    *path = NULL;
    KD_TRY(KD_RESERVE(name, strlen(uri) + 1));
    const bool sound = name_decode(uri, name) && stays_below(name);
    if (sound) *path = file_path_beside(of->path, name);
    memory_free(name);
    if (!sound)
        return gltf_fail(of, "bad-uri", at,
                         "found \"%.60s\", expected the name of a file in the folder of this one, "
                         "or below it",
                         uri);
    KD_REQUIRE(*path, KD_ERROR_MEMORY, "%s: no memory left for a file's name", of->path);
    return KD_OK;
}
