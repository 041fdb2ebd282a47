"""Where curves go: metrics.csv always, Weights & Biases by choice."""
