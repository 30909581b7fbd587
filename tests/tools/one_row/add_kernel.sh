# Adds the toy kernel to a copy of kernels.h: its functions before KERNEL_SWITCH, which uses the
# list, and its name to the list.
add_toy_kernel() { # FOLDER-OF-TOYS FILE
    sed -i -e 's/ROW(GAUSSIAN, gaussian)$/ROW(GAUSSIAN, gaussian) ROW(TOY, toy)/' \
        -e "/^#define KERNEL_SWITCH/e cat '$1/kernel_toy.h'" "$2"
}
