"""Training: objectives, losses, schedules, the run. The room that knows Lightning.

Elsewhere only data/module.py does, and what sets up a training: configuration/build.py, api/training_job.py and
api/undisturbed.py.
"""
