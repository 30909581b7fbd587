#include "tools/bench/report/gallery.h"
#include "core/files/file.h"
#include "core/memory.h"
#include "core/system/folder.h"
#include "tools/bench/report/plot.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The names of a folder's pictures. */
typedef struct picture_list {
    char **names;
    uint64_t count, room;
    const char *prefix; /* that the names have */
    kd_status status;
} picture_list;

static bool is_chosen(const picture_list *list, const char *name) {
    const char *suffix = file_suffix(name);
    return strncmp(name, list->prefix, strlen(list->prefix)) == 0 &&
           (strcmp(suffix, ".svg") == 0 || strcmp(suffix, ".png") == 0);
}

static kd_status add_name(picture_list *to, const char *name) {
    if (to->count == to->room) {
        const uint64_t room = to->room ? 2 * to->room : 16;
        KD_TRY(KD_GROW(to->names, to->count, room));
        to->room = room;
    }
    char *own = NULL;
    KD_TRY(KD_RESERVE(own, strlen(name) + 1));
    strcpy(own, name);
    to->names[to->count++] = own;
    return KD_OK;
}

static void see_name(void *context, const char *name) {
    picture_list *list = (picture_list *)context;
    if (list->status == KD_OK && is_chosen(list, name)) list->status = add_name(list, name);
}

static int by_name(const void *a, const void *b) {
    const char *const *first = (const char *const *)a, *const *second = (const char *const *)b;
    return strcmp(*first, *second);
}

static void write_base64(FILE *to, const unsigned char *bytes, size_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        const size_t left = count - i;
        const uint32_t three = (uint32_t)bytes[i] << 16 |
                               (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                               (left > 2 ? bytes[i + 2] : 0);
        fputc(digits[three >> 18], to);
        fputc(digits[three >> 12 & 63], to);
        fputc(left > 1 ? digits[three >> 6 & 63] : '=', to);
        fputc(left > 2 ? digits[three & 63] : '=', to);
    }
}

static kd_status write_figure(FILE *to, const char *folder, const char *name) {
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    KD_REQUIRE(length > 0 && (size_t)length < sizeof path, KD_ERROR_USAGE, "%s: too long a name",
               name);
    file_view file;
    KD_TRY(file_open(&file, path));
    fputs("<figure>", to);
    if (strcmp(file_suffix(name), ".svg") == 0) {
        fwrite(file.bytes, 1, file.count, to);
    } else {
        fputs("<img alt=\"", to);
        plot_text(to, name);
        fputs("\" src=\"data:image/png;base64,", to);
        write_base64(to, (const unsigned char *)file.bytes, file.count);
        fputs("\">", to);
    }
    fputs("<figcaption class=\"note\">", to);
    plot_text(to, name);
    fputs("</figcaption></figure>\n", to);
    file_close(&file);
    return KD_OK;
}

static kd_status write_all(FILE *to, const char *folder, const char *title, const char *prefix) {
    picture_list list = {.prefix = prefix, .status = KD_OK};
    folder_each(folder, see_name, &list);
    kd_status status = list.status;
    if (list.count > 0) {
        qsort(list.names, (size_t)list.count, sizeof *list.names, by_name);
        fprintf(to, "%s<div class=\"case\">\n", title);
    }
    for (uint64_t i = 0; i < list.count; ++i) {
        if (status == KD_OK) status = write_figure(to, folder, list.names[i]);
        memory_free(list.names[i]);
    }
    memory_free(list.names);
    if (list.count > 0) fputs("</div>\n", to);
    return status;
}

kd_status gallery_write(FILE *to, const char *folder) {
    return write_all(to, folder, "<h2>Pictures</h2>\n", "figure-");
}

void gallery_head(FILE *to, const char *title, const char *headline) {
    static const char style[] =
        "body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:1100px;padding:0 12px "
        "60px;"
        "color:#222;background:#fff}h1{font-size:1.5em}h2{font-size:1.25em;margin-top:2em;border-"
        "top:"
        "1px solid "
        "#ccc;padding-top:.6em}svg,img{width:100%;max-width:520px;height:auto}figure{margin:0;max-"
        "width:"
        "520px}.case{display:flex;"
        "flex-wrap:wrap;gap:12px "
        "20px;align-items:flex-start}.note{color:#555;font-size:.9em}.wide{overflow-x:auto}table{"
        "border-collapse:collapse;"
        "font-size:.85em}td,th{padding:2px "
        "8px;text-align:right;white-space:nowrap;border-bottom:1px "
        "solid #eee}td:first-child,th:first-child{text-align:left}summary{cursor:pointer}";
    fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
          "name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>Kandela: ",
          to);
    plot_text(to, title);
    fprintf(to, "</title><style>%s</style></head><body>\n<h1>", style);
    plot_text(to, headline);
    fputs("</h1>\n", to);
}

kd_status gallery_page(const char *folder, const char *title, const char *text) {
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/index.html", folder);
    KD_REQUIRE(length > 0 && (size_t)length < sizeof path, KD_ERROR_USAGE,
               "a folder's name of %zu characters: too long", strlen(folder));
    file_output output;
    KD_TRY(file_output_open(&output, path));
    gallery_head(output.stream, title, title);
    fputs("<p>", output.stream);
    plot_text(output.stream, text);
    fputs("</p>\n", output.stream);
    const kd_status status = write_all(output.stream, folder, "", "");
    fputs("</body></html>\n", output.stream);
    if (status == KD_OK) return file_output_commit(&output);
    file_output_discard(&output);
    return status;
}
