#include "core/system/terminal.h"
#include <io.h>
#include <windows.h>

bool terminal_is_there(void) {
    return _isatty(2) != 0;
}

int terminal_columns(void) {
    CONSOLE_SCREEN_BUFFER_INFO said;
    if (!GetConsoleScreenBufferInfo(GetStdHandle(STD_ERROR_HANDLE), &said)) return 80;
    return said.srWindow.Right - said.srWindow.Left + 1;
}
