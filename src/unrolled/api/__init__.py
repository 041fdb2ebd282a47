"""What `import unrolled` offers, and the commands call: load, train, compare and so on. Knows no command line."""
