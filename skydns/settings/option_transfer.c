/* Parses -transfer-to: which clients may transfer zones, and which addresses get NOTIFY. */
#include <string.h>

#include "skydns/publish/reverse_zone.h"
#include "skydns/settings/option_lists.h"
#include "skydns/settings/option_values.h"

enum { DNS_PORT = 53 };

static const char expected[] =
    "expected a network like 10.0.0.0/8, an address with or without a port, key:NAME, or one of "
    "the former with +key:NAME";
static const char expected_scope[] = "expected an interface of this machine behind %";

static bool option_transfer_read_key(const char *text, struct transfer_who *who)
{
    static const char prefix[] = "key:";
    if (strncmp(text, prefix, sizeof(prefix) - 1) != 0) {
        return false;
    }
    who->has_key =
        option_lower_name(text + sizeof(prefix) - 1, &who->key) && dname_label_count(&who->key) > 0;
    return who->has_key;
}

/* Reads a network; a single address gets NOTIFY. */
static bool read_network(const char *text, struct transfer_who *who)
{
    struct err err;
    struct addr addr;
    who->has_network = true;
    if (strchr(text, '/')) {
        return network_parse(slice_str(text), &who->network, &err) == 0;
    }
    if (!addr_parse_ip(slice_str(text), DNS_PORT, &addr) && addr_parse(text, &addr, &err) < 0) {
        return false;
    }
    const struct ip ip = addr_ip(&addr);
    who->network = network_of(&ip, (uint8_t)(ip.family_bytes * 8));
    who->notify = addr;
    return true;
}

/* Reads one item; changes the text. */
static bool read_who(char *text, struct transfer_who *who)
{
    char *plus = strchr(text, '+');
    *who = (struct transfer_who){.has_key = false};
    if (!plus) {
        return option_transfer_read_key(text, who) || read_network(text, who);
    }
    *plus = '\0';
    return read_network(text, who) && option_transfer_read_key(plus + 1, who);
}

int option_transfer_who(const char *text, struct transfer_who *ret, struct err *err)
{
    char copy[OPTION_ITEM_MAX];
    memcpy(copy, text, strlen(text) + 1);
    return read_who(copy, ret) ? 0
                               : err_set(err, ERR_USAGE, "`%s`: %s", text,
                                         strchr(text, '%') ? expected_scope : expected);
}

int option_check_transfers(const struct options *o, struct err *err)
{
    if (o->engine.transfer_count > 0 &&
        (o->engine.schema != ENGINE_SCHEMA_KUBERNETES || o->engine.pods == ENGINE_PODS_INSECURE)) {
        return err_set(err, ERR_USAGE,
                       "expected -schema=kubernetes with it, and not -pods=insecure: other names "
                       "cannot be listed");
    }
    return 0;
}

const struct transfer_who *option_transfer_lacks_key(const struct options *o,
                                                     const struct tsig_keys *keys)
{
    for (size_t i = 0; i < o->engine.transfer_count; i++) {
        const struct transfer_who *who = &o->engine.transfers[i];
        if (who->has_key && !(keys && tsig_keys_find(keys, &who->key))) {
            return who;
        }
    }
    return NULL;
}

/* Parse the list of -dnssec, and decide which owners its keys may have. */

int option_dnssec(struct options *o, const char *list, struct err *err)
{
    char item[OPTION_ITEM_MAX], taken[OPTIONS_DNSSEC_MAX];
    size_t len = 0, count = 0;
    taken[0] = '\0';
    while (option_next_item(&list, item)) {
        size_t item_len = strlen(item);
        if (++count > DNSSEC_KEYS_MAX) {
            return err_set(err, ERR_USAGE, "expected at most %d keys", DNSSEC_KEYS_MAX);
        }
        if (item_len + 1 == sizeof(item) || len + item_len + 2 > sizeof(taken)) {
            return err_set(err, ERR_USAGE, "`%s`: expected %d bytes of names at most", item,
                           OPTIONS_DNSSEC_MAX - 1);
        }
        if (option_list_has(taken, item)) {
            return err_set(err, ERR_USAGE, "`%s`: expected each key once", item);
        }
        if (len > 0) {
            taken[len++] = ',';
        }
        memcpy(taken + len, item, item_len + 1);
        len += item_len;
    }
    memcpy(o->dnssec, taken, len + 1);
    return 0;
}

bool option_dnssec_is_zone(const struct options *o, const struct dname *owner)
{
    for (size_t i = 0; i < option_own_zone_count(o); i++) {
        if (dname_equal(option_own_zone(o, i), owner)) {
            return true;
        }
    }
    struct engine_config *config = options_engine_config(o);
    bool is_apex = reverse_zone_is_apex(config, owner);
    engine_config_free(config);
    return is_apex;
}
