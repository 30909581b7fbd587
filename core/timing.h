/* Wall-clock seconds, monotonic. */
#ifndef KD_CORE_TIMING_H
#define KD_CORE_TIMING_H
#ifdef __cplusplus
extern "C" {
#endif
double timing_now(void);
#ifdef __cplusplus
}
#endif
#endif
