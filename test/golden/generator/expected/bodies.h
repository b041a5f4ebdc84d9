/* Made by ompi/api/generate.py out of sample.tbl. */

#ifndef OMPI_API_BODIES_H
#define OMPI_API_BODIES_H

#include "ompi/api/wrapper.h"

/* sea */
int ompi_api_ship(const void *buf, MPI_Count count, cargo_t *cargo, int harbour, fleet_t *fleet);
int ompi_api_load(ompi_ints_t amounts, fleet_t *fleet, cargo_t **loaded);
int ompi_api_weigh(cargo_t *cargo, MPI_Count *weight);
int ompi_api_stow(fleet_t *fleet, MPI_Count *stowed, MPI_Count *position, MPI_Count *holds);
int ompi_api_borrow(fleet_t *fleet, cargo_t **borrowed);
int ompi_api_sink(fleet_t **fleet);
int ompi_api_drop(cargo_t **dropped);
int ompi_api_cruise(fleet_t *fleet, int knots);
int ompi_api_dock(int pier, fleet_t *fleet);
int ompi_api_wait(void);
int ompi_api_depth(int *depth);
int ompi_api_signal(int flag);

/* bridge */
double ompi_api_speed(int engine);

/* kraken */
int ompi_api_mica_tame(int arms, fleet_t *fleet);

#endif
