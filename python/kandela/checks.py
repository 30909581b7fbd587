"""Checks of arguments. Each raises a TypeError or ValueError that names the argument."""

import operator

import numpy as np

from .arrays import framework


def whole(value, name, least, most=None):
    """Return an integer of at least `least` and, unless None, at most `most`."""
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"`{name}` is {value!r}; expected an integer") from None
    if value < least or (most is not None and value > most):
        raise ValueError(f"`{name}` is {value}; expected " + (f"at least {least}" if most is None else f"{least} to {most}"))
    return value


def not_negative(value, name):
    """Return a number of at least 0, or infinity, as a float."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        value = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` is {value!r}; expected a number") from None
    if not value >= 0:
        raise ValueError(f"`{name}` is {value:g}; expected at least 0")
    return value


def vectors(x, name):
    """Return real vectors, (n, 3) or (3,), as an array (n, 3)."""
    x = framework(x).host(x)
    if x.dtype.kind not in "fiu":
        raise TypeError(f"`{name}` is an array of {x.dtype}; expected real numbers")
    if x.ndim not in (1, 2) or x.shape[-1] != 3:
        raise ValueError(f"`{name}` has the shape {x.shape}; expected (n, 3)")
    return np.atleast_2d(x)
