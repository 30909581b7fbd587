/* Means of precomputed irradiance (precomputed_means.h), in the quick run: the kernels disc and
   cone within 0.4 %. */
#define ROUNDS 1
#define LAST_KERNEL PHOTON_KERNEL_CONE
#define BOUND 0.004
#include "precomputed_means.h"

int main(void) {
    return compare_all_means();
}
