"""`python -m mixpul` is `mixpul`."""

from mixpul.cli import main

if __name__ == "__main__":
    main()
