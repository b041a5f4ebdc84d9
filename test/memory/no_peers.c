/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * no_peers PROGRAM [ARGUMENT...]: runs it where the system forbids to read and write the memory of
 * other processes, as containers do.
 */
#include <stdio.h>
#include <unistd.h>

#include "test/unit/opal/refuse_call.h"

int main(int argc, char **argv)
{
    if (argc < 2 || !unit_refuse_call(SYS_process_vm_readv, EPERM) ||
        !unit_refuse_call(SYS_process_vm_writev, EPERM)) {
        perror("no_peers");
        return 2;
    }
    execv(argv[1], argv + 1);
    perror(argv[1]);
    return 2;
}
