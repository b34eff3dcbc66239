#include "skydns/settings/options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/flags.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_defaults.h"
#include "skydns/confine/process_limits.h"
#include "skydns/settings/option_values.h"
#include "skydns/settings/setting_values_internal.h"
#include "skydns/settings/settings_table.h"
#include "skydns/settings/stub_zones.h"

/* Returns half of the CPUs: the other half is for those who answer UDP, however much is to be
 * computed. */
static unsigned half_of_cpus(unsigned max)
{
    unsigned half = (cpu_limit() + 1) / 2;
    return half > max ? max : half;
}

/* ---- The command line ---- */

/* Setting as its flag or variable has it, else the default. */
union typed {
    bool is;
    int choice;
    int64_t number;
    const char *text;
    struct flag_strings texts;
};

/* Values of all settings, in the table's order. */
struct command_line {
    union typed typed[SETTINGS_MAX];
    bool was_given[SETTINGS_MAX];
    struct flag_strings ignored; /* names of flags */
    struct flag_strings arguments;
};

/* Returns the flag of a setting; `unset`: for the default that -help shows. */
static struct flag flag_of(const struct setting *setting, struct command_line *line,
                           union typed *typed, const struct options *unset)
{
    struct flag flag = {
        .name = setting->flag,
        .env = setting->env,
        .min = setting->min,
        .max = setting->max,
        .choices = setting->choices,
        .help = setting->help,
        .value = typed,
    };
    switch (setting->kind) {
    case SETTING_BOOL:
        typed->is = setting->default_number != 0;
        flag.kind = FLAG_BOOL;
        break;
    case SETTING_NUMBER:
    case SETTING_DURATION:
        typed->number = setting_default_number(setting, unset);
        flag.kind = setting->kind == SETTING_NUMBER ? FLAG_INT : FLAG_DURATION_MS;
        break;
    case SETTING_CHOICE:
        typed->choice = (int)setting->default_number;
        flag.kind = FLAG_CHOICE;
        break;
    case SETTING_TEXT:
    case SETTING_TEXTS:
    case SETTING_PARSED:
        typed->text = setting_default_text(setting);
        flag.kind = FLAG_STRING;
        if (setting->kind == SETTING_TEXTS || setting->repeats) {
            typed->texts.count = 0;
            flag.kind = FLAG_STRING_LIST;
        }
        break;
    case SETTING_IGNORED:
        flag.value = setting->member_bytes ? &line->ignored : NULL;
        flag.kind = FLAG_IGNORED_BOOL;
        break;
    }
    return flag;
}

static int read_command_line(int argc, char *const *argv, const struct options *unset,
                             struct command_line *line, struct err *err)
{
    size_t count;
    const struct setting *settings = settings_table(&count);
    struct flag table[SETTINGS_MAX];
    struct flags flags = {
        .program = "skydns",
        .summary = "answers DNS queries from the records in etcd",
        .table = table,
        .arguments = &line->arguments,
    };
    for (size_t i = 0; i < count; i++) {
        struct flag flag = flag_of(&settings[i], line, &line->typed[i], unset);
        if (flag.name) {
            flag.was_given = &line->was_given[i];
            table[flags.count++] = flag;
        }
    }
    int r = flags_parse(&flags, argc, argv, err);
    if (r == FLAGS_HELP) {
        flags_print_help(&flags);
    }
    return r;
}

/* Stores settings that need no parsing. */
static void store_plain(const struct setting *setting, const union typed *typed, struct options *o)
{
    void *member = (char *)o + setting->member_at;
    switch (setting->kind) {
    case SETTING_BOOL:
        setting_set_number(setting, o, typed->is);
        break;
    case SETTING_NUMBER:
    case SETTING_DURATION:
        setting_set_number(setting, o, typed->number);
        break;
    case SETTING_CHOICE:
        setting_set_number(setting, o, typed->choice);
        break;
    case SETTING_TEXT:
        *(const char **)member = typed->text;
        break;
    case SETTING_TEXTS:
        *(struct flag_strings *)member = typed->texts;
        break;
    case SETTING_PARSED:
    case SETTING_IGNORED:
        break;
    }
}

/* Returns the text; -verbose is the default of -query-log. */
static const char *text_as_typed(const struct setting *setting, const union typed *typed,
                                 const struct options *o)
{
    bool is_verbose = setting->parse == option_query_log && *typed->text == '\0' && o->verbose;
    return is_verbose ? "all" : typed->text;
}

/* Parses and stores a text; the error names the flag. */
static int store_parsed(const struct setting *setting, const union typed *typed, struct options *o,
                        struct err *err)
{
    const char *const one[] = {setting->repeats ? NULL : text_as_typed(setting, typed, o)};
    const char *const *texts = setting->repeats ? typed->texts.items : one;
    size_t count = setting->repeats ? typed->texts.count : 1;
    for (size_t i = 0; i < count; i++) {
        int r = setting_parse(setting, o, texts[i], err);
        if (r < 0) {
            return err_wrap(err, r, "flag -%s", setting->flag);
        }
    }
    return 0;
}

/* ---- Settings that go together ---- */

int option_check_needs(const struct option_need *needs, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct option_need *need = &needs[i];
        if (need->is_given && !need->has_it) {
            return need->value ? err_set(err, ERR_USAGE, "flag -%s: `%s`: expected %s", need->flag,
                                         need->value, need->expected)
                               : err_set(err, ERR_USAGE, "flag -%s: expected %s", need->flag,
                                         need->expected);
        }
    }
    return 0;
}

static int skydns_options_check_needs(const struct options *o, struct err *err)
{
    static const char running[] = "-http-addr with it, the address of the running skydns";
    const bool has_password = *o->password || *o->password_file;
    const struct option_need needs[] = {
        {"explain", NULL, *o->explain, o->has_http, running},
        {"flush", NULL, *o->flush, o->has_http, running},
        {"client", o->explain_client, *o->explain_client, *o->explain, "-explain with it"},
        {"at", o->explain_at, *o->explain_at, *o->explain, "-explain with it"},
        {"top", NULL, o->top, o->has_http, "-http-addr with it, to name the skydns to show"},
        {"password-file", NULL, *o->password_file, *o->username, "-username with it"},
        {"username", o->username, *o->username, has_password,
         "-password-file or -password with it"},
        {"tls-pem", NULL, *o->tls_pem, *o->tls_key, "-tls-key with it"},
        {"tls-key", NULL, *o->tls_key, *o->tls_pem, "-tls-pem with it"},
        {"reuse-port", NULL, o->reuse_port, !o->systemd,
         "no -systemd with it, which keeps the sockets"},
        {"http-socket", o->http_socket, *o->http_socket, o->has_http, "-http-addr with it"},
    };
    return option_check_needs(needs, ARRAY_LEN(needs), err);
}

/* Checks -explain and its arguments: the only one is the type after -explain NAME. */
static int skydns_options_check_explain(const struct options *o,
                                        const struct flag_strings *arguments, struct err *err)
{
    size_t allowed = *o->explain ? 1 : 0;
    const char *range = strstr(o->explain_at, "..");
    struct ip ip;
    if (arguments->count > allowed) {
        return err_set(err, ERR_USAGE, "unexpected argument `%s`: expected a flag like -machines",
                       arguments->items[allowed]);
    }
    if (range && (range == o->explain_at || !range[2])) {
        return err_set(err, ERR_USAGE, "flag -at: `%s`: expected two moments like 5..6",
                       o->explain_at);
    }
    if (*o->explain_client && !ip_parse(slice_str(o->explain_client), &ip)) {
        return err_set(err, ERR_USAGE, "flag -client: `%s`: expected an address like 10.1.0.7",
                       o->explain_client);
    }
    return 0;
}

static int skydns_options_check_top(const struct options *o, struct err *err)
{
    if (o->top && (*o->explain || *o->flush || o->print_ds || *o->healthcheck || *o->corefile)) {
        return err_set(err, ERR_USAGE, "flag -top: expected no -%s with it",
                       *o->explain       ? "explain"
                       : *o->flush       ? "flush"
                       : o->print_ds     ? "print-ds"
                       : *o->healthcheck ? "healthcheck"
                                         : "translate-corefile");
    }
    return 0;
}

int option_check_agreement(const struct options *o, bool is_document, struct err *err)
{
    static const struct {
        const char *flag, *field;
        int (*check)(const struct options *o, struct err *err);
    } rows[] = {
        {"stub", "stubs", option_check_stubs},
        {"external-zones", "external_zones", option_check_external_zones},
        {"alias", "aliases", option_check_aliases},
        {"topology", "topology", option_check_topology},
        {"transfer-to", "transfer_to", option_check_transfers},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int r = rows[i].check(o, err);
        if (r < 0) {
            return is_document ? err_wrap(err, ERR_SYNTAX, "field `%s`", rows[i].field)
                               : err_wrap(err, r, "flag -%s", rows[i].flag);
        }
    }
    return 0;
}

/* Checks the flags together; the error names the flag. */
static int check_together(const struct options *o, const struct flag_strings *arguments,
                          struct err *err)
{
    int r = skydns_options_check_top(o, err);
    r = r == 0 ? skydns_options_check_needs(o, err) : r;
    r = r == 0 ? skydns_options_check_explain(o, arguments, err) : r;
    return r == 0 ? option_check_agreement(o, false, err) : r;
}

/* ---- All of them ---- */

/* Stores defaults that depend on other flags. */
static void store_defaults(const struct command_line *line, struct options *o)
{
    size_t count;
    const struct setting *settings = settings_table(&count);
    for (size_t i = 0; i < count; i++) {
        if (settings[i].get_default_number && !line->was_given[i]) {
            setting_set_number(&settings[i], o, setting_default_number(&settings[i], o));
        }
    }
}

/* Refuses an empty value, as of `-flush="$name"` without a name, which would start a server. */
static int check_commands(const struct command_line *line, struct err *err)
{
    size_t count;
    const struct setting *settings = settings_table(&count);
    for (size_t i = 0; i < count; i++) {
        if (settings[i].is_for_command && line->was_given[i] && !*line->typed[i].text) {
            return err_set(err, ERR_USAGE, "flag -%s: ``: expected a value", settings[i].flag);
        }
    }
    return 0;
}

/* Stores the flags, and the defaults of settings that only the document has. */
static int store_settings(const struct command_line *line, struct options *o, struct err *err)
{
    size_t count;
    const struct setting *settings = settings_table(&count);
    for (size_t i = 0; i < count; i++) {
        store_plain(&settings[i], &line->typed[i], o);
    }
    store_defaults(line, o);
    o->explain_type = line->arguments.count ? line->arguments.items[0] : "";
    o->ignored = line->ignored;
    o->machines = *o->machines ? o->machines : ETCD_DEFAULT_ENDPOINTS;
    o->scache = o->scache ? o->scache : OPTIONS_SCACHE_DEFAULT;
    if (o->version) {
        return 0; /* whatever else was given */
    }
    option_variables(o);
    int r = check_commands(line, err);
    if (r == 0) {
        r = option_check_certificate(o, err);
    }
    for (size_t i = 0; r == 0 && i < count; i++) {
        if (settings[i].kind == SETTING_PARSED) {
            r = store_parsed(&settings[i], &line->typed[i], o, err);
        }
    }
    return r == 0 ? check_together(o, &line->arguments, err) : r;
}

int skydns_options_parse(int argc, char *const *argv, struct options *ret_options, struct err *err)
{
    struct options o = {
        .handshake_threads = half_of_cpus(OPTIONS_HANDSHAKE_THREADS_MAX),
        /* Counts signers even without keys, since a document may set -dnssec later; asleep, one
         * costs its engine. */
        .signers = half_of_cpus(OPTIONS_SIGNERS_MAX),
    };
    struct command_line *line = xcalloc(1, sizeof(*line));
    int r = read_command_line(argc, argv, &o, line, err);
    if (r == 0) {
        r = store_settings(line, &o, err);
    }
    free(line);
    if (r == 0) {
        *ret_options = o;
    } else {
        stub_zones_unref(o.stubs);
    }
    return r;
}

/* Read the settings that only the environment has. */

static const char *variable_or(const char *name, const char *if_unset)
{
    const char *value = getenv(name);
    return value && *value ? value : if_unset;
}

/* Ignores a Service named prometheus, for which Kubernetes sets PROMETHEUS_PORT=tcp://..., not a
 * port. */
static void read_prometheus(struct options *o)
{
    const char *port = variable_or("PROMETHEUS_PORT", "");
    unsigned number = 0;
    size_t digits = strspn(port, "0123456789");
    for (size_t i = 0; i < digits && number <= UINT16_MAX; i++) {
        number = number * 10 + (unsigned)(port[i] - '0');
    }
    bool is_port = port[digits] == '\0' && number <= UINT16_MAX;
    o->prometheus_port = is_port ? (uint16_t)number : 0;
    if (!is_port && o->ignored.count < FLAG_STRINGS_MAX) {
        o->ignored.items[o->ignored.count++] = "PROMETHEUS_PORT";
    }
    o->prometheus_path = variable_or("PROMETHEUS_PATH", "/metrics");
    o->prometheus_namespace = variable_or("PROMETHEUS_NAMESPACE", "skydns");
    o->prometheus_subsystem = variable_or("PROMETHEUS_SUBSYSTEM", "skydns");
}

/* Notes the variables that told the original SkyDNS where to push counts: here, /metrics is scraped
 * instead. */
static void note_variables(struct options *o)
{
    static const char *const names[] = {"GRAPHITE_SERVER", "GRAPHITE_PREFIX", "STATHAT_USER"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = getenv(names[i]);
        if (value && *value && o->ignored.count < FLAG_STRINGS_MAX) {
            o->ignored.items[o->ignored.count++] = names[i];
        }
    }
}

void option_variables(struct options *o)
{
    note_variables(o);
    read_prometheus(o);
}

struct engine_config *options_engine_config(const struct options *o)
{
    struct engine_config *config = xcalloc(1, sizeof(*config));
    config->settings = o->engine;
    config->has_nameservers = o->nameserver_count > 0;
    for (size_t i = 0; i < o->domain_count; i++) {
        const struct dname *hostmaster = o->hostmaster.len ? &o->hostmaster : NULL;
        bool fits = engine_config_add_domain(config, &o->domains[i], hostmaster);
        assert(fits); /* domains has the same size */
        (void)fits;
    }
    for (size_t i = 0; i < o->external_zone_count; i++) {
        const struct dname *hostmaster = o->hostmaster.len ? &o->hostmaster : NULL;
        bool fits = engine_config_add_external(config, &o->external_zones[i], hostmaster);
        assert(fits); /* option_check_external_zones */
        (void)fits;
    }
    return config;
}

/* ---- Files ---- */

/* Adds the files of one row. */
static void add_files(struct option_files *files, const struct setting *setting,
                      const struct options *flags)
{
    const void *member = (const char *)flags + setting->member_at;
    bool is_list = setting->kind == SETTING_TEXTS;
    const struct flag_strings *list = member;
    for (size_t i = 0; is_list && i < list->count; i++) {
        files->paths[files->count++] = xstrdup(list->items[i]);
    }
    if (!is_list) {
        files->paths[files->count++] = xstrdup(*(const char *const *)member);
    }
}

struct option_files *option_files_new(const struct options *flags)
{
    char base[OPTION_ITEM_MAX];
    const char *rest = flags->dnssec;
    size_t count, most = 2 * DNSSEC_KEYS_MAX;
    const struct setting *settings = settings_table(&count);
    for (size_t i = 0; i < count; i++) {
        most += !settings[i].is_file ? 0 : settings[i].kind == SETTING_TEXTS ? FLAG_STRINGS_MAX : 1;
    }
    struct option_files *files = xcalloc(1, sizeof(*files) + most * sizeof(files->paths[0]));
    for (size_t i = 0; i < count; i++) {
        if (settings[i].is_file) {
            add_files(files, &settings[i], flags);
        }
    }
    while (option_next_item(&rest, base)) {
        files->paths[files->count++] = xasprintf("%s.key", base);
        files->paths[files->count++] = xasprintf("%s.private", base);
    }
    return files;
}

void option_files_free(struct option_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->paths[i]);
    }
    free(files);
}
