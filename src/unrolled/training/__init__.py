"""Training: objectives, losses, schedules, the run. Besides data/module.py, the only room that knows Lightning."""
