/* SPDX-License-Identifier: BSD-3-Clause */
/* See places.h. */
#include "tools/profile/places.h"

#include <string.h>
#include <unistd.h>

#include "opal/lines/lines.h"

enum { TEXT_BYTES = 512 };

/* What the loader of the process knew, where the file is not here any more, or on another host. */
static char *describe(const opal_profile_location_t *place)
{
    const char *slash = strrchr(place->module, '/');
    const char *module = place->module[0] == 0 ? "?" : slash != NULL ? slash + 1 : place->module;
    if (place->symbol[0] == 0)
        return opal_xprintf("%s+0x%lx", module, (unsigned long)place->module_offset);
    return opal_xprintf("%s+0x%lx (%s)", place->symbol, (unsigned long)place->symbol_offset,
                        module);
}

void places_name(summary_t *summary)
{
    opal_lines_t *lines = opal_lines_open(getpid());
    for (size_t i = 0; i < summary->site_count; i++) {
        site_sum_t *site = &summary->sites[i];
        opal_location_t found;
        char text[TEXT_BYTES];
        if (lines != NULL &&
            opal_lines_find_in(lines, site->place->module, site->place->module_offset, &found) &&
            (found.function != NULL || found.line != 0))
            site->text = opal_xstrdup(opal_lines_describe(&found, text, sizeof text));
        else
            site->text = describe(site->place);
    }
    if (lines != NULL)
        opal_lines_close(lines);
}
