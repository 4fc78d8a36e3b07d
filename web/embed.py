#!/usr/bin/env python3
"""Makes a C++ source of the files below a folder: embed.py FOLDER OUTPUT (see page_files.h)."""

import gzip
import hashlib
import pathlib
import sys

# Longer literals are refused by some compilers; neighbours are joined.
PIECE = 4096


def literal(data: bytes) -> str:
    """Octal escapes end after three digits, so that no byte behind one can belong to it."""
    pieces = []
    for start in range(0, len(data), PIECE):
        text = "".join(
            chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
            for byte in data[start : start + PIECE]
        )
        pieces.append(f'"{text}"')
    return "\n    ".join(pieces) or '""'


def main() -> None:
    folder, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    if not any(path.relative_to(folder).as_posix() == "index.html" for path in paths):
        sys.exit(f"embed.py: {folder} has no index.html")
    data, table = [], []
    for number, path in enumerate(paths):
        plain = path.read_bytes()
        packed = gzip.compress(plain, compresslevel=9, mtime=0)
        packed = packed if len(packed) < len(plain) else b""
        name = path.relative_to(folder).as_posix()
        digest = hashlib.sha256(plain).hexdigest()[:32]
        data.append(f"constexpr char kPlain{number}[] =\n    {literal(plain)};")
        data.append(f"constexpr char kGzip{number}[] =\n    {literal(packed)};")
        table.append(
            f'    {{"{name}", {{kPlain{number}, sizeof kPlain{number} - 1}}, '
            f'{{kGzip{number}, sizeof kGzip{number} - 1}}, "{digest}"}},'
        )
    lines = [
        f"// Made by web/embed.py from {folder.name}/.",
        '#include "web/page_files.h"',
        "",
        "namespace plimsoll::web {",
        "namespace {",
        "",
        *data,
        "",
        "constexpr PageFile kFiles[] = {",
        *table,
        "};",
        "",
        "}  // namespace",
        "",
        "std::span<const PageFile> page_files() {",
        "  return kFiles;",
        "}",
        "",
        "}  // namespace plimsoll::web",
        "",
    ]
    text = "\n".join(lines)
    # What has not changed is not compiled again.
    if not output.exists() or output.read_text(encoding="ascii") != text:
        output.write_text(text, encoding="ascii")


main()
