# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Nodes for tests: network namespaces of this machine, joined by switches. After check.sh:
#
#   source "$MICA_SOURCE/test/lib/netns.sh"
#   netns_begin "$@"        # runs the script anew where its namespaces are; or skips all of it
#   netns_create 3          # node1 to node3 on one network; `netns_create 3 2`: on two
#   check "it answers" netns_run 1 ping -c 1 "$(netns_ipv4 2)"
#   check "a job over them" mpirun --fake-nodes 2 -n 1 $(netns_exec 1) ./a : -n 1 $(netns_exec 2) ./a
#   netns_link 2 down       # the cable of node2 is pulled out
#
#   node1 [eth0] --- [1.0] switch: net0 [2.0] --- [eth0] node2      and so for eth1, net1
#
# The script runs in a mount namespace of its own: what `ip netns` names is seen by nobody else, so
# two tests cannot meet, and the kernel takes names, namespaces and links away with the last process
# of the test, however that ended. The devices of the machine are never touched: the switches are in
# a namespace too.

netns_begin() { # "$@" of the script. Call it before anything else is done.
    [ "$(id -u)" -eq 0 ] || skip_all "only root makes network namespaces"
    command -v ip >/dev/null || skip_all "the command ip (package iproute2) is not installed"
    if [ "${MICA_NETNS-}" != $$ ]; then
        unshare --mount --net true 2>"$MICA_TMP/netns.err" ||
            skip_all "no namespaces here: $(tail -n 1 "$MICA_TMP/netns.err")"
        MICA_NETNS=$$ exec unshare --mount --propagation private "$BASH" "$0" "$@"
    fi
    unset MICA_NETNS
    # Its own table of names; the folder is the one that ip makes.
    { mkdir -p /run/netns && mount -t tmpfs mica-netns /run/netns && ip netns add switch &&
        ip netns exec switch true && netns_try link add trial0 type veth peer name trial1 &&
        netns_try link add trial0 type bridge; } 2>"$MICA_TMP/netns.err" ||
        skip_all "no namespaces here: $(tail -n 1 "$MICA_TMP/netns.err")"
}

netns_try() { # WORDS...: a device trial0 for ip, away again
    ip -n switch "$@" && ip -n switch link del trial0
}

netns_ipv4() { echo "10.77.${2:-0}.$1"; } # NODE [NETWORK]: its address
netns_ipv6() { echo "fd00:77:$((${2:-0} + 1))::$1"; }

netns_exec() { # NODE: what runs a command there, as words for mpirun
    echo "ip netns exec node$1"
}

netns_run() { # NODE COMMAND...
    ip netns exec "node$1" "${@:2}"
}

netns_ip() { # NODE WORDS...: the command ip there
    ip -n "node$1" "${@:2}"
}

netns_create() { # NODES [NETWORKS]
    local node network
    for ((network = 0; network < ${2:-1}; network++)); do
        ip -n switch link add "net$network" type bridge || return
        ip -n switch link set "net$network" up || return
    done
    for ((node = 1; node <= $1; node++)); do
        ip netns add "node$node" && netns_ip "$node" link set lo up || return
        for ((network = 0; network < ${2:-1}; network++)); do
            netns_connect "$node" "$network" || return
        done
    done
}

netns_connect() { # NODE NETWORK: lays its cable
    local port=$1.$2 device=eth$2
    ip -n switch link add "$port" type veth peer name "$device" netns "node$1" &&
        ip -n switch link set "$port" master "net$2" up && netns_address "$1" "$2"
}

netns_address() { # NODE NETWORK: gives its device the addresses, usable at once
    netns_ip "$1" address add "$(netns_ipv4 "$1" "$2")/24" dev "eth$2" &&
        { ! netns_has_ipv6 ||
            netns_ip "$1" address add "$(netns_ipv6 "$1" "$2")/64" dev "eth$2" nodad; } &&
        netns_ip "$1" link set "eth$2" up
}

netns_has_ipv6() { [ "$(ip netns exec switch cat /proc/sys/net/ipv6/conf/all/disable_ipv6 2>&1)" = 0 ]; }

netns_link() { # NODE up|down [NETWORK]: the cable, at the switch; the node is told of nothing
    ip -n switch link set "$1.${3:-0}" "$2"
}

netns_has_netem() {
    ip -n switch link add trial0 type veth peer name trial1
    tc -n switch qdisc add dev trial0 root netem delay 1ms 2>"$MICA_TMP/netns.err"
    local result=$?
    ip -n switch link del trial0
    return $result
}

# NODE MILLISECONDS PERCENT [NETWORK]: what leaves the node arrives later, and some of it never. By a
# cable of our own, which loses by count; its device is a new one, so connections are to be made
# afterwards. Where there can be none, by netem, which loses by chance.
netns_shape() {
    local network=${4:-0} cable
    if [ ! -c /dev/net/tun ]; then
        tc -n "node$1" qdisc replace dev "eth$network" root netem delay "$2ms" loss "$3%"
        return
    fi
    ip -n switch link del "$1.$network" || return
    netns_ip "$1" link del "eth$network" 2>/dev/null # of a cable of our own; a veth has gone with its end
    exec {cable}< <(exec python3 "$MICA_SOURCE/test/lib/netns_cable.py" /run/netns/switch \
        "$1.$network" "/run/netns/node$1" "eth$network" "$2" "$3")
    read -r -u "$cable" && exec {cable}<&- && ip -n switch link set "$1.$network" master \
        "net$network" up && netns_address "$1" "$network"
}

netns_can_shape() { [ -c /dev/net/tun ] || netns_has_netem; }
