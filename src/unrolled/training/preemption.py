"""The end of a training that is preempted."""


class Preempted(SystemExit):
    """Training was saved and ended on SIGUSR2, which submitit sends when a job's time is up."""
