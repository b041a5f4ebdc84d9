# SPDX-License-Identifier: BSD-3-Clause
"""attack.py CONNECTIONS: strangers at the ports of the ranks of attacked.c, in its folder.

Connections with garbage, with nothing, with a byte at a time, with far too much, and with what ranks
have said to one another before. Under attack "go" is made. Tells what a test has to look at:
  ranks, ports        how many
  accepted            verdicts that let one of us in
  unproven            verdicts that say that a handshake heard before is no proof
  descriptors, kib    by how much a rank grew at most, in the second half
  left                descriptors of a rank behind the attack, beyond those before its second half
"""
import collections
import glob
import os
import random
import socket
import struct
import sys
import threading
import time

CONNECTIONS = int(sys.argv[1])
THREADS = 4
HELD = 60  # of a thread: in all more than a rank has places for
HELLO, PROOF, MESSAGE = 64, 48, 48
ACCEPTED, BAD_PROOF = 1, 6


def wait_for(what, seconds=100):
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.02)


def ports_of(pid):
    inodes = set()
    for fd in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            inodes.add(os.readlink(fd))
        except OSError:
            pass
    found = []
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        try:
            with open(f"/proc/{pid}/net/{table}", encoding="ascii") as lines:
                rows = [line.split() for line in list(lines)[1:]]
        except OSError:
            continue
        found += [(family, int(row[1].split(":")[1], 16)) for row in rows
                  if row[3] == "0A" and f"socket:[{row[9]}]" in inodes]
    return found


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def rss_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def heard():
    """Hello and proof of the handshakes that were begun, and what an acceptor has said."""
    said = []
    for name in glob.glob("sent.*"):
        with open(name, "rb") as file:
            said.append(file.read(HELLO + PROOF))
    begun = [each for each in said if each[11:12] == b"\1" and len(each) == HELLO + PROOF]
    return begun, [each for each in said if each[11:12] == b"\2"]


class Attacker(threading.Thread):
    def __init__(self, seed, count, targets, begun, answered):
        super().__init__()
        self.random = random.Random(seed)
        self.count, self.targets, self.begun, self.answered = count, targets, begun, answered
        self.held = collections.deque()
        self.slow = collections.deque()
        self.verdicts = collections.Counter()

    def call(self):
        family, port = self.random.choice(self.targets)
        end = socket.socket(family)
        end.settimeout(10)
        end.connect(("::1" if family == socket.AF_INET6 else "127.0.0.1", port))
        return end

    def hang_up(self, end):
        if self.random.random() < 0.5:  # without a goodbye
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.close()

    def hold(self, end, held, most):
        held.append(end)
        if len(held) > most:
            self.hang_up(held.popleft())

    def read_message(self, end):
        got = b""
        while len(got) < MESSAGE:
            part = end.recv(MESSAGE - len(got))
            if not part:
                break
            got += part
        if len(got) == MESSAGE and got[11] == 4:
            self.verdicts[got[12]] += 1
        return got

    def garbage(self, end):
        end.sendall(self.random.randbytes(self.random.randint(1, 300)))
        self.hang_up(end)

    def half(self, end):
        end.sendall(self.random.choice(self.begun)[: self.random.randint(0, HELLO + 20)])
        self.hold(end, self.held, HELD)

    def creep(self, end):
        self.hold(end, self.slow, HELD)
        hello = self.random.choice(self.begun)
        for each in list(self.slow):
            try:
                at = self.random.randrange(HELLO)
                each.send(hello[at : at + 1])
            except OSError:
                self.slow.remove(each)
                each.close()

    def far_too_much(self, end):
        hello = self.random.choice(self.begun)
        end.sendall(hello + self.random.randbytes(1000) * 30)
        self.hang_up(end)

    def replay(self, end):
        """To whom it was said, or to another one."""
        said = self.random.choice(self.begun)
        end.sendall(said[:HELLO])
        self.read_message(end)  # a challenge, if it is the right one
        end.sendall(said[HELLO:])
        self.read_message(end)
        end.close()

    def replay_at_once(self, end):
        end.sendall(self.random.choice(self.begun + self.answered))
        end.shutdown(socket.SHUT_WR)
        self.read_message(end)
        self.read_message(end)
        end.close()

    def run(self):
        ways = [self.garbage, self.half, self.creep, self.far_too_much, self.replay,
                self.replay_at_once]
        for i in range(self.count):
            end = socket.socket()
            try:
                end = self.call()
                ways[i % len(ways)](end)
            except OSError:  # it has seen enough of us
                end.close()
        for end in list(self.held) + list(self.slow):
            self.hang_up(end)


def attack(count, targets, verdicts, grown):
    begun, answered = heard()
    attackers = [Attacker(seed, count // THREADS, targets, begun, answered)
                 for seed in range(THREADS)]
    for each in attackers:
        each.start()
    while any(each.is_alive() for each in attackers):
        grown()
        time.sleep(0.05)
    for each in attackers:
        each.join()
        verdicts.update(each.verdicts)


def main():
    wait_for(lambda: all(os.path.exists(f"pid.{rank}") and os.path.getsize(f"pid.{rank}") > 1
                         for rank in range(3)) and heard()[0])
    pids = [open(f"pid.{rank}", encoding="ascii").read().strip() for rank in range(3)]
    targets = [port for pid in pids for port in ports_of(pid)]
    verdicts = collections.Counter()
    half = CONNECTIONS // 2
    attack(half, targets, verdicts, lambda: open("go", "w", encoding="ascii").close())
    wait_for(lambda: len(heard()[0]) >= 3)

    before = [(descriptors(pid), rss_kib(pid)) for pid in pids]
    most = [0, 0]

    def grown():
        for pid, (fds, kib) in zip(pids, before):
            most[0] = max(most[0], descriptors(pid) - fds)
            most[1] = max(most[1], rss_kib(pid) - kib)

    attack(CONNECTIONS - half, targets, verdicts, grown)

    def left():
        return max(descriptors(pid) - fds for pid, (fds, _) in zip(pids, before))

    wait_for(lambda: left() <= 0)
    print(f"ranks {len(pids)} ports {len(targets)}")
    print(f"accepted {verdicts[ACCEPTED]}")
    print(f"unproven {verdicts[BAD_PROOF]}")
    print(f"descriptors {most[0]} kib {most[1]}")
    print(f"left {max(left(), 0)}")


main()
