"""`python -m hermes.compat PROGRAM`: run a program that imports old names."""

import sys

from hermes.config.environ import environment
from hermes.config.home import locate
from hermes.plugins.aliases import Guest, GuestLoader, PublishedNames


def main() -> None:
    """Run the program that the arguments name, with those after it."""
    del sys.argv[0]
    environ = environment()
    names = PublishedNames(Guest(home=locate(environ), environ=environ))
    GuestLoader("__main__", sys.argv[0], names).exec_module(sys.modules["__main__"])


if __name__ == "__main__":
    main()
