# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# For tests over libfabric: the fake provider, built into the current folder.
#
#   need_fabric                 or skip all, if libfabric is not there
#   make_fake                   libfabric finds "fake" from here on

export MICA_TEST_SENDS_STAY=yes # test/mpi/place.h: a network matches

need_fabric() {
    echo '#include <rdma/providers/fi_prov.h>' | cc -E -x c - >/dev/null 2>&1 ||
        skip_all "libfabric-dev is not installed"
}

make_fake() {
    mkdir -p fabric
    check "the fake provider compiles" cc -shared -fPIC -std=gnu11 -O1 -g -Wall -Wextra -Werror \
        -fvisibility=hidden -o fabric/libfake-fi.so "$MICA_SOURCE"/test/fabric/fake/*.c -lfabric -pthread
    export FI_PROVIDER_PATH=$MICA_TMP/fabric
}

# Jobs use it, and no other way between ranks of a node.
choose_fake() {
    export OMPI_MCA_pml=cm OMPI_MCA_mtl_ofi_provider_include=fake OMPI_MCA_pml_cm_shared_memory=no FAKE_LEAKS=1
}

compile_mpi() { # PROGRAM of test/mpi, or of test/fabric
    local source=$MICA_SOURCE/test/mpi/$1.c
    [ -e "$source" ] || source=$MICA_SOURCE/test/fabric/$1.c
    check "$1 compiles" "$MICA_PREFIX/bin/mpicc" -std=gnu11 -O1 -g -Wall -Wextra -Werror -o "$1" \
        "$source" -I"$MICA_SOURCE" -I"$MICA_SOURCE/test/mpi"
}

# In this mood the program says nothing else than "ok", and nothing is left open.
job() { # RANKS SETTING... -- PROGRAM ARGUMENT...
    local ranks=$1 settings=()
    shift
    while [ "$1" != -- ]; do
        settings+=("$1")
        shift
    done
    shift
    run env "${settings[@]}" timeout 150 "$MICA_PREFIX/bin/mpirun" -n "$ranks" "./$1" "${@:2}"
    if [ "$run_status" -eq 0 ] && ! cat out err | grep -qE '^not ok|open at the end|^fake: '; then
        ok "$* with ${settings[*]}"
    else
        not_ok "$* with ${settings[*]}" "to repeat: env FI_PROVIDER_PATH=... $(env | grep -E \
            '^(OMPI_MCA|FAKE)_' | tr '\n' ' ') ${settings[*]} mpirun -n $ranks $*" "$(show_run)"
    fi
}

random() { # RANKS SETTING...: p2p_random for a moment
    job "$1" FAKE_SEED="$seed" "${@:2}" -- p2p_random "$seed" "$(awk -v soak="${MICA_TEST_SOAK:-1}" \
        'BEGIN { print 0.4 * soak }')"
    seed=$((seed + 1))
}
