#include "core/system/process.h"
#include "core/system/windows_names.h"
#include <io.h>
#include <process.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static void (*watcher)(int number);

/* Windows resets the handler on delivery. */
static void pass_on(int number) {
    signal(number, pass_on);
    watcher(number);
}

void signals_watch(void (*handler)(int number)) {
    watcher = handler;
    signal(SIGINT, pass_on);
    signal(SIGTERM, pass_on);
#ifdef SIGBREAK
    signal(SIGBREAK, pass_on);
#endif
}

void signals_after(int seconds, void (*handler)(int number)) {
    (void)seconds;
    (void)handler;
}

void signals_ignore_file_limit(void) {}

void signals_leave(int code) {
    _Exit(code);
}

bool signals_sleep(int seconds) {
    Sleep((DWORD)seconds * 1000);
    return true;
}

bool terminal_exists(void) {
    return _isatty(2) != 0;
}

int terminal_columns(void) {
    CONSOLE_SCREEN_BUFFER_INFO said;
    if (!GetConsoleScreenBufferInfo(GetStdHandle(STD_ERROR_HANDLE), &said)) return 80;
    return said.srWindow.Right - said.srWindow.Left + 1;
}

int process_run(char *const arguments[]) {
    return (int)_spawnvp(_P_WAIT, arguments[0], (const char *const *)arguments);
}

int process_file_hold(char *name, size_t name_bytes, const void *bytes, uint64_t count) {
    (void)name;
    (void)name_bytes;
    (void)bytes;
    (void)count;
    return -1;
}

void process_file_release(int held) {
    (void)held;
}

void *plugin_open(const char *path, bool global) {
    wchar_t name[PLACE_BYTES];
    (void)global; /* on Windows symbols are resolved per library */
    return wide_from(name, path) ? (void *)LoadLibraryW(name) : NULL;
}

void *plugin_symbol(void *plugin, const char *name) {
    const FARPROC address = GetProcAddress((HMODULE)plugin, name);
    void *symbol;
    memcpy(&symbol, &address, sizeof symbol);
    return symbol;
}

void plugin_close(void *plugin) {
    FreeLibrary((HMODULE)plugin);
}

const char *plugin_reason(void) {
    static _Thread_local char said[64];
    snprintf(said, sizeof said, "Windows says %lu", GetLastError());
    return said;
}

bool plugin_try_each(const char *pattern, bool (*take)(const char *path)) {
    (void)pattern;
    (void)take;
    return false;
}
