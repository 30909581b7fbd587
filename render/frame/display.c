/* Client of the tev protocol for live preview; film.h describes the packets. */
#include "core/job.h"
#include "core/memory.h"
#include "core/status.h"
#include "core/system/connection.h"
#include "render/frame/film.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "packets are the machine's own bytes");

enum { PACKET_CLOSE = 2, PACKET_CREATE = 4, PACKET_UPDATE = 5 };
enum { CHANNELS = 4, HEADER_BYTES = 512, PATIENCE_SECONDS = 2 };
enum { PACKET_BYTES = HEADER_BYTES + CHANNELS * DISPLAY_TILE * DISPLAY_TILE * (int)sizeof(float) };

static const char channel_names[] = "R\0G\0B\0A"; /* followed by the terminating zero */
static const double pause_seconds = 0.25;

/* --- address and connection ------------------------------------------------------------------- */

typedef struct display_address {
    char host[256], port[8];
} display_address;

static kd_status split_address(display_address *out, const char *address) {
    const char *colon = strrchr(address, ':');
    size_t length = colon ? (size_t)(colon - address) : strlen(address);
    const char *port = colon ? colon + 1 : "14158";
    char *end = NULL;
    const long number = strtol(port, &end, 10);
    const bool bracketed = length >= 2 && address[0] == '[' && address[length - 1] == ']';
    if (bracketed) ++address, length -= 2; /* IPv6 address */
    KD_REQUIRE(length > 0 && length < sizeof out->host && *port >= '0' && *port <= '9' && !*end &&
                   number >= 1 && number <= 65535,
               KD_ERROR_USAGE,
               "display server \"%s\" must have the form host:port, such as localhost:14158",
               address);
    memcpy(out->host, address, length);
    out->host[length] = '\0';
    snprintf(out->port, sizeof out->port, "%ld", number);
    return KD_OK;
}

kd_status display_check(const char *address) {
    display_address parts;
    return split_address(&parts, address);
}

static void give_up(display *owned, const char *reason) {
    log_message(LOG_WARNING, "display server %s: %s; rendering continues without it",
                owned->address, reason);
    connection_close(owned->socket);
    owned->socket = -1;
}

static void find_server(display *display, const display_address *parts) {
    char reason[CONNECTION_WHY];
    display->socket = connection_open(parts->host, parts->port, PATIENCE_SECONDS, reason);
    if (display->socket < 0) give_up(display, reason);
}

kd_status display_open(display *out, const char *address, const char *title) {
    display_address parts;
    memset(out, 0, sizeof *out);
    out->socket = -1;
    KD_TRY(split_address(&parts, address));
    KD_TRY(KD_RESERVE(out->packet, PACKET_BYTES));
    snprintf(out->address, sizeof out->address, "%s", address);
    /* keep the end of a long path */
    const size_t length = strlen(title), maximum = sizeof out->title - 1;
    snprintf(out->title, sizeof out->title, "%s",
             title + (length > maximum ? length - maximum : 0));
    find_server(out, &parts);
    return KD_OK;
}

void display_close(display *owned) {
    if (owned->packet) connection_close(owned->socket);
    memory_free(owned->packet);
    memset(owned, 0, sizeof *owned);
    owned->socket = -1;
}

/* --- packets ---------------------------------------------------------------------------------- */

/* Appends bytes to the packet; *used is its size so far. */
static void append(display *display, size_t *used, const void *bytes, size_t count) {
    assert(*used + count <= PACKET_BYTES);
    memcpy(display->packet + *used, bytes, count);
    *used += count;
}

static void put_number(display *display, size_t *used, int32_t value) {
    append(display, used, &value, sizeof value);
}

static size_t packet_begin(display *display, uint8_t what) {
    size_t used = sizeof(uint32_t); /* packet_send fills in the length */
    const uint8_t front = 0;
    append(display, &used, &what, sizeof what);
    if (what != PACKET_CLOSE) append(display, &used, &front, sizeof front);
    append(display, &used, display->title, strlen(display->title) + 1);
    return used;
}

static bool packet_send(display *display, size_t bytes) {
    const uint32_t length = (uint32_t)bytes;
    memcpy(display->packet, &length, sizeof length);
    char reason[CONNECTION_WHY];
    if (connection_send(display->socket, display->packet, bytes, reason)) return true;
    give_up(display, reason);
    return false;
}

static bool create_picture(display *display, const film *film) {
    if (!packet_send(display, packet_begin(display, PACKET_CLOSE))) return false;
    size_t used = packet_begin(display, PACKET_CREATE);
    put_number(display, &used, film->width);
    put_number(display, &used, film->height);
    put_number(display, &used, CHANNELS);
    append(display, &used, channel_names, sizeof channel_names);
    return packet_send(display, used);
}

static float channel_mean(const film_pixel *pixel, int channel) {
    if (pixel->samples == 0) return 0;
    const double sum = channel < 3 ? pixel->radiance[channel] : (double)pixel->alpha;
    return (float)(sum / pixel->samples);
}

static bool send_tile(display *display, const film *film, int32_t x0, int32_t y0) {
    const int32_t width = film->width - x0 < DISPLAY_TILE ? film->width - x0 : DISPLAY_TILE;
    const int32_t height = film->height - y0 < DISPLAY_TILE ? film->height - y0 : DISPLAY_TILE;
    size_t used = packet_begin(display, PACKET_UPDATE);
    put_number(display, &used, CHANNELS);
    append(display, &used, channel_names, sizeof channel_names);
    const int32_t place[4] = {x0, y0, width, height};
    append(display, &used, place, sizeof place);
    for (int c = 0; c < CHANNELS; ++c)
        for (int32_t y = y0; y < y0 + height; ++y)
            for (int32_t x = x0; x < x0 + width; ++x) {
                const float value = channel_mean(film->pixels + (int64_t)y * film->width + x, c);
                append(display, &used, &value, sizeof value);
            }
    return packet_send(display, used);
}

void display_show(display *display, const film *film, bool last) {
    if (display->socket < 0 || (!last && timing_now() < display->next)) return;
    if (!display->created && !create_picture(display, film)) return;
    display->created = true;
    for (int32_t y = 0; y < film->height; y += DISPLAY_TILE)
        for (int32_t x = 0; x < film->width; x += DISPLAY_TILE)
            if (!send_tile(display, film, x, y)) return;
    display->next = timing_now() + pause_seconds;
}
