/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A socket with a link over it, which the descriptors of progress drive: shared by ports, which
 * have callers, and connectors. Threading: that of port.h.
 */
#ifndef OPAL_PROCESS_PORT_STREAM_H
#define OPAL_PROCESS_PORT_STREAM_H

#include "opal/process/port.h"
#include "opal/process/port_socket.h"

typedef struct opal_port_stream {
    opal_descriptor_t descriptor;
    opal_link_t link;
    void (*changed)(struct opal_port_stream *stream); /* called after input and output */
    void *owner;
    opal_list_node_t node; /* the owner's */
    uint64_t since_nsec;
    int error; /* of the system, if that has closed the link; else 0 */
    struct sockaddr_storage peer;
} opal_port_stream_t;

/* Begins a link over the socket, which is the stream's from now on, and is closed on a failure.
 * NULL: no memory, or no descriptor can be watched. Nothing is sent before opal_port_stream_push.
 */
opal_port_stream_t *opal_port_stream_create(int fd, opal_link_role_t role,
                                            const unsigned char key[OPAL_PORT_KEY_BYTES],
                                            void (*changed)(opal_port_stream_t *stream),
                                            void *owner);

/* Moves bytes in both directions, as far as that goes now. `changed` is not called. */
void opal_port_stream_push(opal_port_stream_t *stream);

void opal_port_stream_destroy(opal_port_stream_t *stream);

/* Ends the step of a meeting. `status` OPAL_SUCCESS: without trouble. */
void opal_meeting_settle(opal_meeting_t *meeting, opal_status_t status);
void opal_meeting_fail(opal_meeting_t *meeting, opal_status_t status, const char *format, ...)
    OPAL_PRINTF(3, 4);

/* The meeting has got its peer. */
void opal_meeting_take_stream(opal_meeting_t *meeting, opal_port_stream_t *stream);

/* A meeting leaves its port's list. */
void opal_port_leave(opal_meeting_t *meeting);

/* A connector gives up its attempts, but not its stream. */
void opal_port_dial_end(opal_meeting_t *meeting);

#endif
