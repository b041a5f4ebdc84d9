/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Published names, as far as both ends of PMI-1 share them: text that fits into a word of a
 * message, and how the processes of one user on one machine find each other's names without a file.
 *
 * An mpirun in which a name is published listens on an abstract Unix socket whose name is made of
 * the user's number and a hash of the service. It sends the port to a process that connects:
 *
 *   a rank of another mpirun                     the mpirun of the publisher
 *      connect "\0mica-name-<uid>-<hash>"  --->  accept; is it the same user?
 *      is it the same user?                <---  the port, then the end of the stream
 *
 * Any user can listen on any abstract name; so the kernel's word on the peer's user is what counts,
 * on both sides. Any thread.
 */
#ifndef OPAL_MCA_PMI_NAMES_H
#define OPAL_MCA_PMI_NAMES_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "opal/include/compiler.h"
#include "opal/include/status.h"
#include "opal/util/text.h"

/* Appends bytes as a word: blanks, control characters and '%' become %xx. */
OPAL_EXPORT void opal_pmi_escape(opal_text_t *text, const char *bytes);

/* What the word stands for; the caller frees it. Never NULL; what is no %xx stays as it is. */
OPAL_EXPORT char *opal_pmi_unescape(const char *word);

/* The socket of an (escaped) service of this user. */
OPAL_EXPORT void opal_pmi_name_address(const char *service, struct sockaddr_un *address,
                                       socklen_t *length);

/* Whether the process at the other end of a socket has this process's user. */
OPAL_EXPORT bool opal_pmi_is_own_user(int fd);

/*
 * Asks the mpirun that has published an (escaped) service on this machine. OPAL_ERR_NOT_FOUND: none
 * of this user has. `*port` is malloc'ed.
 */
OPAL_EXPORT opal_status_t opal_pmi_name_find(const char *service, char **port);

#endif
