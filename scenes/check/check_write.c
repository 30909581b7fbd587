#include "core/names.h"
#include "scenes/check/check.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

static bool string_add(cJSON *json, const char *key, const char *text) {
    cJSON *added = cJSON_AddStringToObject(json, key, text);
    if (added) name_make_utf8(added->valuestring);
    return added != NULL;
}

const char *check_severity_name(check_severity severity) {
    static const char *const names[] = {"note", "warning", "error"};
    return names[severity];
}

static bool kinds_add(cJSON *root, const check_report *report) {
    cJSON *list = cJSON_AddArrayToObject(root, "kinds");
    for (uint32_t i = 0; list && i < report->kind_count; ++i) {
        const check_kind *kind = &report->kinds[i];
        cJSON *item = cJSON_CreateObject();
        if (!item || !cJSON_AddItemToArray(list, item)) return false;
        if (!string_add(item, "kind", kind->name) ||
            !string_add(item, "severity", check_severity_name(kind->severity)) ||
            !cJSON_AddNumberToObject(item, "count", (double)kind->count))
            return false;
    }
    return list != NULL;
}

static bool problems_add(cJSON *root, const check_report *report) {
    cJSON *list = cJSON_AddArrayToObject(root, "problems");
    for (uint64_t i = 0; list && i < report->problem_count; ++i) {
        const check_problem *problem = &report->problems[i];
        cJSON *item = cJSON_CreateObject();
        if (!item || !cJSON_AddItemToArray(list, item)) return false;
        if (!string_add(item, "file", problem->file) ||
            !cJSON_AddNumberToObject(item, "line", (double)problem->line) ||
            !string_add(item, "kind", problem->kind) ||
            !string_add(item, "severity", check_severity_name(problem->severity)) ||
            !string_add(item, "what", problem->message) ||
            !cJSON_AddBoolToObject(item, "fatal", problem->severity == CHECK_ERROR))
            return false;
    }
    return list != NULL;
}

static bool report_add(cJSON *root, const check_report *report) {
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"vertices", report->vertices},   {"faces", report->faces},
                  {"triangles", report->triangles}, {"materials", report->materials},
                  {"lights", report->lights},       {"problems_found", report->problems_found}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
        if (!cJSON_AddNumberToObject(root, counts[i].name, (double)counts[i].value)) return false;
    return cJSON_AddBoolToObject(root, "renderable", report->renderable) &&
           kinds_add(root, report) && problems_add(root, report);
}

kd_status check_write_json(const check_report *report, FILE *stream) {
    cJSON *root = cJSON_CreateObject();
    char *text = root && report_add(root, report) ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    KD_REQUIRE(text, KD_ERROR_MEMORY, "out of memory for the report");
    const bool written = fprintf(stream, "%s\n", text) >= 0;
    cJSON_free(text);
    KD_REQUIRE(written, KD_ERROR_RUNTIME, "cannot write the report: %s", strerror(errno));
    return KD_OK;
}

kd_status check_write_text(const check_report *report, FILE *stream) {
    fprintf(stream,
            "vertices %" PRIu64 "\nfaces %" PRIu64 "\ntriangles %" PRIu64 "\nmaterials %" PRIu64
            "\nlights %" PRIu64 "\n",
            report->vertices, report->faces, report->triangles, report->materials, report->lights);
    for (uint64_t i = 0; i < report->problem_count; ++i) {
        const check_problem *problem = &report->problems[i];
        if (problem->line)
            fprintf(stream, "%s:%u: ", problem->file, problem->line);
        else
            fprintf(stream, "%s: ", problem->file);
        fprintf(stream, "%s: %s (%s)\n", check_severity_name(problem->severity), problem->message,
                problem->kind);
    }
    for (uint32_t i = 0; i < report->kind_count; ++i) {
        const check_kind *kind = &report->kinds[i];
        fprintf(stream, "%s %s %" PRIu64, check_severity_name(kind->severity), kind->name,
                kind->count);
        fprintf(stream, kind->count > kind->kept ? ", the first %u above\n" : "\n", kind->kept);
    }
    KD_REQUIRE(!ferror(stream), KD_ERROR_RUNTIME, "cannot write the report: %s", strerror(errno));
    return KD_OK;
}
