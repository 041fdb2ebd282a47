"""Where curves are logged: always to metrics.csv, besides to Weights & Biases, TensorBoard, MLflow or others."""
