/* The pictures of a report's folder, put into its page. */
#ifndef KD_TOOLS_BENCH_REPORT_GALLERY_H
#define KD_TOOLS_BENCH_REPORT_GALLERY_H
#include "core/status.h"
#include <stdio.h>

/* A page's beginning, up to its headline, with the style of all pages. */
void gallery_head(FILE *to, const char *title, const char *headline);
/* Every figure-*.svg and figure-*.png of the folder, by name, each whole in the page (SVG as it is,
   PNG in base64), under a headline; nothing if there is none. */
kd_status gallery_write(FILE *to, const char *folder);
/* FOLDER/index.html of a title, a text, and all .svg and .png files of the folder. */
kd_status gallery_page(const char *folder, const char *title, const char *text);

#endif
