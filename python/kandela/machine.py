"""The machine: threads of the process, devices, and names of builders."""

from __future__ import annotations

import os
from typing import NamedTuple

from . import _c
from .checks import whole


class Device(NamedTuple):
    """A device that trees can be on."""

    id: str  #: what `device=` takes: "cpu", "cuda:0", ...
    name: str  #: such as "NVIDIA H200"
    memory: int  #: bytes


def devices() -> list[Device]:
    """List the devices: the CPU, then the CUDA devices.

    Returns
    -------
    list of Device

    Examples
    --------
    >>> import kandela
    >>> kandela.devices()[0].id
    'cpu'
    """
    return [Device(_c.kd_device_id(i), _c.kd_device_name(i), _c.kd_device_bytes(i))
            for i in range(_c.kd_device_count())]


def builders() -> dict[str, list[str]]:
    """List the names that `builder=` takes, besides "auto".

    Returns
    -------
    dict
        "points": for `Points` and `KDTree`; "triangles": for `TriangleMesh`.

    Examples
    --------
    >>> import kandela
    >>> kandela.builders()["points"]
    ['select', 'wald', 'brown', 'wehr', 'recursive']
    """
    return {"points": _c.kd_points_builders().split(), "triangles": _c.kd_triangles_builders().split()}


def set_num_threads(threads: int) -> None:
    """Set the number of threads that all later calls use; results do not depend on it.

    `threadpoolctl.threadpool_limits` sets it, too, if threadpoolctl is installed.

    Parameters
    ----------
    threads : int
        0: the default, the first number in OMP_NUM_THREADS, else the number of cores.

    Examples
    --------
    >>> import kandela
    >>> kandela.set_num_threads(1)
    >>> kandela.get_num_threads()
    1
    >>> kandela.set_num_threads(0)
    """
    _c.kd_threads_set(whole(threads, "threads", 0, 2**31 - 1))


def get_num_threads() -> int:
    """Return the number of threads that calls use.

    Examples
    --------
    >>> import kandela
    >>> kandela.get_num_threads() >= 1
    True
    """
    return _c.kd_threads()


def _register():
    """Make the threads known to threadpoolctl, if it is installed."""
    try:
        import threadpoolctl

        register = threadpoolctl.register  # from version 3.2 on
    except (ImportError, AttributeError):
        return

    class Controller(threadpoolctl.LibController):
        user_api = internal_api = "kandela"
        filename_prefixes = (os.path.basename(_c.__file__),)

        def __init__(self, *, filepath=None, **others):
            if not os.path.samefile(filepath, _c.__file__):
                raise OSError("a module of another package, which threadpoolctl then leaves out")
            super().__init__(filepath=filepath, **others)

        def get_num_threads(self):
            return _c.kd_threads()

        def set_num_threads(self, num_threads):
            _c.kd_threads_set(num_threads)

        def get_version(self):
            return _c.kd_version()

    register(Controller)


_register()
