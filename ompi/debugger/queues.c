/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The message queues of a process, for debuggers: a library that the debugger loads (mqs.h). Each
 * list is read as a whole when the debugger begins to iterate, and is handed out one by one.
 */
#include "config.h"

#include "ompi/debugger/queues.h"

#include <string.h>

static const mqs_basic_callbacks *basic;

void *queues_grow(void *old, unsigned count, size_t item_bytes)
{
    /* The debugger has no realloc: room is made for twice as many each time. */
    if (count > 0 && (count & (count - 1)) != 0)
        return old;
    unsigned room = count == 0 ? 1 : 2 * count;
    void *memory = basic->mqs_malloc_fp(room * item_bytes);
    if (memory != NULL && count > 0)
        memcpy(memory, old, count * item_bytes);
    if (memory != NULL)
        queues_free(old);
    return memory;
}

void queues_free(void *memory)
{
    if (memory != NULL)
        basic->mqs_free_fp(memory);
}

/* -- the library --------------------------------------------------------------------------------
 */

void mqs_setup_basic_callbacks(const mqs_basic_callbacks *callbacks)
{
    basic = callbacks;
}

char *mqs_version_string(void)
{
    static char text[] = "Mica " PACKAGE_VERSION ", message queues";
    return text;
}

int mqs_version_compatibility(void)
{
    return MQS_INTERFACE_COMPATIBILITY;
}

int mqs_dll_taddr_width(void)
{
    return sizeof(mqs_taddr_t);
}

char *mqs_dll_error_string(int error)
{
    static char texts[][64] = {
        "the debugger has no memory",
        "memory of the process cannot be read",
        "the process has another version of the MPI library",
        "a list was being changed, or is broken; let the process go on",
        "unknown error",
    };
    bool known = error >= mqs_first_user_code && error < QUEUES_ERROR_END;
    return texts[known ? error - mqs_first_user_code : QUEUES_ERROR_END - mqs_first_user_code];
}

/* -- images -------------------------------------------------------------------------------------
 */

int mqs_setup_image(mqs_image *image, const mqs_image_callbacks *callbacks)
{
    mqs_image_info *info = basic->mqs_malloc_fp(sizeof *info);
    if (info == NULL)
        return QUEUES_NO_MEMORY;
    info->callbacks = callbacks;
    basic->mqs_put_image_info_fp(image, info);
    return mqs_ok;
}

static int find_variable(mqs_image *image, mqs_taddr_t *address)
{
    static char name[] = "ompi_pml_queues";
    const mqs_image_info *info = basic->mqs_get_image_info_fp(image);
    return info->callbacks->mqs_find_symbol_fp(image, name, address);
}

int mqs_image_has_queues(mqs_image *image, char **message)
{
    static char text[] = "This program is not linked with Mica's libmpi_abi.";
    mqs_taddr_t ignored;
    bool found = find_variable(image, &ignored) == mqs_ok;
    *message = found ? NULL : text;
    return found ? mqs_ok : mqs_no_information;
}

void mqs_destroy_image_info(mqs_image_info *info)
{
    queues_free(info);
}

/* -- processes ----------------------------------------------------------------------------------
 */

int mqs_setup_process(mqs_process *process, const mqs_process_callbacks *callbacks)
{
    mqs_process_info *info = basic->mqs_malloc_fp(sizeof *info);
    if (info == NULL)
        return QUEUES_NO_MEMORY;
    memset(info, 0, sizeof *info);
    info->callbacks = callbacks;
    info->process = process;
    basic->mqs_put_process_info_fp(process, info);
    return mqs_ok;
}

static int read_table(mqs_process *process)
{
    mqs_process_info *info = basic->mqs_get_process_info_fp(process);
    mqs_image *image = info->callbacks->mqs_get_image_fp(process);
    const mqs_image_info *image_info = basic->mqs_get_image_info_fp(image);
    mqs_target_type_sizes sizes = {0};
    mqs_taddr_t variable;
    image_info->callbacks->mqs_get_type_sizes_fp(process, &sizes);
    if (sizes.pointer_size != sizeof(mqs_taddr_t))
        return QUEUES_OTHER_LIBRARY;
    int error = find_variable(image, &variable);
    return error != mqs_ok ? error : queues_read_table(info, variable);
}

int mqs_process_has_queues(mqs_process *process, char **message)
{
    static char none[] = "No messages can wait: the process is before MPI_Init or behind "
                         "MPI_Finalize, or a network matches its messages.";
    int error = read_table(process);
    *message = error == mqs_no_information ? none : NULL;
    return error;
}

void mqs_destroy_process_info(mqs_process_info *info)
{
    queues_free(info->comms);
    queues_free(info->operations);
    queues_free(info);
}

/* -- communicators ------------------------------------------------------------------------------
 */

int mqs_update_communicator_list(mqs_process *process)
{
    mqs_process_info *info = basic->mqs_get_process_info_fp(process);
    queues_free(info->comms);
    info->comms = NULL;
    info->comm_count = 0;
    int error = read_table(process);
    return error != mqs_ok ? error : queues_read_comms(info);
}

int mqs_setup_communicator_iterator(mqs_process *process)
{
    mqs_process_info *info = basic->mqs_get_process_info_fp(process);
    info->comm_now = 0;
    return info->comm_count > 0 ? mqs_ok : mqs_end_of_list;
}

int mqs_get_communicator(mqs_process *process, mqs_communicator *shown)
{
    const mqs_process_info *info = basic->mqs_get_process_info_fp(process);
    if (info->comm_now >= info->comm_count)
        return mqs_end_of_list;
    *shown = info->comms[info->comm_now].shown;
    return mqs_ok;
}

int mqs_get_comm_group(mqs_process *process, int *ranks)
{
    mqs_process_info *info = basic->mqs_get_process_info_fp(process);
    if (info->comm_now >= info->comm_count)
        return mqs_end_of_list;
    return queues_read_group(info, &info->comms[info->comm_now], ranks);
}

int mqs_next_communicator(mqs_process *process)
{
    mqs_process_info *info = basic->mqs_get_process_info_fp(process);
    return ++info->comm_now < info->comm_count ? mqs_ok : mqs_end_of_list;
}

/* -- operations ---------------------------------------------------------------------------------
 */

int mqs_setup_operation_iterator(mqs_process *process, int op_class)
{
    mqs_process_info *info = basic->mqs_get_process_info_fp(process);
    queues_free(info->operations);
    info->operations = NULL;
    info->operation_count = info->operation_now = 0;
    if (info->comm_now >= info->comm_count)
        return mqs_end_of_list;
    int error = queues_read_operations(info, &info->comms[info->comm_now], (mqs_op_class)op_class);
    if (error != mqs_ok)
        return error;
    return info->operation_count > 0 ? mqs_ok : mqs_end_of_list;
}

int mqs_next_operation(mqs_process *process, mqs_pending_operation *operation)
{
    mqs_process_info *info = basic->mqs_get_process_info_fp(process);
    if (info->operation_now >= info->operation_count)
        return mqs_end_of_list;
    *operation = info->operations[info->operation_now++];
    return mqs_ok;
}
