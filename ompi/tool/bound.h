/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For objects that variables of tools are bound to: communicators and windows say when they end,
 * since tools may still have handles. This header is below the folders of these objects.
 */
#ifndef OMPI_TOOL_BOUND_H
#define OMPI_TOOL_BOUND_H

#include "ompi/handle/handle.h"

/* Before the object's memory is freed, in any thread, with any lock but that of tool.h. Handles
 * that are bound to it can only be freed from then on. */
void ompi_tool_unbind(const ompi_object_t *object);

#endif
