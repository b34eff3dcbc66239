/* Parses -search, -public-namespaces, -allow, -rate and -rate-namespace, and checks -topology. */
#include <stdlib.h>
#include <string.h>

#include "skydns/settings/option_values.h"

/* ---- Names ---- */

static bool has_name(const struct options *o, const struct dname *name)
{
    for (size_t i = 0; i < o->engine.search_count; i++) {
        if (dname_equal(&o->engine.search[i], name)) {
            return true;
        }
    }
    return false;
}

int option_search(struct options *o, const char *list, struct err *err)
{
    char item[OPTION_ITEM_MAX];
    const char *rest = list;
    o->engine.search_count = 0;
    while (option_next_item(&rest, item)) {
        struct dname name;
        if (!option_lower_name(item, &name) || dname_label_count(&name) == 0) {
            return err_set(err, ERR_USAGE, "`%s`: expected a domain like corp.example", item);
        }
        if (has_name(o, &name)) {
            continue;
        }
        if (o->engine.search_count == ENGINE_SEARCH_MAX) {
            return err_set(err, ERR_USAGE, "`%s`: expected at most %d domains", list,
                           ENGINE_SEARCH_MAX);
        }
        o->engine.search[o->engine.search_count++] = name;
    }
    return 0;
}

/* Reads a namespace's name, a label of RFC 1123. */
static bool option_clients_read_namespace(const char *text, struct namespace_name *ret)
{
    size_t len = strlen(text);
    if (len == 0 || len > NAMESPACE_TEXT_MAX || text[0] == '-' || text[len - 1] == '-') {
        return false;
    }
    *ret = (struct namespace_name){.len = (uint8_t)len};
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool is_upper = c >= 'A' && c <= 'Z';
        if (!is_upper && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-') {
            return false;
        }
        ret->text[i] = is_upper ? (char)(c - 'A' + 'a') : c;
    }
    return true;
}

static bool has_namespace(const struct options *o, const struct namespace_name *name)
{
    for (size_t i = 0; i < o->clients.public_count; i++) {
        if (slice_equal(slice_of(o->clients.public_names[i].text, o->clients.public_names[i].len),
                        slice_of(name->text, name->len))) {
            return true;
        }
    }
    return false;
}

int option_public_namespaces(struct options *o, const char *list, struct err *err)
{
    char item[OPTION_ITEM_MAX];
    const char *rest = list;
    o->clients.public_count = 0;
    while (option_next_item(&rest, item)) {
        struct namespace_name name;
        if (!option_clients_read_namespace(item, &name)) {
            return err_set(err, ERR_USAGE, "`%s`: expected a namespace like kube-system", item);
        }
        if (has_namespace(o, &name)) {
            continue;
        }
        if (o->clients.public_count == VISIBILITY_PUBLIC_MAX) {
            return err_set(err, ERR_USAGE, "`%s`: expected at most %d namespaces", list,
                           VISIBILITY_PUBLIC_MAX);
        }
        o->clients.public_names[o->clients.public_count++] = name;
    }
    return 0;
}

/* ---- The nearest addresses ---- */

/* Signatures are of all records of a name. */
int option_check_topology(const struct options *o, struct err *err)
{
    return o->clients.wants_near && *o->dnssec
               ? err_set(err, ERR_USAGE, "`marked`: expected off with -dnssec `%s`", o->dnssec)
               : 0;
}

/* ---- Who may ask, and how often ---- */

int option_allow(struct options *o, const char *list, struct err *err)
{
    char item[OPTION_ITEM_MAX];
    const char *rest = list;
    bool is_all = false, is_none = false;
    o->engine.admitted_count = 0;
    while (option_next_item(&rest, item)) {
        if (strcmp(item, "all") == 0 || strcmp(item, "none") == 0) {
            is_all |= *item == 'a';
            is_none |= *item == 'n';
            continue;
        }
        if (o->engine.admitted_count == ENGINE_ADMITTED_MAX) {
            return err_set(err, ERR_USAGE, "expected at most %d networks", ENGINE_ADMITTED_MAX);
        }
        int r = network_parse(slice_str(item), &o->engine.admitted[o->engine.admitted_count], err);
        if (r < 0) {
            return err_set(err, ERR_USAGE,
                           "`%s`: expected a network like 10.0.0.0/8 or fd00::/8, all or none",
                           item);
        }
        o->engine.admitted_count++;
    }
    o->engine.is_restricted = !is_all && (is_none || o->engine.admitted_count > 0);
    o->engine.admitted_count = o->engine.is_restricted ? o->engine.admitted_count : 0;
    return 0;
}

/* Reads digits alone, up to `end`, which is a character or the text's end. */
static bool read_count(const char **text, char end, uint32_t *ret)
{
    size_t digits = strspn(*text, "0123456789");
    if (digits == 0 || digits > 7 || (*text)[digits] != end) {
        return false;
    }
    *ret = (uint32_t)strtoul(*text, NULL, 10);
    *text += digits + (end != '\0');
    return *ret <= ENGINE_RATE_MAX;
}

static int option_clients_read_rate(const char *text, uint32_t *ret_rate, uint32_t *ret_burst,
                                    struct err *err)
{
    const char *rest = text;
    uint32_t rate = 0, burst = 0;
    bool has_burst = strchr(text, '/') != NULL;
    bool is_off = *text == '\0' || strcmp(text, "off") == 0;
    bool is_right = is_off || (has_burst ? read_count(&rest, '/', &rate) && rate > 0 &&
                                               read_count(&rest, '\0', &burst) && burst > 0
                                         : read_count(&rest, '\0', &rate));
    if (!is_right) {
        return err_set(err, ERR_USAGE,
                       "`%s`: expected N or N/BURST like 1000/2000, each from 1 to %d, or 0 for no "
                       "limit",
                       text, ENGINE_RATE_MAX);
    }
    *ret_rate = rate;
    *ret_burst = has_burst ? burst : rate;
    return 0;
}

int option_rate(struct options *o, const char *text, struct err *err)
{
    return option_clients_read_rate(text, &o->engine.rate, &o->engine.rate_burst, err);
}

int option_rate_namespace(struct options *o, const char *text, struct err *err)
{
    return option_clients_read_rate(text, &o->engine.rate_namespace,
                                    &o->engine.rate_namespace_burst, err);
}
