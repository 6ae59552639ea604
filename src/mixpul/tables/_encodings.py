"""How the letters of a text file are stored: checked if it is said, guessed if it is not."""

import codecs
import re

from mixpul._util.errors import TableError

__all__ = ["check_encoding", "find_mark", "guess_encoding"]

MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    # Before UTF-16, whose mark is the beginning of this one.
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Of files from older programs all over the world; the usual one comes first.
CANDIDATES = [
    "cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254",
    "cp932", "euc_jp", "gb18030", "big5", "cp949",
]  # fmt: skip
BYTES_OF_SAMPLE = 2**16
# How odd letters may look by charset-normalizer's measure, from 0 to 1, and what counts as equal.
MOST_ODD, SAME = 0.2, 0.02
# In text of western Europe: three such letters in a row, or a sign that a letter follows at once.
UNUSUAL = re.compile(r"[À-ÿ]{3}|\w[¢£¤¥¦§¨©ª«¬®¯±²³´¶¸¹º»¼½¾¿][^\W\d]|[a-zß-ÿ][À-ÞŠŒŽŸ]")
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def check_encoding(encoding: str) -> str:
    """Return the name by which Python knows an encoding of text."""
    try:
        found = codecs.lookup(encoding)
        # Python knows others, too, such as hex.
        if getattr(found, "_is_text_encoding", True) and found.incrementaldecoder is not None:
            return found.name
    except (LookupError, ValueError):
        pass
    raise TableError(
        f"There is no encoding {encoding!r} of text; common ones are utf-8, latin-1, cp1252 and "
        "utf-16."
    )


def find_mark(head: bytes) -> str | None:
    """Return the encoding that the first bytes tell: by their mark, or by zeros between letters."""
    for mark, encoding in MARKS.items():
        if head.startswith(mark):
            return encoding
    even, odd = head[: 2**12 : 2], head[1 : 2**12 : 2]
    for letters, zeros, encoding in ((even, odd, "utf-16-le"), (odd, even, "utf-16-be")):
        if zeros.count(0) > 0.6 * len(zeros) and letters.count(0) < 0.05 * len(letters):
            return encoding
    return None


def guess_encoding(piece: bytes) -> str | None:
    """Return the encoding of text that is not UTF-8; None if nothing fits well."""
    if len(CONTROL.findall(piece)) > 1e-3 * len(piece):
        return None  # not text at all
    lines = [line for line in re.split(rb"[\r\n]+", piece) if not line.isascii()]
    sample = b"\n".join(lines)
    if len(sample) > BYTES_OF_SAMPLE:
        # A letter of several bytes must not be cut.
        sample = sample[:BYTES_OF_SAMPLE].rpartition(b"\n")[0] or lines[0]
    try:
        western = sample.decode("cp1252")
    except UnicodeDecodeError:
        western = None
    try:
        import charset_normalizer
    except ImportError:
        n_high = sum(byte > 127 for byte in sample)
        is_usual = western is not None and len(UNUSUAL.findall(western)) <= 0.05 * n_high
        return "cp1252" if is_usual else None
    found = list(charset_normalizer.from_bytes(sample, cp_isolation=CANDIDATES))
    if not found or found[0].chaos > MOST_ODD:
        return None
    best = found[0]
    # What reads alike, or about as well, is most likely the usual encoding.
    if str(best) == western:
        return "cp1252"
    near = {match.encoding for match in found if match.chaos <= best.chaos + SAME}
    return "cp1252" if "cp1252" in near else str(best.encoding)
