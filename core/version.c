#include <kandela/version.h>

const char *kd_version(void) {
    return KD_VERSION;
}
