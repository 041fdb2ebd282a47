"""Inspecting attention: the record in a run folder, heat maps, the page for a browser. Knows inference and figures."""
