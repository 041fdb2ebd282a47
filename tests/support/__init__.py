"""What tests share: running the scripts, runs and models to look at, and the equations again, written plainly."""
