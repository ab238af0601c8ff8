"""The command line, and the files it reads and writes."""
