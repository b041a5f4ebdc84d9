/* SPDX-License-Identifier: BSD-3-Clause */
/* opal/fabric/candidates.c: which candidates are refused, which is best, and the messages. */
#include "opal/fabric/candidates.h"

#include "test/unit/opal/fabric/candidates.h"

static list_t list;
static opal_fabric_candidates_t candidates;
static opal_strings_t include, exclude, domains;
static opal_fabric_wishes_t wishes;

static void setup(void)
{
    memset(&list, 0, sizeof list);
    wishes = (opal_fabric_wishes_t){.prefix = "mtl_ofi",
                                    .include = &include,
                                    .exclude = &exclude,
                                    .domains = &domains,
                                    .include_origin = "environment",
                                    .exclude_origin = "default"};
    opal_strings_split(&exclude, OPAL_FABRIC_EXCLUDED, ",");
}

/* The list of libfabric 1.17 on a machine with one interface and a NIC. */
static void a_machine(void)
{
    static const char *const providers[] = {"tcp;ofi_rxm", "net", "net;ofi_rxm", "udp;ofi_rxd"};
    for (size_t i = 0; i < OPAL_COUNT_OF(providers); i++) {
        list_add(&list, providers[i], "eth0", "10.0.0.0/24", "10.0.0.1");
        list_add(&list, providers[i], "eth0", "fe80::/64", "fe80::1");
        list_add(&list, providers[i], "eth0", "fd00::/64", "fd00::1");
        list_add(&list, providers[i], "lo", "127.0.0.1/32", "127.0.0.1");
        list_add(&list, providers[i], "lo", "::1/128", "::1");
    }
    list_add(&list, "verbs;ofi_rxm", "mlx5_0", "IB-0xfe80", NULL);
    list_add(&list, "shm", "shm", "shm", NULL);
}

static void judge(void)
{
    opal_fabric_candidates_free(&candidates);
    opal_fabric_candidates_judge(&candidates, list_first(&list), &wishes);
    ck_assert_uint_eq(candidates.count, list.count);
}

/* "provider/domain/address ..." of the usable candidates. */
static const char *usable(void)
{
    static char text[4096];
    text[0] = 0;
    for (size_t i = 0; i < candidates.count; i++) {
        char address[64] = "-";
        const struct fi_info *info = candidates.items[i].info;
        ck_assert_ptr_eq(info, &list.candidates[i].info);
        if (candidates.items[i].refusal != NULL)
            continue;
        if (info->addr_format == FI_SOCKADDR_IN)
            inet_ntop(AF_INET, &((struct sockaddr_in *)info->src_addr)->sin_addr, address,
                      sizeof address);
        else if (info->addr_format == FI_SOCKADDR_IN6)
            inet_ntop(AF_INET6, &((struct sockaddr_in6 *)info->src_addr)->sin6_addr, address,
                      sizeof address);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s/%s/%s",
                 text[0] != 0 ? " " : "", info->fabric_attr->prov_name, info->domain_attr->name,
                 address);
    }
    return text;
}

/* -- names ------------------------------------------------------------------------------------ */

static const struct {
    const char *provider, *name;
    bool is;
} names[] = {
    {"tcp", "tcp", true},
    {"tcp;ofi_rxm", "tcp", true},
    {"tcp;ofi_rxm", "ofi_rxm", true},
    {"tcp;ofi_rxm", "tcp;ofi_rxm", true},
    {"a;b;c", "b;c", true},
    {"a;b;c", "a;b", true},
    {"a;b;c", "b", true},
    {"tcp;ofi_rxm", "tc", false},
    {"tcp;ofi_rxm", "cp", false},
    {"tcp;ofi_rxm", "rxm", false},
    {"tcp;ofi_rxm", "ofi", false},
    {"tcp;ofi_rxm", "tcp;ofi", false},
    {"tcp;ofi_rxm", "tcp;", false},
    {"tcp;ofi_rxm", ";", false},
    {"tcp;ofi_rxm", "", false},
    {"tcp;ofi_rxm", "ofi_rxm;tcp", false},
    {"tcp", "tcp;ofi_rxm", false},
    {"tcpx;ofi_rxm", "tcp", false},
    {"a;b;c", "a;c", false},
    {"TCP", "tcp", false},
};

START_TEST(a_name)
{
    ck_assert_int_eq(opal_fabric_provider_is(names[_i].provider, names[_i].name), names[_i].is);
}
END_TEST

/* -- providers -------------------------------------------------------------------------------- */

START_TEST(what_repeats_ours_is_left_out)
{
    a_machine();
    judge();
    ck_assert_str_eq(usable(), "verbs;ofi_rxm/mlx5_0/-");
    ck_assert_str_eq(candidates.items[0].refusal,
                     "\"tcp\" is in mtl_ofi_provider_exclude (default)");
    ck_assert_str_eq(candidates.items[21].refusal,
                     "\"shm\" is in mtl_ofi_provider_exclude (default)");
    ck_assert_ptr_eq(opal_fabric_candidates_best(&candidates), &list.candidates[20].info);
}
END_TEST

START_TEST(each_of_them)
{
    static const char *const each[] = {"shm", "sockets", "tcp", "udp", "rstream", "usnic", "net"};
    for (size_t i = 0; i < OPAL_COUNT_OF(each); i++)
        list_add(&list, each[i], "d", "f", NULL);
    list_add(&list, "psm2", "d", "f", NULL);
    judge();
    ck_assert_str_eq(usable(), "psm2/d/-");
}
END_TEST

START_TEST(include_overrides_exclude)
{
    a_machine();
    opal_strings_split(&include, "shm,tcp", ",");
    judge();
    ck_assert_str_eq(usable(), "tcp;ofi_rxm/eth0/10.0.0.1 tcp;ofi_rxm/eth0/fd00::1 "
                               "tcp;ofi_rxm/lo/127.0.0.1 tcp;ofi_rxm/lo/::1 shm/shm/-");
    ck_assert_str_eq(candidates.items[20].refusal,
                     "mtl_ofi_provider_include (environment) does not name it");
    /* The order is libfabric's, not the user's. */
    ck_assert_ptr_eq(opal_fabric_candidates_best(&candidates), &list.candidates[0].info);
}
END_TEST

START_TEST(an_empty_exclude_excludes_nothing)
{
    a_machine();
    opal_strings_free(&exclude);
    judge();
    ck_assert_ptr_eq(opal_fabric_candidates_best(&candidates), &list.candidates[0].info);
    ck_assert_ptr_null(candidates.items[21].refusal);
}
END_TEST

START_TEST(a_layer_above_names_all_below)
{
    a_machine();
    opal_strings_free(&exclude);
    opal_strings_split(&exclude, "ofi_rxm,shm", ",");
    wishes.exclude_origin = "environment";
    judge();
    ck_assert_ptr_eq(opal_fabric_candidates_best(&candidates), &list.candidates[5].info);
    ck_assert_str_eq(candidates.items[20].refusal,
                     "\"ofi_rxm\" is in mtl_ofi_provider_exclude (environment)");
}
END_TEST

START_TEST(nothing_is_left)
{
    list_add(&list, "tcp;ofi_rxm", "eth0", "f", "10.0.0.1");
    judge();
    ck_assert_ptr_null(opal_fabric_candidates_best(&candidates));
    list.count = 0;
    judge();
    ck_assert_ptr_null(opal_fabric_candidates_best(&candidates));
}
END_TEST

/* -- domains ---------------------------------------------------------------------------------- */

START_TEST(several_nodes)
{
    a_machine();
    opal_strings_split(&include, "tcp", ",");
    wishes.spans_nodes = true;
    judge();
    ck_assert_str_eq(usable(), "tcp;ofi_rxm/eth0/10.0.0.1 tcp;ofi_rxm/eth0/fd00::1");
    ck_assert_str_eq(candidates.items[1].refusal,
                     "a link-local address means nothing to other interfaces");
    ck_assert_str_eq(candidates.items[3].refusal, "the loopback does not lead to other nodes");
    ck_assert_str_eq(candidates.items[4].refusal, "the loopback does not lead to other nodes");
}
END_TEST

START_TEST(bridges)
{
    static const char *const bridges[] = {"docker0", "virbr0",      "docker_gwbridge", "cni0",
                                          "podman1", "cni-podman0", "vboxnet3"};
    opal_strings_split(&include, "tcp", ",");
    for (size_t i = 0; i < OPAL_COUNT_OF(bridges); i++)
        list_add(&list, "tcp", bridges[i], "f", "172.17.0.1");
    list_add(&list, "tcp", "eth0", "f", "10.0.0.1");
    list_add(&list, "tcp", "docker0s", "f", "10.0.0.2");
    judge();
    ck_assert_str_eq(usable(), "tcp/eth0/10.0.0.1 tcp/docker0s/10.0.0.2");
    ck_assert_str_eq(candidates.items[0].refusal, "a bridge to virtual machines or containers");
}
END_TEST

/* A last resort counts per provider. */
START_TEST(the_last_resort)
{
    opal_strings_split(&include, "tcp,udp", ",");
    wishes.spans_nodes = true;
    list_add(&list, "tcp", "lo", "f", "127.0.0.1");
    list_add(&list, "udp", "lo", "f", "127.0.0.1");
    list_add(&list, "tcp", "docker0", "f", "172.17.0.1");
    list_add(&list, "udp", "eth0", "f", "10.0.0.1");
    list_add(&list, "tcp", "eth0", "f", "fe80::1");
    judge();
    ck_assert_str_eq(usable(), "tcp/lo/127.0.0.1 tcp/docker0/172.17.0.1 udp/eth0/10.0.0.1");
}
END_TEST

START_TEST(domains_by_name)
{
    a_machine();
    opal_strings_split(&include, "tcp,verbs", ",");
    opal_strings_split(&domains, "l*", ",");
    wishes.spans_nodes = true; /* a domain that the user names is used all the same */
    judge();
    ck_assert_str_eq(usable(), "tcp;ofi_rxm/lo/127.0.0.1 tcp;ofi_rxm/lo/::1");
    ck_assert_str_eq(candidates.items[20].refusal, "mtl_ofi_domain_include does not name it");
}
END_TEST

START_TEST(addresses_that_are_none)
{
    candidate_t *candidate;
    opal_strings_split(&include, "tcp", ",");
    wishes.spans_nodes = true;
    candidate = list_add(&list, "tcp", "cut", "f", "127.0.0.1");
    candidate->info.src_addrlen = 3;
    candidate = list_add(&list, "tcp", "cut6", "f", "::1");
    candidate->info.src_addrlen = sizeof(struct sockaddr_in);
    candidate = list_add(&list, "tcp", "other", "f", "127.0.0.1");
    candidate->address.ss_family = AF_UNIX;
    candidate = list_add(&list, "tcp", "general", "f", "127.0.0.1");
    candidate->info.addr_format = FI_SOCKADDR;
    list_add(&list, "tcp", NULL, "f", NULL);
    judge();
    for (size_t i = 0; i < 3; i++)
        ck_assert_ptr_null(candidates.items[i].refusal);
    ck_assert_ptr_nonnull(candidates.items[3].refusal);
    ck_assert_ptr_null(candidates.items[4].refusal);
}
END_TEST

START_TEST(alike_are_nics_of_one_fabric)
{
    const struct fi_info *one = &list_add(&list, "verbs", "mlx5_0", "IB", NULL)->info;
    ck_assert(opal_fabric_candidates_are_alike(
        one, &list_add(&list, "verbs", "mlx5_1", "IB", NULL)->info));
    ck_assert(!opal_fabric_candidates_are_alike(
        one, &list_add(&list, "verbs", "mlx5_1", "IC", NULL)->info));
    ck_assert(!opal_fabric_candidates_are_alike(
        one, &list_add(&list, "verbs", "mlx5_1", NULL, NULL)->info));
    ck_assert(!opal_fabric_candidates_are_alike(
        one, &list_add(&list, "efa", "mlx5_1", "IB", NULL)->info));
    candidate_t *candidate = list_add(&list, "verbs", "mlx5_1", "IB", NULL);
    candidate->info.addr_format = FI_SOCKADDR_IB;
    ck_assert(!opal_fabric_candidates_are_alike(one, &candidate->info));
    candidate = list_add(&list, "verbs", "mlx5_1", "IB", NULL);
    candidate->info.caps |= FI_DIRECTED_RECV;
    ck_assert(!opal_fabric_candidates_are_alike(one, &candidate->info));
    candidate = list_add(&list, "verbs", "mlx5_1", "IB", NULL);
    candidate->ep.mem_tag_format >>= 1;
    ck_assert(!opal_fabric_candidates_are_alike(one, &candidate->info));
    candidate = list_add(&list, "verbs", "mlx5_1", "IB", NULL);
    candidate->ep.protocol = FI_PROTO_RXM;
    ck_assert(!opal_fabric_candidates_are_alike(one, &candidate->info));
}
END_TEST

/* -- messages --------------------------------------------------------------------------------- */

START_TEST(names_that_nobody_has)
{
    opal_strings_t known = {0};
    opal_text_t text = {0};
    a_machine();
    judge();
    opal_fabric_layers_collect(&known, list_first(&list));
    opal_strings_add(&known, "psm2");
    opal_strings_split(&include, "tcp,shm,net;ofi_rxm", ",");
    ck_assert_uint_eq(
        opal_fabric_includes_check(&candidates, &include, &known, "matched messages", &text), 0);
    ck_assert_uint_eq(text.length, 0);
    opal_strings_free(&include);
    opal_strings_split(&include, "tpc,verbs,psm2,quantum", ",");
    ck_assert_uint_eq(
        opal_fabric_includes_check(&candidates, &include, &known, "matched messages", &text), 3);
    ck_assert_str_eq(opal_text_string(&text),
                     "this libfabric has no provider \"tpc\" (did you mean \"tcp\"?); "
                     "the provider \"psm2\" offers no matched messages here; "
                     "this libfabric has no provider \"quantum\"");
    opal_text_free(&text);
    opal_strings_free(&include);
    opal_strings_split(&include, "tcp;ofi_rmx", ",");
    ck_assert_uint_eq(
        opal_fabric_includes_check(&candidates, &include, &known, "matched messages", &text), 1);
    ck_assert_ptr_nonnull(strstr(opal_text_string(&text), "did you mean \"tcp;ofi_rxm\"?"));
    opal_text_free(&text);
    opal_strings_free(&known);
}
END_TEST

/* A provider that is not here may be excluded. */
START_TEST(excluded_names_that_nobody_has)
{
    opal_strings_t known = {0};
    opal_text_t text = {0};
    a_machine();
    judge();
    opal_strings_add(&known, "future");
    opal_strings_free(&exclude);
    opal_strings_split(&exclude, "tcp,udp;ofi_rxd,psm3,efa;ofi_rxd,future,future;ofi_rxm", ",");
    ck_assert_uint_eq(opal_fabric_excludes_check(&candidates, &exclude, &known, &text), 0);
    ck_assert_uint_eq(text.length, 0);
    opal_strings_free(&exclude);
    opal_strings_split(&exclude, "tpc,psm3,vebrs,quantum,tcp;ofi_rmx,;", ",");
    ck_assert_uint_eq(opal_fabric_excludes_check(&candidates, &exclude, &known, &text), 5);
    ck_assert_str_eq(opal_text_string(&text),
                     "this libfabric has no provider \"tpc\" (did you mean \"tcp\"?); "
                     "this libfabric has no provider \"vebrs\" (did you mean \"verbs\"?); "
                     "this libfabric has no provider \"quantum\"; "
                     "this libfabric has no provider \"tcp;ofi_rmx\" (did you mean "
                     "\"tcp;ofi_rxm\"?); "
                     "this libfabric has no provider \";\"");
    opal_text_free(&text);
    opal_strings_free(&known);
}
END_TEST

START_TEST(layers_are_collected_once)
{
    opal_strings_t known = {0};
    a_machine();
    opal_fabric_layers_collect(&known, list_first(&list));
    char *all = opal_strings_join(&known, " ");
    ck_assert_str_eq(all, "tcp ofi_rxm net udp ofi_rxd verbs shm");
    free(all);
    opal_strings_free(&known);
}
END_TEST

static void add_fate(void *context, const char *provider, const char *fate, const char *reason)
{
    opal_text_printf(context, "%s|%s|%s\n", provider, fate, reason);
}

START_TEST(what_became_of_each)
{
    opal_text_t text = {0};
    a_machine();
    list_add(&list, "efa", "rdma0", "E", NULL);
    list_add(&list, "psm2", "hfi1_0", "f", NULL);
    opal_strings_split(&include, "tcp,udp,efa,psm2", ",");
    opal_strings_split(&domains, "eth0,mlx*,rdma*", ",");
    judge();
    opal_fabric_candidates_report(&candidates, opal_fabric_candidates_best(&candidates), add_fate,
                                  &text);
    ck_assert_str_eq(opal_text_string(&text),
                     "tcp;ofi_rxm|used|eth0\n"
                     "net|refused|mtl_ofi_provider_include (environment) does not name it\n"
                     "net;ofi_rxm|refused|mtl_ofi_provider_include (environment) does not name it\n"
                     "udp;ofi_rxd|usable|eth0\n"
                     "verbs;ofi_rxm|refused|mtl_ofi_provider_include (environment) does not name "
                     "it\n"
                     "shm|refused|mtl_ofi_provider_include (environment) does not name it\n"
                     "efa|usable|rdma0\n"
                     "psm2|refused|hfi1_0: mtl_ofi_domain_include does not name it\n");
    opal_text_free(&text);
    opal_fabric_providers_say(&candidates, &text);
    ck_assert_str_eq(opal_text_string(&text),
                     "tcp;ofi_rxm, net, net;ofi_rxm, udp;ofi_rxd, verbs;ofi_rxm, shm, efa, psm2");
    opal_text_free(&text);
}
END_TEST

/* The report has both reasons of a provider, and each domain once. */
START_TEST(every_domain_is_refused)
{
    opal_text_t text = {0};
    opal_strings_split(&include, "tcp", ",");
    list_add(&list, "tcp", "eth0", "f", "fe80::1");
    list_add(&list, "tcp", "eth0", "f", "fe80::2");
    list_add(&list, "tcp", "eth1", "f", "fe80::3");
    judge();
    opal_fabric_candidates_report(&candidates, NULL, add_fate, &text);
    ck_assert_str_eq(opal_text_string(&text),
                     "tcp|refused|eth0: a link-local address means nothing to other interfaces, "
                     "eth1: a link-local address means nothing to other interfaces\n");
    opal_text_free(&text);
}
END_TEST

static const unit_test_t tests[] = {
    {.test = &a_name, .repeats = OPAL_COUNT_OF(names)},
    {.test = &what_repeats_ours_is_left_out},
    {.test = &each_of_them},
    {.test = &include_overrides_exclude},
    {.test = &an_empty_exclude_excludes_nothing},
    {.test = &a_layer_above_names_all_below},
    {.test = &nothing_is_left},
    {.test = &several_nodes},
    {.test = &bridges},
    {.test = &the_last_resort},
    {.test = &domains_by_name},
    {.test = &addresses_that_are_none},
    {.test = &alike_are_nics_of_one_fabric},
    {.test = &names_that_nobody_has},
    {.test = &excluded_names_that_nobody_has},
    {.test = &layers_are_collected_once},
    {.test = &what_became_of_each},
    {.test = &every_domain_is_refused},
};

UNIT_MAIN("candidates", tests, setup);
