"""`python -m evener`."""

from evener.cli.main import run

if __name__ == "__main__":
    run()
