# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The jobs that every launcher is tried with. After check.sh:
#
#   source "$MICA_SOURCE/test/cluster/jobs.sh"
#   jobs_build                          # ./who and a few programs of test/mpi
#   start() { mpiexec.hydra -n "$@"; }  # NP COMMAND...
#   jobs_check "under Hydra" start

jobs_programs="coll_death coll_random datatype_pack fatal init_states p2p_layouts p2p_random
    peer_death polling pt2pt"

jobs_build() {
    local name
    jobs_seed=${MICA_TEST_SEED:-$RANDOM}
    echo "# seed $jobs_seed"
    for name in $jobs_programs; do
        check "$name.c" "$MICA_PREFIX/bin/mpicc" -std=gnu11 -O1 -g -I"$MICA_SOURCE" -o "$name" \
            "$MICA_SOURCE/test/mpi/$name.c"
    done
    check "who.c" "$MICA_PREFIX/bin/mpicc" -std=gnu11 -O1 -g -o who "$MICA_SOURCE/test/cluster/who.c"
    check "hang.c" "$MICA_PREFIX/bin/mpicc" -std=gnu11 -O1 -g -pthread -o hang "$MICA_SOURCE/test/cluster/hang.c"
}

jobs_check() { # TEXT START: of four ranks, and others
    local text=$1 start=$2 seconds
    seconds=$(awk -v soak="${MICA_TEST_SOAK:-1}" 'BEGIN { print soak / 2 }')
    check "$text: four ranks" "$start" 4 ./who
    same "$text: all of one job" "0 1 2 3" "$(sed -n 's/^rank \([0-9]\) of 4.*/\1/p' out | sort | xargs)"
    same "$text: in silence" "" "$(jobs_noise)"
    check "$text: point to point" "$start" 4 ./pt2pt
    check "$text: layouts" "$start" 2 ./p2p_layouts
    check "$text: types" "$start" 2 ./datatype_pack
    check "$text: random messages" "$start" 3 ./p2p_random "$jobs_seed" "$seconds"
    check "$text: random collectives" "$start" 5 ./coll_random "$jobs_seed" "$seconds"
    check "$text: start and end" "$start" 4 ./init_states
    check "$text: looking again and again" "$start" 2 ./polling
    OMPI_MCA_mpirun_report_hang=0.3 run "$start" 3 ./hang
    like "$text: a hang is reported" 'a cycle: rank 0 \(MPI_Recv\), which waits for rank 1'
    jobs_seed=$((jobs_seed + 1))
}

# What the ranks have said, without what the launcher says of itself.
jobs_noise() { grep -E '^\[[a-z0-9.-]+(:[0-9]+)?\] (error|warning|note)' err; }

jobs_left() { # what jobs of ours would leave behind here; the runner looks at /dev/shm
    ls -d "$TMPDIR"/mica* 2>/dev/null
}
