"""One module per command: its function ``command`` parses, calls the library and prints."""
