"""The terminal UI; importing this package does not load Textual, its modules do."""
