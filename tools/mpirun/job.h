/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The job: its programs and its ranks.
 *
 * options.c (or spawn.c, for a rank that starts a job) stores what the user asked for, job.c makes
 * ranks of it, bind.c binds them, start.c starts them, and supervise.c sees to their ends. An app
 * is made of an app context, which is a part of the command line ("-n 2 prog a b") between two ':'.
 */
#ifndef MPIRUN_JOB_H
#define MPIRUN_JOB_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "opal/node/node.h"
#include "opal/node/region_reap.h"
#include "opal/util/text.h"
#include "tools/mpirun/debug.h"
#include "tools/mpirun/hosts.h"
#include "tools/mpirun/pmi_server.h"
#include "tools/mpirun/rankfile.h"
#include "tools/mpirun/terminal.h"
#include "tools/mpirun/wrap.h"

/* mpirun's own exit statuses; a rank's is passed on as it is. */
enum {
    STATUS_TROUBLE = 1,          /* the system refused something: no memory, no process */
    STATUS_USAGE = 2,            /* the command line is wrong: nothing was started */
    STATUS_TIMEOUT = 110,        /* --timeout */
    STATUS_NOT_EXECUTABLE = 126, /* as in a shell */
    STATUS_NOT_FOUND = 127,      /* as in a shell */
    STATUS_SIGNAL_BASE = 128,    /* plus the signal's number */
};

/* More ranks than MAX_RANKS on one node are a typing mistake. A list of more nodes than
 * MAX_LISTED_NODES does not fit into PMI_process_mapping. */
enum { MAX_RANKS = 65536, MAX_LISTED_NODES = 64 };

/* A part of the machine that ranks are mapped to or bound to. */
typedef enum level {
    LEVEL_NONE, /* --bind-to none */
    LEVEL_SLOT,
    LEVEL_HWTHREAD,
    LEVEL_CORE,
    LEVEL_NUMA,
    LEVEL_SOCKET,
    LEVEL_NODE,
} topology_level_t;

typedef enum stdin_mode {
    STDIN_ONE,  /* one rank reads mpirun's stdin itself */
    STDIN_ALL,  /* every rank gets a copy */
    STDIN_NONE, /* every rank reads /dev/null */
} stdin_mode_t;

typedef struct app {
    opal_strings_t argv;   /* as typed */
    char *path;            /* the file that argv[0] means */
    char *wdir;            /* NULL: mpirun's own */
    opal_strings_t export; /* of -x: NAME=VALUE */
    char *search;          /* directories to look for argv[0] before those of PATH; NULL: none */
    unsigned number;       /* MPI_APPNUM */
    unsigned rank_count;   /* 0: -n was not given */
    unsigned first_rank;
    const opal_strings_t *inherited; /* the environment that it adds to; NULL: mpirun's own */
    opal_strings_t environment;      /* of its ranks, without what differs by rank */
} app_t;

/* The value of --fake-nodes. */
typedef struct node_plan {
    unsigned count;                   /* 0: the option was not given */
    unsigned sizes[MAX_LISTED_NODES]; /* ranks of each node; the first is 0: as equal as possible */
} node_plan_t;

/* An option as it was given, for its translation (handover.h). */
typedef struct given {
    const char *name; /* the main one of its row */
    char *typed;      /* "-np", "MPIEXEC_TIMEOUT" */
    char *value;      /* the first value; NULL: the option has none */
} given_t;

typedef struct options {
    bool help, version, verbose, quiet, show;
    given_t *given;
    size_t given_count;
    bool tag_output, prepend_rank, timestamp_output;
    bool display_map, report_bindings;
    bool no_oversubscribe;
    topology_level_t bind_to, map_by, rank_by;
    bool bind_given;        /* --bind-to was given */
    bool use_hwthreads;     /* count hardware threads instead of cores */
    unsigned cpus_per_rank; /* cores or hardware threads; 0: PE was not given */
    unsigned per_object;    /* consecutive ranks on each object of map_by; 0: round robin */
    unsigned per_node;      /* ranks of each node; 0: not given */
    bool per_node_wraps;    /* further ranks begin with the first node again */
    char *rankfile;         /* its path; NULL: none */
    stdin_mode_t stdin_mode;
    unsigned stdin_rank;   /* with STDIN_ONE */
    double timeout;        /* seconds; 0: none */
    unsigned ask;          /* the process of a running job that is to be shown; 0: none */
    double report_hang;    /* seconds without a move; 0: no report */
    char *output_dir;      /* NULL: output goes where mpirun's goes */
    char *profile, *trace; /* absolute paths; NULL: not given */
    opal_strings_t mca;    /* NAME=VALUE */
    opal_strings_t export; /* for the ranks of all programs: NAME=VALUE */
    wraps_t wraps;         /* commands around the ranks */
    debug_options_t debug;
    bool has_hosts; /* --host or --hostfile was given */
    hosts_t hosts;
    node_plan_t nodes;
    char *slurm_mpi, *rsh_agent, *rsh_args; /* parameters for launchers (launcher.h); may be NULL */
} options_t;

/* What ranks take for a node: this machine, or a block of ranks (nodes.h). */
typedef struct node {
    unsigned first_rank, size;        /* its ranks are consecutive */
    opal_node_segment_t segment;      /* shared by its ranks */
    int heap_fd;                      /* the region of their shared heap; -1: there is none */
    opal_region_tables_t heap_tables; /* header NULL: there are none */
} node_t;

typedef struct rank {
    app_t *app;
    node_t *node;
    pid_t pid; /* 0: not started */
    bool running;
    bool is_reported; /* it aborted or violated PMI, which was reported */
    bool by_itself;   /* it ended before the job was ended, and that was not reported yet */
    int wait_status;  /* when it has ended */
    cpu_set_t *cpus;  /* NULL: not bound */
    size_t cpus_bytes;
    char *binding_text; /* "core 1 of socket 0"; NULL: not bound */
} rank_t;

typedef struct job {
    unsigned number; /* 1: mpirun's own; jobs that ranks start count on */
    options_t options;
    app_t *apps;
    size_t app_count;
    rank_t *ranks;
    unsigned size;
    node_t *nodes;
    unsigned node_count;
    rankfile_t rankfile;     /* empty without one */
    char id[48];             /* unique on this node */
    char host[256];          /* this node */
    unsigned universe_size;  /* MPI_UNIVERSE_SIZE */
    unsigned first_place;    /* where the mapping begins: behind so many processes */
    const char *parent_port; /* in `preputs`; NULL: no rank started this job */
    unsigned parents;        /* the number of the job that started it */
    spawn_pairs_t preputs;   /* what its ranks find in their KVS */

    terminals_t terminals; /* of --debug; further jobs have none */

    /* While it runs; supervise.c's. */
    struct supervisor *supervisor;
    struct job *next; /* of those that run */
    pmi_server_t *pmi;
    struct pmi_links *links;
    unsigned running;               /* ranks */
    struct opal_crash_board *board; /* of all jobs (board.h); NULL: there is none */
    int crash_fd;                   /* of it; -1: there is none */
    bool is_abandoned; /* it could not be started as a whole, or a rank has ended before it joined
                          the parents: how the ranks end does not matter */
} job_t;

/* Sets the names of the node and of the job, whose number is 1. */
void job_init(job_t *job);
void job_free(job_t *job);

/* Adds an empty app at the end. Pointers to other apps become invalid. */
app_t *job_add_app(job_t *job);
void app_free(app_t *app);

/*
 * Checks what the user asked for against the machine and lays out the ranks: programs, directories,
 * numbers of ranks, environment, bindings. Returns 0, or the exit status after an error was
 * reported.
 */
int job_prepare(job_t *job);

/* Makes a job of one rank, which is no child: the program that mpirun serves (client.c). */
void job_prepare_client(job_t *job);

/* The table of --display-map, on stdout. */
void job_display_map(const job_t *job);

/* The lines of --report-bindings, on stderr. */
void job_report_bindings(const job_t *job);

#endif
