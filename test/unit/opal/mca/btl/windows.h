/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the ranks of a crew let each other operate on: a window for each, exposed, or in a
 * region that all of them see.
 */
#ifndef OPAL_UNIT_BTL_WINDOWS_H
#define OPAL_UNIT_BTL_WINDOWS_H

#include "opal/mca/btl/btl.h"
#include "test/unit/opal/mca/btl/crew.h"

enum {
    WINDOWS_MOST = 8,
    WINDOWS_BYTES = 6 << 20,
    WINDOWS_MESSAGE = OPAL_BTL_ONE_SIDED * OPAL_BTL_KINDS + 3,
};

typedef struct windows_way {
    const opal_component_t *component;
    const char *use_cma; /* a parameter of sm; NULL: it is not set */
    bool in_region;
} windows_way_t;

/* What a rank has; its client is OPAL_BTL_ONE_SIDED. */
extern struct windows {
    const windows_way_t *way;
    unsigned char *own;                                   /* WINDOWS_BYTES */
    uint64_t exposure;                                    /* 0: it is in the region */
    void (*on_message)(const void *bytes, size_t length); /* NULL: they are dropped */
    unsigned failures, departures;
} windows;

/* crew_run with a region, if there is to be one, for work that opens its window itself. */
unsigned windows_run(const windows_way_t *way, unsigned size, void (*work)(void));

/* Collective. The window is zero. Before the last word has been told, nobody operates on it. */
void windows_open(void);
void windows_close(void);

/* Tells the others of another exposure. */
void windows_tell(void);

opal_btl_peer_t *windows_peer(unsigned rank);

typedef struct operation {
    opal_btl_operation_t base;
    bool is_done;
    void (*then)(struct operation *operation); /* NULL: nothing */
} operation_t;

typedef enum operation_kind { PUT, GET, ATOMIC } operation_kind_t;

extern unsigned operations_done;

/* On what is at that place of a rank's window. */
operation_t windows_at(unsigned rank, size_t offset, size_t bytes);

void operation_begin(operation_kind_t kind, unsigned rank, operation_t *operation);

/* Polls until it is done. */
void operation_end(const operation_t *operation);

#endif
