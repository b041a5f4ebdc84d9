# SPDX-License-Identifier: BSD-3-Clause
"""Writes what Fortran programs see: mpif.h and the modules mpi_constants, mpi and mpi_f08.

The modules have interfaces only: every procedure is a C function of libmpifort_abi, so that one
library serves all compilers. A choice buffer is an array of any type and rank. In mpi it is given by
its address, whatever the compiler has for that; in mpi_f08 by a descriptor (BIND(C), TYPE(*),
DIMENSION(..)), or by its address, for compilers that cannot do that.
"""
from procedures import HANDLES

KINDS = {'MPI_Aint': 'MPI_ADDRESS_KIND', 'MPI_Count': 'MPI_COUNT_KIND',
         'MPI_Offset': 'MPI_OFFSET_KIND'}
# How compilers are told not to check type, kind and rank of an argument.
UNCHECKED = ('!GCC$ ATTRIBUTES NO_ARG_CHECK :: %s', '!DIR$ IGNORE_TKR %s',
             '!DEC$ ATTRIBUTES NO_ARG_CHECK :: %s', '!$PRAGMA IGNORE_TKR %s',
             '!IBM* IGNORE_TKR %s')
TYPES = sorted(fortran for fortran, _, _ in HANDLES.values())


def integer(ctype):
    return f'integer(kind={KINDS[ctype]})' if ctype in KINDS else 'integer'


def fold(text, indent):
    """A statement in lines of at most 100 characters."""
    lines = []
    while len(indent) + len(text) > 100:
        cut = text.rfind(' ', 0, 98 - len(indent))
        lines.append(indent + text[:cut] + ' &')
        text = text[cut + 1:]
        indent = indent if len(lines) > 1 else indent + '    '
    return '\n'.join(lines + [indent + text])


class Interface:
    """The declaration of one procedure, X or X_c.

    `module` is 'mpi' or 'mpi_f08'; `by_array`: choice buffers are descriptors.
    """

    def __init__(self, procedure, module, large=False, by_array=False, prefix='', pointers=False):
        self.procedure, self.module, self.large = procedure, module, large
        self.by_array = by_array and any(p.form == 'buffer' for p in procedure.parameters)
        self.prefix, self.pointers = prefix, pointers
        self.is_f08 = module == 'mpi_f08'
        self.is_callback = procedure.is_callback or procedure.is_predefined
        self.arguments = procedure.arguments(large)

    @property
    def generic(self):
        name = self.prefix + self.procedure.mpi_name
        if self.large and (self.procedure.is_predefined or not self.procedure.is_overloaded()):
            name += '_c'
        return name

    @property
    def name(self):
        """The procedure's own name, of which the compiler makes the symbol."""
        name = self.prefix + self.procedure.mpi_name + ('_c' if self.large else '')
        if self.is_callback or not self.procedure.is_subroutine:
            return name
        if self.is_f08:
            return name + ('_f08ts' if self.by_array else '_f08')
        return name + ('_cptr' if self.pointers else '')

    def shape(self, p):
        if not p.is_array:
            return ''
        if '|' in p.length:
            length, width = p.length.split('|')
            return f'({width},{length})'
        return f'({p.length})'

    def intent(self, p):
        if self.is_callback or p.form in ('buffer', 'function', 'pointer') and not self.is_f08 or \
                p.form == 'function':
            return ''
        if not self.is_f08:
            return ', intent(in)' if p.direction == 'in' and p.form not in ('strings',
                                                                            'string_lists') else ''
        if not p.has_intent() or p.kind == 'STATUS' and p.direction == 'out':
            return ''
        if p.form == 'buffer' and not p.is_constant:
            return ''
        return f', intent({p.direction})'

    def lines(self, p):
        """The declaration of a parameter, with what the compilers are told of it."""
        form, name = p.form, p.name
        if form in ('buffer', 'detached') and not (form == 'detached' and self.is_f08):
            asynchronous = ', asynchronous' if p.is_asynchronous and self.is_f08 else ''
            if self.by_array:
                return [f'type(*), dimension(..){self.intent(p)}{asynchronous} :: {name}']
            return [f'type(*), dimension(*){self.intent(p)}{asynchronous} :: {name}'] + \
                [line % name for line in UNCHECKED]
        if form == 'function':
            if not self.is_f08:
                return [f'external :: {name}']
            suffix = '_c' if self.large and p.kind == 'POLYFUNCTION' else ''
            return [f'procedure({p.callback}{suffix}) :: {name}']
        optional = ', optional' if p.is_ierror and self.is_f08 and not self.is_callback else ''
        shape = self.shape(p)
        if form in ('status', 'integers_of_status') and (
                form == 'integers_of_status' or not self.is_f08 and p.kind == 'STATUS'):
            shape = '(MPI_STATUS_SIZE,*)' if p.is_array else '(MPI_STATUS_SIZE)'
        elif form == 'strings':
            shape = '(*)'
        elif form == 'string_lists':
            shape = f'({p.length},*)'
        return [f'{self.type(p)}{optional}{self.intent(p)} :: {name}{shape}']

    def type(self, p):
        form = p.form
        if form == 'handle':
            return f'type({HANDLES[p.kind][0]})' if self.is_f08 else 'integer'
        if form == 'logical':
            return 'logical'
        if form == 'status' and (self.is_f08 or p.kind == 'F08_STATUS'):
            return 'type(MPI_Status)'
        if form in ('pointer', 'detached'):
            value = ', value' if self.is_callback else ''
            if self.is_f08 or self.pointers:
                return 'type(c_ptr)' + value
            return 'integer(kind=MPI_ADDRESS_KIND)'
        if form in ('string', 'strings', 'string_lists'):
            is_sized = self.is_f08 and p.direction == 'out' and p.length
            return f'character(len={p.length})' if is_sized else 'character(len=*)'
        if form == 'state':
            return 'integer(kind=MPI_ADDRESS_KIND)'
        if form == 'integer':
            return integer(p.integer_type(self.large))
        return 'integer'

    def text(self, indent, abstract=False):
        procedure, inner = self.procedure, indent + '  '
        name = self.name if not abstract else procedure.mpi_name + ('_c' if self.large else '')
        symbol = f' bind(C, name="{self.name.lower()}")' if self.by_array else ''
        what = 'subroutine' if procedure.is_subroutine else 'function'
        names = ', '.join(p.name for p in self.arguments)
        lines = [fold(f'{what} {name}({names}){symbol}', indent), inner + 'import']
        for p in sorted(self.arguments, key=lambda p: p.is_array):  # lengths before arrays
            lines += [line if line.startswith('!') else fold(line, inner) for line in self.lines(p)]
        if what == 'function':
            ctype = 'double precision' if 'W' in name[len(self.prefix):][4:5] else \
                'integer(kind=MPI_ADDRESS_KIND)'
            lines.append(f'{inner}{ctype} :: {name}')
        return '\n'.join(lines + [f'{indent}end {what} {name}'])


def interfaces_of(procedure, module, by_array, prefix):
    """(generic name, interfaces) of a procedure: X and X_c, integers and pointers."""
    is_f08 = module == 'mpi_f08'
    all_of = [Interface(procedure, module, False, by_array, prefix)]
    if is_f08 and procedure.has_large and (
            procedure.is_predefined or procedure.is_overloaded() or
            any(p.kind == 'POLYFUNCTION' for p in procedure.parameters)):
        all_of.append(Interface(procedure, module, True, by_array, prefix))
    if not is_f08 and any(p.kind == 'C_BUFFER' for p in procedure.parameters):
        all_of.append(Interface(procedure, module, False, by_array, prefix, pointers=True))
    generics = {}
    for interface in all_of:
        generics.setdefault(interface.generic, []).append(interface)
    return generics


def interfaces(procedures, module, by_array):
    """The interfaces of a module's procedures, PMPI's too."""
    language = 'f08' if module == 'mpi_f08' else 'f90'
    parts = []
    for procedure in procedures:
        if not procedure.is_in(language) or procedure.is_callback or procedure.name == 'Sizeof':
            continue
        for prefix in ('',) if procedure.is_predefined else ('', 'P'):
            for generic, members in interfaces_of(procedure, module, by_array, prefix).items():
                is_alone = len(members) == 1 and members[0].name == generic
                parts.append('  interface' + ('' if is_alone else ' ' + generic))
                parts += [member.text('    ') for member in members]
                parts.append('  end interface')
    return '\n'.join(parts)


def sizeof(by_array):
    """MPI_SIZEOF: a descriptor tells the size; without one, a procedure for each type and rank."""
    if by_array:
        specifics = [('', 'type(*), dimension(..) :: x', 'mpi_sizeof_f08ts')]
    else:
        types = [(f'{name}{bytes_}', f'{name}({bytes_ // parts})', bytes_)
                 for name, parts, all_bytes in (('integer', 1, (1, 2, 4, 8)), ('real', 1, (4, 8)),
                                                ('logical', 1, (1, 2, 4, 8)),
                                                ('complex', 2, (8, 16)))
                 for bytes_ in all_bytes] + [('character', 'character', 1)]
        specifics = [(f'_{name}_{rank}',
                      f'{ftype} :: x' + (f'({"1," * (rank - 1)}*)' if rank else ''),
                      f'mpi_sizeof_{bytes_}')
                     for name, ftype, bytes_ in types for rank in range(8)]
    parts = []
    for prefix in ('', 'P'):
        parts.append(f'  interface {prefix}MPI_Sizeof')
        for suffix, x, symbol in specifics:
            parts.append(f'    subroutine {prefix}MPI_Sizeof{suffix or "_any"}(x, size, ierror) '
                         f'bind(C, name="{prefix.lower()}{symbol}")\n'
                         f'      {x}\n      integer, intent(out) :: size\n'
                         '      integer, optional, intent(out) :: ierror\n    end subroutine')
        parts.append('  end interface')
    return '\n'.join(parts)


def callbacks(procedures):
    """The abstract interfaces of mpi_f08."""
    parts = ['  abstract interface']
    for procedure in procedures:
        if procedure.is_callback and procedure.is_in('f08'):
            for large in (False, True) if procedure.has_large else (False,):
                parts.append(Interface(procedure, 'mpi_f08', large).text('    ', abstract=True))
    return '\n'.join(parts + ['  end interface'])


# Constants: (name, type, value) of constants.tsv.

def is_fortran(name, ctype):
    return not name.startswith(('MPI_T_', 'MPI_F_')) and '_function' not in ctype and '*' not in ctype


def resolved(constants):
    """The constants that Fortran has, aliases replaced by what they stand for."""
    values = {name: (ctype, value) for name, ctype, value in constants}
    for name, ctype, value in constants:
        if ctype == 'alias':
            ctype, value = values[value]
        if is_fortran(name, ctype):
            number = int(value, 0)
            if name.startswith('MPI_MAX_'):
                number -= 1  # C's have the final null character
            yield name, ctype, number


def integer_constants(constants):
    return '\n'.join(
        f'  {integer(ctype)}, parameter :: {name} = {number}'
        for name, ctype, number in resolved(constants) if ctype in ('int', 'MPI_Offset'))


def handle_constants(constants, is_f08):
    return '\n'.join(
        f'  type({ctype}), parameter :: {name} = {ctype}({number})' if is_f08 else
        f'  integer, parameter :: {name} = {number}'
        for name, ctype, number in resolved(constants) if ctype not in ('int', 'MPI_Offset'))


def fixed_form(constants):
    """The constants for mpif.h, which is included in fixed and in free form."""
    lines = []
    for name, ctype, number in resolved(constants):
        kind = 'integer(kind=MPI_OFFSET_KIND)' if ctype == 'MPI_Offset' else 'integer'
        lines += [f'      {kind} {name}', f'      parameter ({name}={number})']
    return '\n'.join(lines)


def handle_types():
    return '\n'.join(f'  type, bind(C) :: {name}\n    integer :: MPI_VAL\n  end type {name}'
                     for name in TYPES)


def operators():
    """Comparisons of handles; a generic name is an operator."""
    parts = []
    for sign, word in (('==', 'eq'), ('/=', 'ne')):
        parts.append(f'  interface operator({sign})')
        for name in TYPES:
            function = f'{name}_{word}'
            parts.append(f'    elemental logical function {function}(a, b)\n      import\n'
                         f'      type({name}), intent(in) :: a, b\n'
                         f'    end function {function}')
        parts.append('  end interface')
    return '\n'.join(parts)
