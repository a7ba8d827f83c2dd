"""The command line: one file a command; heavy imports happen only when a command runs."""
