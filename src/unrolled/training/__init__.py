"""Training: objectives, losses, schedules, the run itself. With data/module.py the only room that knows Lightning."""
