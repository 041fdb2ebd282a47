"""Trained models as ONNX, for programs without PyTorch. Knows models, text and files; only it knows ONNX."""
