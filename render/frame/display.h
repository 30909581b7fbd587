/* The picture while it is made, in a viewer that speaks tev's protocol over TCP.
   Source: tev's src/Ipc.cpp (github.com/Tom94/tev); pbrt-v4 is another client.
   The packets, little endian: u32 bytes of the whole packet, u8 what it is, then
     2 close   name
     4 create  u8 whether to bring it to the front, name, i32 width, height, channels, their names
     5 update  u8 whether to bring it to the front, name, i32 channels, their names, i32 x, y,
   width, height of a tile, f32 its values, one channel after the other, rows from the top Texts end
   with a zero byte. A picture of the same name is closed first; the last state stays on view when
   the connection ends. */
#ifndef KD_RENDER_FRAME_DISPLAY_H
#define KD_RENDER_FRAME_DISPLAY_H
#include "render/frame/film.h"

enum { DISPLAY_TILE = 128 }; /* pixels a side */

typedef struct display {
    intptr_t socket; /* -1: nobody looks on */
    char address[256], title[256];
    uint8_t *packet; /* room for one */
    bool created;
    double next; /* timing_now() before which nothing is sent */
} display;

/* KD_ERROR_USAGE if `address` is not "host:port" or "host" (port 14158 then). */
kd_status display_check(const char *address);

/* A viewer that is not there, or goes away later, is a warning (log_message), no failure. */
kd_status display_open(display *out, const char *address, const char *title);

/* Sends the means so far, at most four times a second unless it is the last time. */
void display_show(display *to, const film *from, bool last);

void display_close(display *owned); /* takes a zeroed one */

#endif
