"""Several runs beside each other, as compare.py shows them."""
