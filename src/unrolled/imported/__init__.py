"""Checkpoints of dl4mt-tutorial and Theano-Nematus as ours; nothing in them is executed. Knows text and files."""
