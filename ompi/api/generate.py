#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes mpi.h, mica.h, the MPI_ and PMPI_ functions and bodies.h out of mpi_api.tbl.

It knows the table's columns, flags and `via` words, which the head of the table explains,
and the C helpers of ompi/api/wrapper.h that the wrappers call. What it knows of MPI is only
the prefixes of the names; types, checks and error classes come from the table.

A wrapper, in the order of its lines:

    objects of the handles       no check, no branch but predefined or not
    (a profiled call             goes on in a copy of the wrapper that records it: profiled_X)
    one branch on the mode       usable now? are arguments to be checked? which do not hold?
    the body                     with values of one width for X and X_c
    its error                    to the error handler of the first object that has one;
                                 handles that would have been made are null handles by then
    what the body has set        back to the caller's types
"""
import argparse
import os
import re
import sys

from emit import fill, write_if_changed

COLUMNS = ('name', 'C', 'large C', 'body C', 'via', 'must hold', 'else')
FLAGS = ('large', 'x', 'body', 'anytime', 'handler', 'returns', 'extension', 'mica', 'lent',
         'quick', 'profiled', 'brief')
# Requests are counted where they are made: some end without a call that takes their handle.
UNCOUNTED = ('ompi_request_t', 'ompi_message_t')
NOTICE = '/* Made by ompi/api/generate.py out of %s. */\n'


# How ompi/api/arguments.c prints a value, by its C type, or by its kind.
PRINTED_TYPES = {'int @': 'd', 'MPI_Fint @': 'd', 'MPI_T_cb_safety @': 'd', 'MPI_Count @': 'l',
                 'MPI_Aint @': 'l', 'MPI_Offset @': 'l', 'MPI_Comm @': 'C', 'MPI_Datatype @': 'D',
                 'MPI_Op @': 'O', 'MPI_Group @': 'G', 'MPI_Win @': 'W', 'MPI_File @': 'F',
                 'MPI_Request @': 'R', 'MPI_Message @': 'M', 'MPI_Info @': 'I',
                 'MPI_Errhandler @': 'E', 'MPI_Session @': 'S', 'MPI_Status *@': 'u'}
PRINTED_KINDS = {'dest': 'r', 'source': 'r', 'rank': 'r', 'root': 'r', 'tag': 't', 'recvtag': 't',
                 'sendbuf': 'b', 'recvbuf': 'b', 'string': 's'}


class TableError(Exception):
    """Something in the table that cannot be meant; the message says where."""


class Kind:
    """What a parameter is: one line of a [kinds] list."""

    def __init__(self, cells):
        self.name = cells['name']
        self.small = cells['C']
        self.large = cells.get('large C') or self.small
        self.body = cells.get('body C') or self.small
        words = cells.get('via', '').split()
        self.handler = 'handler' in words
        words = [word for word in words if word != 'handler']
        self.via, self.rule = (words + ['', ''])[:2]
        self.must_hold = cells.get('must hold', '')
        self.error_class = cells.get('else', '')


class Parameter:
    def __init__(self, kind, name):
        self.kind = kind
        self.name = name

    def declare(self, ctype):
        return ctype.replace('@', self.name)

    def ctype(self, large):
        """The C type in the prototype of X or X_c; None if it has no such parameter."""
        ctype = self.kind.large if large else self.kind.small
        return None if ctype == '-' else ctype

    def printed(self, large):
        """'count=%d': how the value is printed in the message of a fatal error."""
        ctype = self.ctype(large)
        letter = PRINTED_KINDS.get(self.kind.name) or PRINTED_TYPES.get(ctype, 'p')
        if letter.isupper() and self.kind.via != 'object':
            letter = 'p'
        return f'{self.name}=%{letter}'

    @property
    def is_object(self):
        return self.kind.via.startswith('object')

    @property
    def is_counted(self):
        """Whether full checks count its handles, which are made and freed (ompi/check/left.h)."""
        return (self.kind.via in ('object_out', 'object_inout')
                and self.kind.body.split()[0] not in UNCOUNTED)

    @property
    def object(self):
        return self.name + '_object'

    @property
    def wide(self):
        return self.name + '_wide'


class Function:
    """A row."""

    def __init__(self, name, parameters, flags, expression, where):
        self.name = name
        self.parameters = parameters
        self.flags = flags
        self.expression = expression
        self.where = where

    @property
    def prefix(self):
        return 'MICA_' if 'mica' in self.flags else 'MPI_'

    @property
    def body(self):
        name = self.flags.get('body', self.name).lower()
        return 'ompi_api_' + ('mica_' if 'mica' in self.flags else '') + name

    @property
    def header(self):
        """Which part of which header has it: 'mpi', 'extension' or 'mica'."""
        return next((part for part in ('mica', 'extension') if part in self.flags), 'mpi')

    @property
    def returns(self):
        return self.flags.get('returns', 'int')

    @property
    def has_body(self):
        return not self.expression

    @property
    def variants(self):
        """(name, large) of the C functions that the row stands for."""
        name = self.prefix + self.name
        result = [(name, False)]
        if 'large' in self.flags:
            result.append((name + '_c', True))
        if 'x' in self.flags:
            result.append((name + '_x', True))
        return result

    def prototype(self, large):
        """The C parameters, a list of declarations."""
        types = [(p, p.ctype(large)) for p in self.parameters]
        return [p.declare(ctype) for p, ctype in types if ctype is not None]

    @property
    def handler(self):
        """The parameter whose object's error handler is invoked, or None."""
        return next((p for p in self.parameters if p.kind.handler), None)


class Chapter:
    def __init__(self, name, flags):
        self.name = name
        self.flags = flags
        self.functions = []


# The table.

def parse_flags(text, where):
    flags = {}
    for word in text.split():
        name, _, value = word.partition('=')
        if name not in FLAGS:
            raise TableError(f"{where}: unknown flag '{name}' (known: {', '.join(FLAGS)})")
        flags[name] = value
    return flags


def parse_kind(line, columns, where):
    cells = [cell.strip() for cell in re.split(r'(?:^|\s)\|(?:\s|$)', line)]
    if len(cells) > len(columns):
        raise TableError(f'{where}: {len(cells)} columns, but the list has {len(columns)}')
    kind = Kind(dict(zip(columns, cells)))
    if bool(kind.must_hold) != bool(kind.error_class):
        raise TableError(f"{where}: '{kind.name}' needs both or neither of 'must hold' and 'else'")
    return kind


def parse_function(text, kinds, chapter, where):
    text, _, expression = text.partition(' = ')
    text, _, flag_text = text.partition(';')
    name, *words = text.split()
    parameters = []
    for word in words:
        kind, _, parameter = word.partition(':')
        if kind not in kinds:
            raise TableError(f"{where}: MPI_{name} has a parameter of unknown kind '{kind}'")
        parameters.append(Parameter(kinds[kind], parameter or kind))
    flags = dict(chapter.flags, **parse_flags(flag_text, where))
    return Function(name, parameters, flags, expression.strip(), where)


def logical_lines(path):
    """(where, text) of every line with its continuations, without comments."""
    lines = []
    with open(path, encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip()
            if not line or line.startswith('#'):
                continue
            if line[0].isspace():
                if not lines:
                    raise TableError(f'{path}:{number}: continues nothing')
                lines[-1][1] += ' ' + line.strip()
            else:
                lines.append([f'{path}:{number}', line])
    return lines


def parse_table(path):
    kinds, chapters, columns, names = {}, [], None, {}
    for where, line in logical_lines(path):
        heading = re.fullmatch(r'\[(\w+)\s*([:;]?)(.*)\]', line)
        if heading and heading[2] == ':':
            columns = [column.strip() for column in heading[3].split('|')]
            unknown = [column for column in columns if column not in COLUMNS]
            if heading[1] != 'kinds' or unknown:
                raise TableError(f'{where}: no such list or column: {line}')
        elif heading:
            columns = None
            chapters.append(Chapter(heading[1], parse_flags(heading[3], where)))
        elif columns:
            kind = parse_kind(line, columns, where)
            if kind.name in kinds:
                raise TableError(f"{where}: kind '{kind.name}' is there twice")
            kinds[kind.name] = kind
        elif chapters:
            function = parse_function(line, kinds, chapters[-1], where)
            name = function.prefix + function.name
            if name in names:
                raise TableError(f'{where}: {name} is already in {names[name]}')
            names[name] = where
            chapters[-1].functions.append(function)
        else:
            raise TableError(f'{where}: belongs to no list and no chapter')
    check_bodies([function for chapter in chapters for function in chapter.functions])
    return chapters


def check_bodies(functions):
    own = {function.name for function in functions
           if function.has_body and 'body' not in function.flags}
    for function in functions:
        body = function.flags.get('body', function.name)
        if function.has_body and body not in own:
            raise TableError(f"{function.where}: MPI_{function.name} has the body of '{body}', which "
                             'has none of its own')


# C text.

def signature(returns, name, declarations, end):
    space = '' if returns.endswith('*') else ' '
    return fill(f'{returns}{space}{name}(', declarations or ['void'], ')' + end, ' ' * 4)


def call(name, arguments, start, end):
    indent = re.match(' *', start)[0] + ' ' * 4
    return fill(f'{start}{name}(', arguments or [''], ')' + end, indent)


def expand(function, parameter, condition):
    """Puts the names into a condition of the table: @, @_object, %KIND, %KIND_object."""
    def other(match):
        # comm_object is a kind's name and a suffix; the kinds' own names come first.
        for suffix in ('', '_object'):
            if match[1].endswith(suffix):
                kind = match[1][:len(match[1]) - len(suffix)]
                found = [p.name for p in function.parameters if p.kind.name == kind]
                if found:
                    return found[0] + suffix
        raise TableError(f"{function.where}: '{parameter.kind.name}' of {function.prefix}{function.name} asks "
                         f"for %{match[1]}, and no parameter is of that kind")
    return re.sub(r'%(\w+)', other, condition).replace('@', parameter.name)


def pointee(ctype):
    """'int' of 'int *@', 'MPI_Comm' of 'MPI_Comm *@'."""
    return re.sub(r'\s*\*@$', '', ctype)


class Wrapper:
    """Writes one C function: X, X_c or X_x; `name` with its prefix."""

    def __init__(self, function, name, large, records=False):
        self.function = function
        self.name = name
        self.records = records  # it is the copy that records the call
        self.is_profiled = ('profiled' in function.flags and 'anytime' not in function.flags
                            and 'returns' not in function.flags)
        self.is_brief = self.is_profiled and 'brief' in function.flags
        self.large = large
        self.present = [p for p in function.parameters if p.ctype(large) is not None]
        handler = function.handler
        self.error_object = self.error_object_of(handler.object if handler else 'NULL')
        self.lines = []

    def add(self, *lines):
        self.lines.extend(lines)

    def error_object_of(self, found):
        """The object whose error handler a call invokes; `found`: its first object that has one."""
        handler = self.function.flags.get('handler')
        return f'{handler}({found})' if handler else found

    @property
    def values(self):
        """The arguments of a call, as those of the functions that report it. An object, and not its
        handle: to keep both would take a register."""
        return [p.object if p.kind.via == 'object' else p.name
                for p in self.present if p.kind.small != '...']

    def describe(self):
        """A constant: the call with the form of its values."""
        values = ', '.join(p.printed(self.large) for p in self.present if p.kind.small != '...')
        self.add('    static const char call[] =', f'        "{self.name}({values})";')

    def fail(self, indent, function, arguments, has_values=True):
        """Returns what the function does with the failure, after nothing has been made."""
        for p in self.present:
            if p.kind.via == 'object_out':
                self.add(f'{indent}OMPI_API_NOTHING({p.name}, {p.kind.rule});')
        values = self.values if has_values else []
        self.add(call(function, arguments + values, indent + 'return ', ';'))

    def is_narrowed(self, parameter):
        """Whether the caller's type is narrower than the one that the body sets."""
        return (parameter.kind.via.startswith('narrow')
                and parameter.ctype(self.large) != parameter.kind.body)

    def is_passed_resolved(self, parameter):
        """Whether the copy that records gets the object: no check there looks at the handle."""
        checks = [expand(self.function, p, p.kind.must_hold) for p in self.present]
        return (parameter.kind.via == 'object'
                and not any(re.search(rf'\b{parameter.name}\b', check) for check in checks))

    def resolve(self):
        for p in self.present:
            if not p.is_object or (self.records and self.is_passed_resolved(p)):
                continue
            handle = p.name
            if p.kind.via == 'object_out':
                handle = None
            elif p.kind.via == 'object_inout':
                handle = '*' + p.name
            declared = p.kind.body.replace('**@', '*@').replace('@', p.object)
            if handle is None:
                self.add(f'    {declared} = NULL;')
            elif p.kind.via == 'object_inout':
                self.add(f'    {declared} = {p.name} != NULL ? ompi_handle_object({handle}) : NULL;')
            else:
                self.add(f'    {declared} = ompi_handle_object({handle});')

    def check(self):
        checks = []
        for p in sorted(self.present, key=lambda p: not p.kind.handler):
            if p.kind.must_hold:
                error_object = self.error_object_of('NULL') if p.kind.handler else self.error_object
                checks.append((expand(self.function, p, p.kind.must_hold), error_object, p))
        anytime = 'anytime' in self.function.flags
        if anytime and not checks:
            return
        test = 'ompi_api_mode() != OMPI_API_UNCHECKED'
        if anytime or self.records:
            test = 'ompi_api_checks()'
        self.add(f'    if (opal_unlikely({test})) {{')
        if not anytime and not self.records:
            apart = 'OMPI_API_APART' if self.is_profiled else 'OMPI_API_UNUSABLE'
            self.add(f'        if (ompi_api_mode() & {apart}) {{')
            if self.is_profiled:
                self.record()
            if self.is_brief:
                self.add('            if (!(ompi_api_mode() & OMPI_API_PROFILED)) {')
                self.fail(' ' * 16, 'ompi_api_wrong_state', ['call'])
                self.add('            }')
            else:
                self.fail(' ' * 12, 'ompi_api_wrong_state', ['call'])
            self.add('        }')
        elif self.records and not checks:
            self.lines.pop()
            return
        for condition, error_object, p in checks:
            complaint = [error_object, p.kind.error_class, 'call', f'"{p.name}"']
            self.add(f'        if (!({condition})) {{')
            self.fail(' ' * 12, 'ompi_api_bad_argument', complaint)
            self.add('        }')
        self.add('    }')

    def record(self):
        """Where calls are recorded: goes on in the copy. A brief call that needs only to be counted
        goes on here, unless arguments are not to be checked."""
        test = 'ompi_api_mode() & OMPI_API_PROFILED'
        if self.is_brief:
            test = (f'({test}) && (!ompi_api_checks() || !opal_profile_count("{self.name}", '
                    '(uintptr_t)__builtin_return_address(0)))')
        arguments = [p.object if self.is_passed_resolved(p) else p.name for p in self.present]
        self.add(f'            if ({test})')
        self.add(call('profiled_' + self.name, [*arguments, '__builtin_return_address(0)'],
                      ' ' * 16 + 'return ', ';'))

    def argument(self, p):
        """What the body gets for a parameter."""
        if p.kind.via == 'large':
            return 'true' if self.large else 'false'
        if p.kind.via == 'constant':
            return p.kind.rule
        if p.ctype(self.large) is None:
            return '0'
        if p.kind.via == 'object':
            return p.object
        if p.is_object:
            return '&' + p.object
        if p.kind.via == 'view':
            return f'{p.kind.rule}_{"large" if self.large else "small"}({p.name})'
        return '&' + p.wide if self.is_narrowed(p) else p.name

    def run(self):
        for p in self.present:
            if self.is_narrowed(p):
                start = '*' + p.name if p.kind.via == 'narrow_inout' else '0'
                self.add(f'    {pointee(p.kind.body)} {p.wide} = {start};')
            if p.is_counted and p.kind.via == 'object_inout':
                self.add(f'    ompi_check_entry_t *const {p.name}_entry = ompi_check_take({p.object});')
        arguments = [self.argument(p) for p in self.function.parameters if p.kind.small != '...']
        if self.records:
            self.add(f'    opal_profile_thread_t *const profile = '
                     f'opal_profile_begin("{self.name}", (uintptr_t)profile_caller);')
        self.add(call(self.function.body, arguments, '    int outcome = ', ';'))
        if self.records:
            self.add('    opal_profile_end(profile);')
        for p in self.present:
            if p.kind.via == 'object_inout':
                self.store_handle(p)
                if p.is_counted:
                    self.add(f'    ompi_check_settle({p.name}_entry, {p.object});')

    def store_handle(self, p):
        self.add(f'    *{p.name} = {p.object} != NULL ? ompi_object_handle({p.object}) : '
                 f'{p.kind.rule};')

    def narrow(self):
        narrowed = [p for p in self.present if self.is_narrowed(p)]
        for p in narrowed:
            fits = f'({pointee(p.ctype(self.large))}){p.wide} == {p.wide}'
            if p.kind.rule == 'undefined':
                self.add(f'    if (!({fits})) {{', f'        {p.wide} = MPI_UNDEFINED;', '    }')
            else:
                self.add(f'    if (outcome == MPI_SUCCESS && !({fits})) {{',
                         '        outcome = MPI_ERR_VALUE_TOO_LARGE;', '    }')
        return narrowed

    def finish(self):
        narrowed = self.narrow()
        self.add('    if (opal_unlikely(outcome != MPI_SUCCESS)) {')
        # To keep the values until then costs a quick function a tenth of its instructions.
        if 'quick' in self.function.flags:
            self.fail(' ' * 8, 'ompi_api_fail', [self.error_object, 'outcome', f'"{self.name}"'],
                      has_values=False)
        else:
            self.fail(' ' * 8, 'ompi_api_fail', [self.error_object, 'outcome', 'call'])
        self.add('    }')
        for p in narrowed:
            self.add(f'    *{p.name} = ({pointee(p.ctype(self.large))}){p.wide};')
        for p in self.present:
            if p.kind.via == 'object_out':
                self.store_handle(p)
                if p.is_counted and 'lent' not in self.function.flags:
                    self.add(f'    ompi_check_made({p.object});')
        self.add('    return MPI_SUCCESS;')

    def recording(self):
        """The copy that records the call. It gets objects for handles, so that the wrapper need not
        keep these for it, and the address behind the program's call."""
        copy = Wrapper(self.function, self.name, self.large, records=True)
        declarations = [p.kind.body.replace('@', p.object) if self.is_passed_resolved(p)
                        else p.declare(p.ctype(self.large)) for p in self.present]
        declarations.append('void *profile_caller')
        copy.resolve()
        copy.check()
        copy.run()
        copy.finish()
        if any(re.search(r'\bcall\b', line) for line in copy.lines):
            lines, copy.lines = copy.lines, []
            copy.describe()
            copy.add(*lines)
        head = signature('OMPI_API_PROFILED_COPY int', 'profiled_' + self.name, declarations, '')
        return '\n'.join([head, '{', *copy.lines, '}', '', ''])

    def text(self):
        head = signature('OPAL_EXPORT ' + self.function.returns, 'P' + self.name,
                         self.function.prototype(self.large), '')
        if self.is_profiled:
            head = self.recording() + head
        if 'returns' in self.function.flags:
            arguments = [p.name for p in self.function.parameters]
            value = self.function.expression or call(self.function.body, arguments, '', '')
            self.add(f'    return {value};')
        else:
            self.describe()
            self.resolve()
            self.check()
            self.run()
            self.finish()
        alias = f'OMPI_API_ALIAS({self.name}, P{self.name});'
        return '\n'.join([head, '{', *self.lines, '}', alias, ''])


def wrappers(chapter, source):
    parts = [NOTICE % source, '#include "ompi/api/bodies.h"\n']
    for function in chapter.functions:
        for name, large in function.variants:
            parts.append(Wrapper(function, name, large).text())
    return '\n'.join(parts)


def bodies(chapters, source):
    """The prototypes of the bodies: wrapper and body cannot disagree."""
    parts = [NOTICE % source, '#ifndef OMPI_API_BODIES_H\n#define OMPI_API_BODIES_H\n',
             '#include "ompi/api/wrapper.h"']
    for chapter in chapters:
        lines = []
        for function in chapter.functions:
            if function.has_body and 'body' not in function.flags:
                declarations = [p.declare(p.kind.body) for p in function.parameters
                                if p.kind.small != '...']
                lines.append(signature(function.returns, function.body, declarations, ';'))
        if lines:
            parts.append(f'\n/* {chapter.name} */\n' + '\n'.join(lines))
    return '\n'.join(parts) + '\n\n#endif\n'


def prototypes(chapters, header):
    parts = []
    for chapter in chapters:
        functions = [f for f in chapter.functions if f.header == header]
        if functions:
            parts.append(f'\n/* {chapter.name} */')
        for function in functions:
            for name, large in function.variants:
                for prefix in ('', 'P'):
                    parts.append(signature(function.returns, prefix + name,
                                           function.prototype(large), ';'))
    return '\n'.join(parts).lstrip('\n')


# Constants.

def read_facts(path):
    with open(path, encoding='utf-8') as file:
        rows = [line.rstrip('\n').split('\t') for line in file]
    return rows[1:]


def constant(name, ctype, value):
    if ctype == 'alias':
        text = value
    elif ctype == 'int':
        text = f'({value})' if value.startswith('-') else value
    else:
        text = f'(({ctype}){value})'
    return f'#define {name:<32} {text}'


def constants(path, template):
    """Those that the template does not define itself."""
    own = set(re.findall(r'\bMPI\w+', template))
    return '\n'.join(constant(*row) for row in read_facts(path) if row[0] not in own)


def header(chapters, template_path, options):
    with open(template_path, encoding='utf-8') as file:
        template = file.read()
    parts = {'CONSTANTS': constants(options.constants, template),
             'PROTOTYPES': prototypes(chapters, 'mpi'),
             'EXTENSIONS': prototypes(chapters, 'extension'),
             'MICA': prototypes(chapters, 'mica')}
    return re.sub(r'@(\w+)@', lambda match: parts[match[1]], template)


# Commands.

def dump(chapters):
    """The standard's functions in the form of abi/functions.tsv."""
    rows = []
    for chapter in chapters:
        for function in chapter.functions:
            if function.header == 'mpi':
                for name, large in function.variants:
                    declarations = function.prototype(large)
                    rows.append((name, function.returns,
                                 ', '.join(declarations) or 'void'))
    return 'name\treturns\targuments\n' + ''.join('\t'.join(row) + '\n' for row in sorted(rows))


def generate(chapters, options):
    source = os.path.basename(options.table)
    os.makedirs(options.out, exist_ok=True)
    files = {'mpi.h': header(chapters, options.template, options),
             'mica.h': header(chapters, options.mica_template, options),
             'bodies.h': bodies(chapters, source)}
    for chapter in chapters:
        files[f'wrap_{chapter.name}.c'] = wrappers(chapter, source)
    for name, text in files.items():
        write_if_changed(os.path.join(options.out, name), text)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--table', default=os.path.join(here, 'mpi_api.tbl'))
    parser.add_argument('--constants', default=os.path.join(here, 'abi', 'constants.tsv'))
    parser.add_argument('--template', default=os.path.join(here, 'mpi.h.in'))
    parser.add_argument('--mica-template', default=os.path.join(here, 'mica.h.in'))
    parser.add_argument('--out', help='the folder to write into')
    parser.add_argument('--dump', action='store_true',
                        help='print the prototypes as abi/functions.tsv has them')
    options = parser.parse_args()
    try:
        chapters = parse_table(options.table)
        if options.dump:
            sys.stdout.write(dump(chapters))
        if options.out:
            generate(chapters, options)
    except (TableError, OSError) as error:
        sys.exit(f'generate.py: {error}')


if __name__ == '__main__':
    main()
