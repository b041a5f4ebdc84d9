/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progress of passive targets while their program computes, by the thread of
 * opal/progress/background.h: whether a window needs it, and from when to when it runs.
 *
 * A window needs it in a process whose memory others access by messages, which this process carries
 * out. Every process decides that for itself, by the parameter osc_progress_thread and the window's
 * targets. The first such window starts the thread, and the end of the last one stops it.
 *
 * Threading: any, without ompi_lock.
 */
#ifndef OMPI_MCA_OSC_BASE_BACKGROUND_H
#define OMPI_MCA_OSC_BASE_BACKGROUND_H

#include "opal/mca/base/param.h"
#include "ompi/mca/osc/osc.h"

/* Parameter: OPAL_PARAM_AUTO ... */
extern int ompi_osc_background_mode;

/* The level of the program, MPI_THREAD_..., from now on. */
void ompi_osc_background_set_level(int level);

/* Called when a window has been made, and before its last reference is released. A thread that
 * cannot be started was logged; the window works, as long as its targets call MPI. */
void ompi_osc_background_enter(ompi_osc_window_t *window);
void ompi_osc_background_leave(ompi_osc_window_t *window);

/* At the end of MPI, also if windows are left. */
void ompi_osc_background_stop(void);

#endif
