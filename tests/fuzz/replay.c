/* Runs a fuzz target on files, or on every file of a directory. */
#include "tests/fuzz/fuzz.h"
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

static int replayed;

static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "%s: cannot open\n", path);
        return 1;
    }
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    uint8_t *bytes = (uint8_t *)malloc(size > 0 ? (size_t)size : 1);
    const size_t count = bytes && size > 0 ? fread(bytes, 1, (size_t)size, file) : 0;
    fclose(file);
    if (bytes) LLVMFuzzerTestOneInput(bytes, count);
    free(bytes);
    ++replayed;
    return 0;
}

static int replay_folder(const char *path) {
    int failed = 0;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char name[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        failed |= replay_file(name);
    }
    if (folder) closedir(folder);
    return failed;
}

int main(int count, char **arguments) {
    int failed = 0;
    for (int i = 1; i < count; ++i) {
        struct stat info;
        const int is_folder = stat(arguments[i], &info) == 0 && S_ISDIR(info.st_mode);
        failed |= is_folder ? replay_folder(arguments[i]) : replay_file(arguments[i]);
    }
    printf("%d inputs replayed\n", replayed);
    return failed || replayed == 0;
}
