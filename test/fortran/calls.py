#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes programs that call every procedure of the Fortran interfaces, and the C functions that
these calls must reach.

    calls_mpif.f90, calls_mpi.f90, calls_mpi_f08.f90
                  a module for each interface, with a subroutine for each procedure
    recorded.c    MPI_X for each, which stands before the library's: it compares what arrives with
                  what Fortran has given, and stores results, which Fortran compares

A procedure is called three times (`pass` in Fortran and in recorder.c):

    failing     C's function returns an error; strings are long
    plain       C's function succeeds
    constants   instead of variables MPI_BOTTOM, MPI_STATUS_IGNORE ...; predefined handles, handles
                that are null as results; logicals are the other way round; in mpi_f08 no ierror

Every value is made of the procedure and the place of the argument, so that it can be no other's.
Which procedures there are, and their arguments, say the tables of ompi/api/abi.
"""
import argparse
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..')
sys.path.insert(0, os.path.join(ROOT, 'ompi', 'fortran'))

from procedures import HANDLES, WIDTH, read, read_table  # noqa: E402

# No C function is behind these, so they are written by hand, in without_c.
WITHOUT_C = ('F_sync_reg', 'Sizeof', 'Status_f082f', 'Status_f2f08')
# X_c is in C alone: its Fortran arguments are those of X.
SAME_IN_FORTRAN = ('File_get_type_extent', 'Type_create_resized', 'Type_get_extent',
                   'Type_get_true_extent')

OBJECTS = 8  # of each kind, made by recorder.c
CART = OBJECTS - 1  # the communicator with a Cartesian topology of two dimensions
PREDEFINED = {'MPI_Comm': 'MPI_COMM_SELF', 'MPI_Datatype': 'MPI_INTEGER',
              'MPI_Errhandler': 'MPI_ERRORS_RETURN', 'MPI_File': 'MPI_FILE_NULL',
              'MPI_Group': 'MPI_GROUP_EMPTY', 'MPI_Info': 'MPI_INFO_ENV',
              'MPI_Message': 'MPI_MESSAGE_NO_PROC', 'MPI_Op': 'MPI_SUM',
              'MPI_Request': 'MPI_REQUEST_NULL', 'MPI_Session': 'MPI_SESSION_NULL',
              'MPI_Win': 'MPI_WIN_NULL'}

# Numbers that the library itself goes by.
NUMBERS = {('Comm_spawn', 'root'): 0, ('Comm_spawn_multiple', 'root'): 0,
           ('Waitsome', 'outcount'): 2, ('Testsome', 'outcount'): 2,
           ('Request_get_status_some', 'outcount'): 2, ('Info_get', 'valuelen'): 40}
# Lengths of strings, which have a null character more in C. What goes in, and what comes out.
STRING_LENGTHS = {('Info_get_string', 'buflen'): (40, 30),
                  ('Session_get_nth_pset', 'pset_len'): (40, 30)}
# The blanks at the beginning go, too.
TRIMMED = re.compile(r'Info_|Comm_spawn')
LONG = 300  # characters of a long string
CUT = 9  # characters that a short variable has
ARGUMENTS = ['one', 'two']  # of the commands of MPI_Comm_spawn
TRAMPOLINES = ('Grequest_start', 'Register_datarep')  # C gets functions of the library

class Call:
    """A procedure X or X_c in an interface: 'mpif', 'mpi' or 'mpi_f08'."""

    def __init__(self, number, procedure, large, interface):
        self.number, self.procedure, self.large = number, procedure, large
        self.is_f08, self.interface = interface == 'mpi_f08', interface
        self.arguments = procedure.arguments(large)
        self.mpi_name = procedure.mpi_name + ('_c' if large else '')
        # X_c is called by the generic name, but where it differs in a procedure alone.
        self.fortran_name = procedure.mpi_name if procedure.is_overloaded() else self.mpi_name
        self.error = 1000 + number
        self.lengths = {}
        for p in self.arguments:
            length = p.length and p.length.split('|')[0]
            if p.form != 'string' and length and length != '*' and length not in self.lengths:
                self.lengths[length] = 2 + len(self.lengths)
        self.places = {}  # the first object of a handle, by argument and whether it comes out
        used = {}
        for p in self.arguments:
            if p.form == 'handle':
                for is_out in {'in': (False,), 'out': (True,), 'inout': (False, True)}[p.direction]:
                    first = used.get(p.kind, 0)
                    used[p.kind] = first + (self.length(p) if p.is_array else 1)
                    self.places[p.name, is_out] = first
                    if used[p.kind] > OBJECTS:
                        raise ValueError(f'{self.mpi_name}: needs more than {OBJECTS} {p.kind}')
        buffers = [p.name for p in self.arguments if p.form == 'buffer']
        self.buffers = {name: i for i, name in enumerate(buffers)}
        functions = [p.name for p in self.arguments if p.form == 'function']
        self.functions = {name: i for i, name in enumerate(functions)}

    # Facts of an argument.

    def length(self, p):
        if p.length and '|' in p.length:
            return self.lengths[p.length.split('|')[0]] * int(p.length.split('|')[1])
        if p.length != '*':
            return self.lengths[p.length]
        is_from_out = 'eighbor_alltoallw' in self.procedure.name and p.name.startswith('send')
        return 3 if is_from_out else 2  # recorder.c's graph has 2 edges in and 3 out

    def width(self, p):
        if p.form == 'state':
            return 8
        return WIDTH[p.integer_type(self.large)] if p.form == 'integer' else 4

    def value(self, p, is_out=None):
        """The number that an argument has in Fortran; elements of arrays follow it."""
        key = (self.procedure.name, p.name)
        is_out = p.direction == 'out' if is_out is None else is_out
        if key in STRING_LENGTHS:
            return STRING_LENGTHS[key][is_out]
        if key in NUMBERS:
            return NUMBERS[key]
        if p.name in self.lengths:
            return self.lengths[p.name]
        place = self.procedure.parameters.index(p)
        value = self.number * 1000 + self.large * 500 + place * 20 + is_out * 10 + 1
        return value + (2**40 if self.width(p) == 8 else 0)

    def is_true(self, p):
        """A logical, or the first one of an array, in the passes before the last."""
        logicals = [q.name for q in self.arguments if q.form == 'logical']
        return logicals.index(p.name) % 2 == 0

    def object(self, p, element=0, is_out=False):
        if self.procedure.name == 'Cart_sub' and p.kind == 'COMMUNICATOR' and not is_out:
            return CART
        return self.places[p.name, is_out] + element

    @property
    def has_result_flag(self):
        """A flag says whether there is a value: true in the pass plain, false with constants."""
        return 'get_attr' in self.procedure.name or \
            self.procedure.name in ('Attr_get', 'Info_get', 'Info_get_string')

    @property
    def needs_objects(self):
        """The library needs objects, or what a communicator says: they are never predefined."""
        return bool(self.functions) or 'attr' in self.procedure.name.lower() or \
            'spawn' in self.procedure.name or \
            any(p.is_array and p.length == '*' and p.form in ('handle', 'logical')
                for p in self.arguments)

    @property
    def is_in_place(self):
        """Whether a sendbuf may be MPI_IN_PLACE."""
        return 'eighbor' not in self.procedure.name

    def is_outcount(self, p):
        """The length of an array of indices, MPI_UNDEFINED in the pass with constants."""
        return p.name == 'outcount' and 'some' in self.procedure.name

    def buffer_constant(self, p):
        """The constant that takes the place of a buffer."""
        if 'ttach_buffer' in self.procedure.name or self.procedure.name == 'Buffer_attach':
            return 'MPI_BUFFER_AUTOMATIC'
        return 'MPI_IN_PLACE' if p.name == 'sendbuf' and self.is_in_place else 'MPI_BOTTOM'

    def weights_constant(self, p):
        return 'MPI_WEIGHTS_EMPTY' if p.name == 'destweights' else 'MPI_UNWEIGHTED'

    def predefined_callback(self, p):
        """The constant that takes the place of a function, or None."""
        name = p.callback
        kind = name.split('_')[1].upper()
        kind = '' if kind in ('COPY', 'DELETE') else kind + '_'
        if name.endswith(('copy_attr_function', 'Copy_function')):
            return f'MPI_{kind}DUP_FN'
        if name.endswith(('delete_attr_function', 'Delete_function')):
            return f'MPI_{kind}NULL_DELETE_FN'
        if 'conversion' in name:
            return 'MPI_CONVERSION_FN_NULL' + ('_C' if self.large else '')
        return None

    def text(self, p):
        blanks = '  ' if p.form == 'string' and p.direction == 'in' else ''
        return f'{blanks}{self.procedure.name} {p.name}'


def objects_of(p):
    """The array of the objects of a handle's kind, in C and in Fortran."""
    return HANDLES[p.kind][0][4:].lower() + 's'


# -- C --------------------------------------------------------------------------------------------


class Recorded:
    """The C function of a call. A method for each form of arguments writes the statements that
    compare and store."""

    def __init__(self, call, prototype):
        self.call, self.prototype = call, prototype
        self.lines = []
        for p in call.procedure.parameters:
            declared = p.c_types[call.large]
            if declared is None or p.is_ierror or p.kind == 'VARARGS':
                continue
            name = re.search(r'(\w+)(\[\w*\])*$', declared)[1]
            if p not in call.arguments:  # what main() is given
                self.add(f'expect_integer("{p.name}", 0, (intptr_t){name});')
            else:
                getattr(self, p.form)(p, name, declared)

    def add(self, statement):
        self.lines.append(statement)

    def add_unless_constants(self, statement):
        self.add(f'if (pass != CONSTANTS)\n        {statement}')

    def add_either(self, p, name, constant, *statements):
        """In the pass with constants the argument is one; the statements are for the others."""
        self.add(f'if (pass == CONSTANTS)\n        expect_pointer("{p.name}", {constant}, {name});')
        for statement in statements:
            self.add_unless_constants(statement)

    def integer(self, p, name, declared):
        call = self.call
        more = (call.procedure.name, p.name) in STRING_LENGTHS
        if p.is_array:
            flat = f'&{name}[0][0]' if '[3]' in declared else name
            if p.direction != 'out':
                self.add(f'EXPECT_INTEGERS("{p.name}", {call.value(p, False)}, {flat}, '
                         f'{call.length(p)});')
            store = f'STORE_INTEGERS({flat}, {call.value(p, True)}, {call.length(p)});'
            if p.name == 'array_of_errcodes':
                self.add_either(p, name, 'MPI_ERRCODES_IGNORE', store)
            elif p.direction != 'in':
                self.add(store)
            return
        if p.direction != 'out':
            star = '*' if '*' in declared else ''
            self.add(f'expect_integer("{p.name}", {call.value(p, False) + more}, {star}{name});')
        if call.is_outcount(p):
            self.add(f'*{name} = pass == CONSTANTS ? MPI_UNDEFINED : 2;')
        elif p.direction != 'in':
            self.add(f'*{name} = {call.value(p, True) + more};')

    def index(self, p, name, _):
        value = self.call.value(p) - 1  # C counts from 0
        if p.is_array:
            self.add_unless_constants(f'STORE_INTEGERS({name}, {value}, 2);')
        else:
            self.add(f'*{name} = pass == CONSTANTS ? MPI_UNDEFINED : {value};')

    def logical(self, p, name, _):
        is_true = int(self.call.is_true(p))
        count = self.call.length(p) if p.is_array else 1
        if p.direction == 'in':
            flags = name if p.is_array else '&' + name
            self.add(f'expect_flags("{p.name}", {is_true}, {flags}, {count});')
        else:
            self.add(f'store_flags({name}, {is_true}, {count});')

    def handle(self, p, name, declared):
        call = self.call
        fortran, _, null = HANDLES[p.kind]
        objects = objects_of(p)
        if p.is_array:
            self.handles(p, name)
            return
        found = '*' + name if re.search(r'\* *\w+$', declared) else name
        if p.direction != 'out':
            expect = f'EXPECT_HANDLE("{p.name}", {objects}, {call.object(p)}, {found});'
            if p.direction == 'in' and not call.needs_objects:
                self.add_either(p, found, PREDEFINED[fortran], expect)
            else:
                self.add(expect)
        if p.direction != 'in':
            value = f'{objects}[{call.object(p, 0, True)}]'
            self.add(f'*{name} = {value};' if call.needs_objects else
                     f'*{name} = pass == CONSTANTS ? {null} : {value};')

    def handles(self, p, name):
        call, objects = self.call, objects_of(p)
        # With MPI_IN_PLACE the types of what is sent do not matter.
        add = self.add_unless_constants if p.name == 'sendtypes' and call.is_in_place else self.add
        if p.direction != 'out':
            for element in range(call.length(p)):
                add(f'EXPECT_HANDLE("{p.name}", {objects}, {call.object(p, element)}, '
                    f'{name}[{element}]);')
        if p.direction != 'in':
            for element in range(call.length(p)):
                add(f'{name}[{element}] = {objects}[{call.object(p, element, True)}];')

    def status(self, p, name, _):
        call = self.call
        store = f'store_statuses({name}, {call.value(p, True)}, {2 if p.is_array else 1});'
        if p.direction == 'out':
            self.add_either(p, name, 'MPI_STATUSES_IGNORE' if p.is_array else 'MPI_STATUS_IGNORE',
                            store)
            return
        self.add(f'expect_status("{p.name}", {call.value(p, False)}, {name});')
        if p.direction == 'inout':
            self.add(store)

    def buffer(self, p, name, _):
        call = self.call
        self.add(f'expect_buffer("{p.name}", {call.buffers[p.name]}, {call.buffer_constant(p)}, '
                 f'{name});')

    def pointer(self, p, name, _):
        self.add(f'*(void **){name} = (void *){self.call.value(p)};')

    detached = pointer

    def weights(self, p, name, _):
        call, count = self.call, self.call.length(p)
        self.add_either(
            p, name, call.weights_constant(p),
            f'EXPECT_INTEGERS("{p.name}", {call.value(p)}, {name}, {count});'
            if p.direction == 'in' else f'STORE_INTEGERS({name}, {call.value(p)}, {count});')

    def string(self, p, name, _):
        call = self.call
        if p.direction == 'in':
            text = call.text(p)
            text = text.lstrip() if TRIMMED.match(call.procedure.name) else text
            self.add(f'expect_text("{p.name}", "{text}", {name});')
        else:
            self.add(f'strcpy({name}, "{call.text(p)}");')

    def strings(self, p, name, _):
        if p.name == 'argv':
            self.add_either(p, name, 'MPI_ARGV_NULL', f'expect_argv("{p.name}", 0, {name});')
            return
        for element, text in enumerate(ARGUMENTS):
            self.add(f'expect_string("{p.name}", "{text}", {name}[{element}]);')

    def string_lists(self, p, name, _):
        self.add_either(p, name, 'MPI_ARGVS_NULL',
                        *[f'expect_argv("{p.name}", {element}, {name}[{element}]);'
                          for element in range(self.call.length(p))])

    def function(self, p, name, _):
        call = self.call
        expect = f'expect_function("{p.name}", {call.functions[p.name]}, (function_t *){name});'
        if call.procedure.name in TRAMPOLINES:
            expect = f'expect_integer("{p.name}", 1, {name} != NULL);'
        constant = call.predefined_callback(p)
        if constant is None:
            self.add(expect)
        else:
            self.add_either(p, name, constant, expect)

    def state(self, p, name, _):
        value = self.call.value(p)
        if self.call.procedure.name in TRAMPOLINES:
            self.add(f'expect_integer("{p.name}", 1, {name} != NULL);')
        elif p.direction == 'in':
            self.add(f'expect_integer("{p.name}", {value}, (intptr_t){name});')
        else:
            self.add(f'*(void **){name} = (void *){value};')

    old_state = state

    def text(self):
        call, short = self.call, self.call.mpi_name[4:]
        returns, arguments = self.prototype['returns'], self.prototype['arguments']
        names = [] if arguments == 'void' else re.findall(r'(\w+)(?:\[\w*\])*(?:, |$)', arguments)
        result = 'outcome()' if call.procedure.is_subroutine else str(call.number)
        return '\n'.join([f'{returns} RECORDED({short})({arguments})', '{',
                          f'    if (!has_arrived("{call.mpi_name}"))',
                          f'        return OTHERWISE({short}, ({", ".join(names)}));',
                          *['    ' + line for line in self.lines],
                          f'    return {result};', '}'])


# -- Fortran --------------------------------------------------------------------------------------


def fold(statement):
    """In lines of at most 100 characters, broken behind commas."""
    lines, indent = [], re.match(' *', statement)[0] + '    '
    while len(statement) > 100:
        cut = statement.rindex(', ', 0, 97) + 2
        lines.append(statement[:cut] + '&')
        statement = indent + statement[cut:]
    return '\n'.join(lines + [statement])


class Subroutine:
    """The subroutine of a call."""

    def __init__(self, call):
        self.call, self.is_f08 = call, call.is_f08
        self.declarations, self.before, self.after = [], [], []
        self.variables, self.constants = [], []  # the actual arguments
        for p in call.arguments:
            if not p.is_ierror:
                getattr(self, p.form)(p)

    def actual(self, variable, constant=None):
        self.variables.append(variable)
        self.constants.append(constant if constant is not None else variable)

    def expect(self, p, wanted, found, is_constant=False):
        """Compares a result; `is_constant`: there is none in the pass with constants."""
        guard = 'if (pass == plain) ' if is_constant else ''
        self.after.append(f"{guard}call got('{p.name}', {wanted}, {found})")

    def literal(self, p, value):
        return f'{value}_wide' if self.call.width(p) == 8 else str(value)

    def literals(self, p, value, count):
        return '[' + ', '.join(self.literal(p, value + i) for i in range(count)) + ']'

    def kind(self, p):
        return 'integer(wide)' if self.call.width(p) == 8 else 'integer'

    def integer(self, p):
        call = self.call
        if p.direction == 'in':
            value = call.value(p)
            if not p.is_array:
                self.actual(self.literal(p, value))
            elif '|' in p.length:
                width = p.length.split('|')[1]
                rows = call.length(p) // int(width)
                values = self.literals(p, value, call.length(p))
                self.actual(f'reshape({values}, [{width}, {rows}])')
            else:
                self.actual(self.literals(p, value, call.length(p)))
            return
        constant = 'MPI_ERRCODES_IGNORE' if p.name == 'array_of_errcodes' else None
        self.actual(p.name, constant)
        count = call.length(p) if p.is_array else 1
        shape = f'({count})' if p.is_array else ''
        self.declarations.append(f'{self.kind(p)} :: {p.name}{shape}')
        start, end = call.value(p, False), call.value(p, True)
        self.before.append(f'{p.name} = ' + (
            '-1' if p.direction == 'out' else
            self.literals(p, start, count) if p.is_array else self.literal(p, start)))
        if call.is_outcount(p):
            self.expect(p, 'merge(2, MPI_UNDEFINED, pass == plain)', p.name)
        else:
            self.expect(p, self.literals(p, end, count) if p.is_array else self.literal(p, end),
                        p.name, constant is not None or call.has_result_flag)

    def index(self, p):
        self.actual(p.name)
        value = self.call.value(p)
        self.declarations.append(f'integer :: {p.name}' + ('(2)' if p.is_array else ''))
        self.before.append(f'{p.name} = -1')
        self.expect(p, f'[{value}, {value + 1}]' if p.is_array else
                    f'merge({value}, MPI_UNDEFINED, pass == plain)', p.name, p.is_array)

    def logical(self, p):
        is_true = self.call.is_true(p)
        count = self.call.length(p) if p.is_array else 1
        first = [f'.{str(is_true == (i % 2 == 0)).lower()}.' for i in range(count)]
        other = [f'.{str(is_true != (i % 2 == 0)).lower()}.' for i in range(count)]
        if p.direction == 'in':
            self.actual('[' + ', '.join(first) + ']' if p.is_array else first[0],
                        '[' + ', '.join(other) + ']' if p.is_array else other[0])
            return
        self.actual(p.name)
        self.declarations.append(f'logical :: {p.name}' + (f'({count})' if p.is_array else ''))
        for i in range(count):
            element = f'{p.name}({i + 1})' if p.is_array else p.name
            self.before.append(f'{element} = (pass == plain) .neqv. {first[i]}')
            self.expect(p, f'(pass == constants) .neqv. {first[i]}', element)

    def handle(self, p):
        call, fortran = self.call, HANDLES[p.kind][0]
        objects = objects_of(p)
        if p.is_array:
            self.handles(p, fortran, objects)
            return
        has_null = not call.needs_objects
        if p.direction == 'in':
            self.actual(f'{objects}({call.object(p) + 1})',
                        PREDEFINED[fortran] if has_null else None)
            return
        self.actual(p.name)
        self.declarations.append((f'type({fortran})' if self.is_f08 else 'integer') +
                                 f' :: {p.name}')
        if p.direction == 'inout':
            self.before.append(f'{p.name} = {objects}({call.object(p) + 1})')
        else:
            self.before.append(f'{p.name}{self.of_handle} = -1')
        wanted = f'{objects}({call.object(p, 0, True) + 1}){self.of_handle}'
        if has_null:
            wanted = f'merge({wanted}, {HANDLES[p.kind][2]}{self.of_handle}, pass == plain)'
        self.expect(p, wanted, p.name + self.of_handle)

    def handles(self, p, fortran, objects):
        call = self.call
        count, first = call.length(p), (p.name, False) in call.places and call.object(p) + 1
        if p.direction == 'in':
            self.actual(f'{objects}({first}:{first + count - 1})')
            return
        self.actual(p.name)
        self.declarations.append((f'type({fortran})' if self.is_f08 else 'integer') +
                                 f' :: {p.name}({count})')
        if p.direction == 'inout':
            self.before.append(f'{p.name} = {objects}({first}:{first + count - 1})')
        end = call.object(p, 0, True) + 1
        self.expect(p, f'{objects}({end}:{end + count - 1}){self.of_handle}',
                    p.name + self.of_handle)

    @property
    def of_handle(self):
        """What of a handle is its number."""
        return '%MPI_VAL' if self.is_f08 else ''

    def status(self, p):
        value, count = self.call.value(p, False), 2 if p.is_array else 1
        if p.direction != 'out':
            constant = None
        else:
            constant = 'MPI_STATUSES_IGNORE' if p.is_array else 'MPI_STATUS_IGNORE'
        self.actual(p.name, constant)
        self.declarations.append(self.status_declaration(p.name, '2' if p.is_array else ''))
        for i in range(count):
            element = str(i + 1) if p.is_array else ''
            for place, field in enumerate(('MPI_SOURCE', 'MPI_TAG', 'MPI_ERROR')):
                name = self.status_field(p.name, element, field)
                if p.direction != 'out':
                    self.before.append(f'{name} = {value + place}')
                if p.direction != 'in':
                    end = self.call.value(p, True)
                    self.expect(p, end + 3 * i + place, name, constant is not None)

    def status_declaration(self, name, count):
        if self.is_f08:
            return f'type(MPI_Status) :: {name}' + (f'({count})' if count else '')
        return f'integer :: {name}(MPI_STATUS_SIZE' + (f', {count})' if count else ')')

    def status_field(self, name, element, field):
        if self.is_f08:
            return name + (f'({element})' if element else '') + '%' + field
        return f'{name}({field}' + (f', {element})' if element else ')')

    def buffer(self, p):
        self.actual(f'buffers(:, {self.call.buffers[p.name] + 1})', self.call.buffer_constant(p))

    def pointer(self, p):
        if self.is_f08:
            self.actual(p.name)
            self.declarations.append(f'type(c_ptr) :: {p.name}')
            self.before.append(f'{p.name} = c_null_ptr')
            self.expect(p, f'{self.call.value(p)}_wide', f'transfer({p.name}, 0_wide)')
            return
        # mpi has a procedure for type(c_ptr), too.
        self.declarations.append(f'integer(wide) :: {p.name}')
        self.before.append(f'{p.name} = -1')
        self.actual(p.name, 'pointer' if self.call.interface == 'mpi' else None)
        self.expect(p, f'{self.call.value(p)}_wide', p.name, self.call.interface == 'mpi')
        if self.call.interface == 'mpi':
            self.declarations.append('type(c_ptr) :: pointer')
            self.after.append(f"if (pass == constants) call got('{p.name}', "
                              f'{self.call.value(p)}_wide, transfer(pointer, 0_wide))')

    def detached(self, p):
        if self.is_f08:
            self.pointer(p)
            return
        # Nothing comes back.
        self.declarations.append(f'integer :: {p.name}(2)')
        self.before.append(f'{p.name} = -1')
        self.actual(p.name)
        self.expect(p, '[-1, -1]', p.name)

    def weights(self, p):
        call, count = self.call, self.call.length(p)
        values = '[' + ', '.join(str(call.value(p) + i) for i in range(count)) + ']'
        if p.direction == 'in':
            self.actual(values, call.weights_constant(p))
            return
        self.actual(p.name, call.weights_constant(p))
        self.declarations.append(f'integer :: {p.name}({count})')
        self.before.append(f'{p.name} = -1')
        self.expect(p, values, p.name, True)

    def string(self, p):
        text = self.call.text(p)
        if p.direction == 'in':
            self.declarations.append(f'character(len={LONG}) :: {p.name}')
            self.before.append(f"call set_text(pass, '{text}', {p.name})")
            self.actual(p.name)
            return
        is_sized = self.is_f08 and p.length.startswith('MPI_')
        size = p.length if p.length.startswith('MPI_') else '80'
        self.declarations.append(f'character(len={size}) :: {p.name}')
        self.before.append(f"{p.name} = repeat('#', len({p.name}))")
        self.actual(p.name, None if is_sized else f'{p.name}(:{CUT})')
        cut = 0 if self.call.has_result_flag else CUT
        used = f'len({p.name})' if is_sized else f'merge(len({p.name}), {cut}, pass == plain)'
        self.after.append(f"call got_text('{p.name}', '{text}', {p.name}, {used})")

    def strings(self, p):
        if p.name != 'argv':
            texts = ', '.join(f"'{text:5}'" for text in ARGUMENTS)
            self.actual(f'[{texts}]')
        else:
            texts = ', '.join(f"'{text:5}'" for text in (*ARGUMENTS, ''))
            self.actual(f'[{texts}]', 'MPI_ARGV_NULL')

    def string_lists(self, p):
        """argv(command, place); each command has a blank string at the end."""
        count = self.call.length(p)
        rows = [f"'{text + str(i or ''):5}'" if text else "'     '"
                for text in (*ARGUMENTS, '') for i in range(count)]
        self.actual(f'reshape([{", ".join(rows)}], [{count}, {len(ARGUMENTS) + 1}])',
                    'MPI_ARGVS_NULL')

    def function(self, p):
        call = self.call
        suffix = '_c' if call.large and p.kind == 'POLYFUNCTION' else ''
        name = 'my_' + p.callback[4:].lower() + suffix
        self.before.append(f'functions({call.functions[p.name] + 1}) = c_funloc({name})')
        self.actual(name, call.predefined_callback(p))

    def state(self, p):
        if p.direction == 'in':
            self.actual(self.literal(p, self.call.value(p)))
            return
        self.declarations.append(f'{self.kind(p)} :: {p.name}')
        self.before.append(f'{p.name} = -1')
        self.actual(p.name)
        self.expect(p, self.literal(p, self.call.value(p)), p.name, True)

    old_state = state

    @property
    def name(self):
        return 'call_' + self.call.mpi_name[4:].lower()

    def function_text(self, prefix):
        """The text for a function with a result."""
        call = self.call
        kind = 'wide' if call.procedure.returns in ('DISPLACEMENT', 'LOCATION_SMALL') else '8'
        found = f'{prefix}{call.fortran_name}({", ".join(self.variables)})'
        found = f'real({found}, 8)' if kind == '8' else found
        number = f'{call.number}_wide' if kind == 'wide' else f'{call.number}d0'
        return [f"    call begin('{prefix}{call.mpi_name}', 0, constants)",
                f"    call got('result', {number}, {found})", '    call finish(0)']

    def text(self, prefix):
        call = self.call
        head = [f'  subroutine {self.name}']
        if not call.procedure.is_subroutine:
            return '\n'.join([*head, *self.function_text(prefix), f'  end subroutine {self.name}'])
        has_ierror = any(p.is_ierror for p in call.arguments)
        first = self.variables + ['ierror'] * has_ierror
        last = self.constants + ['ierror'] * (has_ierror and not self.is_f08)
        name = prefix + call.fortran_name
        lines = [f"call begin('{prefix}{call.mpi_name}', {call.error if has_ierror else 0}, pass)",
                 *self.before, 'if (pass /= constants) then',
                 f'  call {name}({", ".join(first)})', 'else',
                 f'  call {name}({", ".join(last)})', 'end if',
                 f"call finish({'ierror' if has_ierror else '0'})"]
        if self.after:
            lines += ['if (pass == failing) cycle', *self.after]
        ierror = ['    integer :: pass' + (', ierror' if has_ierror else '')]
        start = ['ierror = 0'] if has_ierror else []
        body = [*ierror, *['    ' + line for line in self.declarations],
                '    do pass = failing, constants', *['      ' + line for line in start + lines],
                '    end do']
        return '\n'.join([*head, *[fold(line) for line in body],
                          f'  end subroutine {self.name}'])


def without_c(name, interface, prefix):
    """The subroutine of a procedure that has no C function: what it returns is compared alone."""
    is_f08 = interface == 'mpi_f08'
    integers = 'integer :: f_status(MPI_STATUS_SIZE)'
    # mpif.h lacks the type, so there it is the integers of the status.
    status = 'integer :: f08_status(MPI_STATUS_SIZE)' if interface == 'mpif' else \
        'type(MPI_Status) :: f08_status'
    fields = [('f_status(%s)' % field, ('f08_status(%s)' if interface == 'mpif' else
                                        'f08_status%%%s') % field)
              for field in ('MPI_SOURCE', 'MPI_TAG', 'MPI_ERROR')]
    if name.startswith('Status_'):
        to = 1 if name == 'Status_f2f08' else 0
        arguments = 'f_status, f08_status' if to else 'f08_status, f_status'
        declared = [integers, status]
        before = [f'{both[1 - to]} = {place}' for place, both in enumerate(fields, 1)]
        after = [f"call got('{both[to]}', {place}, {both[to]})"
                 for place, both in enumerate(fields, 1)]
    elif name == 'Sizeof':
        arguments, declared, before = 'x, size', ['real(8) :: x(3)', 'integer :: size'], []
        after = ["call got('size', 8, size)"]
    else:  # it has no ierror
        arguments, declared, before, after = 'buffers(:, 1)', [], [], []
    calls = [f'call {prefix}MPI_{name}({arguments}{"" if name == "F_sync_reg" else ", ierror"})']
    if is_f08 and name != 'F_sync_reg':
        calls.append(f'call {prefix}MPI_{name}({arguments})')
    lines = ['integer :: ierror', *declared]
    for call in calls:
        lines += ["call begin('', 0, plain)", 'ierror = 0', *before, call,
                  f"call finish_without_c('{prefix}MPI_{name}', ierror)", *after]
    return '\n'.join([f'  subroutine call_{name.lower()}', *['    ' + line for line in lines],
                      f'  end subroutine call_{name.lower()}'])


def module(calls, others, interface, prefix):
    is_f08 = interface == 'mpi_f08'
    uses = [] if interface == 'mpif' else [f'  use {interface}']
    language = 'f08' if is_f08 else 'f90'
    head = [f'module calls_{interface}', *uses, '  use results', f'  use callbacks_{language}',
            '  implicit none']
    if interface == 'mpif':
        head.append("  include 'mpif.h'")
    for fortran in sorted(PREDEFINED):
        name = fortran[4:].lower() + 's'
        head.append(f"  {f'type({fortran})' if is_f08 else 'integer'}, "
                    f"bind(C, name='recorder_{name}') :: {name}({OBJECTS})")
    subroutines = [Subroutine(call) for call in calls]
    names = [each.name for each in subroutines] + [f'call_{name.lower()}' for name in others]
    body = [each.text(prefix) for each in subroutines] + \
        [without_c(name, interface, prefix) for name in others]
    return '\n'.join([*head, 'contains',
                      "  subroutine call_all() bind(C, name='call_all')",
                      *[f'    call {name}' for name in names],
                      '  end subroutine call_all', *body, f'end module calls_{interface}', ''])


def calls_of(procedures, interface):
    """The calls, and the names of what C lacks."""
    calls, others = [], []
    for number, procedure in enumerate(procedures, 1):
        if not procedure.is_in('f08' if interface == 'mpi_f08' else 'f90') or \
                procedure.is_callback or procedure.is_predefined:
            continue
        if procedure.name in WITHOUT_C:
            # mpif.h has no generic names.
            if interface != 'mpif' or procedure.name != 'Sizeof':
                others.append(procedure.name)
            continue
        calls.append(Call(number, procedure, False, interface))
        if interface == 'mpi_f08' and procedure.has_large and \
                procedure.name not in SAME_IN_FORTRAN:
            calls.append(Call(number, procedure, True, interface))
    return calls, others


def recorded(procedures, prototypes):
    """The C functions, for all interfaces."""
    calls = {call.mpi_name: call for interface in ('mpi', 'mpi_f08')
             for call in calls_of(procedures, interface)[0]}
    functions = [Recorded(call, prototypes[name]).text() for name, call in calls.items()]
    return '\n\n'.join(['#include "recorder.h"', *functions]) + '\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--pmpi', action='store_true', help='PMPI_X instead of MPI_X')
    parser.add_argument('--out', required=True, help='the folder to write into')
    options = parser.parse_args()
    abi = os.path.join(ROOT, 'ompi', 'api', 'abi')
    procedures = read(abi)
    prototypes = {row['name']: row for row in read_table(abi, 'functions.tsv')}
    texts = {f'calls_{interface}.f90': module(*calls_of(procedures, interface), interface,
                                              'P' if options.pmpi else '')
             for interface in ('mpif', 'mpi', 'mpi_f08')}
    texts['recorded.c'] = recorded(procedures, prototypes)
    os.makedirs(options.out, exist_ok=True)
    for name, text in texts.items():
        with open(os.path.join(options.out, name), 'w', encoding='utf-8') as file:
            file.write(text)


if __name__ == '__main__':
    main()
