/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations, and the delivery of events to them. */
#include "ompi/tool/event.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/btl/btl.h"
#include "opal/threads/lock.h"
#include "opal/util/list.h"
#include "ompi/request/request.h"
#include "ompi/tool/event_type.h"
#include "ompi/tool/source.h"

static const MPI_T_cb_safety levels[] = {
    MPI_T_CB_REQUIRE_NONE,
    MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
};
enum { LEVELS = OPAL_COUNT_OF(levels) };

typedef struct callback {
    MPI_T_event_cb_function *call; /* NULL: none of this level */
    void *user_data;
} callback_t;

/* What the handle points to. */
typedef struct MPI_ABI_T_event_registration {
    opal_list_node_t node;
    ompi_event_t event;
    const ompi_communicator_t *comm; /* the only one whose events it sees; NULL: all */
    bool is_unbound;                 /* comm was freed: it sees nothing any more */
    bool is_freed;                   /* by the user; it is in the list while it is running */
    unsigned running;                /* calls of its functions that have not returned */
    callback_t callbacks[LEVELS];    /* by index in `levels` */
    MPI_T_event_dropped_cb_function *dropped_call; /* NULL: nothing is counted */
    MPI_Count dropped[OMPI_SOURCES];
    MPI_T_event_free_cb_function *free_call; /* once is_freed; may be NULL */
    void *free_data;
} registration_t;

/* An event while it is raised; on the stack. */
typedef struct MPI_ABI_T_event_instance {
    ompi_event_t event;
    MPI_T_cb_safety level;
    ompi_source_t source;
    const ompi_communicator_t *comm;
    MPI_Count time;
    const void *data;
} instance_t;

atomic_uint ompi_events_wanted;
OPAL_REACHED_DIRECTLY(ompi_events_wanted);

/* Protects all that follows, and ompi_events_wanted. */
static opal_short_lock_t lock;
static opal_list_t registrations = {{&registrations.head, &registrations.head}}; /* newest first */
static bool is_traced;                                                           /* by mpi_trace */
static bool has_dropped; /* some registration has; it may not be possible to tell it yet */

/* Calls of functions of tools that this thread is in. A tool that does as it is told has at most
 * two: in the outer one it calls MPI, and in the inner one MPI_T alone. */
enum { MOST_NESTED = 2 };
static _Thread_local unsigned nesting;

bool ompi_event_is_safety(MPI_T_cb_safety safety)
{
    for (unsigned i = 0; i < LEVELS; i++) {
        if (levels[i] == safety)
            return true;
    }
    return false;
}

bool ompi_event_is_in_callback(void)
{
    return nesting > 0;
}

/* What a callback must stand that the calling thread calls now. */
static MPI_T_cb_safety level_in(ompi_event_context_t context)
{
    if (nesting > 0 || ompi_lock_needed)
        return MPI_T_CB_REQUIRE_THREAD_SAFE;
    return context == OMPI_EVENT_LOCKED ? MPI_T_CB_REQUIRE_MPI_RESTRICTED : MPI_T_CB_REQUIRE_NONE;
}

/* The callback for a level; one without a function if there is none. */
static callback_t callback_for(const registration_t *registration, MPI_T_cb_safety level)
{
    unsigned i = 0;
    while (i < LEVELS && (levels[i] < level || registration->callbacks[i].call == NULL))
        i++;
    return i < LEVELS ? registration->callbacks[i] : (callback_t){0};
}

static bool has_callback(const registration_t *registration)
{
    return callback_for(registration, MPI_T_CB_REQUIRE_NONE).call != NULL;
}

/* -- the list ------------------------------------------------------------------------------- */

static registration_t *registration_at(opal_list_node_t *node)
{
    return opal_container_of(node, registration_t, node);
}

static opal_list_node_t *node_behind(registration_t *registration)
{
    return registration == NULL ? opal_list_first(&registrations)
                                : opal_list_next(&registrations, &registration->node);
}

/* With the lock. NULL: there is none with that handle. */
static registration_t *find(MPI_T_event_registration handle)
{
    opal_list_node_t *node = opal_list_first(&registrations);
    while (node != NULL && registration_at(node) != handle)
        node = opal_list_next(&registrations, node);
    return node != NULL && !registration_at(node)->is_freed ? registration_at(node) : NULL;
}

/* With the lock. A bound registration must hear that its communicator is freed. */
static void set_wanted(void)
{
    unsigned wanted = is_traced ? 1u << OMPI_EVENT_TRACED : 0;
    for (opal_list_node_t *node = opal_list_first(&registrations); node != NULL;
         node = opal_list_next(&registrations, node)) {
        const registration_t *registration = registration_at(node);
        if (registration->is_freed)
            continue;
        if (has_callback(registration))
            wanted |= 1u << registration->event;
        if (registration->comm != NULL)
            wanted |= 1u << OMPI_EVENT_COMMUNICATOR_FREED;
    }
    atomic_store_explicit(&ompi_events_wanted, wanted, memory_order_relaxed);
}

/* -- visits --------------------------------------------------------------------------------- */

/* What a registration is called for. */
typedef struct visit {
    const instance_t *instance;
    MPI_T_cb_safety level;
    callback_t callback;
    MPI_T_event_dropped_cb_function *dropped_call;
    MPI_Count dropped;
    int source; /* of what was dropped */
} visit_t;

/* With the lock: whether the registration is to be called, and by which functions. */
typedef bool picks_fn_t(registration_t *registration, visit_t *visit);

static void end(registration_t *registration, MPI_T_cb_safety level);

/* With the lock. True: the registration was freed, is in no list any more, and has to be ended. */
static bool leave(registration_t *registration)
{
    if (--registration->running > 0 || !registration->is_freed)
        return false;
    assert(registration->node.next != NULL); /* it is in the list */
    opal_list_remove(&registration->node);
    return true;
}

/* From one registration, whose functions have returned, to the next one that is to be called; NULL:
 * the first, the last. Registrations that are made meanwhile are not visited. */
static registration_t *visit_next(registration_t *last, picks_fn_t *picks, visit_t *visit)
{
    registration_t *found = NULL;
    opal_short_acquire(&lock);
    for (opal_list_node_t *node = node_behind(last); node != NULL && found == NULL;
         node = opal_list_next(&registrations, node)) {
        if (!registration_at(node)->is_freed && picks(registration_at(node), visit))
            found = registration_at(node);
    }
    if (found != NULL)
        found->running++;
    bool is_last = last != NULL && leave(last);
    opal_short_release(&lock);
    if (is_last)
        end(last, visit->level);
    return found;
}

/* -- dropped events ------------------------------------------------------------------------- */

static void drop(registration_t *registration, ompi_source_t source)
{
    if (registration->dropped_call == NULL)
        return;
    registration->dropped[source]++;
    has_dropped = true;
}

static bool picks_dropped(registration_t *registration, visit_t *visit)
{
    visit->callback = callback_for(registration, visit->level);
    visit->dropped_call = registration->dropped_call;
    visit->dropped = registration->dropped[visit->source];
    if (visit->dropped_call == NULL || visit->callback.call == NULL || visit->dropped == 0)
        return false;
    registration->dropped[visit->source] = 0;
    return true;
}

static void call_dropped(registration_t *registration, const visit_t *visit)
{
    nesting++;
    visit->dropped_call(visit->dropped, registration, visit->source, visit->level,
                        visit->callback.user_data);
    nesting--;
}

/* With the lock: whether any registration still has dropped events that it was not told of. */
static bool still_has_dropped(void)
{
    for (opal_list_node_t *node = opal_list_first(&registrations); node != NULL;
         node = opal_list_next(&registrations, node)) {
        for (int source = 0; source < OMPI_SOURCES; source++) {
            if (registration_at(node)->dropped[source] > 0)
                return true;
        }
    }
    return false;
}

/* Tells the registrations of what they have missed, before the next event. */
static void tell_dropped(MPI_T_cb_safety level)
{
    visit_t visit = {.level = level};
    opal_short_acquire(&lock);
    has_dropped = has_dropped && still_has_dropped();
    bool is_due = has_dropped && nesting < MOST_NESTED;
    opal_short_release(&lock);
    for (; is_due && visit.source < OMPI_SOURCES; visit.source++) {
        for (registration_t *each = NULL; (each = visit_next(each, picks_dropped, &visit)) != NULL;)
            call_dropped(each, &visit);
    }
}

/* -- raising -------------------------------------------------------------------------------- */

static bool picks_event(registration_t *registration, visit_t *visit)
{
    const instance_t *instance = visit->instance;
    if (registration->event != instance->event || registration->is_unbound ||
        (registration->comm != NULL && registration->comm != instance->comm) ||
        !has_callback(registration))
        return false;
    visit->callback =
        nesting < MOST_NESTED ? callback_for(registration, visit->level) : (callback_t){0};
    if (visit->callback.call == NULL)
        drop(registration, instance->source);
    return visit->callback.call != NULL;
}

/* Another communicator may get the address of this one. */
static void unbind_from(const ompi_communicator_t *comm)
{
    opal_short_acquire(&lock);
    for (opal_list_node_t *node = opal_list_first(&registrations); node != NULL;
         node = opal_list_next(&registrations, node)) {
        registration_t *registration = registration_at(node);
        if (registration->comm == comm) {
            registration->comm = NULL;
            registration->is_unbound = true;
        }
    }
    set_wanted();
    opal_short_release(&lock);
}

void ompi_event_set_traced(bool traced)
{
    opal_short_acquire(&lock);
    is_traced = traced;
    set_wanted();
    opal_short_release(&lock);
}

MPI_Count ompi_event_number(void)
{
    static atomic_llong last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

void ompi_event_raise(ompi_event_t event, ompi_event_context_t context,
                      const ompi_communicator_t *comm, const void *data)
{
    MPI_T_cb_safety level = level_in(context);
    instance_t instance = {
        .event = event,
        .level = level,
        .source = level < MPI_T_CB_REQUIRE_THREAD_SAFE ? OMPI_SOURCE_PROCESS : OMPI_SOURCE_THREADS,
        .comm = comm,
        .time = ompi_source_now(),
        .data = data,
    };
    visit_t visit = {.instance = &instance, .level = level};
    tell_dropped(level);
    for (registration_t *each = NULL; (each = visit_next(each, picks_event, &visit)) != NULL;) {
        nesting++;
        visit.callback.call(&instance, each, level, visit.callback.user_data);
        nesting--;
    }
    if (event == OMPI_EVENT_COMMUNICATOR_FREED)
        unbind_from(comm);
}

/* -- events of opal ------------------------------------------------------------------------- */

static void peer_connected(const opal_process_t *process, const opal_btl_ops_t *transport)
{
    ompi_event_connected_t data = {.rank = (int)process->rank,
                                   .transport = (int)ompi_event_transport_of(transport->name)};
    if (ompi_event_is_wanted(OMPI_EVENT_PEER_CONNECTED))
        ompi_event_raise(OMPI_EVENT_PEER_CONNECTED, OMPI_EVENT_LOCKED, NULL, &data);
}

static void peer_failed(const opal_process_t *process, opal_status_t why)
{
    ompi_event_failed_t data = {.rank = (int)process->rank,
                                .error = why == OPAL_ERR_NO_MEMORY ? MPI_ERR_NO_MEM
                                                                   : MPI_ERR_PROC_ABORTED};
    if (ompi_event_is_wanted(OMPI_EVENT_PEER_FAILED))
        ompi_event_raise(OMPI_EVENT_PEER_FAILED, OMPI_EVENT_LOCKED, NULL, &data);
}

static const opal_btl_observer_t btl_observer = {.connected = peer_connected,
                                                 .failed = peer_failed};

/* -- registrations -------------------------------------------------------------------------- */

int ompi_event_register(ompi_event_t event, ompi_communicator_t *comm,
                        MPI_T_event_registration *handle)
{
    registration_t *registration = calloc(1, sizeof *registration);
    if (registration == NULL)
        return MPI_T_ERR_MEMORY;
    registration->event = event;
    registration->comm = comm;
    opal_btl_observe(&btl_observer);
    opal_short_acquire(&lock);
    opal_list_prepend(&registrations, &registration->node);
    set_wanted();
    opal_short_release(&lock);
    *handle = registration;
    return MPI_SUCCESS;
}

static int release(int error)
{
    opal_short_release(&lock);
    return error;
}

int ompi_event_check(MPI_T_event_registration handle)
{
    opal_short_acquire(&lock);
    return release(find(handle) != NULL ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE);
}

int ompi_event_set_callback(MPI_T_event_registration handle, MPI_T_cb_safety safety,
                            MPI_T_event_cb_function *call, void *user_data)
{
    unsigned i = 0;
    while (levels[i] != safety)
        i++;
    opal_short_acquire(&lock);
    registration_t *registration = find(handle);
    if (registration == NULL)
        return release(MPI_T_ERR_INVALID_HANDLE);
    registration->callbacks[i] = (callback_t){call, user_data};
    set_wanted();
    return release(MPI_SUCCESS);
}

int ompi_event_set_dropped(MPI_T_event_registration handle, MPI_T_event_dropped_cb_function *call)
{
    opal_short_acquire(&lock);
    registration_t *registration = find(handle);
    if (registration == NULL)
        return release(MPI_T_ERR_INVALID_HANDLE);
    registration->dropped_call = call;
    memset(registration->dropped, 0, sizeof registration->dropped);
    return release(MPI_SUCCESS);
}

/* Calls the functions of a registration that is in no list any more for the last time. */
static void end(registration_t *registration, MPI_T_cb_safety level)
{
    visit_t visit = {.level = level};
    for (; visit.source < OMPI_SOURCES; visit.source++) {
        if (picks_dropped(registration, &visit))
            call_dropped(registration, &visit);
    }
    if (registration->free_call != NULL) {
        nesting++;
        registration->free_call(registration, level, registration->free_data);
        nesting--;
    }
    free(registration);
}

int ompi_event_unregister(MPI_T_event_registration handle, MPI_T_event_free_cb_function *call,
                          void *user_data)
{
    opal_short_acquire(&lock);
    registration_t *registration = find(handle);
    if (registration == NULL)
        return release(MPI_T_ERR_INVALID_HANDLE);
    registration->is_freed = true;
    registration->free_call = call;
    registration->free_data = user_data;
    set_wanted();
    registration->running++;
    bool is_last = leave(registration);
    opal_short_release(&lock);
    if (is_last)
        end(registration, level_in(OMPI_EVENT_UNLOCKED));
    return MPI_SUCCESS;
}

void ompi_event_unregister_all(void)
{
    registration_t *registration;
    do {
        opal_short_acquire(&lock);
        opal_list_node_t *node = opal_list_first(&registrations);
        while (node != NULL && registration_at(node)->is_freed)
            node = opal_list_next(&registrations, node);
        registration = node != NULL ? registration_at(node) : NULL;
        opal_short_release(&lock);
        if (registration != NULL)
            ompi_event_unregister(registration, NULL, NULL);
    } while (registration != NULL);
}

/* -- an event ------------------------------------------------------------------------------- */

MPI_Count ompi_event_time(MPI_T_event_instance instance)
{
    return instance->time;
}

int ompi_event_source(MPI_T_event_instance instance)
{
    return (int)instance->source;
}

void ompi_event_copy(MPI_T_event_instance instance, void *buffer)
{
    memcpy(buffer, instance->data, ompi_event_types[instance->event].bytes);
}

int ompi_event_read(MPI_T_event_instance instance, int index, void *buffer)
{
    const ompi_event_type_t *type = &ompi_event_types[instance->event];
    if (index < 0 || index >= type->element_count)
        return MPI_T_ERR_INVALID_INDEX;
    const ompi_event_element_t *element = &type->elements[index];
    memcpy(buffer, (const char *)instance->data + element->offset, element->bytes);
    return MPI_SUCCESS;
}
