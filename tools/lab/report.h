/* A report: a directory with images, data of plots, and an HTML page. report.py, which is written
   to the directory and run, draws the plots and writes the page. Data are always written. */
#ifndef KD_TOOLS_LAB_REPORT_H
#define KD_TOOLS_LAB_REPORT_H
#include "tools/lab/results.h"

enum { REPORT_COLOURS = 8 }; /* of the colour-blind-safe palette */

/* A segment of a drawing, and a point with a label. */
typedef struct drawn_segment {
    double from[2], to[2], at[2];
    int colour; /* below REPORT_COLOURS */
    char label[32];
} drawn_segment;

/* Creates the folder if necessary. NULL is accepted. */
kd_status report_make_folder(const char *folder);

/* Sets the path of a file of the folder; returns KD_ERROR_USAGE if it is too long. */
kd_status report_path(char path[4096], const char *folder, const char *name);

/* Writes FOLDER/NAME.json, from which report_write draws FOLDER/NAME.svg. */
kd_status report_drawing(const char *folder, const char *name, const drawn_segment *segments,
                         int count);

/* Writes FOLDER/NAME.json, which gives the grey picture FOLDER/NAME.png a scale from 0 to `most`.
 */
kd_status report_scale(const char *folder, const char *name, const char *title, double most);

/* Writes FOLDER/table.md with all results, if `measured` is not NULL. */
kd_status report_table(const char *folder, const results *measured);

/* Draws the plots and writes FOLDER/index.html: a title, a text, images, and the tables and charts
   of FOLDER/results.jsonl, levels.json, estimates.csv and experiment.csv if they exist. Logs a
   warning if Python is missing. Returns KD_ERROR_RUNTIME if the script cannot be written or fails.
 */
kd_status report_write(const char *folder, const char *title, const char *text);

#endif
