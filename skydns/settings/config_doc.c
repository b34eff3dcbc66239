#include "skydns/settings/config_doc_internal.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/cleanup.h"
#include "common/base/xalloc.h"
#include "skydns/settings/config_doc_values_internal.h"
#include "skydns/settings/config_documents.h"
#include "skydns/settings/option_lists.h"
#include "skydns/settings/option_values.h"
#include "skydns/settings/setting_values_internal.h"
#include "skydns/settings/settings_table.h"
#include "skydns/settings/stub_zones.h"

/* Options that the document's fields are stored in. */
struct overlay {
    struct options *o;
    struct stub_zones *stubs; /* NULL: the document has none */
    struct config_doc_report *report;
    bool only_nameservers;
};

/* ---- Fields by form ---- */

static int take_bool_field(struct overlay *x, const struct setting *setting, const json_t *value,
                           struct err *err)
{
    bool is = false;
    int r = config_bool(value, &is, err);
    if (r == 0) {
        setting_set_number(setting, x->o, is);
    }
    return r;
}

/* Returns the setting's number, which is `unit` times the field's. 0 and, where SkyDNS took them,
 * negative numbers mean the default. */
static int64_t number_of_field(const struct overlay *x, const struct setting *setting,
                               int64_t field, int64_t unit)
{
    int64_t number = field * unit;
    if (field <= 0) {
        return setting->keeps_zero ? 0 : setting_default_number(setting, x->o);
    }
    return setting->max && number > setting->max ? setting->max : number;
}

/* Takes a number, or the seconds of a duration. */
static int take_number_field(struct overlay *x, const struct setting *setting, const json_t *value,
                             struct err *err)
{
    int64_t field, unit = setting->kind == SETTING_DURATION ? 1000 : 1;
    int64_t max = setting->field_max ? setting->field_max : setting->max / unit;
    int r = config_number(value, setting->field_min, max, &field, err);
    if (r == 0) {
        setting_set_number(setting, x->o, number_of_field(x, setting, field, unit));
    }
    return r;
}

static int take_nanoseconds(struct overlay *x, const struct setting *setting, const json_t *value,
                            struct err *err)
{
    enum { NS_IN_MS = 1000000 };
    struct err out_of_range;
    int64_t ns, max_ns = setting->max * NS_IN_MS;
    if (config_number(value, 0, max_ns, &ns, &out_of_range) < 0 || (ns > 0 && ns < NS_IN_MS)) {
        char want[96];
        (void)snprintf(want, sizeof(want), "nanoseconds from %d to %lld; 2000000000 is two seconds",
                       NS_IN_MS, (long long)max_ns); /* fits */
        return config_wrong(value, want, err);
    }
    setting_set_number(setting, x->o, number_of_field(x, setting, ns / NS_IN_MS, 1));
    return 0;
}

static int take_choice_field(struct overlay *x, const struct setting *setting, const json_t *value,
                             struct err *err)
{
    int choice = (int)setting->default_number;
    int r = config_choice(value, setting->choices, &choice, err);
    if (r == 0) {
        setting_set_number(setting, x->o, choice);
    }
    return r;
}

/* Parses a text; an empty one means the default, as 0 does. */
static int parse_text_field(struct overlay *x, const struct setting *setting, const char *text,
                            struct err *err)
{
    bool is_default = *text == '\0' && !setting->keeps_zero;
    return setting_parse(setting, x->o, is_default ? setting_default_text(setting) : text, err);
}

static int take_text_field(struct overlay *x, const struct setting *setting, const json_t *value,
                           struct err *err)
{
    const char *text = "";
    int r = config_text(value, &text, err);
    return r < 0 ? r : parse_text_field(x, setting, text, err);
}

static int take_list_of_texts(struct overlay *x, const struct setting *setting, const json_t *value,
                              struct err *err)
{
    CLEANUP_BUF struct buf list = buf_of(CONFIG_DOCUMENT_MAX);
    int r = config_list(value, &list, err);
    for (size_t i = 0; i < list.len && setting->form == SETTING_FORM_KEY_FILES; i++) {
        list.data[i] = list.data[i] == ' ' ? '+' : list.data[i];
    }
    if (r == 0) {
        r = parse_text_field(x, setting, list.len ? buf_cstr(&list) : "", err);
    }
    return r;
}

static int take_rate(struct overlay *x, const struct setting *setting, const json_t *value,
                     struct err *err)
{
    char text[32];
    int64_t number;
    if (json_is_string(value)) {
        return parse_text_field(x, setting, json_string_value(value), err);
    }
    int r = config_number(value, 0, ENGINE_RATE_MAX, &number, err);
    if (r < 0) {
        return r;
    }
    (void)snprintf(text, sizeof(text), "%lld", (long long)number); /* fits */
    return parse_text_field(x, setting, text, err);
}

/* Takes a list, which replaces the flag's; an empty one means resolv.conf's. */
static int take_nameservers(struct overlay *x, const json_t *value, struct err *err)
{
    if (!json_is_array(value)) {
        return config_wrong(value, "a list of strings like \"192.0.2.1:53\"", err);
    }
    x->report->has_nameservers = true;
    x->o->nameserver_count = 0;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *text = "";
        int r = config_text(json_array_get(value, i), &text, err);
        if (r == 0) {
            r = option_list_add(OPTION_NAMESERVERS, x->o, text, err);
        }
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static int config_doc_take_zone(struct overlay *x, const char *name, const json_t *value,
                                struct err *err)
{
    struct forward_zone zone = {.origin = ZONE_FROM_DOCUMENT};
    int r = option_zone(&zone.name, name, err);
    if (r == 0 && json_array_size(value) == 0) {
        r = config_wrong(value, "a list of strings like \"10.0.0.1:53\"", err);
    }
    for (size_t i = 0; r == 0 && i < json_array_size(value); i++) {
        const char *text = "";
        r = config_text(json_array_get(value, i), &text, err);
        if (r == 0) {
            r = option_add_server(&zone, text, err);
        }
    }
    if (r == 0 && !stub_zones_set(x->stubs, &zone)) {
        r = err_set(err, ERR_USAGE, "more than %d zones", ZONE_TABLE_MAX);
    }
    return r < 0 ? err_wrap(err, r, "zone `%s`", name) : 0;
}

/* Takes zones, zone by zone in place of the flags'. */
static int take_zones(struct overlay *x, json_t *value, struct err *err)
{
    if (!json_is_object(value)) {
        return config_wrong(value, "an object like {\"acme.local\":[\"10.0.0.1:53\"]}", err);
    }
    stub_zones_unref(x->stubs); /* of an earlier field with this name */
    x->stubs = stub_zones_copy(x->o->stubs);
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
        int r = config_doc_take_zone(x, json_object_iter_key(at), json_object_iter_value(at), err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* Takes the document's aliases, which replace those of the flags. */
static int take_aliases(struct overlay *x, json_t *value, struct err *err)
{
    int r = json_is_object(value)
                ? 0
                : config_wrong(value,
                               "an object like {\"app.example.com\":\"web.prod.svc.cluster."
                               "local\"}",
                               err);
    x->o->engine.alias_count = 0;
    for (void *at = r == 0 ? json_object_iter(value) : NULL; r == 0 && at;
         at = json_object_iter_next(value, at)) {
        const char *to = "";
        r = config_text(json_object_iter_value(at), &to, err);
        if (r == 0) {
            CLEANUP_FREE char *text = xasprintf("%s=%s", json_object_iter_key(at), to);
            r = option_alias(x->o, text, err);
        }
    }
    return r;
}

static int take_parsed(struct overlay *x, const struct setting *setting, json_t *value,
                       struct err *err)
{
    switch (setting->form) {
    case SETTING_FORM_LIST:
    case SETTING_FORM_KEY_FILES:
        return take_list_of_texts(x, setting, value, err);
    case SETTING_FORM_RATE:
        return take_rate(x, setting, value, err);
    case SETTING_FORM_NAMESERVERS:
        return take_nameservers(x, value, err);
    case SETTING_FORM_ZONES:
        return take_zones(x, value, err);
    case SETTING_FORM_ALIASES:
        return take_aliases(x, value, err);
    case SETTING_FORM_OF_KIND:
    case SETTING_FORM_NANOSECONDS:
        break;
    }
    return take_text_field(x, setting, value, err);
}

static int take_setting_field(struct overlay *x, const struct setting *setting, json_t *value,
                              struct err *err)
{
    switch (setting->kind) {
    case SETTING_BOOL:
        return take_bool_field(x, setting, value, err);
    case SETTING_NUMBER:
    case SETTING_DURATION:
        return setting->form == SETTING_FORM_NANOSECONDS
                   ? take_nanoseconds(x, setting, value, err)
                   : take_number_field(x, setting, value, err);
    case SETTING_CHOICE:
        return take_choice_field(x, setting, value, err);
    case SETTING_PARSED:
        return take_parsed(x, setting, value, err);
    case SETTING_TEXT:
    case SETTING_TEXTS:
    case SETTING_IGNORED: /* flags alone */
        break;
    }
    assert(false);
    return 0;
}

/* ---- The document ---- */

static void config_doc_ignore(struct overlay *x, const char *field, const char *why)
{
    struct config_doc_report *report = x->report;
    if (report->ignored_count < CONFIG_DOC_IGNORED_MAX) {
        struct config_doc_ignored *ignored = &report->ignored[report->ignored_count++];
        (void)snprintf(ignored->field, sizeof(ignored->field), "%s", field); /* may cut */
        ignored->why = why;
    }
}

/* Returns whether a value requests something: off, empty and zero do not. */
static bool asks_for_something(const json_t *value)
{
    return json_is_true(value) || json_number_value(value) != 0 || json_string_length(value) > 0;
}

static const struct {
    const char *name;
    const char *why;
} without_effect[] = {
    {"Etcd3", NULL}, /* always so */
    {"Version", NULL},
    {"verbose", "only a flag; the field is `query_log`"},
};

/* Notes a field that is no setting. */
static void note_other_field(struct overlay *x, const char *name, const json_t *value)
{
    for (size_t i = 0; i < ARRAY_LEN(without_effect); i++) {
        if (strcasecmp(without_effect[i].name, name) == 0) {
            if (without_effect[i].why && asks_for_something(value)) {
                config_doc_ignore(x, without_effect[i].name, without_effect[i].why);
            }
            return;
        }
    }
    config_doc_ignore(x, name,
                      strcasecmp(name, "ndots") == 0 ? "unknown; the field is `ndot`" : "unknown");
}

static int take_document_field(struct overlay *x, const char *name, json_t *value, struct err *err)
{
    size_t count;
    const struct setting *settings = settings_table(&count);
    if (json_is_null(value) || (x->only_nameservers && strcmp(name, "nameservers") != 0)) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (settings[i].field && strcasecmp(settings[i].field, name) == 0) {
            int r = take_setting_field(x, &settings[i], value, err);
            return r < 0 ? err_wrap(err, ERR_SYNTAX, "field `%s`", settings[i].field) : 0;
        }
    }
    note_other_field(x, name, value);
    return 0;
}

static int config_doc_take_fields(struct overlay *x, json_t *object, struct err *err)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        int r = take_document_field(x, name, value, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* Changes the options, as all fields agree. */
static int config_doc_settle(struct overlay *x, struct options *options, struct err *err)
{
    struct stub_zones *before = options->stubs;
    x->o->stubs = x->stubs ? x->stubs : before;
    int r = option_check_agreement(x->o, true, err);
    if (r < 0) {
        return r;
    }
    if (x->stubs) {
        stub_zones_unref(before);
    }
    x->stubs = NULL;
    *options = *x->o;
    return 0;
}

static int settings_config_doc_apply(struct overlay *x, struct slice json, size_t bytes_max,
                                     struct options *options, struct err *err)
{
    json_error_t why;
    *x->report = (struct config_doc_report){0};
    if (json.len > bytes_max) {
        return err_set(err, ERR_TOO_LARGE, "%zu bytes: expected at most %zu", json.len, bytes_max);
    }
    json_t *root = json_loadb(json.len ? json.ptr : "", json.len, 0, &why);
    if (!root) {
        return err_set(err, ERR_SYNTAX, "not JSON: %s at byte %d", why.text, why.position);
    }
    int r = json_is_object(root)
                ? config_doc_take_fields(x, root, err)
                : err_set(err, ERR_SYNTAX, "expected a JSON object like {\"ttl\":300}");
    json_decref(root);
    if (r == 0) {
        r = config_doc_settle(x, options, err);
    }
    stub_zones_unref(x->stubs); /* of a refused document */
    return r;
}

int config_doc_apply(struct slice json, struct options *options, struct config_doc_report *report,
                     struct err *err)
{
    struct options changed = *options;
    struct overlay x = {.o = &changed, .report = report};
    return settings_config_doc_apply(&x, json, CONFIG_DOCUMENT_MAX, options, err);
}

int config_doc_apply_writers(struct slice json, struct options *options,
                             struct config_doc_report *report, struct err *err)
{
    struct options changed = *options;
    struct overlay x = {.o = &changed, .report = report, .only_nameservers = true};
    return settings_config_doc_apply(&x, json, WRITER_DOCUMENT_MAX, options, err);
}
