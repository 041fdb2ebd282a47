"""What a trained run can do: translate, score, attend. Knows no Lightning."""
