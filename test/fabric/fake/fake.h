/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A provider of libfabric for tests: reliable tagged messages between processes of one machine, and
 * as unpleasant as the interface permits. libfabric loads it from the folder of FI_PROVIDER_PATH.
 *
 *   settings.c   the moods, from the environment; what fails when; the random numbers
 *   info.c       fi_getinfo, and the tables of what opens what
 *   memory.c     registrations, and whether they are stale
 *   wire.c       datagrams of Unix sockets, and the sends that wait for them
 *   match.c      receives, unexpected messages, probes, cancelling
 *   queue.c      completions
 *   endpoint.c   the calls of an endpoint
 *
 * A program that breaks a rule of libfabric is ended with status 99 and a message (fake_refuse):
 * the rule is what is tested. Everything is under one lock; at FI_THREAD_DOMAIN, two threads at
 * once are a broken rule.
 */
#ifndef TEST_FABRIC_FAKE_H
#define TEST_FABRIC_FAKE_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { FAKE_MAX_IOV = 4, FAKE_ADDRESS_BYTES = 48, FAKE_CONTEXT_WORDS = 8, FAKE_REFUSED = 99 };

/* What can be made to fail, by its call (FAKE_FAIL) or by its completion (FAKE_ERROR). */
typedef enum fake_operation {
    FAKE_GETINFO,
    FAKE_FABRIC,
    FAKE_DOMAIN,
    FAKE_CQ_OPEN,
    FAKE_AV_OPEN,
    FAKE_ENDPOINT,
    FAKE_BIND,
    FAKE_ENABLE,
    FAKE_GETNAME,
    FAKE_GETWAIT,
    FAKE_AV_INSERT,
    FAKE_MR_REG,
    FAKE_MR_ENABLE,
    FAKE_SEND,
    FAKE_INJECT,
    FAKE_RECV,
    FAKE_PEEK,
    FAKE_CLAIM,
    FAKE_CANCEL,
    FAKE_CQ_READ,
    FAKE_CQ_READERR,
    FAKE_TRYWAIT,
    FAKE_CLOSE,
    FAKE_OPERATIONS,
} fake_operation_t;

typedef enum fake_peek { FAKE_PEEK_NOW, FAKE_PEEK_LATER, FAKE_PEEK_DIRECT } fake_peek_t;

/* The mood: settings.c says what each is called and means. */
typedef struct fake_settings {
    uint64_t again, delay, reorder, late;
    uint64_t max_msg, inject, iov, cq_data, tag_format, tx_size, rx_size, address_bytes, infos;
    uint64_t directed, context, mr_local, mr_endpoint, wait, thread_safe, peek, version, leaks,
        bare_errors;
} fake_settings_t;

extern fake_settings_t fake;

void fake_read_settings(void);

/* Less than `limit`, which is not 0; the same numbers in each run with the same seed. */
uint64_t fake_random(uint64_t limit);

/* Whether this call is one of those that have to be repeated. */
bool fake_again(void);

/* The negative error that this call, or the completion of this operation, has by the settings; 0.
 */
int fake_call_error(fake_operation_t operation);
int fake_completion_error(fake_operation_t operation);

/* The program broke a rule: its last message. */
__attribute__((format(printf, 1, 2), noreturn)) void fake_refuse(const char *format, ...);

/* Around every call that touches an object. */
void fake_enter(void);
void fake_leave(void);

/* Open objects of this process. */
extern int fake_open_objects;

typedef struct fake_fabric {
    struct fid_fabric fid;
    int children;
} fake_fabric_t;

typedef struct fake_domain {
    struct fid_domain fid;
    fake_fabric_t *fabric;
    int children;
} fake_domain_t;

typedef struct fake_av {
    struct fid_av fid;
    fake_domain_t *domain;
    struct sockaddr_un *peers;
    size_t count;
} fake_av_t;

/* NULL: it was never inserted. */
const struct sockaddr_un *fake_av_peer(const fake_av_t *av, fi_addr_t address);
fi_addr_t fake_av_find(const fake_av_t *av, const struct sockaddr_un *peer);
int fake_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
                 void *context);

/* ---- memory.c ---- */

/* A buffer as libfabric describes it; the descriptors are those of registrations. */
typedef struct fake_buffer {
    struct iovec iov[FAKE_MAX_IOV];
    void *desc[FAKE_MAX_IOV];
    size_t count, bytes;
} fake_buffer_t;

extern struct fi_ops_mr fake_mr_ops;

/* Whether registrations cover it, for `access`; refuses if not. */
void fake_check_covered(const fake_buffer_t *buffer, uint64_t access);

/* Whether the pages of its first bytes are those that were registered; refuses if not. */
void fake_check_fresh(const fake_buffer_t *buffer, size_t bytes);

void fake_buffer_put(const fake_buffer_t *buffer, size_t offset, const void *bytes, size_t length);

/* ---- queue.c ---- */

typedef struct fake_completion {
    struct fake_completion *next;
    struct fi_cq_err_entry entry; /* of a success, too: err is 0 */
    fi_addr_t source;
    uint64_t reads; /* until it may be seen */
} fake_completion_t;

struct fake_endpoint;

typedef struct fake_cq {
    struct fid_cq fid;
    fake_domain_t *domain;
    enum fi_cq_format format;
    size_t size, unread;
    int epoll;                      /* its fd: ready if the endpoint's socket is */
    struct fake_endpoint *endpoint; /* the one that is bound */
    fake_completion_t *first, **last, *error;
} fake_cq_t;

void fake_cq_attach(fake_cq_t *self, struct fake_endpoint *endpoint);
int fake_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
                 void *context);
int fake_trywait(struct fid_fabric *fabric, struct fid **fids, int count);

/* Adds one; hands the context back to its owner, unless it is kept for a claim. */
void fake_complete(fake_cq_t *cq, const struct fi_cq_err_entry *entry, fi_addr_t source, bool keep);

/* The context is ours until its completion: libfabric's owner may use it. Checked then. */
void fake_take_context(void *context);

/* ---- endpoint.c, wire.c, match.c ---- */

typedef struct fake_send {
    struct fake_send *next;
    struct sockaddr_un to;
    fake_buffer_t buffer;
    char *copy; /* of what is injected */
    uint64_t tag, data, serial, reads;
    size_t sent;
    void *context;
    bool has_data, silent, by_inject, tried;
} fake_send_t;

typedef struct fake_receive {
    struct fake_receive *next;
    fake_buffer_t buffer;
    fi_addr_t source;
    uint64_t tag, ignore, flags, reads;
    void *context;
} fake_receive_t;

/* One that has begun to arrive. */
typedef struct fake_message {
    struct fake_message *next;
    struct sockaddr_un from;
    uint64_t serial, tag, data;
    size_t total, got;
    char *bytes;             /* as long as nobody receives it */
    fake_receive_t *receive; /* who does */
    void *claimed;           /* the context that a probe gave */
    bool has_data, is_claimed, dropped;
} fake_message_t;

typedef struct fake_endpoint {
    struct fid_ep fid;
    fake_domain_t *domain;
    fake_av_t *av;
    fake_cq_t *send_cq, *receive_cq;
    bool send_silent, receive_silent; /* unless FI_COMPLETION is given */
    bool enabled, directed;
    int socket;
    struct sockaddr_un name;
    uint64_t serial, send_flags, receive_flags;
    size_t sends_waiting, receives_posted;
    fake_send_t *sends, **last_send;
    fake_receive_t *posted, **last_posted;
    fake_receive_t *probes, **last_probe; /* that are not answered yet */
    fake_message_t *messages, **last_message;
} fake_endpoint_t;

int fake_endpoint_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                       void *context);

/* Opens the socket and finds a name for it; a negative error. */
int fake_wire_open(fake_endpoint_t *self);
socklen_t fake_name_length(void);
void fake_wire_send(fake_endpoint_t *self, fake_send_t *send);
void fake_wire_push(fake_endpoint_t *self);
void fake_wire_close(fake_endpoint_t *self);

/* Everything that can be done now. */
void fake_progress(fake_endpoint_t *self);

void fake_match_post(fake_endpoint_t *self, fake_receive_t *receive);
void fake_match_probe(fake_endpoint_t *self, fake_receive_t *probe);
/* Whether there is a message for it: -FI_ENOMSG at once, for FAKE_PEEK_DIRECT. */
bool fake_match_would_find(fake_endpoint_t *self, const fake_receive_t *probe);
void fake_match_claim(fake_endpoint_t *self, fake_receive_t *receive);
int fake_match_cancel(fake_endpoint_t *self, void *context);
void fake_match_later(fake_endpoint_t *self);
void fake_match_close(fake_endpoint_t *self);

/* A message begins, or goes on. */
void fake_match_arrived(fake_endpoint_t *self, const fake_message_t *head, size_t offset,
                        const char *bytes, size_t length);

#endif
