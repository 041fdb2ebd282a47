"""Training that ends because the machine is wanted back."""


class Preempted(SystemExit):
    """Training was saved and ended for whoever listens to SIGUSR2, as submitit does where a job's time is up."""
