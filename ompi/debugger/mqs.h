/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface between a debugger and the library that shows it the message queues of an MPI
 * process ("MPI Message Queue Dumping", version 2). The debugger loads the library that
 * MPIR_dll_name names in the process, hands it callbacks, and asks: which communicators are there,
 * which operations wait in this one. Names, values and the order of fields are the interface's.
 *
 * image: a program's file; process: one that runs; _info: what the library keeps for one of them.
 */
#ifndef OMPI_DEBUGGER_MQS_H
#define OMPI_DEBUGGER_MQS_H

#include <stddef.h>

enum { MQS_INTERFACE_COMPATIBILITY = 2, MQS_INVALID_PROCESS = -1 };

typedef struct _mqs_image_info mqs_image_info;
typedef struct _mqs_process_info mqs_process_info;
typedef struct mqs_image_ mqs_image;
typedef struct mqs_process_ mqs_process;
typedef struct mqs_type_ mqs_type;
typedef unsigned long mqs_taddr_t; /* an address in the process */
typedef long mqs_tword_t;

typedef struct {
    int short_size, int_size, long_size, long_long_size, pointer_size, bool_size, size_t_size;
} mqs_target_type_sizes;

/* Results. From mqs_first_user_code on they are the library's; mqs_dll_error_string names them. */
enum { mqs_ok, mqs_no_information, mqs_end_of_list, mqs_first_user_code = 100 };

typedef enum {
    mqs_lang_c = 'c',
    mqs_lang_cplus = 'C',
    mqs_lang_f77 = 'f',
    mqs_lang_f90 = 'F'
} mqs_lang_code;

typedef enum { mqs_pending_sends, mqs_pending_receives, mqs_unexpected_messages } mqs_op_class;

enum mqs_status { mqs_st_pending, mqs_st_matched, mqs_st_complete };

typedef struct {
    mqs_taddr_t unique_id;
    mqs_tword_t local_rank; /* of the process */
    mqs_tword_t size;
    char name[64];
} mqs_communicator;

typedef struct {
    int status;                      /* mqs_status */
    mqs_tword_t desired_local_rank;  /* the peer, or -1: any */
    mqs_tword_t desired_global_rank; /* in MPI_COMM_WORLD, or -1 */
    int tag_wild;
    mqs_tword_t desired_tag;
    mqs_tword_t desired_length;
    int system_buffer; /* true: the buffer is the library's */
    mqs_taddr_t buffer;
    mqs_tword_t actual_local_rank; /* from here on for what is matched */
    mqs_tword_t actual_global_rank;
    mqs_tword_t actual_tag;
    mqs_tword_t actual_length;
    char extra_text[5][64]; /* an empty one ends them */
} mqs_pending_operation;

typedef struct mqs_basic_callbacks {
    void *(*mqs_malloc_fp)(size_t);
    void (*mqs_free_fp)(void *);
    void (*mqs_dprints_fp)(const char *);
    char *(*mqs_errorstring_fp)(int);
    void (*mqs_put_image_info_fp)(mqs_image *, mqs_image_info *);
    mqs_image_info *(*mqs_get_image_info_fp)(mqs_image *);
    void (*mqs_put_process_info_fp)(mqs_process *, mqs_process_info *);
    mqs_process_info *(*mqs_get_process_info_fp)(mqs_process *);
} mqs_basic_callbacks;

typedef struct mqs_image_callbacks {
    void (*mqs_get_type_sizes_fp)(mqs_process *, mqs_target_type_sizes *);
    int (*mqs_find_function_fp)(mqs_image *, char *, mqs_lang_code, mqs_taddr_t *);
    int (*mqs_find_symbol_fp)(mqs_image *, char *, mqs_taddr_t *);
    mqs_type *(*mqs_find_type_fp)(mqs_image *, char *, mqs_lang_code);
    int (*mqs_field_offset_fp)(mqs_type *, char *);
    int (*mqs_sizeof_fp)(mqs_type *);
} mqs_image_callbacks;

typedef struct mqs_process_callbacks {
    int (*mqs_get_global_rank_fp)(mqs_process *);
    mqs_image *(*mqs_get_image_fp)(mqs_process *);
    int (*mqs_fetch_data_fp)(mqs_process *, mqs_taddr_t, int, void *);
    void (*mqs_target_to_host_fp)(mqs_process *, const void *, void *, int);
} mqs_process_callbacks;

#define MQS_EXPORT __attribute__((visibility("default")))

MQS_EXPORT void mqs_setup_basic_callbacks(const mqs_basic_callbacks *);
MQS_EXPORT char *mqs_version_string(void);
MQS_EXPORT int mqs_version_compatibility(void);
MQS_EXPORT int mqs_dll_taddr_width(void); /* bytes */
MQS_EXPORT char *mqs_dll_error_string(int);

/* has_queues: mqs_ok, or why not; the text, if there is one, is shown to the user. */
MQS_EXPORT int mqs_setup_image(mqs_image *, const mqs_image_callbacks *);
MQS_EXPORT int mqs_image_has_queues(mqs_image *, char **);
MQS_EXPORT void mqs_destroy_image_info(mqs_image_info *);

MQS_EXPORT int mqs_setup_process(mqs_process *, const mqs_process_callbacks *);
MQS_EXPORT int mqs_process_has_queues(mqs_process *, char **);
MQS_EXPORT void mqs_destroy_process_info(mqs_process_info *);

/* Called when the process has stopped; then the iterators: setup, then get and next until
 * mqs_end_of_list. */
MQS_EXPORT int mqs_update_communicator_list(mqs_process *);
MQS_EXPORT int mqs_setup_communicator_iterator(mqs_process *);
MQS_EXPORT int mqs_get_communicator(mqs_process *, mqs_communicator *);
MQS_EXPORT int mqs_get_comm_group(mqs_process *, int *); /* the rank in the world of each member */
MQS_EXPORT int mqs_next_communicator(mqs_process *);

/* Of the current communicator; the class is a mqs_op_class. */
MQS_EXPORT int mqs_setup_operation_iterator(mqs_process *, int op_class);
MQS_EXPORT int mqs_next_operation(mqs_process *, mqs_pending_operation *);

#endif
