"""The command line: arguments, one-shot answers, and a module for each subcommand."""
