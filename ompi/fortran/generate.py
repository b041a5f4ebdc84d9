#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the Fortran interfaces out of the tables of ompi/api/abi.

    by_address.c, by_array.c                       C functions, for libmpifort_abi
    mpif.h, mpi.f90, mpi_f08.f90                   of the templates *.in
    mpi_address.f90, mpi_f08_address.f90           the modules for compilers without assumed rank

Procedures that are written by hand are the files procedure_*.c; their interfaces are made here as
those of all others.
"""
import argparse
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
API = os.path.join(HERE, '..', 'api')
sys.path[:0] = [HERE, API]

import generate_f  # noqa: E402
from emit import fill, write_if_changed  # noqa: E402
from generate_c import Function  # noqa: E402
from procedures import read, read_table  # noqa: E402

BY_HAND = re.compile(
    r'Attr_(get|put)|(Comm|Type|Win)_(get|set)_attr|(Comm|Type|Win)_create_keyval|Keyval_create|'
    r'Op_create|\w+_create_errhandler|Grequest_start|Register_datarep|Comm_spawn(_multiple)?|'
    r'Pcontrol|Sizeof|F_sync_reg|Info_get(_string)?|Session_get_nth_pset|Status_(f2f08|f082f)')
NOTICE = '%s Made by ompi/fortran/generate.py out of the tables of ompi/api/abi.%s\n'


def spell(function):
    return f'SPELL({function.name}, {function.name.upper()})'


def generated(procedures):
    return [p for p in procedures if not p.is_callback and not p.is_predefined and
            not BY_HAND.fullmatch(p.name) and (p.is_in('f90') or p.is_in('f08'))]


def functions_by_address(procedures):
    """(function, further symbols)"""
    for procedure in generated(procedures):
        small = Function(procedure, False, False)
        differs = any(p.form == 'detached' for p in procedure.parameters)
        names = []
        if any(p.kind == 'C_BUFFER' for p in procedure.parameters):
            names.append(small.name + '_cptr')
        if procedure.is_in('f08') and procedure.is_subroutine and not differs:
            names.append(small.name + '_f08')
        yield small, names
        if procedure.is_in('f08') and differs:
            yield Function(procedure, False, False, is_f08=True), []
        if procedure.is_in('f08') and procedure.is_overloaded():
            yield Function(procedure, True, False), []


def by_address(procedures):
    parts = [NOTICE % ('/*', ' */'), '#include "ompi/fortran/fortran.h"\n']
    for function, names in functions_by_address(procedures):
        parts.append(function.text())
        parts.append(spell(function))
        for name in names:
            parts.append(f'SPELL_AS({function.name}, {name}, {name.upper()})')
        parts.append('')
    return '\n'.join(parts)


def by_array(procedures):
    parts = [NOTICE % ('/*', ' */'), '#include "ompi/fortran/fortran.h"\n'
             '#include "ompi/fortran/copy.h"\n#include "ompi/fortran/section.h"\n']
    for procedure in generated(procedures):
        if procedure.is_in('f08') and any(p.form == 'buffer' for p in procedure.parameters):
            for large in (False, True) if procedure.is_overloaded() else (False,):
                parts += [Function(procedure, large, True).text(), '']
    return '\n'.join(parts)


def expand(name, parts):
    with open(os.path.join(HERE, name), encoding='utf-8') as file:
        return re.sub(r'^ *@(\w+)@', lambda match: parts[match[1]](), file.read(), flags=re.MULTILINE)


def modules(procedures, constants):
    def parts(by_array):
        return {
            'NOTICE': lambda: (NOTICE % ('!', '')).rstrip(),
            'TYPES': generate_f.handle_types,
            'OPERATORS': generate_f.operators,
            'SIZEOF': lambda: generate_f.sizeof(by_array),
            'INTEGERS': lambda: generate_f.integer_constants(constants),
            'FIXED': lambda: generate_f.fixed_form(constants),
            'NUMBERS': lambda: generate_f.handle_constants(constants, False),
            'HANDLES': lambda: generate_f.handle_constants(constants, True),
            'CALLBACKS': lambda: generate_f.callbacks(procedures),
            'MPI': lambda: generate_f.interfaces(procedures, 'mpi', False),
            'MPI_F08': lambda: generate_f.interfaces(procedures, 'mpi_f08', by_array),
            'SUBARRAYS': lambda: '  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = ' +
                                 ('.true.' if by_array else '.false.'),
        }
    return {'mpif.h': expand('mpif.h.in', parts(False)),
            'mpi.f90': expand('mpi.f90.in', parts(True)),
            'mpi_address.f90': expand('mpi.f90.in', parts(False)),
            'mpi_f08.f90': expand('mpi_f08.f90.in', parts(True)),
            'mpi_f08_address.f90': expand('mpi_f08.f90.in', parts(False))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--out', required=True, help='the folder to write into')
    options = parser.parse_args()
    abi = os.path.join(API, 'abi')
    procedures = read(abi)
    constants = [tuple(row.values()) for row in read_table(abi, 'constants.tsv')]
    files = {'by_address.c': by_address(procedures), 'by_array.c': by_array(procedures),
             **modules(procedures, constants)}
    os.makedirs(options.out, exist_ok=True)
    for name, text in files.items():
        write_if_changed(os.path.join(options.out, name), text)


if __name__ == '__main__':
    main()
