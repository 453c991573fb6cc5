"""Errors of the fake."""


class RayError(Exception):
    pass


class WorkerCrashedError(RayError):
    pass
