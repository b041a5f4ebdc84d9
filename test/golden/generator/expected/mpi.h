/* The template: MPI_MINE is defined here, so it is left out below. */
enum { MPI_MINE = 3 };
#define MPI_ANY                          (-1)
#define MPI_ERR_ARG                      13
#define MPI_FLEET_NULL                   ((MPI_Fleet)0x0100)
#define MPI_NO_FLEET                     MPI_FLEET_NULL
/* sea */
int MPI_Ship(const void *buf, int count, MPI_Cargo cargo, int harbour, MPI_Fleet fleet);
int PMPI_Ship(const void *buf, int count, MPI_Cargo cargo, int harbour, MPI_Fleet fleet);
int MPI_Ship_c(const void *buf, MPI_Count count, MPI_Cargo cargo, int harbour, MPI_Fleet fleet);
int PMPI_Ship_c(const void *buf, MPI_Count count, MPI_Cargo cargo, int harbour, MPI_Fleet fleet);
int MPI_Load(const int amounts[], MPI_Fleet fleet, MPI_Cargo *loaded);
int PMPI_Load(const int amounts[], MPI_Fleet fleet, MPI_Cargo *loaded);
int MPI_Load_c(const MPI_Count amounts[], MPI_Fleet fleet, MPI_Cargo *loaded);
int PMPI_Load_c(const MPI_Count amounts[], MPI_Fleet fleet, MPI_Cargo *loaded);
int MPI_Weigh(MPI_Cargo cargo, int *weight);
int PMPI_Weigh(MPI_Cargo cargo, int *weight);
int MPI_Weigh_c(MPI_Cargo cargo, MPI_Count *weight);
int PMPI_Weigh_c(MPI_Cargo cargo, MPI_Count *weight);
int MPI_Weigh_x(MPI_Cargo cargo, MPI_Count *weight);
int PMPI_Weigh_x(MPI_Cargo cargo, MPI_Count *weight);
int MPI_Stow(MPI_Fleet fleet, int *stowed, int *position);
int PMPI_Stow(MPI_Fleet fleet, int *stowed, int *position);
int MPI_Stow_c(MPI_Fleet fleet, MPI_Count *stowed, MPI_Count *position, MPI_Count *holds);
int PMPI_Stow_c(MPI_Fleet fleet, MPI_Count *stowed, MPI_Count *position, MPI_Count *holds);
int MPI_Borrow(MPI_Fleet fleet, MPI_Cargo *borrowed);
int PMPI_Borrow(MPI_Fleet fleet, MPI_Cargo *borrowed);
int MPI_Sink(MPI_Fleet *fleet);
int PMPI_Sink(MPI_Fleet *fleet);
int MPI_Drop(MPI_Cargo *dropped);
int PMPI_Drop(MPI_Cargo *dropped);
int MPI_Race(MPI_Fleet fleet);
int PMPI_Race(MPI_Fleet fleet);
int MPI_Cruise(MPI_Fleet fleet);
int PMPI_Cruise(MPI_Fleet fleet);
int MPI_Dock(int pier, MPI_Fleet fleet);
int PMPI_Dock(int pier, MPI_Fleet fleet);
int MPI_Wait(void);
int PMPI_Wait(void);
int MPI_Depth(int *depth);
int PMPI_Depth(int *depth);
int MPI_Signal(int flag, ...);
int PMPI_Signal(int flag, ...);
/* Extensions */
/* bridge */
int MPI_Fleet_number(MPI_Fleet fleet);
int PMPI_Fleet_number(MPI_Fleet fleet);
double MPI_Speed(int engine);
double PMPI_Speed(int engine);
