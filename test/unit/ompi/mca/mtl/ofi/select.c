/* SPDX-License-Identifier: BSD-3-Clause */
/* ompi/mca/mtl/ofi/select.c and opal/fabric/select.c, with a libfabric that answers as a test
 * likes: what it is asked, which mode follows, and how each impossible wish ends. */
#include "ompi/mca/mtl/ofi/select.h"

#include <rdma/fi_errno.h>

#include "test/unit/opal/fabric/candidates.h"

/* What the libfabric of the test has. */
static struct {
    list_t list;
    int result;         /* of the first question */
    bool has_full;      /* receives from one address, if it is asked for them */
    const char *layers; /* of all its providers */
    unsigned questions;
    uint64_t first_caps, last_caps;
    enum fi_progress progress;
} world;

static opal_strings_t include, exclude, domains;
static ofi_question_t question;
static ofi_selection_t selection;
static opal_text_t reason, fates;

/* What fi_freeinfo can free. */
static struct fi_info *copy_of(const struct fi_info *list, uint64_t caps)
{
    struct fi_info *first = NULL, **end = &first;
    for (; list != NULL; list = list->next) {
        struct fi_info *copy = fi_dupinfo(list);
        ck_assert_ptr_nonnull(copy);
        copy->caps |= caps;
        *end = copy;
        end = &copy->next;
    }
    return first;
}

static int providers_only(struct fi_info **info)
{
    list_t list = {0};
    opal_strings_t layers = {0};
    if (world.layers == NULL)
        return -FI_ENOSYS;
    opal_strings_split(&layers, world.layers, ",");
    for (size_t i = 0; i < layers.count; i++)
        list_add(&list, layers.items[i], NULL, NULL, NULL);
    *info = copy_of(list_first(&list), 0);
    opal_strings_free(&layers);
    return 0;
}

static int getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                   const struct fi_info *hints, struct fi_info **info)
{
    ck_assert_uint_eq(version, OPAL_FABRIC_API);
    ck_assert(node == NULL && service == NULL);
    if (flags == FI_PROV_ATTR_ONLY)
        return providers_only(info);
    ck_assert_uint_eq(flags, 0);
    ck_assert_int_eq(hints->ep_attr->type, FI_EP_RDM);
    ck_assert_int_eq(hints->domain_attr->threading, FI_THREAD_DOMAIN);
    ck_assert_int_eq(hints->domain_attr->resource_mgmt, FI_RM_ENABLED);
    ck_assert_uint_eq(hints->tx_attr->msg_order, FI_ORDER_SAS);
    ck_assert_uint_eq(hints->rx_attr->msg_order, FI_ORDER_SAS);
    ck_assert(hints->caps & FI_TAGGED);
    world.last_caps = hints->caps;
    world.progress = hints->domain_attr->data_progress;
    if (world.questions++ == 0) {
        world.first_caps = hints->caps;
        if (world.result == 0)
            *info = copy_of(list_first(&world.list), 0);
        return world.result;
    }
    /* The second question is about one provider. */
    ck_assert(hints->caps & FI_DIRECTED_RECV);
    ck_assert_uint_eq(hints->domain_attr->cq_data_size, 4);
    ck_assert_ptr_nonnull(hints->fabric_attr->prov_name);
    if (!world.has_full)
        return -FI_ENODATA;
    *info = copy_of(list_first(&world.list), FI_DIRECTED_RECV);
    return 0;
}

static void setup(void)
{
    memset(&world, 0, sizeof world);
    world.layers = "tcp,net,ofi_rxm,psm2";
    world.has_full = true;
    opal_strings_split(&exclude, OPAL_FABRIC_EXCLUDED, ",");
    question = (ofi_question_t){
        .fabric = {.wishes = {.prefix = "mtl_ofi",
                              .service = "matched messages",
                              .include = &include,
                              .exclude = &exclude,
                              .domains = &domains,
                              .include_origin = "environment",
                              .exclude_origin = "default"},
                   .caps = FI_TAGGED,
                   .progress = FI_PROGRESS_MANUAL,
                   .getinfo = getinfo,
                   .root = unit_folder},
        .job_size = 4,
    };
    list_add(&world.list, "tcp;ofi_rxm", "eth0", "10.0.0.0/24", "10.0.0.1");
    list_add(&world.list, "tcp;ofi_rxm", "eth0", "fd00::/64", "fd00::1");
    list_add(&world.list, "net", "lo", "127.0.0.1/32", "127.0.0.1");
    world.list.candidates[2].ep.mem_tag_format = 0x5555555555555555;
}

static void add_fate(void *context, const char *provider, const char *fate, const char *why)
{
    (void)why;
    opal_text_printf(context, "%s:%s ", provider, fate);
}

static opal_status_t ask(void)
{
    opal_text_free(&reason);
    opal_text_free(&fates);
    world.questions = 0;
    return ofi_select(&question, &selection, &reason, add_fate, &fates);
}

static void check_refused(opal_status_t status, const char *text)
{
    ck_assert_int_eq(ask(), status);
    ck_assert_str_eq(opal_text_string(&reason), text);
    ck_assert_ptr_null(selection.info);
    ofi_selection_free(&selection);
}

/* -- what is chosen --------------------------------------------------------------------------- */

START_TEST(as_it_comes)
{
    check_refused(OPAL_ERR_NOT_AVAILABLE,
                  "mtl_ofi_provider_exclude (default) leaves none of the providers here: "
                  "tcp;ofi_rxm, net; mtl_ofi_provider_include would use one");
    ck_assert_uint_eq(world.questions, 1);
    ck_assert_str_eq(opal_text_string(&fates), "tcp;ofi_rxm:refused net:refused ");
}
END_TEST

START_TEST(auto_is_full)
{
    opal_strings_add(&include, "tcp");
    ck_assert_int_eq(ask(), OPAL_SUCCESS);
    ck_assert_int_eq(selection.tags.mode, OFI_TAG_FULL);
    ck_assert_uint_eq(selection.tags.comm_bits, 28);
    ck_assert(selection.info->caps & FI_DIRECTED_RECV);
    ck_assert(!selection.is_hpc);
    ck_assert_str_eq(selection.phrase, "tcp;ofi_rxm over eth0 from 10.0.0.1, ofi_tag_full");
    ck_assert_uint_eq(reason.length, 0);
    ck_assert_str_eq(opal_text_string(&fates), "tcp;ofi_rxm:used net:refused ");
    ck_assert_int_eq(world.progress, FI_PROGRESS_MANUAL);
    ck_assert_uint_eq(world.first_caps, FI_TAGGED);
    ofi_selection_free(&selection);
    ck_assert_ptr_null(selection.info);
}
END_TEST

START_TEST(auto_is_1_without)
{
    opal_strings_add(&include, "net");
    world.has_full = false;
    ck_assert_int_eq(ask(), OPAL_SUCCESS);
    ck_assert_int_eq(selection.tags.mode, OFI_TAG_1);
    ck_assert_uint_eq(selection.tags.comm_bits, 11);
    ck_assert(!(selection.info->caps & FI_DIRECTED_RECV));
    ck_assert_str_eq(selection.phrase, "net over lo from 127.0.0.1, ofi_tag_1");
    ofi_selection_free(&selection);
}
END_TEST

START_TEST(too_little_completion_data)
{
    opal_strings_add(&include, "tcp");
    world.list.candidates[0].domain.cq_data_size = 2;
    ck_assert_int_eq(ask(), OPAL_SUCCESS);
    ck_assert_int_eq(selection.tags.mode, OFI_TAG_1);
    ck_assert(!(selection.info->caps & FI_DIRECTED_RECV));
    ofi_selection_free(&selection);
}
END_TEST

/* The second answer is searched for the very candidate. */
START_TEST(another_offer_is_not_it)
{
    opal_strings_add(&include, "tcp");
    ck_assert_int_eq(ask(), OPAL_SUCCESS);
    ck_assert_int_eq(selection.info->addr_format, FI_SOCKADDR_IN);
    ofi_selection_free(&selection);
    world.list.candidates[0].info.addr_format =
        FI_ADDR_STR; /* not of the Internet's, and no text */
    ck_assert_int_eq(ask(), OPAL_SUCCESS);
    ck_assert_uint_eq(selection.info->addr_format, FI_ADDR_STR);
    ck_assert_str_eq(selection.phrase, "tcp;ofi_rxm over eth0, ofi_tag_full");
    ofi_selection_free(&selection);
}
END_TEST

START_TEST(modes_that_need_no_asking)
{
    opal_strings_add(&include, "tcp");
    for (ofi_tag_mode_t mode = OFI_TAG_1; mode <= OFI_TAG_2; mode++) {
        question.tag_mode = mode;
        ck_assert_int_eq(ask(), OPAL_SUCCESS);
        ck_assert_int_eq(selection.tags.mode, mode);
        ck_assert_uint_eq(world.questions, 1);
        ofi_selection_free(&selection);
    }
}
END_TEST

START_TEST(a_nic_is_hpc)
{
    list_add(&world.list, "verbs;ofi_rxm", "mlx5_0", "IB", NULL);
    question.fabric.wishes.spans_nodes = true;
    question.fabric.progress = FI_PROGRESS_AUTO;
    ck_assert_int_eq(ask(), OPAL_SUCCESS);
    ck_assert(selection.is_hpc);
    ck_assert_str_eq(selection.phrase, "verbs;ofi_rxm over mlx5_0, ofi_tag_full");
    ck_assert_uint_eq(world.first_caps, FI_TAGGED | FI_LOCAL_COMM | FI_REMOTE_COMM);
    ck_assert_int_eq(world.progress, FI_PROGRESS_AUTO);
    ofi_selection_free(&selection);
}
END_TEST

/* -- what is impossible ----------------------------------------------------------------------- */

START_TEST(full_is_demanded)
{
    opal_strings_add(&include, "tcp");
    question.tag_mode = OFI_TAG_FULL;
    ck_assert_int_eq(ask(), OPAL_SUCCESS);
    ofi_selection_free(&selection);
    world.has_full = false;
    check_refused(OPAL_ERR_BAD_PARAM, "tcp;ofi_rxm: ofi_tag_full needs receives from one address "
                                      "(FI_DIRECTED_RECV), and it has none");
    ck_assert_str_eq(opal_text_string(&fates), "tcp;ofi_rxm:usable net:refused ");
}
END_TEST

START_TEST(too_few_bits)
{
    const char *text =
        "tcp;ofi_rxm: of a tag's 64 bits it keeps 6 for itself (mem_tag_format "
        "0x03ffffffffffffff), which leaves ofi_tag_1 6 for communicators; at least 8 are needed, "
        "and mtl_ofi_tag_mode = ofi_tag_2 would have 18";
    world.list.candidates[0].ep.mem_tag_format = UINT64_MAX >> 6;
    world.has_full = false;
    opal_strings_add(&include, "tcp");
    check_refused(OPAL_ERR_BAD_PARAM, text);
    /* Nobody has asked for it: the job does without. */
    opal_strings_free(&include);
    opal_strings_free(&exclude);
    check_refused(OPAL_ERR_TOO_LARGE, text);
    question.tag_mode = OFI_TAG_1;
    check_refused(OPAL_ERR_BAD_PARAM, text);
}
END_TEST

START_TEST(too_many_ranks)
{
    opal_strings_add(&include, "tcp");
    question.tag_mode = OFI_TAG_2;
    question.job_size = 262145;
    check_refused(OPAL_ERR_BAD_PARAM,
                  "tcp;ofi_rxm: the job has 262145 ranks, and ofi_tag_2 numbers 262144");
    question.job_size = 262144;
    ck_assert_int_eq(ask(), OPAL_SUCCESS);
    ofi_selection_free(&selection);
    question.job_size = 262145;
    question.tag_mode = OFI_TAG_AUTO;
    ck_assert_int_eq(ask(), OPAL_SUCCESS);
    ck_assert_int_eq(selection.tags.mode, OFI_TAG_FULL);
    ofi_selection_free(&selection);
    world.has_full = false; /* ofi_tag_2 would not help */
    check_refused(OPAL_ERR_BAD_PARAM,
                  "tcp;ofi_rxm: the job has 262145 ranks, and ofi_tag_1 numbers 262144");
    opal_strings_free(&include);
    opal_strings_free(&exclude);
    check_refused(OPAL_ERR_TOO_LARGE,
                  "tcp;ofi_rxm: the job has 262145 ranks, and ofi_tag_1 numbers 262144");
}
END_TEST

START_TEST(names_that_nobody_has)
{
    opal_strings_split(&include, "tpc,net", ",");
    check_refused(OPAL_ERR_BAD_PARAM, "mtl_ofi_provider_include (environment): this libfabric has "
                                      "no provider \"tpc\" (did you mean \"tcp\"?)");
    opal_strings_free(&include);
    opal_strings_add(&include, "psm2");
    check_refused(OPAL_ERR_BAD_PARAM, "mtl_ofi_provider_include (environment): the provider "
                                      "\"psm2\" offers no matched messages here");
    world.layers = NULL; /* it does not tell */
    check_refused(OPAL_ERR_BAD_PARAM, "mtl_ofi_provider_include (environment): this libfabric has "
                                      "no provider \"psm2\"");
}
END_TEST

START_TEST(excluded_names_that_nobody_has)
{
    question.fabric.wishes.exclude_origin = "environment";
    opal_strings_free(&exclude);
    opal_strings_split(&exclude, "tpc,net", ",");
    check_refused(OPAL_ERR_BAD_PARAM, "mtl_ofi_provider_exclude (environment): this libfabric has "
                                      "no provider \"tpc\" (did you mean \"tcp\"?)");
    /* A provider that is elsewhere, and one that this libfabric has besides what it offers. */
    world.layers = "tcp,net,ofi_rxm,strange";
    opal_strings_free(&exclude);
    opal_strings_split(&exclude, "verbs,strange,net", ",");
    ck_assert_int_eq(ask(), OPAL_SUCCESS);
    ck_assert_str_eq(opal_text_string(&fates), "tcp;ofi_rxm:used net:refused ");
    ck_assert_uint_eq(reason.length, 0);
    ofi_selection_free(&selection);
}
END_TEST

START_TEST(no_domain_is_left)
{
    opal_strings_add(&include, "net");
    opal_strings_add(&domains, "ib*");
    check_refused(OPAL_ERR_NOT_AVAILABLE,
                  "the domains of the providers that may be used are all refused");
}
END_TEST

START_TEST(libfabric_has_nothing)
{
    world.list.count = 0;
    check_refused(OPAL_ERR_NOT_AVAILABLE, "libfabric has no provider here for matched messages");
    world.result = -FI_ENODATA;
    check_refused(OPAL_ERR_NOT_AVAILABLE, "libfabric has no provider here for matched messages");
    world.result = -FI_ENOSYS;
    check_refused(OPAL_ERR_NOT_AVAILABLE, "libfabric cannot list its providers: Function not "
                                          "implemented");
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &as_it_comes},
    {.test = &auto_is_full},
    {.test = &auto_is_1_without},
    {.test = &too_little_completion_data},
    {.test = &another_offer_is_not_it},
    {.test = &modes_that_need_no_asking},
    {.test = &a_nic_is_hpc},
    {.test = &full_is_demanded},
    {.test = &too_few_bits},
    {.test = &too_many_ranks},
    {.test = &names_that_nobody_has},
    {.test = &excluded_names_that_nobody_has},
    {.test = &no_domain_is_left},
    {.test = &libfabric_has_nothing},
};

UNIT_MAIN("select", tests, setup);
