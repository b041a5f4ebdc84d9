/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reports of ompi_info. Each has two forms: for a person, and parsable, where a line is one
 * fact and its key never changes:
 *
 *   mica:version:0.1.0
 *   mca:pmi:framework:prose:who this process is ...
 *   mca:pmi:wire:state:refused
 *   mca:pmi:wire:param:pmi_wire_x:value:12
 *
 * The value is everything after the last key and may contain colons; a newline in it is "\n", a
 * backslash "\\".
 */
#ifndef OMPI_INFO_REPORT_H
#define OMPI_INFO_REPORT_H

#include "opal/mca/base/framework.h"

/* One parsable line: the keys as formatted, a colon, the value escaped. */
void report_fact(const char *value, const char *keys_format, ...) OPAL_PRINTF(2, 3);

/* Version, directories, compiler, libraries. */
void report_configuration(bool parsable);

/* Every framework with its components and the files they come from. */
void report_components(bool parsable);

/*
 * The parameters of a framework and component, and the settings of single communicators and windows
 * behind them; "all" stands for any, "base" for those of the framework itself. `internal`: those
 * for tests and measurements, too. Returns the number of parameters.
 */
size_t report_params(const char *framework, const char *component, bool internal, bool parsable);

/* What the library counts: name, class, unit, object and meaning. */
void report_pvars(bool parsable);

/* The types of events, with their elements. */
void report_events(bool parsable);

/* "communicator", "window"; NULL: none. */
const char *report_object_name(opal_pvar_bind_t bind);

/* The candidates of a framework, their states and the reasons. opal_framework_select has run. */
void report_why(const opal_framework_t *framework, bool parsable);

/* How messages are carried, by location of the peer and size, as the components report it. */
void report_protocols(bool parsable);

/* The kernel that copies large blocks, why, and the measured speed of each kernel. */
void report_copy(bool parsable);

/* Which memory events are intercepted in a process like this one, and by which method. Installs the
 * hooks. */
void report_memory(bool parsable);

#endif
