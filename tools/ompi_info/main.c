/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompi_info: reports the installation, the parameters with the sources of their values, and which
 * components would be chosen here, and why.
 */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/runtime/params.h"
#include "opal/mca/base/diagnostic.h"
#include "opal/runtime/init.h"
#include "opal/util/log.h"
#include "tools/ompi_info/report.h"

enum { USAGE_STATUS = 2 };

typedef struct options {
    bool done; /* --help or --version was printed */
    int all, internal, parsable, config, copy, memory, protocols, pvars, events;
    const char *framework, *component; /* --param */
    const char *why;
} options_t;

static const char usage[] =
    "usage: ompi_info [OPTION...]\n"
    "\n"
    "Prints the version, the configuration and the components, or what an option asks for.\n"
    "\n"
    "  -a, --all                    print the parameters of all components, the performance\n"
    "                               variables and the events, too\n"
    "  --param FRAMEWORK COMPONENT  print parameters, and settings of single communicators and\n"
    "                               windows; \"all\" stands for any, \"base\" for the framework's\n"
    "                               own, framework \"mpi\" for those of MPI\n"
    "  --internal                   with either: the parameters for tests and measurements, too\n"
    "  --why [FRAMEWORK]            print which component would be chosen here, and why not the\n"
    "                               others; without a name, of every framework\n"
    "  --memory                     print which memory events are intercepted here, and how\n"
    "  --copy                       print the kernel that copies large blocks here, and the speed\n"
    "                               of each kernel\n"
    "  --protocols                  print how a message is carried, by location of the peer and size\n"
    "  --pvars                      print the performance variables, which the tool interface reads\n"
    "  --events                     print the events for which the tool interface calls tools\n"
    "  -c, --config                 print version and configuration only\n"
    "  --parsable                   print one fact a line, key:key:...:value\n"
    "  -V, --version                print the version\n"
    "  -h, --help                   print this help\n";

static void open_everything(void)
{
    opal_framework_t *framework;
    opal_param_init();
    opal_project_add(&ompi_project);
    opal_framework_load_excluded();
    opal_init_register_params();
    ompi_params_register();
    for (size_t i = 0; (framework = opal_framework_at(i, NULL)) != NULL; i++) {
        opal_framework_open(framework);
        /* That no component is usable is no failure here; --why reports the reasons. */
        opal_framework_select(framework);
    }
}

static void close_everything(void)
{
    opal_framework_t *framework;
    for (size_t i = 0; (framework = opal_framework_at(i, NULL)) != NULL; i++)
        opal_framework_close(framework);
    opal_param_fini();
    opal_diagnostic_reset();
}

/* Reports that there is no `kind` of this name. */
static void complain_name(const char *kind, const char *name, const opal_strings_t *names)
{
    char *all = opal_strings_join(names, ", ");
    const char *nearest = opal_nearest_name(name, (const char *const *)names->items, names->count);
    opal_log_error(
        "there is no %s \"%s\"; %s%s%s%s", kind, name, nearest != NULL ? "did you mean " : "",
        nearest != NULL ? nearest : "",
        nearest != NULL ? "? There are: " : "there are: ", names->count > 0 ? all : "none");
    free(all);
}

static void complain_framework(const char *name)
{
    const opal_framework_t *framework;
    opal_strings_t names = {0};
    for (size_t i = 0; (framework = opal_framework_at(i, NULL)) != NULL; i++)
        opal_strings_add(&names, framework->name);
    complain_name("framework", name, &names);
    opal_strings_free(&names);
}

/* True if the framework has the component. False: an error was reported. */
static bool has_component(const opal_framework_t *framework, const char *name)
{
    opal_strings_t names = {0};
    for (size_t i = 0; i < framework->candidate_count; i++)
        opal_strings_add(&names, framework->candidates[i].name);
    bool known =
        opal_strings_has(&names, name) || strcmp(name, "all") == 0 || strcmp(name, "base") == 0;
    if (!known) {
        char *kind = opal_xprintf("component of %s", framework->name);
        complain_name(kind, name, &names);
        free(kind);
    }
    opal_strings_free(&names);
    return known;
}

static int show_why(const options_t *options)
{
    const opal_framework_t *framework;
    if (strcmp(options->why, "all") == 0) {
        for (size_t i = 0; (framework = opal_framework_at(i, NULL)) != NULL; i++)
            report_why(framework, options->parsable);
        return EXIT_SUCCESS;
    }
    framework = opal_framework_find(options->why);
    if (framework == NULL) {
        complain_framework(options->why);
        return EXIT_FAILURE;
    }
    report_why(framework, options->parsable);
    return EXIT_SUCCESS;
}

static int show_params(const options_t *options)
{
    if (report_params(options->framework, options->component, options->internal,
                      options->parsable) > 0)
        return EXIT_SUCCESS;
    bool known = strcmp(options->framework, "all") == 0 || strcmp(options->framework, "mpi") == 0 ||
                 strcmp(options->framework, "mca") == 0 || strcmp(options->framework, "copy") == 0;
    const opal_framework_t *framework = opal_framework_find(options->framework);
    if (!known && framework == NULL)
        complain_framework(options->framework);
    else if (framework == NULL || has_component(framework, options->component))
        opal_log_error("%s %s has no parameters; ompi_info lists the components",
                       options->framework, options->component);
    return EXIT_FAILURE;
}

static void begin_list(const options_t *options, const char *title)
{
    if (!options->parsable)
        printf("\n%s:\n", title);
}

static void report_all(const options_t *options)
{
    begin_list(options, "Parameters (OMPI_MCA_<name>=<value>, or mpirun --mca <name> <value>)");
    report_params("all", "all", options->internal, options->parsable);
    begin_list(options, "Performance variables, which the tool interface reads");
    report_pvars(options->parsable);
    begin_list(options, "Events, for which the tool interface calls tools");
    report_events(options->parsable);
}

static int show(const options_t *options)
{
    if (options->why != NULL)
        return show_why(options);
    if (options->framework != NULL)
        return show_params(options);
    if (options->copy) {
        report_copy(options->parsable);
        return EXIT_SUCCESS;
    }
    if (options->protocols) {
        report_protocols(options->parsable);
        return EXIT_SUCCESS;
    }
    if (options->pvars) {
        report_pvars(options->parsable);
        return EXIT_SUCCESS;
    }
    if (options->events) {
        report_events(options->parsable);
        return EXIT_SUCCESS;
    }
    if (options->memory) {
        report_memory(options->parsable);
        return EXIT_SUCCESS;
    }
    report_configuration(options->parsable);
    if (options->config)
        return EXIT_SUCCESS;
    report_components(options->parsable);
    if (options->all)
        report_all(options);
    return EXIT_SUCCESS;
}

/* The word behind an option, which takes it; NULL: there is none. */
static char *take_word(int argc, char **argv)
{
    return optind < argc && argv[optind][0] != '-' ? argv[optind++] : NULL;
}

static int parse_options(int argc, char **argv, options_t *options)
{
    const struct option table[] = {
        {"all", no_argument, &options->all, 1},
        {"config", no_argument, &options->config, 1},
        {"copy", no_argument, &options->copy, 1},
        {"events", no_argument, &options->events, 1},
        {"help", no_argument, NULL, 'h'},
        {"internal", no_argument, &options->internal, 1},
        {"memory", no_argument, &options->memory, 1},
        {"param", required_argument, NULL, 'p'},
        {"params", required_argument, NULL, 'p'},
        {"parsable", no_argument, &options->parsable, 1},
        {"parseable", no_argument, &options->parsable, 1},
        {"protocols", no_argument, &options->protocols, 1},
        {"pvars", no_argument, &options->pvars, 1},
        {"version", no_argument, NULL, 'V'},
        {"why", optional_argument, NULL, 'w'},
        {0},
    };
    for (int option; (option = getopt_long(argc, argv, "achV", table, NULL)) != -1;) {
        switch (option) {
        case 0: /* a word that stands in the table alone */
            break;
        case 'a':
            options->all = true;
            break;
        case 'c':
            options->config = true;
            break;
        case 'w':
            options->why = optarg != NULL ? optarg : take_word(argc, argv);
            if (options->why == NULL)
                options->why = "all";
            break;
        case 'p':
            options->framework = optarg;
            options->component = take_word(argc, argv);
            if (options->component == NULL) {
                opal_log_error("--param needs a framework and a component; \"--param %s all\" "
                               "shows all of it",
                               optarg);
                return USAGE_STATUS;
            }
            break;
        case 'V':
        case 'h':
            printf("%s", option == 'h' ? usage : "Mica " PACKAGE_VERSION "\n");
            options->done = true;
            return EXIT_SUCCESS;
        default:
            fputs("ompi_info --help lists the options.\n", stderr);
            return USAGE_STATUS;
        }
    }
    if (optind < argc) {
        opal_log_error("\"%s\" is no option; ompi_info --help lists them", argv[optind]);
        return USAGE_STATUS;
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    options_t options = {0};
    opal_log_set_origin("ompi_info");
    int status = parse_options(argc, argv, &options);
    if (status != EXIT_SUCCESS)
        return status;
    if (options.done)
        return opal_log_flush_stdout() ? EXIT_SUCCESS : EXIT_FAILURE;

    open_everything();
    status = show(&options);
    if (!opal_log_flush_stdout())
        status = EXIT_FAILURE;
    opal_param_diagnose_unknown(NULL);
    opal_diagnostic_report(true);
    close_everything();
    return status;
}
