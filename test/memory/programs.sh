# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs that know nothing of us, for tests that run them with something preloaded.
#
#   make_programs                       writes them into the current folder
#   same_output TEXT NAME=VALUE...      each prints with this environment what it prints without

make_programs() {
    cat >program.py <<'END'
import ctypes, hashlib, json, mmap, os, re, subprocess, sys, threading
pieces = [bytes([n % 251]) * (n * 1000) for n in range(1, 400)]
print(hashlib.sha256(b"".join(pieces)).hexdigest())
del pieces
area = mmap.mmap(-1, 1 << 20)
area[5:10] = b"hello"
area.resize(1 << 22)
print(bytes(area[5:10]), len(area))
area.close()
def work(n, out):
    out.append(sum(len(bytearray(size)) for size in range(n, 300000, 3001)))
out = []
threads = [threading.Thread(target=work, args=(n, out)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(out))
print(subprocess.run(["sh", "-c", "echo $((6 * 7))"], capture_output=True).stdout)
print(ctypes.CDLL(None).abs(-4), re.findall(r"\w+", "a b c"), json.dumps({"k": [1, 2]}))
child = os.fork()
if child == 0:
    block = bytearray(1 << 24)
    os._exit(len(block) >> 24)
print(os.waitpid(child, 0)[1] >> 8)
END
    cat >program.pl <<'END'
my %h; $h{$_ % 97} .= "x" x ($_ % 5000) for 1 .. 5000;
my $sum = 0; $sum += length($h{$_}) for sort { $a <=> $b } keys %h;
print "$sum\n"; undef %h;
my $pid = fork(); if (!$pid) { my $s = "y" x 30_000_000; exit(length($s) / 10_000_000); }
waitpid($pid, 0); print $? >> 8, "\n", `echo from a shell`;
END
    programs=("python3 program.py" "perl program.pl" "sort program.py"
        "bash -c 'x=\$(seq 1 20000); echo \${#x}'")
    make_repository >/dev/null 2>&1 && programs+=("git -C repository log -p --stat"
        "git -C repository grep -c --threads=4 e" "git -C repository fsck --full")
}

# A few commits, packed.
make_repository() {
    export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b
    export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
    git init -q repository || return
    for number in 1 2 3 4 5; do
        seq $((number * 1000)) >repository/numbers
        cp program.py "repository/program-$number"
        git -C repository add -A && git -C repository commit -q -m "step $number" || return
    done
    git -C repository gc -q
}

same_output() {
    local text=$1 program name
    shift
    for program in "${programs[@]}"; do
        name=${program%% *}
        if ! command -v "$name" >/dev/null; then
            skip "$name" "it is not installed"
            continue
        fi
        eval "$program" >wanted 2>&1
        env "$@" bash -c "exec $program" >got 2>&1
        same "$name $text" "$(<wanted)" "$(<got)"
    done
}
