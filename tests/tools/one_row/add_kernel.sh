# Adds the toy kernel to a copy of kernels.h: its functions before the end, its name in the list.
add_toy_kernel() { # FOLDER-OF-TOYS FILE
    sed -i -e 's/ROW(GAUSSIAN, gaussian)$/ROW(GAUSSIAN, gaussian) ROW(TOY, toy)/' -e '$d' "$2"
    { cat "$1/kernel_toy.h" && echo '#endif'; } >>"$2"
}
