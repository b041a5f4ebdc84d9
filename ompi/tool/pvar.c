/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions and handles of performance variables.
 *
 * The library counts once, for all: a handle remembers the count from which it counts. Reading a
 * watermark begins it again, so the value read is given to all handles of that variable and object
 * that are started.
 */
#include "ompi/tool/pvar.h"

#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/pvar.h"
#include "opal/util/list.h"
#include "ompi/tool/category.h"

#define SESSION_MARK UINT64_C(0x6d69636173657373)
#define HANDLE_MARK  UINT64_C(0x6d69636170766172)

typedef struct session {
    uint64_t mark; /* SESSION_MARK, 0 once it is freed */
    opal_list_node_t node;
    opal_list_t handles;
} session_t;

typedef struct handle {
    uint64_t mark; /* HANDLE_MARK, 0 once it is freed */
    opal_list_node_t node;
    session_t *session;
    size_t index;
    void *object;    /* that the variable is bound to; NULL: none */
    bool is_unbound; /* the object has ended: the handle can only be freed */
    bool started;    /* never, if the variable is continuous */
    uint64_t base;   /* of a sum, while it is started: the count from which it counts */
    uint64_t saved;  /* of a sum: what was counted until it was stopped; the watermark */
} handle_t;

static opal_list_t sessions = {.head = {&sessions.head, &sessions.head}};

/* -- variables --------------------------------------------------------------------------------- */

static bool is_sum(opal_pvar_class_t class)
{
    return class == OPAL_PVAR_COUNTER || class == OPAL_PVAR_AGGREGATE || class == OPAL_PVAR_TIMER;
}

static bool is_watermark(opal_pvar_class_t class)
{
    return class == OPAL_PVAR_HIGHWATERMARK || class == OPAL_PVAR_LOWWATERMARK;
}

static bool is_continuous(opal_pvar_class_t class)
{
    return !is_sum(class) && !is_watermark(class);
}

int ompi_tool_pvar_count(void)
{
    return (int)opal_pvar_count();
}

static const opal_pvar_t *variable_at(int index)
{
    return index >= 0 && index < ompi_tool_pvar_count() ? opal_pvar_at((size_t)index) : NULL;
}

/* In the order of opal_pvar_class_t. */
static int mpi_class(opal_pvar_class_t class)
{
    static const int classes[] = {
        [OPAL_PVAR_STATE] = MPI_T_PVAR_CLASS_STATE,
        [OPAL_PVAR_LEVEL] = MPI_T_PVAR_CLASS_LEVEL,
        [OPAL_PVAR_SIZE] = MPI_T_PVAR_CLASS_SIZE,
        [OPAL_PVAR_PERCENTAGE] = MPI_T_PVAR_CLASS_PERCENTAGE,
        [OPAL_PVAR_HIGHWATERMARK] = MPI_T_PVAR_CLASS_HIGHWATERMARK,
        [OPAL_PVAR_LOWWATERMARK] = MPI_T_PVAR_CLASS_LOWWATERMARK,
        [OPAL_PVAR_COUNTER] = MPI_T_PVAR_CLASS_COUNTER,
        [OPAL_PVAR_AGGREGATE] = MPI_T_PVAR_CLASS_AGGREGATE,
        [OPAL_PVAR_TIMER] = MPI_T_PVAR_CLASS_TIMER,
        [OPAL_PVAR_GENERIC] = MPI_T_PVAR_CLASS_GENERIC,
    };
    return classes[class];
}

int ompi_tool_pvar_find(const char *name, int class, int *index)
{
    if (name == NULL || index == NULL)
        return MPI_T_ERR_INVALID;
    for (opal_pvar_class_t each = OPAL_PVAR_STATE; each <= OPAL_PVAR_GENERIC; each++) {
        size_t found;
        if (mpi_class(each) != class || !opal_pvar_find(name, each, &found))
            continue;
        *index = (int)found;
        return MPI_SUCCESS;
    }
    return MPI_T_ERR_INVALID_NAME;
}

static MPI_Datatype datatype_of(opal_pvar_class_t class)
{
    if (class == OPAL_PVAR_STATE)
        return MPI_INT;
    return class == OPAL_PVAR_TIMER || class == OPAL_PVAR_PERCENTAGE ? MPI_DOUBLE
                                                                     : MPI_UNSIGNED_LONG;
}

int ompi_tool_pvar_info(int index, ompi_tool_pvar_info_t *info)
{
    const opal_pvar_t *variable = variable_at(index);
    if (variable == NULL)
        return MPI_T_ERR_INVALID_INDEX;
    opal_pvar_class_t class = variable->row.class;
    *info = (ompi_tool_pvar_info_t){
        .name = variable->full_name,
        .description = variable->row.prose,
        .datatype = datatype_of(class),
        .enumeration = variable->row.choices != NULL
                           ? ompi_tool_enum_make(variable->full_name, variable->row.choices)
                           : NULL,
        .verbosity = MPI_T_VERBOSITY_TUNER_BASIC,
        .class = mpi_class(class),
        .bind = ompi_tool_bind(variable->row.bind),
        .is_readonly = is_continuous(class),
        .is_continuous = is_continuous(class),
        .is_atomic = !is_continuous(class),
    };
    return MPI_SUCCESS;
}

void ompi_tool_pvar_categorize(void)
{
    static int known;
    for (int count = ompi_tool_pvar_count(); known < count; known++) {
        const opal_pvar_t *variable = opal_pvar_at((size_t)known);
        ompi_tool_category_add(variable->framework, variable->component, OMPI_TOOL_PVAR, known);
    }
}

/* -- values of a handle ------------------------------------------------------------------------ */

static opal_pvar_class_t class_of(const handle_t *handle)
{
    return opal_pvar_at(handle->index)->row.class;
}

static uint64_t read_variable(const handle_t *handle)
{
    return opal_pvar_read(handle->index, handle->object);
}

static void raise_mark(handle_t *handle, uint64_t value)
{
    bool is_beyond =
        class_of(handle) == OPAL_PVAR_HIGHWATERMARK ? value > handle->saved : value < handle->saved;
    if (is_beyond)
        handle->saved = value;
}

/* Reads the watermark of a handle's variable, for all handles that watch it. */
static void share_watermark(const handle_t *handle)
{
    uint64_t value = read_variable(handle);
    for (opal_list_node_t *at = opal_list_first(&sessions); at != NULL;
         at = opal_list_next(&sessions, at)) {
        session_t *session = opal_container_of(at, session_t, node);
        for (opal_list_node_t *node = opal_list_first(&session->handles); node != NULL;
             node = opal_list_next(&session->handles, node)) {
            handle_t *other = opal_container_of(node, handle_t, node);
            if (other->started && other->index == handle->index && other->object == handle->object)
                raise_mark(other, value);
        }
    }
}

/* How much the variable has grown since the handle was started. A variable that is the difference
 * of two counters may shrink for a moment, when the first counter is read before, and the second
 * one after, a message was counted; then the result is 0. */
static uint64_t counted_since(const handle_t *handle, uint64_t now)
{
    return handle->started && now > handle->base ? now - handle->base : 0;
}

static uint64_t value_of(const handle_t *handle)
{
    opal_pvar_class_t class = class_of(handle);
    if (is_continuous(class))
        return read_variable(handle);
    if (is_watermark(class) && handle->started)
        share_watermark(handle);
    if (is_watermark(class) || !handle->started)
        return handle->saved;
    return handle->saved + counted_since(handle, read_variable(handle));
}

/* The value becomes that, whether it is started or not. */
static void set_value(handle_t *handle, uint64_t value)
{
    if (is_watermark(class_of(handle)))
        share_watermark(handle);
    else
        handle->base = read_variable(handle);
    handle->saved = value;
}

/* As if it had just been allocated. A watermark begins with the level of now. */
static void reset(handle_t *handle)
{
    set_value(handle, 0);
    if (is_watermark(class_of(handle)))
        handle->saved = read_variable(handle);
}

static void start(handle_t *handle)
{
    if (handle->started)
        return;
    opal_pvar_use(handle->index, true);
    if (is_watermark(class_of(handle))) {
        share_watermark(handle);
        handle->saved = read_variable(handle);
    } else {
        handle->base = read_variable(handle);
    }
    handle->started = true;
}

static void stop(handle_t *handle)
{
    if (!handle->started)
        return;
    handle->saved = value_of(handle);
    handle->started = false;
    opal_pvar_use(handle->index, false);
}

static void store(const handle_t *handle, uint64_t value, void *buffer)
{
    opal_pvar_class_t class = class_of(handle);
    if (class == OPAL_PVAR_STATE) {
        memcpy(buffer, &(int){(int)value}, sizeof(int));
    } else if (datatype_of(class) == MPI_DOUBLE) {
        double real = (double)value * (class == OPAL_PVAR_TIMER ? 1e-9 : 1e-6);
        memcpy(buffer, &real, sizeof real);
    } else {
        memcpy(buffer, &(unsigned long){value}, sizeof(unsigned long));
    }
}

/* Of what can be written: sums and watermarks. False: no such value. */
static bool load(const handle_t *handle, const void *buffer, uint64_t *value)
{
    double real;
    unsigned long natural;
    if (class_of(handle) != OPAL_PVAR_TIMER) {
        memcpy(&natural, buffer, sizeof natural);
        *value = natural;
        return true;
    }
    memcpy(&real, buffer, sizeof real);
    if (!(real >= 0 && real < 1e9))
        return false;
    *value = (uint64_t)(real * 1e9);
    return true;
}

/* -- sessions and handles ---------------------------------------------------------------------- */

static session_t *session_at(MPI_T_pvar_session value)
{
    session_t *session = (session_t *)(void *)value;
    if (session == NULL || ((uintptr_t)session & (_Alignof(session_t) - 1)) != 0 ||
        session->mark != SESSION_MARK)
        return NULL;
    return session;
}

/* NULL: it is not a handle of that session. */
static handle_t *handle_at(const session_t *session, MPI_T_pvar_handle value)
{
    handle_t *handle = (handle_t *)(void *)value;
    if (handle == NULL || ((uintptr_t)handle & (_Alignof(handle_t) - 1)) != 0 ||
        handle->mark != HANDLE_MARK || handle->session != session)
        return NULL;
    return handle;
}

/* NULL: it is none, or none any more that counts. */
static handle_t *usable_at(const session_t *session, MPI_T_pvar_handle value)
{
    handle_t *handle = handle_at(session, value);
    return handle != NULL && !handle->is_unbound ? handle : NULL;
}

static void unbind(handle_t *handle)
{
    ompi_tool_bound -= handle->object != NULL;
    handle->object = NULL;
}

static void free_handle(handle_t *handle)
{
    stop(handle);
    unbind(handle);
    opal_list_remove(&handle->node);
    handle->mark = 0;
    free(handle);
}

static void free_session(session_t *session)
{
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&session->handles); node != NULL; node = next) {
        next = opal_list_next(&session->handles, node);
        free_handle(opal_container_of(node, handle_t, node));
    }
    opal_list_remove(&session->node);
    session->mark = 0;
    free(session);
}

int ompi_tool_session_create(MPI_T_pvar_session *session)
{
    if (session == NULL)
        return MPI_T_ERR_INVALID;
    session_t *made = malloc(sizeof *made);
    if (made == NULL)
        return MPI_T_ERR_OUT_OF_SESSIONS;
    made->mark = SESSION_MARK;
    opal_list_init(&made->handles);
    opal_list_append(&sessions, &made->node);
    *session = (MPI_T_pvar_session)(void *)made;
    return MPI_SUCCESS;
}

int ompi_tool_session_free(MPI_T_pvar_session *session)
{
    session_t *known = session != NULL ? session_at(*session) : NULL;
    if (known == NULL)
        return MPI_T_ERR_INVALID_SESSION;
    free_session(known);
    *session = MPI_T_PVAR_SESSION_NULL;
    return MPI_SUCCESS;
}

void ompi_tool_sessions_end(void)
{
    opal_list_node_t *next;
    for (opal_list_node_t *node = opal_list_first(&sessions); node != NULL; node = next) {
        next = opal_list_next(&sessions, node);
        free_session(opal_container_of(node, session_t, node));
    }
}

static void unbind_of_session(session_t *session, const ompi_object_t *object)
{
    for (opal_list_node_t *node = opal_list_first(&session->handles); node != NULL;
         node = opal_list_next(&session->handles, node)) {
        handle_t *handle = opal_container_of(node, handle_t, node);
        if (handle->object != object)
            continue;
        stop(handle);
        unbind(handle);
        handle->is_unbound = true;
    }
}

void ompi_tool_pvar_unbind(const ompi_object_t *object)
{
    for (opal_list_node_t *node = opal_list_first(&sessions); node != NULL;
         node = opal_list_next(&sessions, node))
        unbind_of_session(opal_container_of(node, session_t, node), object);
}

int ompi_tool_pvar_open(MPI_T_pvar_session session, int index, const void *object,
                        MPI_T_pvar_handle *handle, int *count)
{
    void *resolved;
    session_t *known = session_at(session);
    const opal_pvar_t *variable = variable_at(index);
    if (known == NULL)
        return MPI_T_ERR_INVALID_SESSION;
    if (variable == NULL)
        return MPI_T_ERR_INVALID_INDEX;
    if (handle == NULL || count == NULL || !ompi_tool_object(variable->row.bind, object, &resolved))
        return MPI_T_ERR_INVALID;
    handle_t *made = malloc(sizeof *made);
    if (made == NULL)
        return MPI_T_ERR_OUT_OF_HANDLES;
    *made = (handle_t){
        .mark = HANDLE_MARK, .session = known, .index = (size_t)index, .object = resolved};
    ompi_tool_bound += resolved != NULL;
    opal_list_append(&known->handles, &made->node);
    *handle = (MPI_T_pvar_handle)(void *)made;
    *count = 1;
    return MPI_SUCCESS;
}

int ompi_tool_pvar_close(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    session_t *known = session_at(session);
    if (known == NULL)
        return MPI_T_ERR_INVALID_SESSION;
    handle_t *found = handle != NULL ? handle_at(known, *handle) : NULL;
    if (found == NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    free_handle(found);
    *handle = MPI_T_PVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

/* Does something to a handle, or to all of a session that permit it. `refusal`: the error if a
 * continuous variable is named. */
static int change(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void (*what)(handle_t *),
                  int refusal)
{
    session_t *known = session_at(session);
    if (known == NULL)
        return MPI_T_ERR_INVALID_SESSION;
    if (handle != MPI_T_PVAR_ALL_HANDLES) {
        handle_t *found = usable_at(known, handle);
        if (found == NULL)
            return MPI_T_ERR_INVALID_HANDLE;
        if (is_continuous(class_of(found)))
            return refusal;
        what(found);
        return MPI_SUCCESS;
    }
    for (opal_list_node_t *node = opal_list_first(&known->handles); node != NULL;
         node = opal_list_next(&known->handles, node)) {
        handle_t *each = opal_container_of(node, handle_t, node);
        if (!is_continuous(class_of(each)) && !each->is_unbound)
            what(each);
    }
    return MPI_SUCCESS;
}

int ompi_tool_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return change(session, handle, start, MPI_T_ERR_PVAR_NO_STARTSTOP);
}

int ompi_tool_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return change(session, handle, stop, MPI_T_ERR_PVAR_NO_STARTSTOP);
}

int ompi_tool_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return change(session, handle, reset, MPI_T_ERR_PVAR_NO_WRITE);
}

/* One handle of a session, and a buffer. */
static int find(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buffer,
                handle_t **found)
{
    const session_t *known = session_at(session);
    if (known == NULL)
        return MPI_T_ERR_INVALID_SESSION;
    *found = usable_at(known, handle);
    if (*found == NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    return buffer != NULL ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

/* A sum that is read and reset begins with the count that was read: nothing is lost between. */
static uint64_t read_and_reset(handle_t *handle)
{
    if (is_watermark(class_of(handle))) {
        uint64_t value = value_of(handle);
        reset(handle);
        return value;
    }
    uint64_t now = read_variable(handle);
    uint64_t value = handle->saved + counted_since(handle, now);
    handle->base = now;
    handle->saved = 0;
    return value;
}

int ompi_tool_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buffer,
                        bool and_reset)
{
    handle_t *found;
    int error = find(session, handle, buffer, &found);
    if (error != MPI_SUCCESS)
        return error;
    if (and_reset && is_continuous(class_of(found)))
        return MPI_T_ERR_PVAR_NO_ATOMIC; /* as MPI_T_pvar_get_info says */
    store(found, and_reset ? read_and_reset(found) : value_of(found), buffer);
    return MPI_SUCCESS;
}

int ompi_tool_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buffer)
{
    handle_t *found;
    uint64_t value;
    int error = find(session, handle, buffer, &found);
    if (error != MPI_SUCCESS)
        return error;
    if (is_continuous(class_of(found)))
        return MPI_T_ERR_PVAR_NO_WRITE;
    if (!load(found, buffer, &value))
        return MPI_T_ERR_INVALID;
    set_value(found, value);
    return MPI_SUCCESS;
}
