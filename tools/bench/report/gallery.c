#include "tools/bench/report/gallery.h"
#include "core/files/file.h"
#include "tools/bench/report/plot.h"
#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int is_picture(const struct dirent *entry) {
    const char *suffix = file_suffix(entry->d_name);
    return strcmp(suffix, ".svg") == 0 || strcmp(suffix, ".png") == 0;
}

static int is_figure(const struct dirent *entry) {
    return strncmp(entry->d_name, "figure-", 7) == 0 && is_picture(entry);
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

static kd_status write_all(FILE *to, const char *folder, const char *title,
                           int (*chosen)(const struct dirent *)) {
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, chosen, alphasort);
    if (count > 0) fprintf(to, "%s<div class=\"case\">\n", title);
    kd_status status = KD_OK;
    for (int i = 0; i < count; ++i) {
        if (status == KD_OK) status = write_figure(to, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (count > 0) fputs("</div>\n", to);
    return status;
}

kd_status gallery_write(FILE *to, const char *folder) {
    return write_all(to, folder, "<h2>Pictures</h2>\n", is_figure);
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
    const kd_status status = write_all(output.stream, folder, "", is_picture);
    fputs("</body></html>\n", output.stream);
    if (status == KD_OK) return file_output_commit(&output);
    file_output_discard(&output);
    return status;
}
