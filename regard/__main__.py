"""The program: `regard`, or `python -m regard`."""

import sys


def run() -> None:
    """Run the program. Ctrl-C while its modules are imported ends it without a traceback, too."""
    try:
        from regard.cli import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    run()
