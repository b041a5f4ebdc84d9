/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of the chapter rma. */
#include <string.h>

#include "opal/util/text.h"
#include "ompi/api/bodies.h"
#include "ompi/attribute/attribute.h"
#include "ompi/check/left.h"
#include "ompi/mca/osc/base/base.h"

/* Adds the sentence about an error that ompi/win has left. */
static inline int tell(int error)
{
    if (opal_unlikely(error != MPI_SUCCESS))
        return ompi_api_set_error_detail(error, ompi_win_detail());
    return MPI_SUCCESS;
}

/* The same for a call that makes a request. */
static inline int tell_begun(int error, ompi_request_t *const *request)
{
    return tell(ompi_check_begun(error, request));
}

/* -- making and ending ------------------------------------------------------------------- */

static int create(int flavor, void *base, MPI_Aint size, MPI_Aint disp_unit, ompi_info_t *info,
                  ompi_communicator_t *comm, ompi_win_t **win)
{
    ompi_win_shape_t shape = {flavor, base, size, disp_unit};
    if (ompi_comm_is_inter(comm))
        return ompi_api_set_error_detail(MPI_ERR_COMM, "A window needs an intracommunicator.");
    int error = ompi_win_create(&shape, info, comm, win);
    return error != MPI_SUCCESS
               ? ompi_api_set_error_detail(error, "It could not be made in this or another rank.")
               : MPI_SUCCESS;
}

/* A pointer to any kind of pointer. */
static void set_pointer(void *where, void *value)
{
    memcpy(where, &value, sizeof value);
}

int ompi_api_win_create(void *base, MPI_Aint size, MPI_Aint disp_unit, ompi_info_t *info,
                        ompi_communicator_t *comm, ompi_win_t **win)
{
    return create(MPI_WIN_FLAVOR_CREATE, base, size, disp_unit, info, comm, win);
}

static int allocate(int flavor, MPI_Aint size, MPI_Aint disp_unit, ompi_info_t *info,
                    ompi_communicator_t *comm, void *baseptr, ompi_win_t **win)
{
    int error = create(flavor, NULL, size, disp_unit, info, comm, win);
    if (error == MPI_SUCCESS)
        set_pointer(baseptr, (*win)->shape.base);
    return error;
}

int ompi_api_win_allocate(MPI_Aint size, MPI_Aint disp_unit, ompi_info_t *info,
                          ompi_communicator_t *comm, void *baseptr, ompi_win_t **win)
{
    return allocate(MPI_WIN_FLAVOR_ALLOCATE, size, disp_unit, info, comm, baseptr, win);
}

int ompi_api_win_allocate_shared(MPI_Aint size, MPI_Aint disp_unit, ompi_info_t *info,
                                 ompi_communicator_t *comm, void *baseptr, ompi_win_t **win)
{
    for (int rank = 0; rank < comm->size && comm->size > 1; rank++) {
        if (!opal_node_has(ompi_comm_process(comm, rank)))
            return ompi_api_set_error_detail(
                MPI_ERR_RMA_SHARED, "Not all ranks share memory. MPI_Comm_split_type with "
                                    "MPI_COMM_TYPE_SHARED makes a communicator of those that do.");
    }
    return allocate(MPI_WIN_FLAVOR_SHARED, size, disp_unit, info, comm, baseptr, win);
}

int ompi_api_win_create_dynamic(ompi_info_t *info, ompi_communicator_t *comm, ompi_win_t **win)
{
    return create(MPI_WIN_FLAVOR_DYNAMIC, MPI_BOTTOM, 0, 1, info, comm, win);
}

int ompi_api_win_free(ompi_win_t **win)
{
    int error = ompi_win_may_free(*win);
    if (error != MPI_SUCCESS)
        return tell(error);
    error = ompi_attributes_delete_all(&(*win)->head);
    return error != MPI_SUCCESS ? error : tell(ompi_win_free(win));
}

int ompi_api_win_attach(ompi_win_t *win, void *base, MPI_Aint size)
{
    return tell(ompi_win_attach(win, base, size));
}

int ompi_api_win_detach(ompi_win_t *win, const void *base)
{
    return tell(ompi_win_detach(win, base));
}

int ompi_api_win_shared_query(ompi_win_t *win, int rank, MPI_Aint *size, MPI_Aint *disp_unit,
                              void *baseptr)
{
    void *base;
    int error = ompi_win_shared_query(win, rank, size, disp_unit, &base);
    if (error == MPI_SUCCESS)
        set_pointer(baseptr, base);
    return tell(error);
}

int ompi_api_win_get_group(ompi_win_t *win, ompi_group_t **group)
{
    ompi_object_retain(&win->osc.comm->group->head);
    *group = win->osc.comm->group;
    return MPI_SUCCESS;
}

int ompi_api_win_set_name(ompi_win_t *win, const char *win_name)
{
    size_t length = strnlen(win_name, sizeof win->name - 1);
    ompi_lock();
    memcpy(win->name, win_name, length);
    win->name[length] = 0;
    ompi_unlock();
    return MPI_SUCCESS;
}

int ompi_api_win_get_name(ompi_win_t *win, char *win_name, int *resultlen)
{
    ompi_lock();
    strcpy(win_name, win != NULL ? win->name : "MPI_WIN_NULL");
    ompi_unlock();
    *resultlen = (int)strlen(win_name);
    return MPI_SUCCESS;
}

int ompi_api_win_set_info(ompi_win_t *win, ompi_info_t *info)
{
    return ompi_win_set_hints(win, info);
}

/* Besides the hints: which component of osc serves how many ranks. */
int ompi_api_win_get_info(ompi_win_t *win, ompi_info_t **info_used)
{
    opal_text_t paths = {0};
    ompi_info_t *info = ompi_info_dup(win->info);
    if (info == NULL)
        return MPI_ERR_NO_MEM;
    ompi_osc_window_describe(&win->osc, &paths);
    int error = ompi_info_set(info, "mica_osc", opal_text_string(&paths));
    opal_text_free(&paths);
    if (error != MPI_SUCCESS) {
        ompi_object_release(&info->head);
        return error;
    }
    *info_used = info;
    return MPI_SUCCESS;
}

/* -- synchronization --------------------------------------------------------------------- */

int ompi_api_win_fence(int assertion, ompi_win_t *win)
{
    return tell(ompi_win_fence(win, assertion));
}

int ompi_api_win_post(ompi_group_t *group, int assertion, ompi_win_t *win)
{
    return tell(ompi_win_post(win, group, assertion));
}

int ompi_api_win_start(ompi_group_t *group, int assertion, ompi_win_t *win)
{
    return tell(ompi_win_start(win, group, assertion));
}

int ompi_api_win_complete(ompi_win_t *win)
{
    return tell(ompi_win_complete(win));
}

int ompi_api_win_wait(ompi_win_t *win)
{
    return tell(ompi_win_wait(win));
}

int ompi_api_win_test(ompi_win_t *win, int *flag)
{
    bool is_over;
    int error = ompi_win_test(win, &is_over);
    *flag = is_over;
    return tell(error);
}

int ompi_api_win_lock(int lock_type, int rank, int assertion, ompi_win_t *win)
{
    return tell(ompi_win_lock(win, lock_type, rank, assertion));
}

int ompi_api_win_unlock(int rank, ompi_win_t *win)
{
    return tell(ompi_win_unlock(win, rank));
}

int ompi_api_win_lock_all(int assertion, ompi_win_t *win)
{
    return tell(ompi_win_lock_all(win, assertion));
}

int ompi_api_win_unlock_all(ompi_win_t *win)
{
    return tell(ompi_win_unlock_all(win));
}

/* The rank -1 stands for all ranks below. */
static int flush(ompi_win_t *win, int rank, bool local)
{
    if (rank == -1)
        return ompi_api_set_error_detail(MPI_ERR_RANK, "The target is -1.");
    return tell(ompi_win_flush(win, rank, local));
}

int ompi_api_win_flush(int rank, ompi_win_t *win)
{
    return flush(win, rank, false);
}

int ompi_api_win_flush_local(int rank, ompi_win_t *win)
{
    return flush(win, rank, true);
}

int ompi_api_win_flush_all(ompi_win_t *win)
{
    return tell(ompi_win_flush(win, -1, false));
}

int ompi_api_win_flush_local_all(ompi_win_t *win)
{
    return tell(ompi_win_flush(win, -1, true));
}

int ompi_api_win_sync(ompi_win_t *win)
{
    atomic_thread_fence(memory_order_seq_cst);
    ompi_win_flushed(win);
    return MPI_SUCCESS;
}

/* -- accesses ---------------------------------------------------------------------------- */

static inline ompi_data_t data(const void *buffer, MPI_Count count, ompi_datatype_t *type)
{
    return (ompi_data_t){(void *)(uintptr_t)buffer, (size_t)count, type};
}

static inline ompi_win_remote_t place(int rank, MPI_Aint displacement, MPI_Count count,
                                      ompi_datatype_t *type)
{
    return (ompi_win_remote_t){rank, displacement, (size_t)count, type};
}

int ompi_api_put(const void *origin_addr, MPI_Count origin_count, ompi_datatype_t *origin_datatype,
                 int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                 ompi_datatype_t *target_datatype, ompi_win_t *win)
{
    ompi_win_remote_t at = place(target_rank, target_disp, target_count, target_datatype);
    return tell(ompi_win_put(win, data(origin_addr, origin_count, origin_datatype), &at, NULL));
}

int ompi_api_rput(const void *origin_addr, MPI_Count origin_count, ompi_datatype_t *origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  ompi_datatype_t *target_datatype, ompi_win_t *win, ompi_request_t **request)
{
    ompi_win_remote_t at = place(target_rank, target_disp, target_count, target_datatype);
    return tell_begun(
        ompi_win_put(win, data(origin_addr, origin_count, origin_datatype), &at, request), request);
}

int ompi_api_get(void *origin_addr, MPI_Count origin_count, ompi_datatype_t *origin_datatype,
                 int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                 ompi_datatype_t *target_datatype, ompi_win_t *win)
{
    ompi_win_remote_t at = place(target_rank, target_disp, target_count, target_datatype);
    return tell(ompi_win_get(win, data(origin_addr, origin_count, origin_datatype), &at, NULL));
}

int ompi_api_rget(void *origin_addr, MPI_Count origin_count, ompi_datatype_t *origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  ompi_datatype_t *target_datatype, ompi_win_t *win, ompi_request_t **request)
{
    ompi_win_remote_t at = place(target_rank, target_disp, target_count, target_datatype);
    return tell_begun(
        ompi_win_get(win, data(origin_addr, origin_count, origin_datatype), &at, request), request);
}

int ompi_api_accumulate(const void *origin_addr, MPI_Count origin_count,
                        ompi_datatype_t *origin_datatype, int target_rank, MPI_Aint target_disp,
                        MPI_Count target_count, ompi_datatype_t *target_datatype, ompi_op_t *op,
                        ompi_win_t *win)
{
    ompi_win_remote_t at = place(target_rank, target_disp, target_count, target_datatype);
    return tell(ompi_win_accumulate(win, data(origin_addr, origin_count, origin_datatype), NULL,
                                    &at, op, NULL));
}

int ompi_api_raccumulate(const void *origin_addr, MPI_Count origin_count,
                         ompi_datatype_t *origin_datatype, int target_rank, MPI_Aint target_disp,
                         MPI_Count target_count, ompi_datatype_t *target_datatype, ompi_op_t *op,
                         ompi_win_t *win, ompi_request_t **request)
{
    ompi_win_remote_t at = place(target_rank, target_disp, target_count, target_datatype);
    return tell_begun(ompi_win_accumulate(win, data(origin_addr, origin_count, origin_datatype),
                                          NULL, &at, op, request),
                      request);
}

int ompi_api_get_accumulate(const void *origin_addr, MPI_Count origin_count,
                            ompi_datatype_t *origin_datatype, void *result_addr,
                            MPI_Count result_count, ompi_datatype_t *result_datatype,
                            int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                            ompi_datatype_t *target_datatype, ompi_op_t *op, ompi_win_t *win)
{
    ompi_win_remote_t at = place(target_rank, target_disp, target_count, target_datatype);
    ompi_data_t result = data(result_addr, result_count, result_datatype);
    return tell(ompi_win_accumulate(win, data(origin_addr, origin_count, origin_datatype), &result,
                                    &at, op, NULL));
}

int ompi_api_rget_accumulate(const void *origin_addr, MPI_Count origin_count,
                             ompi_datatype_t *origin_datatype, void *result_addr,
                             MPI_Count result_count, ompi_datatype_t *result_datatype,
                             int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                             ompi_datatype_t *target_datatype, ompi_op_t *op, ompi_win_t *win,
                             ompi_request_t **request)
{
    ompi_win_remote_t at = place(target_rank, target_disp, target_count, target_datatype);
    ompi_data_t result = data(result_addr, result_count, result_datatype);
    return tell_begun(ompi_win_accumulate(win, data(origin_addr, origin_count, origin_datatype),
                                          &result, &at, op, request),
                      request);
}

int ompi_api_fetch_and_op(const void *origin_addr, void *result_addr, ompi_datatype_t *datatype,
                          int target_rank, MPI_Aint target_disp, ompi_op_t *op, ompi_win_t *win)
{
    ompi_win_remote_t at = place(target_rank, target_disp, 1, datatype);
    ompi_data_t result = data(result_addr, 1, datatype);
    if (!datatype->is_predefined)
        return ompi_api_set_error_detail(MPI_ERR_TYPE, "The datatype is not predefined.");
    return tell(ompi_win_accumulate(win, data(origin_addr, 1, datatype), &result, &at, op, NULL));
}

int ompi_api_compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr,
                              ompi_datatype_t *datatype, int target_rank, MPI_Aint target_disp,
                              ompi_win_t *win)
{
    ompi_win_remote_t at = place(target_rank, target_disp, 1, datatype);
    return tell(ompi_win_compare_and_swap(win, origin_addr, compare_addr, result_addr, &at));
}
