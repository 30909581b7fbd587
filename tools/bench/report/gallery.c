#include "tools/bench/report/gallery.h"
#include "core/files/file.h"
#include "tools/bench/report/plot.h"
#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int is_figure(const struct dirent *entry) {
    const char *suffix = file_suffix(entry->d_name);
    return strncmp(entry->d_name, "figure-", 7) == 0 &&
           (strcmp(suffix, ".svg") == 0 || strcmp(suffix, ".png") == 0);
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

kd_status gallery_write(FILE *to, const char *folder) {
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_figure, alphasort);
    if (count > 0) fputs("<h2>Pictures</h2>\n<div class=\"case\">\n", to);
    kd_status status = KD_OK;
    for (int i = 0; i < count; ++i) {
        if (status == KD_OK) status = write_figure(to, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (count > 0) fputs("</div>\n", to);
    return status;
}
