"""Campaigns against the promises of docs/reliability.md. Each has a short form in the suite, and a long form by one
command; every case comes from a seed, so that a failure can be tried again."""
