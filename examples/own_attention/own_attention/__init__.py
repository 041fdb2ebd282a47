"""An attention of one's own for unrolled."""
