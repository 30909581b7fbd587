/* --- toy, for nightly_one_row.sh: 1 - s^2/2, the mean of disc and Epanechnikov ---------------- */

#define KERNEL_TOY_HALF(f) (0.5f * kernel_disc_##f + 0.5f * kernel_epanechnikov_##f)

KD_FN float kernel_toy_at(float s2) {
    return KERNEL_TOY_HALF(at(s2));
}
/* With KERNEL_TOY_FAULT one integral is wrong, which the tests of the table must detect. */
KD_FN float kernel_toy_sector(void) {
#ifdef KERNEL_TOY_FAULT
    return 0.5f;
#endif
    return KERNEL_TOY_HALF(sector());
}
KD_FN float kernel_toy_ball(void) {
    return KERNEL_TOY_HALF(ball());
}
KD_FN float kernel_toy_line(float s) {
    return KERNEL_TOY_HALF(line(s));
}
KD_FN float kernel_toy_reach(float s) {
    return (0.5f * kernel_disc_ball() * kernel_disc_reach(s) +
            0.5f * kernel_epanechnikov_ball() * kernel_epanechnikov_reach(s)) /
           kernel_toy_ball();
}
KD_FN float kernel_toy_own(float k) {
    return KERNEL_TOY_HALF(own(k));
}
KD_FN void kernel_toy_plane(kernel_plane *plane) {
    kernel_plane disc = *plane, other = *plane;
    kernel_disc_plane(&disc);
    kernel_epanechnikov_plane(&other);
    plane->sector = 0.5f * disc.sector + 0.5f * other.sector;
#ifdef KERNEL_TOY_FAULT
    plane->sector *= 1.1f;
#endif
}
KD_FN float kernel_toy_to_line(const kernel_plane *plane, float d, float from, float to,
                               float angle) {
    return KERNEL_TOY_HALF(to_line(plane, d, from, to, angle));
}
KD_FN bool kernel_toy_bent(const kernel_plane *plane) {
    (void)plane;
    return false;
}
