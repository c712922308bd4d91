"""`python -m exactik` is the command line."""

from exactik.cli import main

if __name__ == "__main__":
    main()
