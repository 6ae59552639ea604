"""Say in one sentence what is wrong with a file that cannot be read."""

from collections.abc import Iterator
from contextlib import contextmanager

from mixpul._util.errors import MixpulError, TableError
from mixpul.tables.opening import show_name

__all__ = ["explain_errors"]


@contextmanager
def explain_errors(name: str, form: str) -> Iterator[None]:
    """Turn what a reader says about a file it cannot read into a sentence."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowCancelled:
        raise KeyboardInterrupt from None  # Arrow catches Ctrl-C itself while it reads
    except MemoryError as error:  # Arrow's own is one, too
        raise TableError(
            f"{show_name(name)} does not fit into memory; read fewer columns or rows of it."
        ) from error
    except (FileNotFoundError, PermissionError, ImportError, MixpulError):
        raise
    # Readers of broken files raise whatever their code meets: errors of Arrow, of text, of lookups.
    except Exception as error:
        message = " ".join(str(error).split())[:200]
        raise TableError(f"{show_name(name)} is broken or not a {form} file: {message}") from error
