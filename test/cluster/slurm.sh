# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A real Slurm for tests: slurmctld, and a slurmd on each of several nodes (netns.sh). After check.sh:
#
#   source "$MICA_SOURCE/test/cluster/slurm.sh"
#   slurm_begin "$@"        # runs the script anew where its namespaces are; or skips all of it
#   slurm_start 2           # node1 and node2
#   check "a job" slurm_run srun --mpi=pmix -N 2 -n 4 ./a
#
# Own state, own munge with its own key, own network, so nothing of an installed Slurm is touched and
# two tests cannot meet. The daemons live in a process namespace: they end with the script, however
# that ends. No cgroups, no accounting, nothing that a container would not permit.

slurm_begin() { # "$@" of the script. Call it before anything else is done.
    local command
    [ "$(id -u)" -eq 0 ] || skip_all "only root starts a Slurm of its own"
    for command in slurmctld:slurmctld slurmd:slurmd srun:slurm-client munged:munge; do
        PATH=$PATH:/usr/sbin command -v "${command%:*}" >/dev/null ||
            skip_all "the command ${command%:*} (package ${command#*:}) is not installed"
    done
    if [ "${MICA_SLURM-}" != pid ]; then
        unshare --pid --fork true 2>"$MICA_TMP/slurm.err" ||
            skip_all "no process namespaces here: $(tail -n 1 "$MICA_TMP/slurm.err")"
        MICA_SLURM=pid exec unshare --pid --fork --kill-child --mount-proc "$BASH" "$0" "$@"
    fi
    netns_begin "$@"
    unset MICA_SLURM
    PATH=$PATH:/usr/sbin
    slurm=$MICA_TMP/slurm
    export SLURM_CONF=$slurm/slurm.conf
}

# shellcheck disable=SC2016 # the inner shell expands it
slurm_on() { # NODE COMMAND...: there, under the node's own name, with a $slurm/tmp of its own
    nsenter --net="/run/netns/node$1" unshare --uts --mount "$BASH" -c \
        'hostname "$0" && mount --bind "$1.$0" "$1" && exec "${@:2}"' "node$1" "$slurm/tmp" "${@:2}"
}

slurm_run() { # COMMAND...: as a user of node1
    slurm_on 1 "$@"
}

slurm_has() { # PLUGIN: whether srun --mpi=PLUGIN works
    slurm_run srun --mpi=list 2>&1 | grep -qE "^[[:space:]]*$1\$"
}

slurm_configure() { # NODES
    local node
    cat <<END
ClusterName=mica
SlurmctldHost=node1($(netns_ipv4 1))
AuthType=auth/munge
AuthInfo=socket=$slurm/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool/%n
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/%n.pid
SlurmctldLogFile=$slurm/slurmctld.log
SlurmdLogFile=$slurm/%n.log
TmpFS=$slurm/tmp
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
MpiDefault=none
ReturnToService=2
KillWait=2
SlurmdParameters=config_overrides
END
    for ((node = 1; node <= $1; node++)); do
        echo "NodeName=node$node NodeAddr=$(netns_ipv4 "$node") CPUs=64"
    done
    echo "PartitionName=all Nodes=node[1-$1] Default=YES State=UP MaxTime=INFINITE"
}

slurm_start() { # NODES. False, and $slurm/*.log, if it does not come up.
    local node
    netns_create "$1" || return
    mkdir -p "$slurm"/{munge,state,spool,tmp} || return
    chmod 755 "$slurm" "$slurm/munge"
    { cat /etc/hosts && for ((node = 1; node <= $1; node++)); do
        echo "$(netns_ipv4 "$node") node$node"
    done; } >"$slurm/hosts"
    mount --bind "$slurm/hosts" /etc/hosts || return # launchers look for each other by name
    slurm_configure "$1" >"$SLURM_CONF"
    echo "CgroupPlugin=cgroup/v1" >"$slurm/cgroup.conf"
    (umask 077 && head -c 1024 /dev/urandom >"$slurm/munge/key") || return
    munged --force --socket="$slurm/munge/socket" --key-file="$slurm/munge/key" \
        --pid-file="$slurm/munge/pid" --log-file="$slurm/munge/log" \
        --seed-file="$slurm/munge/seed" >"$slurm/munged.log" 2>&1 || return
    for ((node = 1; node <= $1; node++)); do
        mkdir -p "$slurm/spool/node$node" "$slurm/tmp.node$node"
    done
    slurm_on 1 slurmctld -D >"$slurm/slurmctld.out" 2>&1 &
    for ((node = 1; node <= $1; node++)); do
        slurm_on "$node" slurmd -D -N "node$node" >"$slurm/node$node.out" 2>&1 &
    done
    slurm_run srun --immediate=100 -N "$1" true >"$slurm/first.log" 2>&1
}
