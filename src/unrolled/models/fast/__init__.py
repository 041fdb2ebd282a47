"""Recurrences with a hand-written backward pass: the same functions as the plain loops, faster and in less memory."""
