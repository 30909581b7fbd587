/* How many cores this process may use. */
#ifndef KD_CORE_PARALLEL_CORES_H
#define KD_CORE_PARALLEL_CORES_H

/* Those of the affinity mask, or fewer where the control group (version 2) grants less time; at
   least 1. Found out once. */
int cores_count(void);

#endif
