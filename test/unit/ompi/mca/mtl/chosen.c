/* SPDX-License-Identifier: BSD-3-Clause */
/* See chosen.h. In the place of the base's function, which would look for component files. */
#include "test/unit/ompi/mca/mtl/chosen.h"

#include <sys/wait.h>

extern const opal_component_t mca_mtl_via_component;
#ifdef UNIT_OFI
extern const opal_component_t mca_mtl_ofi_component;
#endif

static const struct {
    const opal_component_t *component;
    const char *name, *value; /* a setting that it needs */
} mtls[] = {
    {&mca_mtl_via_component, "OMPI_MCA_mtl_via_tag_bits", "19"},
#ifdef UNIT_OFI
    {&mca_mtl_ofi_component, "OMPI_MCA_mtl_ofi_provider_include", "tcp;ofi_rxm"},
#endif
};

static const opal_component_t *chosen;
static opal_answer_t answer_of_chosen;
const ompi_mtl_ops_t *unit_mtl;

bool __wrap_ompi_mtl_open(opal_answer_t *answer);
bool __wrap_ompi_mtl_open(opal_answer_t *answer)
{
    memset(answer, 0, sizeof *answer);
    if (chosen == NULL) {
        opal_answer_no(answer, "none is wanted");
        return false;
    }
    if (opal_param_register("mtl", chosen->name, chosen->params) != OPAL_SUCCESS ||
        (chosen->open != NULL && chosen->open() != OPAL_SUCCESS)) {
        opal_answer_no(answer, "it does not open");
        return false;
    }
    chosen->query(&answer_of_chosen);
    if (!answer_of_chosen.usable) {
        printf("ok - mtl/%s # SKIP %s\n", chosen->name, answer_of_chosen.reason);
        exit(EXIT_SUCCESS);
    }
    unit_mtl = answer_of_chosen.ops;
    *answer = answer_of_chosen;
    return answer->usable;
}

void __wrap_ompi_mtl_close(void);
void __wrap_ompi_mtl_close(void)
{
    if (chosen == NULL)
        return;
    if (chosen->close != NULL)
        chosen->close();
    opal_param_withdraw(chosen->params);
}

static int run_here(const char *name, const unit_test_t *tests, size_t count)
{
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    if ((chosen == NULL) != (unit_mtl == NULL))
        return EXIT_FAILURE; /* another pml */
    int failed = unit_run(name, tests, count, NULL);
    MPI_Finalize();
    return failed;
}

static void choose(int mtl)
{
    setenv("CK_FORK", "no", 1);
    setenv("OMPI_MCA_pml", mtl < 0 ? "ob1" : "cm", 1);
    if (mtl < 0)
        return;
    chosen = mtls[mtl].component;
    setenv("OMPI_MCA_pml_cm_shared_memory", "no", 1);
    setenv(mtls[mtl].name, mtls[mtl].value, 1);
}

int unit_run_with_each(bool also_ob1, const char *name, const unit_test_t *tests, size_t count)
{
    int failed = 0, status;
    for (int mtl = also_ob1 ? -1 : 0; mtl < (int)OPAL_COUNT_OF(mtls); mtl++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            choose(mtl);
            exit(run_here(name, tests, count));
        }
        failed += waitpid(child, &status, 0) != child || status != 0;
    }
    return failed > 0;
}
