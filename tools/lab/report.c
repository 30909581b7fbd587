#include "tools/lab/report.h"
#include "core/files/file.h"
#include "core/status.h"
#include "core/system/paths.h"
#include "core/system/process.h"
#include "tools/report_drawing_script.h"
#include "tools/report_script.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { NO_PYTHON = 127 };

kd_status report_make_folder(const char *folder) {
    if (!folder) return KD_OK;
    KD_REQUIRE(place_make_folder(folder), KD_ERROR_RUNTIME, "%s: cannot create the folder: %s",
               folder, strerror(errno));
    KD_REQUIRE(file_identify(NULL, folder) == FILE_FOLDER, KD_ERROR_RUNTIME, "%s: not a folder",
               folder);
    return KD_OK;
}

kd_status report_path(char path[4096], const char *folder, const char *name) {
    const int length = snprintf(path, 4096, "%s/%s", folder, name);
    KD_REQUIRE(length > 0 && length < 4096, KD_ERROR_USAGE, "%.60s...: the path is too long",
               folder);
    return KD_OK;
}

static kd_status open_in(file_output *out, const char *folder, const char *name,
                         const char *suffix) {
    char path[4096], file[128];
    snprintf(file, sizeof file, "%s%s", name, suffix);
    KD_TRY(report_path(path, folder, file));
    return file_output_open(out, path);
}

/* Writes and frees `json`; NULL means out of memory. */
static kd_status write_json(const char *folder, const char *name, cJSON *json) {
    char *text = json ? cJSON_PrintUnformatted(json) : NULL;
    cJSON_Delete(json);
    KD_REQUIRE(text, KD_ERROR_MEMORY, "out of memory for the data of plot %s", name);
    file_output output;
    kd_status status = open_in(&output, folder, name, ".json");
    if (status == KD_OK) {
        fprintf(output.stream, "%s\n", text);
        status = file_output_commit(&output);
    }
    cJSON_free(text);
    return status;
}

static cJSON *new_drawing(const char *kind, const char *title) {
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "kind", kind);
    cJSON_AddStringToObject(json, "title", title);
    return json;
}

static cJSON *add_object(cJSON *list) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToArray(list, object);
    return object;
}

kd_status report_drawing(const char *folder, const char *name, const drawn_segment *segments,
                         int count) {
    cJSON *json = new_drawing("segments", "");
    cJSON *rows = cJSON_AddArrayToObject(json, "rows");
    for (int i = 0; i < count; ++i) {
        cJSON *row = add_object(rows);
        cJSON_AddItemToObject(row, "from", cJSON_CreateDoubleArray(segments[i].from, 2));
        cJSON_AddItemToObject(row, "to", cJSON_CreateDoubleArray(segments[i].to, 2));
        cJSON_AddItemToObject(row, "at", cJSON_CreateDoubleArray(segments[i].at, 2));
        cJSON_AddNumberToObject(row, "colour", segments[i].colour);
        cJSON_AddStringToObject(row, "label", segments[i].label);
    }
    return write_json(folder, name, json);
}

kd_status report_scale(const char *folder, const char *name, const char *title, double most) {
    cJSON *json = new_drawing("scale", title);
    cJSON_AddNumberToObject(json, "most", most);
    return write_json(folder, name, json);
}

kd_status report_table(const char *folder, const results *measured) {
    file_output output;
    KD_TRY(open_in(&output, folder, "table", ".md"));
    fputs("| what | median [ms] | least [ms] | middle half [ms] | million per second | SAH cost | "
          "published | faster than published | on | compared |\n|-|-|-|-|-|-|-|-|-|-|\n",
          output.stream);
    for (int i = 0; i < measured->count; ++i) {
        const result_line *line = measured->lines + i;
        char name[192];
        results_name(name, sizeof name, line);
        fprintf(output.stream, "| %s | %.4g | %.4g | %.4g to %.4g |", name, line->median,
                line->minimum, line->first_quarter, line->third_quarter);
        const double values[] = {line->rate * 1e-6, line->sah_cost, line->published, line->ratio};
        for (int v = 0; v < 4; ++v)
            fprintf(output.stream, values[v] > 0 ? " %.4g |" : " |", values[v]);
        fprintf(output.stream, " %s | %s |\n", line->published_on,
                line->checked ? "yes" : "by tests");
    }
    return file_output_commit(&output);
}

static kd_status write_script(const char *folder, const char *name, const unsigned char *script,
                              size_t bytes) {
    file_output output;
    KD_TRY(open_in(&output, folder, name, ".py"));
    fwrite(script, 1, bytes, output.stream);
    return file_output_commit(&output);
}

kd_status report_write(const char *folder, const char *title, const char *text) {
    char path[4096], folder_copy[4096], python[] = "python3", keep_none[] = "-B";
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "title", title);
    cJSON_AddStringToObject(json, "text", text);
    KD_TRY(write_json(folder, "page", json));
    KD_TRY(write_script(folder, "report", report_script, sizeof report_script));
    KD_TRY(write_script(folder, "report_drawing", report_drawing_script,
                        sizeof report_drawing_script));
    snprintf(path, sizeof path, "%s/report.py", folder);
    snprintf(folder_copy, sizeof folder_copy, "%s", folder);
    char *const arguments[] = {python, keep_none, path, folder_copy, NULL};
    const int code = process_run(arguments);
    if (code < 0 || code == NO_PYTHON) {
        log_message(LOG_WARNING,
                    "no charts and no page: Python 3 is not installed; the data are in %s", folder);
        return KD_OK;
    }
    KD_REQUIRE(code == 0, KD_ERROR_RUNTIME, "%s failed: python3 exited with code %d", path, code);
    return KD_OK;
}
