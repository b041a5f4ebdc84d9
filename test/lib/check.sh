# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# TAP for script tests: one "ok" or "not ok" line a check, what failed below it as "# " lines.
#
#   source "$MICA_SOURCE/test/lib/check.sh"
#   check "mpicc compiles"  "$MICA_PREFIX/bin/mpicc" -c hello.c
#   status "exit status of a rank" 3  "$MICA_PREFIX/bin/mpirun" -n 2 ./exit3
#   like "it names the rank" 'rank 1 .*exited'
#   finish
#
# check, status and run keep what the command printed in $MICA_TMP/out (stdout) and
# $MICA_TMP/err (stderr); like, unlike and same look at them. The last line must be `finish`:
# a script that ends before it has no plan line and fails in the runner.

: "${MICA_TMP:?is set by the runner: ./dev test PATH}" "${MICA_SOURCE:?}" "${MICA_PREFIX:?}" "${MICA_BUILD:?}"
cd "$MICA_TMP" || exit 1

tap_count=0
tap_failed=0

ok() { # TEXT
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1"
}

not_ok() { # TEXT [DETAIL...]
    tap_count=$((tap_count + 1))
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_count - $1"
    shift
    [ $# -eq 0 ] || printf '%s\n' "$@" | sed 's/^/# /'
}

skip() { # TEXT REASON
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

skip_all() { # REASON
    echo "1..1"
    echo "ok 1 - all of it # SKIP $1"
    exit 0
}

run() { # COMMAND...: sets $run_status
    run_status=0
    "$@" >"$MICA_TMP/out" 2>"$MICA_TMP/err" || run_status=$?
}

show_run() { # what the last command printed, for a failure
    echo "exit status $run_status"
    sed 's/^/stdout: /' "$MICA_TMP/out" | tail -n 40
    sed 's/^/stderr: /' "$MICA_TMP/err" | tail -n 40
}

check() { # TEXT COMMAND...: the command must succeed
    local text=$1
    shift
    status "$text" 0 "$@"
}

status() { # TEXT STATUS COMMAND...: the command must end with this status
    local text=$1 wanted=$2
    shift 2
    run "$@"
    if [ "$run_status" -eq "$wanted" ]; then
        ok "$text"
    else
        not_ok "$text" "wanted exit status $wanted of: $*" "$(show_run)"
    fi
}

like() { # TEXT REGEX [FILE]: the extended regex is found in what the last command printed
    if cat "${3:-$MICA_TMP/out}" "${3:-$MICA_TMP/err}" | grep -qE -e "$2"; then
        ok "$1"
    else
        not_ok "$1" "not found: $2" "$(if [ $# -gt 2 ]; then tail -n 40 "$3"; else show_run; fi)"
    fi
}

unlike() { # TEXT REGEX: it is not
    if cat "$MICA_TMP/out" "$MICA_TMP/err" | grep -qE -e "$2"; then
        not_ok "$1" "found: $2" "$(show_run)"
    else
        ok "$1"
    fi
}

same() { # TEXT WANTED GOT
    if [ "$2" = "$3" ]; then
        ok "$1"
    else
        not_ok "$1" "wanted: $2" "got:    $3"
    fi
}

finish() {
    echo "1..$tap_count"
    [ "$tap_failed" -eq 0 ]
    exit
}
