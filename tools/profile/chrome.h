/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A Chrome trace (JSON object format) of what the ranks have recorded, which Perfetto and
 * chrome://tracing open. A process is a rank, a thread one that has called MPI. Calls are complete
 * events ("X"), and so are the waits inside of them; a message is a flow from the call that has
 * sent it ("s") to the call in which it has met its receive ("f").
 *
 * A message is found at both ends by communicator, sender, receiver, tag and its number among
 * those: messages that agree in all of these are received in the order in which they were sent. A
 * flow is written if both ends were recorded.
 */
#ifndef MICA_PROFILE_CHROME_H
#define MICA_PROFILE_CHROME_H

#include <stdbool.h>

/* Makes `path` of the records in `folder` (NULL: `path`.parts). Then the records of calls are
 * removed, and with them the folder, if it has nothing else than records and is not that of a
 * profile. False: an error was logged, and the records remain. */
bool chrome_trace(const char *path, const char *folder, bool quiet);

#endif
