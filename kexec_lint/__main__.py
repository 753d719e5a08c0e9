"""`python -m kexec_lint`."""

from kexec_lint.cli import main

if __name__ == "__main__":
    main()
