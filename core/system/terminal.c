#include "core/system/terminal.h"
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_is_there(void) {
    return isatty(STDERR_FILENO);
}

int terminal_columns(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}
