"""n-gram language models: counts of a text, ways to estimate probabilities from them, and the model that they fill."""
