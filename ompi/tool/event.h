/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of the tool interface: registrations, and how an event gets to their callbacks. The thread
 * that raises an event calls the callbacks at once; nothing is buffered.
 *
 * Which callback. The point (event_point.h) and the state of the process say what the callback must
 * stand; of the callbacks of a registration the one with the lowest level that does is called:
 *
 *   MPI_T_CB_REQUIRE_NONE             the thread has no lock
 *   MPI_T_CB_REQUIRE_MPI_RESTRICTED   it has the lock of the messages: a call of MPI would not end
 *   MPI_T_CB_REQUIRE_THREAD_SAFE      several threads may be in MPI (MPI_THREAD_MULTIPLE, or a
 *                                     thread in the background); or a callback has made the call
 *                                     that raises the event
 *
 * MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE is never required. Without a callback of the level the event
 * is dropped. A callback at the third level calls functions of MPI_T alone, which raise no events,
 * so events nest once; an event that a wrong callback raises there is dropped, too.
 *
 * Dropped events are counted while the registration has a function for that, which is called before
 * the next event that is raised at a level for which the registration has a callback (its user data
 * is passed), or when the registration is freed.
 *
 * Threading: any thread, at any time, also within callbacks. One lock protects the list of
 * registrations and what is in them; under it no other lock is taken and no callback called. While
 * a callback of a registration runs, this is `running`, and stays in the list: who ends the last
 * one of a registration that was freed meanwhile calls its free callback.
 */
#ifndef OMPI_TOOL_EVENT_H
#define OMPI_TOOL_EVENT_H

#include "ompi/communicator/communicator.h"
#include "ompi/tool/event_point.h"

/* comm: NULL: of all communicators. MPI_T_ERR_MEMORY, or MPI_SUCCESS. */
int ompi_event_register(ompi_event_t event, ompi_communicator_t *comm,
                        MPI_T_event_registration *registration);

/* These return MPI_T_ERR_INVALID_HANDLE if there is no such registration, or none any more. */
int ompi_event_set_callback(MPI_T_event_registration registration, MPI_T_cb_safety safety,
                            MPI_T_event_cb_function *call, void *user_data);
int ompi_event_set_dropped(MPI_T_event_registration registration,
                           MPI_T_event_dropped_cb_function *call);
int ompi_event_unregister(MPI_T_event_registration registration, MPI_T_event_free_cb_function *call,
                          void *user_data);
int ompi_event_check(MPI_T_event_registration registration);

/* Frees all registrations, without their callbacks: the tool interface ends. */
void ompi_event_unregister_all(void);

/* Whether the calling thread is within a function of a tool that an event has called. */
bool ompi_event_is_in_callback(void);

/* Whether that is a level. */
bool ompi_event_is_safety(MPI_T_cb_safety safety);

/* -- an event, within its callback. They take no lock -- */

MPI_Count ompi_event_time(MPI_T_event_instance instance);
int ompi_event_source(MPI_T_event_instance instance);
void ompi_event_copy(MPI_T_event_instance instance, void *buffer);

/* MPI_T_ERR_INVALID_INDEX: it has no such element. */
int ompi_event_read(MPI_T_event_instance instance, int element, void *buffer);

#endif
