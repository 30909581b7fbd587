# Adds the toy kernel to a copy of kernels.h: its functions before the first that walks the list, its name in the list.
add_toy_kernel() { # FOLDER-OF-TOYS FILE
    sed -i -e 's/ROW(GAUSSIAN, gaussian)$/ROW(GAUSSIAN, gaussian) ROW(TOY, toy)/' \
        -e "/^#define KERNEL_SWITCH/e cat '$1/kernel_toy.h'" "$2"
}
