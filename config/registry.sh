#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# registry.sh PROJECT "FRAMEWORKS" "STATIC COMPONENTS" "COMPONENTS WITH A GATE"
#
# Prints the C source that tells a library which frameworks, static components and gates
# it has (opal_project_t of opal/mca/base/framework.h). Called by make.
set -eu
project=$1 frameworks=$2 components=$3 gates=$4

echo "/* Written by config/registry.sh. */"
echo "#include \"opal/mca/base/framework.h\""
echo
for framework in $frameworks; do
    echo "extern opal_framework_t mca_${framework}_framework;"
done
for component in $components; do
    echo "extern const opal_component_t mca_${component}_component;"
done
for gate in $gates; do
    echo "extern opal_gate_fn_t mca_${gate}_gate;"
done
echo
echo "static opal_framework_t *const frameworks[] = {"
for framework in $frameworks; do
    echo "    &mca_${framework}_framework,"
done
echo "    NULL,"
echo "};"
echo
echo "static const opal_component_t *const components[] = {"
for component in $components; do
    echo "    &mca_${component}_component,"
done
echo "    NULL,"
echo "};"
echo
echo "static const opal_gate_t gates[] = {"
for gate in $gates; do
    echo "    {\"${gate%%_*}\", \"${gate#*_}\", mca_${gate}_gate},"
done
echo "    {0},"
echo "};"
echo
[ "$project" = opal ] || echo "OPAL_EXPORT extern const opal_project_t ${project}_project;"
echo "const opal_project_t ${project}_project = {\"$project\", frameworks, components, gates};"
