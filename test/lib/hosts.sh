# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Hosts for tests, which a launcher reaches as it would by ssh. After check.sh and netns.sh:
#
#   netns_begin "$@"
#   hosts_create 3                     # node1 to node3; `hosts_create 3 2`: on two networks
#   check "a job" hosts_on 1 mpiexec.hydra "${hosts_hydra[@]}" -hosts node1:2,node2:2 ./a
#   check "a job" hosts_on 1 mpirun --mca plm_rsh_agent "$hosts_agent" --host node1:2,node2:2 ./a
#   hosts_left                         # what such jobs have left behind, a line each
#
# What is started on a host has the network of the namespace, and of its own: the host's name, the
# processes that it sees, and /dev/shm. When the command has ended, the host waits for what else runs
# on it, and says for what if that takes long; the test's limit is the only one. The files that are
# left then are noted, and go with the host.

hosts_agent=$MICA_TMP/agent
export MICA_HOSTS_LEFT=$MICA_TMP/hosts.left
# Where the test's own errors go, which are shown when it does not end.
MICA_HOSTS_TOLD=$(readlink "/proc/$$/fd/2")
[ -w "$MICA_HOSTS_TOLD" ] || MICA_HOSTS_TOLD=/dev/null
export MICA_HOSTS_TOLD

hosts_create() { # HOSTS [NETWORKS]
    : >"$MICA_HOSTS_LEFT"
    cat >"$hosts_agent" <<'END'
#!/bin/bash
# agent [OPTION]... HOST WORD...: runs the words there, as a line for a shell; like ssh, it can be
# killed without anything there noticing.
while [[ $1 = -* ]]; do shift; done
host=$1
shift
exec 3<&0
setsid ip netns exec "$host" unshare --uts --mount --pid --fork --kill-child --mount-proc \
    --propagation private "$BASH" -c '
    hostname "$0" && mount -t tmpfs -o size=64m shm /dev/shm || exit
    host=$0
    eval "$*"
    status=$?
    for ((tries = 1;; tries++)); do
        left=
        for process in /proc/[0-9]*; do
            [ "$process" = /proc/1 ] || ! read -r -d "" word 2>/dev/null <"$process/cmdline" || left+=" $word"
        done
        [ -n "$left" ] || break
        ((tries % 100 != 0)) || echo "$host: still runs:$left" >>"$MICA_HOSTS_TOLD"
        # Hydra has ended now and then without its proxies, which stay then, with no rank below them.
        if ((tries >= 600)) && ! tr " " "\n" <<<"$left" | grep -qvE "/(bash|hydra_pmi_proxy)$|^unshare$|^$"; then
            break
        fi
        read -r -t 0.1 <> <(:)
    done
    for file in /dev/shm/* /dev/shm/.[!.]*; do
        [ ! -e "$file" ] || echo "$host: $file" >>"$MICA_HOSTS_LEFT"
    done
    exit $status' "$host" "$@" <&3 3<&- &
exec 3<&-
wait $!
END
    chmod +x "$hosts_agent"
    # Hydra is told where to be called back, since names lead nowhere here.
    # shellcheck disable=SC2034 # of who sources this
    hosts_hydra=(-iface eth0 -launcher ssh -launcher-exec "$hosts_agent")
    netns_create "$@"
}

hosts_on() { # HOST COMMAND...
    local host=node$1
    shift
    "$hosts_agent" "$host" "${@@Q}"
}

hosts_left() { sort -u "$MICA_HOSTS_LEFT"; }
