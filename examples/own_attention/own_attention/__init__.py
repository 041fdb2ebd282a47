"""An example of an attention for unrolled in a package of its own."""
