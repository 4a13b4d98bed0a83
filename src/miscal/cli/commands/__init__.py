"""A function for each command: it parses, calls the library and prints."""
