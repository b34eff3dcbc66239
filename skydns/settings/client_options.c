#include "skydns/settings/client_options.h"

#include <stdlib.h>
#include <string.h>

#include "skydns/settings/option_values.h"

/* ---- Names ---- */

static bool has_name(const struct client_options *o, const struct dname *name)
{
    for (size_t i = 0; i < o->search_count; i++) {
        if (dname_equal(&o->search[i], name)) {
            return true;
        }
    }
    return false;
}

int client_option_search(struct client_options *o, const char *list, struct err *err)
{
    char item[OPTION_ITEM_MAX];
    const char *rest = list;
    o->search_count = 0;
    while (option_next_item(&rest, item)) {
        struct dname name;
        if (!option_lower_name(item, &name) || dname_label_count(&name) == 0) {
            return err_set(err, ERR_USAGE, "`%s`: expected a domain like corp.example", item);
        }
        if (has_name(o, &name)) {
            continue;
        }
        if (o->search_count == ENGINE_SEARCH_MAX) {
            return err_set(err, ERR_USAGE, "`%s`: expected at most %d domains", list,
                           ENGINE_SEARCH_MAX);
        }
        o->search[o->search_count++] = name;
    }
    return 0;
}

/* A namespace's name is a label of RFC 1123. */
static bool read_namespace(const char *text, struct namespace_name *ret)
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

static bool has_namespace(const struct client_options *o, const struct namespace_name *name)
{
    for (size_t i = 0; i < o->public_count; i++) {
        if (slice_equal(slice_of(o->public_names[i].text, o->public_names[i].len),
                        slice_of(name->text, name->len))) {
            return true;
        }
    }
    return false;
}

int client_option_public(struct client_options *o, const char *list, struct err *err)
{
    char item[OPTION_ITEM_MAX];
    const char *rest = list;
    o->public_count = 0;
    while (option_next_item(&rest, item)) {
        struct namespace_name name;
        if (!read_namespace(item, &name)) {
            return err_set(err, ERR_USAGE, "`%s`: expected a namespace like kube-system", item);
        }
        if (has_namespace(o, &name)) {
            continue;
        }
        if (o->public_count == VISIBILITY_PUBLIC_MAX) {
            return err_set(err, ERR_USAGE, "`%s`: expected at most %d namespaces", list,
                           VISIBILITY_PUBLIC_MAX);
        }
        o->public_names[o->public_count++] = name;
    }
    return 0;
}

/* ---- Who may ask, and how often ---- */

int client_option_allow(struct client_options *o, const char *list, struct err *err)
{
    char item[OPTION_ITEM_MAX];
    const char *rest = list;
    bool is_all = false, is_none = false;
    o->admitted_count = 0;
    while (option_next_item(&rest, item)) {
        if (strcmp(item, "all") == 0 || strcmp(item, "none") == 0) {
            is_all |= *item == 'a';
            is_none |= *item == 'n';
            continue;
        }
        if (o->admitted_count == ENGINE_ADMITTED_MAX) {
            return err_set(err, ERR_USAGE, "more than %d networks", ENGINE_ADMITTED_MAX);
        }
        int r = network_parse(slice_str(item), &o->admitted[o->admitted_count], err);
        if (r < 0) {
            return err_set(err, ERR_USAGE,
                           "`%s`: expected a network like 10.0.0.0/8 or fd00::/8, all or none",
                           item);
        }
        o->admitted_count++;
    }
    o->is_restricted = !is_all && (is_none || o->admitted_count > 0);
    o->admitted_count = o->is_restricted ? o->admitted_count : 0;
    return 0;
}

/* Digits alone, up to `end`, which is a character or the text's end. */
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

int client_option_rate(struct client_options *o, const char *text, struct err *err)
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
    o->rate = rate;
    o->burst = has_burst ? burst : rate;
    return 0;
}

/* ---- Text ---- */

static void write_separator(struct buf *out, size_t index)
{
    buf_append_str(out, index ? "," : "");
}

void client_option_search_text(const struct client_options *o, struct buf *out)
{
    for (size_t i = 0; i < o->search_count; i++) {
        char text[DNAME_TEXT_MAX];
        write_separator(out, i);
        buf_append_str(out, dname_to_text(&o->search[i], text));
    }
}

void client_option_public_text(const struct client_options *o, struct buf *out)
{
    for (size_t i = 0; i < o->public_count; i++) {
        write_separator(out, i);
        buf_append(out, o->public_names[i].text, o->public_names[i].len);
    }
}

void client_option_allow_text(const struct client_options *o, struct buf *out)
{
    buf_append_str(out, !o->is_restricted ? "all" : o->admitted_count == 0 ? "none" : "");
    for (size_t i = 0; i < o->admitted_count; i++) {
        char text[INET6_ADDRSTRLEN];
        write_separator(out, i);
        buf_printf(out, "%s/%u", ip_format(&o->admitted[i].ip, text), o->admitted[i].prefix_bits);
    }
}

void client_option_rate_text(const struct client_options *o, struct buf *out)
{
    if (o->rate == 0) {
        buf_append_str(out, "off");
    } else {
        buf_printf(out, "%u/%u", o->rate, o->burst);
    }
}

/* ---- For answering threads ---- */

void client_options_fill(const struct client_options *o, struct engine_config *config)
{
    config->is_restricted = o->is_restricted;
    config->admitted_count = o->admitted_count;
    memcpy(config->admitted, o->admitted, o->admitted_count * sizeof(config->admitted[0]));
    config->rate = o->rate;
    config->rate_burst = o->burst;
    config->autopath = o->autopath;
    config->search_count = o->search_count;
    memcpy(config->search, o->search, o->search_count * sizeof(config->search[0]));
}
