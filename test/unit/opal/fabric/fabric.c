/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/fabric/fabric.c: two users of one domain in this process, over a real provider. One sends by
 * tags, the other writes into memory. */
#include "opal/fabric/fabric.h"

#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "opal/fabric/select.h"
#include "opal/runtime/init.h"
#include "test/unit/opal/support.h"

static opal_strings_t include, exclude, domains;
static opal_fabric_question_t question;
static opal_fabric_selection_t selection;
static opal_fabric_endpoint_t tagged, rma;

static bool compare(const void *mine OPAL_UNUSED, size_t mine_bytes OPAL_UNUSED,
                    const void *others OPAL_UNUSED, size_t other_bytes OPAL_UNUSED,
                    opal_fabric_difference_t *difference OPAL_UNUSED)
{
    return true;
}

static const opal_fabric_user_t first = {
    .name = "first", .prefix = "first", .kind = OPAL_MODEX_MTL, .compare = compare};
static const opal_fabric_user_t second = {
    .name = "second", .prefix = "second", .kind = OPAL_MODEX_BTL, .compare = compare};

static void setup(void)
{
    opal_text_t reason = {0};
    setenv("OMPI_MCA_pmi", "singleton", 1);
    ck_assert_int_eq(opal_init(OPAL_FAILURE_IS_RETURNED), OPAL_SUCCESS);
    opal_strings_add(&include, "tcp;ofi_rxm");
    opal_strings_add(&domains, "lo");
    question = (opal_fabric_question_t){
        .wishes = {.prefix = "first",
                   .service = "tests",
                   .include = &include,
                   .exclude = &exclude,
                   .domains = &domains,
                   .include_origin = "test",
                   .exclude_origin = "test"},
        .caps = FI_TAGGED,
        .progress = FI_PROGRESS_MANUAL,
        .getinfo = fi_getinfo,
        .root = "",
    };
    ck_assert_int_eq(opal_fabric_select(&question, &selection, &reason), OPAL_SUCCESS);
    ck_assert_ptr_nonnull(selection.candidate);
}

static void open_first(void)
{
    ck_assert_int_eq(
        opal_fabric_endpoint_open(&tagged, &first, (struct fi_info *)selection.candidate, 0, false),
        OPAL_SUCCESS);
}

/* Opens the second user's endpoint with the capabilities of the open domain. */
static struct fi_info *open_second(void)
{
    question.caps = FI_RMA;
    struct fi_info *info =
        opal_fabric_ask_more(&question, opal_fabric_info(), FI_REMOTE_WRITE | FI_ATOMIC, 0);
    ck_assert_ptr_nonnull(info);
    ck_assert_int_eq(opal_fabric_endpoint_open(&rma, &second, info, 0, false), OPAL_SUCCESS);
    return info;
}

static fi_addr_t address_of(opal_fabric_endpoint_t *endpoint)
{
    fi_addr_t address;
    ck_assert_int_eq(opal_fabric_endpoint_publish(endpoint, "x", 1), OPAL_SUCCESS);
    ck_assert_int_eq(opal_fabric_address(endpoint, 0, &address), OPAL_SUCCESS);
    return address;
}

/* Polls until one of the queues has had `wanted` completions. */
static void await(int wanted)
{
    struct fi_cq_tagged_entry entry;
    const opal_fabric_endpoint_t *endpoints[] = {&tagged, &rma};
    for (unsigned i = 0; wanted > 0; i++) {
        const opal_fabric_endpoint_t *endpoint = endpoints[i % 2];
        ssize_t result = endpoint->cq != NULL ? fi_cq_read(endpoint->cq, &entry, 1) : -FI_EAGAIN;
        ck_assert(result == 1 || result == -FI_EAGAIN);
        wanted -= result == 1;
    }
}

static void send_tagged(fi_addr_t to)
{
    char out[100] = "by tags", in[100] = "";
    struct fi_context2 contexts[2];
    ck_assert_int_eq(fi_trecv(tagged.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, 7, 0, &contexts[0]),
                     0);
    while (fi_tsend(tagged.ep, out, sizeof out, NULL, to, 7, &contexts[1]) == -FI_EAGAIN)
        fi_cq_read(tagged.cq, NULL, 0);
    await(2);
    ck_assert_str_eq(in, out);
}

static void write_memory(fi_addr_t to, const struct fi_info *info)
{
    char out[100] = "into memory", in[100] = "";
    struct fi_context2 context;
    struct fid_mr *mr;
    ck_assert_int_eq(opal_fabric_register(&rma, in, sizeof in, FI_REMOTE_WRITE, &mr), 0);
    bool is_virtual = (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    while (fi_write(rma.ep, out, sizeof out, NULL, to, is_virtual ? (uintptr_t)in : 0,
                    fi_mr_key(mr), &context) == -FI_EAGAIN)
        fi_cq_read(rma.cq, NULL, 0);
    await(1);
    for (int i = 0; i < 1000000 && strcmp(in, out) != 0; i++)
        fi_cq_read(rma.cq, NULL, 0);
    ck_assert_str_eq(in, out);
    ck_assert_int_eq(fi_close(&mr->fid), 0);
}

START_TEST(two_users_share_a_domain)
{
    ck_assert_ptr_null(opal_fabric_info());
    open_first();
    const struct fi_info *open = opal_fabric_info();
    ck_assert_ptr_nonnull(open);
    struct fi_info *info = open_second();
    ck_assert_ptr_eq(opal_fabric_info(), open);
    fi_addr_t to_tagged = address_of(&tagged), to_rma = address_of(&rma);
    ck_assert_uint_ne(to_tagged, to_rma);
    send_tagged(to_tagged);
    write_memory(to_rma, info);

    /* The domain stays open for the other endpoint. */
    opal_fabric_endpoint_close(&tagged);
    ck_assert_ptr_eq(opal_fabric_info(), open);
    write_memory(to_rma, info);
    opal_fabric_endpoint_close(&rma);
    ck_assert_ptr_null(opal_fabric_info());
    opal_fabric_endpoint_close(&rma);
    fi_freeinfo(info);

    open_first();
    send_tagged(address_of(&tagged));
    opal_fabric_endpoint_close(&tagged);
}
END_TEST

START_TEST(another_domain_is_refused)
{
    open_first();
    struct fi_info *other = fi_dupinfo(selection.candidate);
    free(other->domain_attr->name);
    other->domain_attr->name = strdup("eth7");
    unit_capture();
    ck_assert_int_eq(opal_fabric_endpoint_open(&rma, &second, other, 0, false), OPAL_ERR_SYSTEM);
    ck_assert_uint_eq(unit_count(unit_stderr(), "second: this process has a domain of the provider "
                                                "tcp;ofi_rxm open, and no other can be used"),
                      1);
    send_tagged(address_of(&tagged));
    opal_fabric_endpoint_close(&tagged);
    ck_assert_ptr_null(opal_fabric_info());
    fi_freeinfo(other);
}
END_TEST

/* This process, before it publishes: asked for repeatedly, reported once. */
START_TEST(a_process_that_has_told_nothing)
{
    fi_addr_t address = 3;
    open_first();
    unit_capture();
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(opal_fabric_address(&tagged, 0, &address), OPAL_ERR_NOT_AVAILABLE);
    ck_assert_uint_eq(unit_count(unit_stderr(), "first: rank 0 has published no address"), 1);
    ck_assert_uint_eq(address, 3);
    opal_fabric_endpoint_close(&tagged);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &two_users_share_a_domain},
    {.test = &another_domain_is_refused},
    {.test = &a_process_that_has_told_nothing},
};

UNIT_MAIN("fabric", tests, setup);
