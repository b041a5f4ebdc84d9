# SPDX-License-Identifier: BSD-3-Clause
"""What machine this is, and whether it is quiet enough for its times to mean something."""

import os
import platform
import resource
import time

LOOK_SECONDS = 1.0
QUIET_SHARE = 0.05  # of all cores, used by others


def cpu_seconds():
    """(busy, stolen) seconds of all cores together since the machine was started."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(word) for word in file.readline().split()[1:9]]
    user, nice, system, _, _, irq, softirq, stolen = fields
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / tick, stolen / tick


def own_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


class Watch:
    """Since it was made: how much of the machine was used by somebody else."""

    def __init__(self):
        self.began = time.monotonic()
        self.busy, self.stolen = cpu_seconds()
        self.own = own_seconds()

    def others_share(self):
        """Of all cores. What a hypervisor took away counts, as nobody here could use it."""
        busy, stolen = cpu_seconds()
        others = busy - self.busy + stolen - self.stolen - (own_seconds() - self.own)
        return max(0.0, others) / ((time.monotonic() - self.began) * os.cpu_count())


def others_now():
    watch = Watch()
    time.sleep(LOOK_SECONDS)
    return watch.others_share()


def busiest(count=3):
    """What to tell the user to stop: the processes that run right now."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                head, _, tail = file.read().rpartition(")")
        except OSError:
            continue
        if tail.split()[0] == "R":
            found.append(f"{name} {head.partition('(')[2]}")
    return found[:count]


def describe():
    model = platform.processor() or platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return (f"{len(os.sched_getaffinity(0))} cores of {model}, Linux {platform.release()}, "
            f"load {' '.join(f'{load:.1f}' for load in os.getloadavg())}")
