/* Numbers that options of photon maps have where nobody sets them. */
#ifndef KD_PHOTON_MAPS_DEFAULTS_H
#define KD_PHOTON_MAPS_DEFAULTS_H

#define PHOTONS_DEFAULT 200000 /* stored in a map, to aim for */
#define GATHER_DEFAULT 50      /* photons of one estimate */
#define MAX_DEPTH_DEFAULT 32   /* surfaces that a path may meet */

#endif
