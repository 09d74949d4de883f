"""The one error of this package."""


class EngineUnavailable(RuntimeError):
    """An engine cannot be built or started; the message names the cure."""
