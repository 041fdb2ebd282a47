"""Several runs compared, as compare.py shows them: groups over seeds, tables, significance, report.

Knows inspection, figures, metrics, data and runs; no torch, no training, no configuration.
"""
