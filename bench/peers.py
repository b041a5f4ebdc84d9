# SPDX-License-Identifier: BSD-3-Clause
"""The MPIs that are compared: which there are, how each compiles, how each starts a job."""

import dataclasses
import os
import shutil
import subprocess

import jobs

HERE = os.path.dirname(os.path.abspath(__file__))
OURS = "Mica"
CFLAGS = ("-std=gnu11", "-O2", "-w", "-pthread")
UCX_ENVIRONMENT = ("--mca", "pml", "ucx", "--mca", "opal_common_ucx_tls", "any",
                   "--mca", "opal_common_ucx_devices", "any", "-x", "UCX_TLS=self,sm")


@dataclasses.dataclass(frozen=True)
class Peer:
    """`bind` and `no_bind` are used when the ranks fit the cores, and when they do not."""
    name: str
    compiler: str
    launcher: tuple
    bind: tuple
    no_bind: tuple
    install: str = ""       # what to do if it is not there
    version: tuple = ()
    only: str = ""          # a second way to run an MPI that is in the list already, which is of
                            # interest where it is named (catalogue.Benchmark.ways)

    def missing(self):
        return [tool for tool in (self.compiler, self.launcher[0]) if not shutil.which(tool)]

    def folder(self):
        """Ways to run the same MPI share its programs."""
        return os.path.basename(self.compiler)

    def command(self, ranks, program, arguments, unbound=False):
        fits = not unbound and ranks <= len(os.sched_getaffinity(0))
        return [*self.launcher, *(self.bind if fits else self.no_bind), "-n", str(ranks), program,
                *arguments]

    def describe(self):
        """The first line of what its launcher says of its version that has a number."""
        done = jobs.run([self.launcher[0], *self.version], 20)
        lines = [line.strip() for line in done.out.splitlines() if any(map(str.isdigit, line))]
        return " ".join(lines[0].split()) if lines else "of an unknown version"


def all_peers(prefix):
    tools = os.path.join(prefix, "bin")
    root = ("--allow-run-as-root",) if os.geteuid() == 0 else ()
    openmpi = ("mpirun.openmpi", "--oversubscribe", *root)
    openmpi_binding = {"bind": ("--bind-to", "core"), "no_bind": ("--bind-to", "none"),
                       "install": "apt install openmpi-bin libopenmpi-dev",
                       "version": ("--version",)}
    return [
        Peer(OURS, os.path.join(tools, "mpicc"), (os.path.join(tools, "mpirun"),),
             bind=("--bind-to", "core"), no_bind=("--bind-to", "none"),
             install="./dev build", version=("--version",)),
        Peer("Open MPI", "mpicc.openmpi", openmpi, **openmpi_binding),
        Peer("Open MPI+UCX", "mpicc.openmpi", (*openmpi, *UCX_ENVIRONMENT), only="ucx",
             **openmpi_binding),
        Peer("Open MPI+ROMIO", "mpicc.openmpi", (*openmpi, "--mca", "io", "romio321"), only="romio",
             **openmpi_binding),
        Peer("MPICH", "mpicc.mpich", ("mpiexec.hydra",), bind=("-bind-to", "core"),
             no_bind=("-bind-to", "none"), install="apt install mpich libmpich-dev",
             version=("--version",)),
    ]


def compile_program(compiler, program, sources, folder):
    """The program's path, and what is wrong, which is empty if nothing is."""
    os.makedirs(folder, exist_ok=True)
    output = os.path.join(folder, program)
    files = [os.path.join(HERE, name) for name in (program + ".c", *sources)]
    done = subprocess.run([compiler, *CFLAGS, "-o", output, *files], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return output, done.stdout.strip() if done.returncode else ""
