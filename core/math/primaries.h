/* Conversion of linear colours from other primaries to Rec. 709.
   Source: SMPTE RP 177, "Derivation of Basic Television Color Equations"; the Bradford transform of
           the white point from K. Lam's thesis (1985). */
#ifndef KD_CORE_MATH_PRIMARIES_H
#define KD_CORE_MATH_PRIMARIES_H
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef double colour_matrix[9]; /* row major; multiplies column vectors */

/* Chromaticities: x and y of red, green, blue and white. */
extern const double primaries_rec709[8];

/* Returns true if each chromaticity is that of Rec. 709, except for rounding to float. */
bool primaries_are_rec709(const double at[8]);
/* Compute the matrix from RGB with these chromaticities to XYZ, in which white has Y = 1; from XYZ
   to Rec. 709 without adaptation; from RGB with these chromaticities to Rec. 709, with the white
   point adapted, so that (1, 1, 1) remains white. Return false if the chromaticities do not define
   colours. */
bool primaries_to_xyz(colour_matrix out, const double at[8]);
bool primaries_from_xyz(colour_matrix out);
bool primaries_to_rec709(colour_matrix out, const double at[8]);

#ifdef __cplusplus
}
#endif
#endif
