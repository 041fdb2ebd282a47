"""Where curves are logged: always to metrics.csv, optionally to Weights & Biases."""
