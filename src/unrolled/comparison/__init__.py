"""Several runs compared, as compare.py shows them: groups over seeds, tables, significance, report."""
