#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A cable for netns.sh that is long and bad, where the kernel has no netem.

  netns_cable.py SWITCH PORT NODE DEVICE MILLISECONDS PERCENT

Makes the device PORT in the namespace file SWITCH and DEVICE in NODE, and carries frames between
them: what leaves the node arrives so many milliseconds later, and so many of a hundred never. They
are counted, not drawn by lot: of 20 percent each fifth frame is lost, so what is sent twice arrives.
It says "laid" when both devices are there, and ends with its parent, or with one of its devices.
"""

import collections
import ctypes
import errno
import fcntl
import os
import select
import signal
import struct
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 2, 0x1000
CLONE_NEWNET, PR_SET_PDEATHSIG = 0x40000000, 1
FRAME_BYTES, QUEUED_FRAMES = 65536, 1000
AWAY = (errno.EBADFD, errno.ENODEV)  # of a device that was deleted

libc = ctypes.CDLL(None, use_errno=True)


def enter(namespace):
    with open(namespace, "rb") as file:
        if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")


def make_device(namespace, name):
    enter(namespace)
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return tap


def frames_of(tap):
    while True:
        try:
            yield os.read(tap, FRAME_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno in AWAY:
                sys.exit()
            return  # it is down


def deliver(tap, frame):
    try:
        os.write(tap, frame)
    except OSError as error:
        if error.errno in AWAY:
            sys.exit()
        # Down, or full: a frame may be lost.


def carry(port, device, delay, loss):
    late = collections.deque()  # (when it is due, frame), in this order
    owed = 0  # hundredths of a frame that are to be lost
    poll = select.poll()
    poll.register(port, select.POLLIN)
    poll.register(device, select.POLLIN)
    while True:
        poll.poll(max(0.0, late[0][0] - time.monotonic()) * 1000 if late else None)
        now = time.monotonic()
        for frame in frames_of(port):
            deliver(device, frame)
        for frame in frames_of(device):
            owed += loss
            if owed >= 100:
                owed -= 100
            elif len(late) < QUEUED_FRAMES:
                late.append((now + delay, frame))
        while late and late[0][0] <= time.monotonic():
            deliver(port, late.popleft()[1])


def main():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    port = make_device(sys.argv[1], sys.argv[2])
    device = make_device(sys.argv[3], sys.argv[4])
    print("laid", flush=True)
    carry(port, device, float(sys.argv[5]) / 1000, int(sys.argv[6]))


main()
