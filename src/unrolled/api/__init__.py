"""What `import unrolled` offers, and the commands call: load, train, compare. Knows no command line."""
