#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Finds the frameworks and components in the folders, writes what configure and
# make have to know about them (config/mca.m4, config/mca.am), and runs the
# autotools. A new component needs nothing but its folder.
#
#   <project>/mca/<framework>/<framework>.h          a framework
#   <project>/mca/<framework>/configure.m4           optional, see config/mica_mca.m4
#   <project>/mca/<framework>/<name>/component.mk    a component
#   <project>/mca/<framework>/<name>/configure.m4    optional
#   <project>/mca/<framework>/<name>/gate.c          optional, see opal/mca/base/component.h
set -eu
cd "$(dirname "$0")"

frameworks="" components="" includes="" gates=""

add_m4() {
    [ ! -f "$1/configure.m4" ] || includes="$includes $1/configure.m4"
}

for header in opal/mca/*/*.h ompi/mca/*/*.h; do
    folder=${header%/*}
    framework=${folder##*/}
    [ -f "$header" ] && [ "$header" = "$folder/$framework.h" ] || continue
    project=${folder%%/*}
    frameworks="$frameworks $project/$framework"
    add_m4 "$folder"
    for makefile in "$folder"/*/component.mk; do
        [ -f "$makefile" ] || continue
        name=${makefile%/component.mk}
        components="$components $project/$framework/${name##*/}"
        [ ! -f "$name/gate.c" ] || gates="$gates ${framework}_${name##*/}"
        add_m4 "${makefile%/component.mk}"
    done
done

# word list -> m4 list: "a b" -> "[a], [b]"
m4_list() {
    out=""
    for word in "$@"; do
        out="$out${out:+, }[$word]"
    done
    printf '%s' "$out"
}

# shellcheck disable=SC2086 # the lists are split on purpose
{
    echo "dnl Written by autogen.sh from the folders."
    echo "m4_define([mica_frameworks], [$(m4_list $frameworks)])"
    echo "m4_define([mica_components], [$(m4_list $components)])"
    for gate in $gates; do
        echo "m4_define([mica_gate_$gate])"
    done
    for file in $includes; do
        echo "m4_include([$file])"
    done
} >config/mca.m4

{
    echo "# Written by autogen.sh from the folders."
    for component in $components; do
        project=${component%%/*}
        rest=${component#*/}
        id=${rest%/*}_${rest#*/}
        folder=$project/mca/$rest
        case $project in
        opal) library=opal_core uplink=libopen-pal.la ;;
        *) library=${project}_core uplink="libmpi_abi.la libopen-pal.la" ;;
        esac
        case " $gates " in
        *" $id "*) gate=$folder/gate.c ;;
        *) gate="" ;;
        esac
        cat <<END

include \$(top_srcdir)/$folder/component.mk
if MCA_STATIC_$id
lib${library}_la_SOURCES += \$(mca_${id}_sources)${gate:+ $gate}
lib${library}_la_LIBADD += \$(mca_${id}_libs)
endif
if MCA_DSO_$id
component_LTLIBRARIES += mca_$id.la
mca_${id}_la_SOURCES = \$(mca_${id}_sources)
mca_${id}_la_LDFLAGS = \$(component_ldflags)
mca_${id}_la_LIBADD = $uplink \$(mca_${id}_libs)${gate:+
lib${library}_la_SOURCES += $gate}
endif
END
    done
} >config/mca.am

mkdir -p config
autoreconf --install --force --warnings=all,no-obsolete "$@"
