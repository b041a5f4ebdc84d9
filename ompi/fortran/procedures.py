# SPDX-License-Identifier: BSD-3-Clause
"""The procedures of the standard's Fortran interfaces, out of the tables of ompi/api/abi.

A procedure's parameters are those of parameters.tsv in their order; the C type of each comes from
the prototype in functions.tsv, so that an INTEGER has the width that C has. The two lists have the
same order; C lacks ierror, and Fortran lacks what main() is given.
"""
import csv
import os
import re

# Kind of parameter: Fortran's type (MPI_Comm ...) and the kind of object in C (OMPI_COMM ...).
HANDLES = {
    'COMMUNICATOR': ('MPI_Comm', 'OMPI_COMM', 'MPI_COMM_NULL'),
    'DATATYPE': ('MPI_Datatype', 'OMPI_DATATYPE', 'MPI_DATATYPE_NULL'),
    'ERRHANDLER': ('MPI_Errhandler', 'OMPI_ERRHANDLER', 'MPI_ERRHANDLER_NULL'),
    'FILE': ('MPI_File', 'OMPI_FILE', 'MPI_FILE_NULL'),
    'GROUP': ('MPI_Group', 'OMPI_GROUP', 'MPI_GROUP_NULL'),
    'INFO': ('MPI_Info', 'OMPI_INFO', 'MPI_INFO_NULL'),
    'MESSAGE': ('MPI_Message', 'OMPI_MESSAGE', 'MPI_MESSAGE_NULL'),
    'OPERATION': ('MPI_Op', 'OMPI_OP', 'MPI_OP_NULL'),
    'REQUEST': ('MPI_Request', 'OMPI_REQUEST', 'MPI_REQUEST_NULL'),
    'SESSION': ('MPI_Session', 'OMPI_SESSION', 'MPI_SESSION_NULL'),
    'WINDOW': ('MPI_Win', 'OMPI_WIN', 'MPI_WIN_NULL'),
}

# The form of a parameter, which decides how it is declared and converted, by its kind; all other
# kinds are integers.
FORMS = {
    'BUFFER': 'buffer', 'LOGICAL_VOID': 'buffer',
    'C_BUFFER': 'pointer', 'C_BUFFER2': 'detached', 'C_BUFFER3': 'pointer', 'C_BUFFER4': 'pointer',
    'FUNCTION': 'function', 'POLYFUNCTION': 'function',
    'LOGICAL': 'logical',
    'STATUS': 'status', 'F08_STATUS': 'status', 'F90_STATUS': 'integers_of_status',
    'STRING': 'string', 'STRING_ARRAY': 'strings', 'STRING_2DARRAY': 'string_lists',
    'EXTRA_STATE': 'state', 'EXTRA_STATE2': 'old_state',
    'ATTRIBUTE_VAL': 'state', 'ATTRIBUTE_VAL_10': 'old_state',
    'WEIGHT': 'weights',
    'ERROR_CODE_SHOW_INTENT': 'integer',
}
FORMS.update({kind: 'handle' for kind in HANDLES})

# Integers whose C type is not that of the prototype: callbacks are not in functions.tsv.
WIDE_KINDS = {'DISPOFFSET_SMALL': 'MPI_Aint', 'OFFSET': 'MPI_Offset'}

# These count from 1 in Fortran. Other parameters of the kind INDEX are no places in arrays.
ONE_BASED = {'Waitany', 'Testany', 'Request_get_status_any', 'Waitsome', 'Testsome',
             'Request_get_status_some'}

# An array although no length is given.
ARRAYS = {('Comm_spawn', 'array_of_errcodes'): '*', ('Comm_spawn_multiple', 'array_of_errcodes'): '*'}


class Parameter:
    def __init__(self, procedure, row):
        self.procedure = procedure
        self.name, self.kind, self.direction, self.length = row['name'], row['kind'], \
            row['direction'], row['length']
        flags = row['flags'].split(',')
        self.flags = flags
        self.is_constant = 'constant' in flags
        self.is_asynchronous = 'asynchronous' in flags
        self.large_only = 'large_only' in flags
        self.callback = next((flag[len('type:'):] for flag in flags if flag.startswith('type:')),
                             None)
        self.is_of_main = 'not_in:lis+f08+f90' in flags  # argc, argv
        self.languages_not = ''.join(flag for flag in flags if flag.startswith('not_in'))
        self.length = ARRAYS.get((procedure, self.name), self.length)
        self.form = FORMS.get(self.kind, 'integer')
        if self.form == 'integer' and self.kind == 'INDEX' and procedure in ONE_BASED:
            self.form = 'index'
        if self.form == 'pointer' or self.form == 'string' and self.length == '*':
            self.length = ''
        self.c_types = {False: None, True: None}  # declarations in C, set by read()

    @property
    def is_array(self):
        return bool(self.length) and self.form != 'string'

    @property
    def is_ierror(self):
        return self.name == 'ierror'

    def integer_type(self, large):
        """'int', 'MPI_Aint', 'MPI_Count' or 'MPI_Offset'."""
        ctype = self.c_types[large]
        if ctype is None:
            if self.kind.startswith('POLY') and large:
                return 'MPI_Count'
            return WIDE_KINDS.get(self.kind, 'int')
        return re.match(r'(?:const )?(\w+)', ctype)[1]

    def has_intent(self):
        return 'f08_intent' not in self.languages_not


class Procedure:
    def __init__(self, row, parameters):
        self.name = row['function'].replace('MPI_', '', 1)
        self.flags = row['flags'].split(',')
        self.returns = row['return_kind']
        self.parameters = parameters
        self.has_large = False  # there is an X_c; set by read()

    @property
    def mpi_name(self):
        return 'MPI_' + self.name

    @property
    def is_callback(self):
        return 'callback' in self.flags

    @property
    def is_predefined(self):
        """A callback that MPI has, such as MPI_COMM_DUP_FN."""
        return 'predefined' in self.flags

    @property
    def is_subroutine(self):
        return self.returns not in ('WALL_TIME', 'TICK_RESOLUTION', 'DISPLACEMENT', 'LOCATION_SMALL')

    def is_in(self, language):
        """Whether 'f90' (mpif.h and mpi), 'f08' or 'c' has it."""
        return language + '_expressible' in self.flags

    def is_overloaded(self):
        """Whether X_c has a generic name with X: some argument other than a procedure differs."""
        return self.has_large and not any(p.kind == 'POLYFUNCTION' for p in self.parameters) and \
            (any(p.large_only for p in self.parameters) or
             any(p.form == 'integer' and
                 WIDTH[p.integer_type(False)] != WIDTH[p.integer_type(True)]
                 for p in self.parameters if not p.large_only))

    def arguments(self, large):
        """Those that Fortran has."""
        return [p for p in self.parameters
                if (large or not p.large_only) and not p.is_of_main and p.kind != 'VARARGS']

    def find(self, name):
        return next(p for p in self.parameters if p.name == name)


WIDTH = {'int': 4, 'MPI_Aint': 8, 'MPI_Count': 8, 'MPI_Offset': 8}


def read_table(folder, name):
    with open(os.path.join(folder, name), encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file, delimiter='\t', quoting=csv.QUOTE_NONE))


def set_c_types(procedure, large, prototype):
    """Gives the parameters the C types of a prototype, 'int count, MPI_Comm comm'."""
    texts = [] if prototype == 'void' else re.split(r', (?![^(]*\))', prototype)
    parameters = [p for p in procedure.parameters
                  if 'not_in:c' not in p.languages_not and (large or not p.large_only)]
    if len(texts) != len(parameters):
        raise ValueError(f'{procedure.mpi_name}: {len(texts)} parameters in C, not '
                         f'{len(parameters)}')
    for parameter, text in zip(parameters, texts):
        parameter.c_types[large] = text


def read(folder):
    """All procedures, sorted by name; the folder is ompi/api/abi."""
    rows = {}
    for row in read_table(folder, 'parameters.tsv'):
        rows.setdefault(row['function'], []).append(row)
    prototypes = {row['name']: row['arguments'] for row in read_table(folder, 'functions.tsv')}
    procedures = []
    for row in read_table(folder, 'procedures.tsv'):
        name = row['function']
        short = name.replace('MPI_', '', 1)
        procedure = Procedure(row, [Parameter(short, p) for p in rows.get(name, [])])
        procedure.has_large = name + '_c' in prototypes or \
            any(p.kind.startswith('POLY') for p in procedure.parameters) and \
            (procedure.is_callback or procedure.is_predefined)
        for large, c_name in ((False, name), (True, name + '_c')):
            if c_name in prototypes:
                set_c_types(procedure, large, prototypes[c_name])
        procedures.append(procedure)
    return sorted(procedures, key=lambda p: p.name.lower())
