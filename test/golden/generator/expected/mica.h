/* What is ours alone. */
/* kraken */
int MICA_Tame(int arms, MPI_Fleet fleet);
int PMICA_Tame(int arms, MPI_Fleet fleet);
