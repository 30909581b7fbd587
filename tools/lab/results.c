#include "tools/lab/results.h"
#include "core/files/file.h"
#include "core/memory.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct results_owned {
    cJSON **documents; /* one per line; strings of the line point into it */
    double **samples;
};

static const char *text_of(const cJSON *line, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(line, name);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static double number_of(const cJSON *line, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(line, name);
    return cJSON_IsNumber(item) && isfinite(item->valuedouble) ? item->valuedouble : 0;
}

static uint64_t count_of(const cJSON *line, const char *name) {
    const double value = number_of(line, name);
    return value >= 0 && value < 1e18 ? (uint64_t)value : 0;
}

static kd_status take_samples(result_line *line, double **owned, const cJSON *ms) {
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(ms, "all");
    const int count = cJSON_GetArraySize(all);
    if (count == 0) return KD_OK;
    KD_TRY(KD_RESERVE(*owned, (uint64_t)count));
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, all) if (cJSON_IsNumber(item) && item->valuedouble > 0)(
        *owned)[line->sample_count++] = item->valuedouble;
    line->samples = *owned;
    return KD_OK;
}

static void take_texts(result_line *result_line, const cJSON *line) {
    result_line->bench = text_of(line, "bench");
    result_line->set = text_of(line, "case");
    result_line->builder = text_of(line, "builder");
    result_line->device = text_of(line, "device");
    result_line->variant = text_of(line, "variant");
    result_line->published_on = text_of(line, "published_on");
    result_line->hash = text_of(line, "hash");
    result_line->checked = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(line, "checked"));
}

static void take_numbers(result_line *result_line, const cJSON *line, const cJSON *ms) {
    result_line->n = count_of(line, "n");
    result_line->dims = (int32_t)fmin(number_of(line, "dims"), 1e6);
    result_line->k = (int32_t)fmin(number_of(line, "k"), 1e9);
    result_line->median = number_of(ms, "median");
    result_line->minimum = number_of(ms, "min");
    result_line->first_quarter = number_of(ms, "q1");
    result_line->third_quarter = number_of(ms, "q3");
    result_line->rate = number_of(line, "rate");
    result_line->sah_cost = number_of(line, "sah_cost");
    result_line->published = number_of(line, "published");
    result_line->ratio = number_of(line, "ratio");
}

/* Parses one line of the file, without its line end. */
static kd_status take_line(results *results, const char *path, int number, const char *text,
                           size_t bytes) {
    const uint64_t shortages = memory_shortages();
    cJSON *line = cJSON_ParseWithLength(text, bytes);
    KD_REQUIRE(line || memory_shortages() == shortages, KD_ERROR_MEMORY,
               "out of memory for line %d of %s", number, path);
    KD_REQUIRE(line, KD_ERROR_INPUT,
               "%s:%d: found no JSON object, expected a line of kandela bench", path, number);
    results->owned->documents[results->count] = line;
    result_line *row = results->lines + results->count;
    double **samples = results->owned->samples + results->count++;
    const cJSON *ms = cJSON_GetObjectItemCaseSensitive(line, "ms");
    take_texts(row, line);
    take_numbers(row, line, ms);
    KD_REQUIRE(row->bench[0] && row->median > 0, KD_ERROR_INPUT,
               "%s:%d: \"bench\", or \"ms\" with a \"median\" above 0, is missing; expected a line "
               "of kandela bench",
               path, number);
    return take_samples(row, samples, ms);
}

static int count_lines(const file_view *file) {
    int count = 1;
    for (size_t i = 0; i < file->count; ++i) count += file->bytes[i] == '\n';
    return count;
}

static kd_status reserve(results *out, int lines) {
    KD_TRY(KD_RESERVE_ZEROED(out->owned, 1));
    KD_TRY(KD_RESERVE_ZEROED(out->lines, (uint64_t)lines));
    KD_TRY(KD_RESERVE_ZEROED(out->owned->documents, (uint64_t)lines));
    return KD_RESERVE_ZEROED(out->owned->samples, (uint64_t)lines);
}

static bool is_blank(const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r') return false;
    return true;
}

static kd_status take_file(results *out, const file_view *file, const char *path) {
    const int lines = count_lines(file);
    KD_TRY(reserve(out, lines));
    const char *at = file->bytes, *end = file->bytes + file->count;
    for (int number = 1; number <= lines && at < end; ++number) {
        const char *stop = (const char *)memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        const size_t bytes = (size_t)(stop - at);
        if (!is_blank(at, bytes)) KD_TRY(take_line(out, path, number, at, bytes));
        at = stop + 1;
    }
    KD_REQUIRE(out->count > 0, KD_ERROR_INPUT,
               "%s: the file is empty; expected lines of kandela bench", path);
    return KD_OK;
}

kd_status results_open(results *out, const char *path) {
    memset(out, 0, sizeof *out);
    file_view file;
    KD_TRY(file_open(&file, path));
    const kd_status status = take_file(out, &file, path);
    file_close(&file);
    if (status != KD_OK) results_close(out);
    return status;
}

void results_close(results *owned) {
    for (int i = 0; owned->owned && i < owned->count; ++i) {
        cJSON_Delete(owned->owned->documents[i]);
        memory_free(owned->owned->samples[i]);
    }
    if (owned->owned) {
        memory_free(owned->owned->documents);
        memory_free(owned->owned->samples);
    }
    memory_free(owned->owned);
    memory_free(owned->lines);
    memset(owned, 0, sizeof *owned);
}

bool results_alike(const result_line *a, const result_line *b) {
    return strcmp(a->bench, b->bench) == 0 && strcmp(a->set, b->set) == 0 &&
           strcmp(a->builder, b->builder) == 0 && strcmp(a->device, b->device) == 0 &&
           strcmp(a->variant, b->variant) == 0 && a->n == b->n && a->dims == b->dims &&
           a->k == b->k;
}

void results_name(char *out, size_t bytes, const result_line *line) {
    char n[32] = "", k[16] = "";
    if (line->n) snprintf(n, sizeof n, " n %" PRIu64, line->n);
    if (line->k) snprintf(k, sizeof k, " k %d", line->k);
    snprintf(out, bytes, "%s %s %s %s%s%s%s%s", line->bench, line->set, line->builder, line->device,
             line->variant[0] ? " " : "", line->variant, n, k);
}
