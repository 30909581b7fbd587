"""What the library's statuses raise. Each is a built-in kind of exception, too."""


class KandelaError(Exception):
    """Any failure of the library; its text is the C library's message."""


class RunError(KandelaError, RuntimeError):
    """Something failed while running: a full disk, a lost file."""


class UsageError(KandelaError, ValueError):
    """An argument that makes no sense."""


class InputError(KandelaError, ValueError):
    """Input that cannot be used: a coordinate that is not finite, a file that is cut."""


class OutOfMemory(KandelaError, MemoryError):
    """Not enough memory: the message says how much was needed."""


class DeviceError(KandelaError, RuntimeError):
    """The device is absent or failed."""


class CheckError(KandelaError, RuntimeError):
    """A comparison or check did not hold."""


class Interrupted(KandelaError, KeyboardInterrupt):
    """The work was interrupted."""
