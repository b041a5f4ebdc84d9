#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes page.c out of page.html, page.css and page.js: their lines as C strings.

usage: embed.py OUTPUT FILE...
"""
import os
import sys

HEAD = '''/* Made by tools/profile/embed.py. */
#include "tools/profile/page.h"

#include <stddef.h>
'''


def literal(line):
    return '"' + line.replace('\\', '\\\\').replace('"', '\\"') + '\\n",'


def array(path):
    name = 'page_' + os.path.basename(path).split('.')[1]
    with open(path, encoding='utf-8') as file:
        lines = file.read().splitlines()
    return '\n'.join([f'\nconst char *const {name}[] = {{', *map(literal, lines), 'NULL};', ''])


def main():
    output, *inputs = sys.argv[1:]
    with open(output, 'w', encoding='utf-8') as file:
        file.write(HEAD + ''.join(map(array, inputs)))


main()
