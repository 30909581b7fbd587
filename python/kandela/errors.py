"""Exceptions for the statuses of the C library. Each also derives from a built-in exception."""


class KandelaError(Exception):
    """Base class: a failure of the library, with the message of the C library."""


class RunError(KandelaError, RuntimeError):
    """A failure at run time, such as a full disk."""


class UsageError(KandelaError, ValueError):
    """An invalid argument or option."""


class InputError(KandelaError, ValueError):
    """Invalid data, such as a non-finite coordinate or a truncated file."""


class OutOfMemory(KandelaError, MemoryError):
    """Out of memory; the message says how many bytes were needed."""


class DeviceError(KandelaError, RuntimeError):
    """The device is absent or failed."""


class CheckError(KandelaError, RuntimeError):
    """A comparison or a check failed."""


class Interrupted(KandelaError, KeyboardInterrupt):
    """The computation was cancelled."""
