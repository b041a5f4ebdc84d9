/* SPDX-License-Identifier: BSD-3-Clause */
/* Words, and names that are found through abstract sockets. See names.h. */
#include "opal/mca/pmi/base/names.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "opal/util/log.h"
#include "opal/util/sha256.h"

enum {
    MAX_PORT_BYTES = 4096,
    ANSWER_SECONDS = 10, /* an mpirun that is stopped does not answer */
};

void opal_pmi_escape(opal_text_t *text, const char *bytes)
{
    for (; *bytes != 0; bytes++) {
        unsigned char byte = (unsigned char)*bytes;
        if (byte <= ' ' || byte == 0x7f || byte == '%')
            opal_text_printf(text, "%%%02x", byte);
        else
            opal_text_append(text, bytes, 1);
    }
}

char *opal_pmi_unescape(const char *word)
{
    char *bytes = opal_xmalloc(strlen(word) + 1), *next = bytes;
    while (*word != 0) {
        unsigned byte;
        int used = 0;
        if (word[0] == '%' && strspn(word + 1, "0123456789abcdef") >= 2 &&
            sscanf(word + 1, "%2x%n", &byte, &used) == 1 && used == 2 && byte != 0) {
            *next++ = (char)byte;
            word += 3;
        } else {
            *next++ = *word++;
        }
    }
    *next = 0;
    return bytes;
}

void opal_pmi_name_address(const char *service, struct sockaddr_un *address, socklen_t *length)
{
    enum { HASH_BYTES = 20 }; /* of the digest; more makes the name no safer */
    unsigned char digest[OPAL_SHA256_BYTES];
    char name[sizeof address->sun_path - 1];
    opal_sha256(service, strlen(service), digest);
    int used = snprintf(name, sizeof name, "mica-name-%u-", (unsigned)geteuid());
    for (int i = 0; i < HASH_BYTES; i++)
        used += snprintf(name + used, sizeof name - (size_t)used, "%02x", digest[i]);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path + 1, name, (size_t)used);
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)used);
}

bool opal_pmi_is_own_user(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

/* Reads to the end of the stream. OPAL_ERR_NOT_FOUND: the other end says nothing. */
static opal_status_t read_port(int fd, char **port)
{
    char bytes[MAX_PORT_BYTES + 1];
    size_t length = 0;
    ssize_t got;
    while ((got = read(fd, bytes + length, MAX_PORT_BYTES - length)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno == EAGAIN ? OPAL_ERR_TIMEOUT : OPAL_ERR_NOT_FOUND;
        length += (size_t)got;
    }
    bytes[length] = 0;
    if (length == 0 || strlen(bytes) != length)
        return OPAL_ERR_NOT_FOUND;
    *port = strdup(bytes);
    return *port != NULL ? OPAL_SUCCESS : OPAL_ERR_NO_MEMORY;
}

static opal_status_t ask_socket(int fd, const char *service, char **port)
{
    const struct timeval limit = {.tv_sec = ANSWER_SECONDS};
    struct sockaddr_un address;
    socklen_t length;
    opal_pmi_name_address(service, &address, &length);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); /* of connect */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    int error;
    do /* a signal ends a connect that has a limit, whatever its handler says */
        error = connect(fd, (const struct sockaddr *)&address, length);
    while (error != 0 && errno == EINTR);
    if (error != 0)
        return errno == EAGAIN || errno == EINPROGRESS ? OPAL_ERR_TIMEOUT : OPAL_ERR_NOT_FOUND;
    if (!opal_pmi_is_own_user(fd)) {
        opal_log_warning("pmi: another user pretends to have published the name %s; it is ignored",
                         service);
        return OPAL_ERR_NOT_FOUND;
    }
    return read_port(fd, port);
}

opal_status_t opal_pmi_name_find(const char *service, char **port)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        opal_log_error("pmi: cannot look for the name %s: no socket: %s", service, strerror(errno));
        return OPAL_ERR_SYSTEM;
    }
    opal_status_t status = ask_socket(fd, service, port);
    close(fd);
    if (status == OPAL_ERR_TIMEOUT)
        opal_log_error("pmi: the mpirun that has published the name %s does not answer within %d s",
                       service, ANSWER_SECONDS);
    return status;
}
