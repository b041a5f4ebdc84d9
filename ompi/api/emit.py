# SPDX-License-Identifier: BSD-3-Clause
"""What the generators of C have in common: lines of a length, files that change only if they must."""
import os


def fill(start, items, end, indent):
    """start and the items, between commas, broken behind a comma before column 100."""
    *lines, line = start.split('\n')
    for number, item in enumerate(items, 1):
        piece = item + (', ' if number < len(items) else end)
        if len(line) + len(piece.rstrip()) > 100 and line.strip():
            lines.append(line.rstrip())
            line = indent
        line += piece
    return '\n'.join([*lines, line])


def write_if_changed(path, text):
    """Leaves an unchanged file alone, so that make builds only what depends on a change."""
    try:
        with open(path, encoding='utf-8') as file:
            if file.read() == text:
                return
    except FileNotFoundError:
        pass
    with open(path + '.new', 'w', encoding='utf-8') as file:
        file.write(text)
    os.replace(path + '.new', path)
