/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_leave_pinned against what is seen of memory. See leave_pinned.h. */
#include "ompi/mca/mpool/base/leave_pinned.h"

#include "opal/mca/base/diagnostic.h"
#include "opal/mca/memory/memory.h"

/* CHUNK is not needed: an allocator that returns memory is seen by FREE or by munmap. */
enum { NEEDED = OPAL_MEMORY_FREE_SUPPORT | OPAL_MEMORY_MUNMAP_SUPPORT };

static const char *missing_calls(unsigned missing)
{
    if (missing == NEEDED)
        return "free and munmap";
    return missing == OPAL_MEMORY_FREE_SUPPORT ? "free" : "munmap";
}

/* With mpool_use_mem_hooks alone the user has not asked for buffers that stay registered. */
static void warn_missing(ompi_mpool_leave_pinned_t asked, unsigned missing)
{
    const char *name = asked.leave == OPAL_LEAVE_PINNED_YES      ? "mpi_leave_pinned"
                       : asked.pipeline == OPAL_LEAVE_PINNED_YES ? "mpi_leave_pinned_pipeline"
                                                                 : NULL;
    const char *loss = name != NULL
                           ? "no buffer stays registered (leave_pinned is off), and long messages "
                             "cost more"
                           : "a buffer that goes during its message may go unreported, and no "
                             "buffer stays registered";
    if (name == NULL)
        name = "mpool_use_mem_hooks";
    opal_diagnostic(
        OPAL_WARNING,
        "%s is set, but calls of %s are not seen in this process, so %s. Memory is watched if "
        "mpi_leave_pinned or mpi_leave_pinned_pipeline is yes in the environment, or by mpirun "
        "--mca, when the program starts, OMPI_MCA_memory_ptmalloc2_disable and FAKEROOTKEY are not "
        "set, and no other allocator takes the program's calls; ompi_info --why memory tells more. "
        "%s = no silences this",
        name, missing_calls(missing), loss, name);
}

ompi_mpool_leave_pinned_t ompi_mpool_decide(ompi_mpool_leave_pinned_t asked, bool use_mem_hooks,
                                            unsigned support)
{
    ompi_mpool_leave_pinned_t decided = asked;
    unsigned missing = NEEDED & ~support;
    if (asked.leave == OPAL_LEAVE_PINNED_YES && asked.pipeline == OPAL_LEAVE_PINNED_YES) {
        opal_diagnostic(OPAL_WARNING,
                        "mpi_leave_pinned and mpi_leave_pinned_pipeline are both set, and exclude "
                        "each other: the second one is off. Set only one of them");
        decided.pipeline = OPAL_LEAVE_PINNED_NO;
    }
    if (missing == 0)
        return decided;
    if (asked.leave == OPAL_LEAVE_PINNED_YES || asked.pipeline == OPAL_LEAVE_PINNED_YES ||
        use_mem_hooks)
        warn_missing(asked, missing);
    return (ompi_mpool_leave_pinned_t){OPAL_LEAVE_PINNED_NO, OPAL_LEAVE_PINNED_NO};
}
