"""Where curves are logged: always to metrics.csv, and also to Weights & Biases, TensorBoard, MLflow or others."""
