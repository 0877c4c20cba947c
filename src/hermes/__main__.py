"""`python -m hermes` and the console command."""

from hermes.apps.cli.main import main

if __name__ == "__main__":
    main()
