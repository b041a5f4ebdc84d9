# SPDX-License-Identifier: BSD-3-Clause
"""Writes the C functions that Fortran's procedures call.

A function, in the order of its lines:

    arguments that C wants in another form          handles, strings, logicals
    the call of C's function
    results in Fortran's form, and ierror

Only conversions are written here; what they do is in ompi/fortran/fortran.h and its neighbours.
"""
from emit import fill
from procedures import HANDLES

# How long an array is that has no parameter for its length: a function of the communicator.
LENGTHS = {
    'Cart_sub': 'ompi_fortran_cart_dims',
    'Alltoallw': 'ompi_fortran_peers',
    # Of Neighbor_alltoallw.
    'sendtypes': 'ompi_fortran_out_degree',
    'recvtypes': 'ompi_fortran_in_degree',
}
# What a form of parameter is in Fortran's memory, if it is no integer of C's type.
TYPES = {'handle': 'MPI_Fint', 'logical': 'MPI_Fint', 'index': 'MPI_Fint', 'weights': 'MPI_Fint',
         'integers_of_status': 'MPI_Fint', 'status': 'MPI_Status',
         'buffer': 'void', 'pointer': 'void', 'detached': 'void', 'string': 'char'}
# The blocks of several ranks: no datatype describes them in an array section.
BLOCKS = {'Gather': ['recvbuf'], 'Scatter': ['sendbuf'], 'Allgather': ['recvbuf'],
          'Alltoall': ['sendbuf', 'recvbuf'], 'Neighbor_allgather': ['recvbuf'],
          'Neighbor_alltoall': ['sendbuf', 'recvbuf']}
# The memory itself is meant, for as long as MPI has it.
LASTING = ('Buffer_attach', 'Comm_attach_buffer', 'Session_attach_buffer', 'Win_create',
           'Win_attach', 'Psend_init', 'Precv_init')


def collective(name):
    """'Gather' for Igather, Gather_init, Gatherv ...: what a collective does."""
    base = name.replace('_init', '')
    if base.startswith('I'):
        base = base[1].upper() + base[2:]
    return base


def role(procedure, parameter):
    """What a choice buffer is: a 'message' of elements of a datatype, a 'copy' of the array, memory
    that is 'lasting', or an 'address' alone."""
    names = [p.name for p in procedure.parameters]
    place = names.index(parameter.name)
    following = procedure.parameters[place + 1:place + 3]
    base = collective(procedure.name)
    is_rma = any(p.kind == 'WINDOW' for p in procedure.parameters)
    if procedure.name in LASTING:
        return 'lasting'
    if not is_rma and any(p.kind == 'OPERATION' for p in procedure.parameters) or \
            parameter.name in BLOCKS.get(base, []):
        return 'copy'
    if len(following) == 2 and following[1].kind == 'DATATYPE' and \
            following[0].form == 'integer' and not following[0].is_array and \
            not following[1].is_array:
        return 'message'
    if (procedure.name, parameter.name) in (('Unpack', 'inbuf'), ('Unpack_external', 'inbuf'),
                                            ('Pack', 'outbuf'), ('Pack_external', 'outbuf')):
        return 'copy'
    if procedure.name in ('Unpack', 'Unpack_external') and parameter.name == 'outbuf':
        return 'message'
    if base.startswith(('Gatherv', 'Scatterv', 'Allgatherv', 'Alltoall', 'Neighbor_')):
        return 'copy'
    return 'address'


class Function:
    """One C function. `by_array`: its choice buffers are descriptors of mpi_f08's arrays. `is_f08`: it
    serves mpi_f08 alone."""

    def __init__(self, procedure, large, by_array, is_f08=False):
        self.procedure, self.large, self.by_array = procedure, large, by_array
        self.is_f08 = is_f08 or large or by_array
        self.declarations, self.before, self.call, self.after = [], [], [], []
        self.lengths, self.copies, self.messages = [], [], {}
        self.refusals = []  # (condition, error): the call is not made
        for parameter in procedure.parameters:
            if not parameter.is_ierror and (large or not parameter.large_only) and \
                    parameter.kind != 'VARARGS':
                self.add(parameter)

    @property
    def name(self):
        """The part of the symbol that all spellings share, in lower case."""
        name = 'mpi_' + self.procedure.name.lower() + ('_c' if self.large else '')
        return name + ('_f08ts' if self.by_array else '_f08' if self.is_f08 else '')

    def length(self, parameter):
        """The number of elements of an array, as a C expression."""
        if parameter.length != '*':
            return '*' + parameter.length
        base = collective(self.procedure.name).replace('Neighbor_alltoallw', parameter.name)
        return f'{LENGTHS[base]}(ompi_fortran_handle(OMPI_COMM, *comm))'

    def fortran_type(self, parameter):
        """What the parameter points to in Fortran's memory."""
        if parameter.form in TYPES:
            return TYPES[parameter.form]
        ctype = parameter.integer_type(self.large)
        return 'MPI_Fint' if ctype == 'int' else ctype

    def declare(self, parameter):
        const = 'const ' if parameter.direction == 'in' and parameter.form != 'buffer' else ''
        self.declarations.append(f'{const}{self.fortran_type(parameter)} *{parameter.name}')

    def add(self, parameter):
        if parameter.is_of_main:
            is_pointer = '*' in parameter.c_types[False]
            self.call.append('NULL' if is_pointer else '0')
        else:
            getattr(self, 'add_' + parameter.form)(parameter)

    # The forms.

    def add_integer(self, p):
        self.declare(p)
        is_value = p.direction == 'in' and not p.is_array and p.c_types[self.large] and \
            '*' not in p.c_types[self.large] and '[' not in p.c_types[self.large]
        if p.name == 'array_of_errcodes':
            self.call.append(f'ompi_fortran_errcodes({p.name})')
        elif '[3]' in (p.c_types[self.large] or ''):
            self.call.append(f'(int(*)[3]){p.name}')
        else:
            self.call.append(('*' if is_value else '') + p.name)

    def add_weights(self, p):
        self.declare(p)
        const = 'const ' if p.direction == 'in' else ''
        self.call.append(f'({const}int *)ompi_fortran_address({p.name})')

    def add_index(self, p):
        self.declare(p)
        if p.is_array:
            self.call.append(p.name)
            self.after.append('if (outcome == MPI_SUCCESS || outcome == MPI_ERR_IN_STATUS)\n'
                              f'        ompi_fortran_indices({p.name}, *outcount);')
        else:
            self.before.append(f'int c_{p.name} = MPI_UNDEFINED;')
            self.call.append(f'&c_{p.name}')
            self.after.append(f'*{p.name} = ompi_fortran_index(c_{p.name});')

    def add_logical(self, p):
        self.declare(p)
        if p.is_array:
            length = self.length(p)
            self.before += [f'ompi_fortran_flags_t c_{p.name};',
                            f'ompi_fortran_flags_get(&c_{p.name}, {p.name}, {length});']
            self.call.append(f'c_{p.name}.flags')
            self.refusals.append((f'c_{p.name}.is_lost', 'MPI_ERR_NO_MEM'))
            self.after.append(f'ompi_fortran_flags_free(&c_{p.name});' if p.direction == 'in' else
                              f'ompi_fortran_flags_put(&c_{p.name}, {p.name});')
        elif p.direction == 'in':
            self.call.append(f'ompi_fortran_is_true(*{p.name})')
        else:
            self.before.append(f'int c_{p.name} = 0;')
            self.call.append(f'&c_{p.name}')
            self.after.append(f'*{p.name} = ompi_fortran_logical(c_{p.name});')

    def add_handle(self, p):
        self.declare(p)
        ctype, kind, null = HANDLES[p.kind]
        if p.is_array:
            self.add_handles(p, ctype, kind)
        elif p.direction == 'in' and '*' not in p.c_types[self.large]:
            self.call.append(f'ompi_fortran_handle({kind}, *{p.name})')
        elif p.direction == 'in':  # MPI_Cancel
            self.before.append(f'{ctype} c_{p.name} = ompi_fortran_handle({kind}, *{p.name});')
            self.call.append(f'&c_{p.name}')
        else:
            start = null if p.direction == 'out' else f'ompi_fortran_handle({kind}, *{p.name})'
            self.before.append(f'{ctype} c_{p.name} = {start};')
            self.call.append(f'&c_{p.name}')
            self.after.append(f'*{p.name} = ompi_fortran_number({kind}, c_{p.name});')

    def add_handles(self, p, ctype, kind):
        length = self.length(p)
        if p.name == 'sendtypes':  # they do not matter then, and need not be there
            length = f'c_sendbuf == MPI_IN_PLACE ? 0 : {length}'
        numbers = p.name if p.direction != 'out' else 'NULL'
        self.before += [f'ompi_fortran_handles_t c_{p.name};',
                        f'ompi_fortran_handles_get(&c_{p.name}, {kind}, {numbers}, {length});']
        const = 'const ' if p.direction == 'in' else ''
        self.call.append(f'({const}{ctype} *)c_{p.name}.handles')
        self.refusals.append((f'c_{p.name}.is_lost', 'MPI_ERR_NO_MEM'))
        self.after.append(f'ompi_fortran_handles_free(&c_{p.name});' if p.direction == 'in' else
                          f'ompi_fortran_handles_put(&c_{p.name}, {kind}, {p.name});')

    def add_status(self, p):
        self.declare(p)
        if p.direction == 'out' and p.kind == 'STATUS':
            self.call.append(f'ompi_fortran_status({p.name})')
        else:
            self.call.append(p.name)

    def add_integers_of_status(self, p):
        self.declare(p)
        self.call.append(p.name)

    def add_pointer(self, p):
        self.declare(p)
        self.call.append(p.name)

    def add_detached(self, p):
        # The argument of mpif.h and mpi is of any type, and nothing is returned in it.
        self.declare(p)
        if self.is_f08:
            self.call.append(p.name)
        else:
            self.before.append(f'void *c_{p.name};')
            self.call.append(f'&c_{p.name}')
            self.before.append(f'(void){p.name};')

    def add_string(self, p):
        self.declare(p)
        self.lengths.append(p)
        length = f'{p.name}_length'
        if p.direction == 'in':
            get = 'get_trimmed' if self.procedure.name.startswith('Info_') else 'get'
            self.before += [f'ompi_fortran_text_t c_{p.name};',
                            f'ompi_fortran_text_{get}(&c_{p.name}, {p.name}, {length});']
            self.call.append(f'c_{p.name}.chars')
            self.refusals.append((f'c_{p.name}.chars == NULL', 'MPI_ERR_NO_MEM'))
            self.after.append(f'ompi_fortran_text_free(&c_{p.name});')
        else:
            size = p.length or {'datarep': 'MPI_MAX_DATAREP_STRING',
                                'key': 'MPI_MAX_INFO_KEY'}[p.name]
            self.before.append(f'char c_{p.name}[{size}];')
            self.call.append(f'c_{p.name}')
            self.after.append('if (outcome == MPI_SUCCESS)\n'
                              f'        ompi_fortran_text_put({p.name}, {length}, c_{p.name});')

    def add_buffer(self, p):
        if not self.by_array:
            self.declare(p)
            self.before.append(f'void *c_{p.name} = ompi_fortran_address({p.name});')
            self.call.append(f'c_{p.name}')
            return
        self.declarations.append(f'const ompi_fortran_array_t *{p.name}')
        what = role(self.procedure, p)
        if what == 'message':
            self.add_message(p)
        elif what == 'copy':
            self.before.append(f'ompi_fortran_copy_t c_{p.name}_copy = ompi_fortran_copy({p.name});')
            self.before.append(f'void *c_{p.name} = c_{p.name}_copy.buffer;')
            self.call.append(f'c_{p.name}')
            self.refusals.append((f'c_{p.name}_copy.has_failed', 'MPI_ERR_NO_MEM'))
            self.copies.append(p)
        else:
            if what == 'lasting':
                self.refusals.append((f'!ompi_fortran_is_dense({p.name})', 'MPI_ERR_BUFFER'))
            self.before.append(f'void *c_{p.name} = ompi_fortran_address({p.name}->base);')
            self.call.append(f'c_{p.name}')

    def add_message(self, p):
        place = self.procedure.parameters.index(p)
        count, datatype = self.procedure.parameters[place + 1:place + 3]
        if self.procedure.name in ('Unpack', 'Unpack_external'):
            count, datatype = self.procedure.find('outcount'), self.procedure.find('datatype')
        self.before.append(
            f'ompi_fortran_message_t c_{p.name} = ompi_fortran_message({p.name}, *{count.name}, '
            f'ompi_fortran_handle(OMPI_DATATYPE, *{datatype.name}));')
        self.call.append(f'c_{p.name}.buffer')
        self.messages[count.name] = f'c_{p.name}.count'
        self.messages[datatype.name] = f'c_{p.name}.type'
        self.after.append(f'ompi_fortran_message_end(&c_{p.name});')

    # The text.

    def arguments(self):
        """The call's arguments; a message's count and datatype are those of what it became."""
        names = [p.name for p in self.procedure.parameters
                 if not p.is_ierror and (self.large or not p.large_only) and p.kind != 'VARARGS']
        casts = {p.name: '' if self.large or p.integer_type(self.large) == 'MPI_Count' else '(int)'
                 for p in self.procedure.parameters if p.form == 'integer'}
        return [casts.get(name, '') + self.messages[name] if name in self.messages else argument
                for name, argument in zip(names, self.call)]

    def end_copies(self):
        """Statements that end the copies, or leave them to the request."""
        if not self.copies:
            return []
        names = [f'c_{p.name}_copy' for p in self.copies]
        written = ['true' if p.direction != 'in' else 'false' for p in self.copies]
        request = next((p for p in self.procedure.parameters
                        if p.kind == 'REQUEST' and p.direction == 'out'), None)
        if request is None:
            return [f'ompi_fortran_copy_end(&{name}, {flag});' for name, flag in zip(names, written)]
        pointers = ', '.join('&' + name for name in names)
        return [f'ompi_fortran_copy_t *copies[] = {{{pointers}}};',
                f'const bool is_written[] = {{{", ".join(written)}}};',
                f'ompi_fortran_copy_attach(c_{request.name}, copies, is_written, {len(names)});']

    def refusal(self, c_name):
        """The beginning of an expression: where one of these conditions holds, nothing is called."""
        text = ''
        for error in dict.fromkeys(error for _, error in self.refusals):
            conditions = [condition for condition, of_error in self.refusals if of_error == error]
            text += '\n        || '.join(conditions) + f'\n        ? ompi_fortran_fail({error}, "{c_name}")\n        : '
        return text

    def text(self):
        procedure = self.procedure
        lengths = [f'size_t {p.name}_length' for p in self.lengths]
        if self.by_array:  # a string of a BIND(C) procedure is a descriptor
            strings = {f'*{p.name}' for p in self.lengths}
            self.declarations = ['const ompi_fortran_array_t *' + d.split('*')[1] + '_array'
                                 if '*' + d.split('*')[1] in strings else d
                                 for d in self.declarations]
            lines = [f'const char *{p.name} = {p.name}_array->base;\n'
                     f'    size_t {p.name}_length = {p.name}_array->element_bytes;'
                     for p in self.lengths]
            self.before = lines + self.before
            lengths = []
        suffix = '' if self.by_array else '_'
        if not procedure.is_subroutine:
            result = 'double' if procedure.returns in ('WALL_TIME', 'TICK_RESOLUTION') else 'MPI_Aint'
            head = fill(f'OPAL_EXPORT {result} NAME({self.name}{suffix})(', self.declarations or ['void'], ')', ' ' * 4)
            call = fill(f'    return CALL({procedure.mpi_name})(', self.arguments() or [''], ');', ' ' * 8)
            return '\n'.join([head, '{', call, '}'])
        self.declarations.append('MPI_Fint *ierror')
        head = fill(f'PROCEDURE({self.name}{suffix})(', self.declarations + lengths, ')', ' ' * 4)
        c_name = procedure.mpi_name + ('_c' if self.large else '')
        call = fill(f'    int outcome = {self.refusal(c_name)}CALL({c_name})(', self.arguments() or [''], ');',
                    ' ' * 8)
        after = self.end_copies() + self.after
        return '\n'.join([head, '{', *['    ' + line for line in self.before], call,
                          *['    ' + line for line in after],
                          '    ompi_fortran_return(ierror, outcome);', '}'])
