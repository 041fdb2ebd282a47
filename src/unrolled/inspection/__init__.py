"""Inspecting attention: the record in a run folder, heat maps, and the page for a browser."""
