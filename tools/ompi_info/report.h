/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ompi_info can show, each in two forms: for a person, and parsable, where a
 * line is one fact and its key never changes:
 *
 *   mica:version:0.1.0
 *   mca:pmi:framework:prose:who this process is ...
 *   mca:pmi:wire:state:refused
 *   mca:pmi:wire:param:pmi_wire_x:value:12
 *
 * The value is everything behind the last key of the line's kind and may contain
 * colons; a newline in it is "\n", a backslash "\\".
 */
#ifndef OMPI_INFO_REPORT_H
#define OMPI_INFO_REPORT_H

#include "opal/mca/base/framework.h"

/* One parsable line: the keys as formatted, a colon, the value escaped. */
void report_fact(const char *value, const char *keys_format, ...) OPAL_PRINTF(2, 3);

/* Version, places, compiler, libraries. */
void report_configuration(bool parsable);

/* Every framework with its components, where they come from and what state they are in. */
void report_components(bool parsable);

/*
 * The parameters of a framework and component; "all" stands for any, "base" for those of the
 * framework itself. `internal`: those for tests and measurements, too. Returns how many were shown.
 */
size_t report_params(const char *framework, const char *component, bool internal, bool parsable);

/* What was chosen in a framework, what not, and why. The framework has been selected. */
void report_why(const opal_framework_t *framework, bool parsable);

/* Which way messages go, by place and size, as the components of a framework say. */
void report_protocols(bool parsable);

/* What copies large blocks, why, and how fast each kernel was in the measurement. */
void report_copy(bool parsable);

/* Which memory events are caught in a process like this one, how, and what that is good for. Hooks
 * are installed for it. */
void report_memory(bool parsable);

#endif
