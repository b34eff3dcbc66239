/* The list of -dnssec, and which owners its keys may have. */
#include <string.h>

#include "skydns/publish/reverse_zone.h"
#include "skydns/settings/option_values.h"

static bool is_listed(const char *list, const char *base)
{
    char item[OPTION_ITEM_MAX];
    while (option_next_item(&list, item)) {
        if (strcmp(item, base) == 0) {
            return true;
        }
    }
    return false;
}

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
        if (is_listed(taken, item)) {
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
    for (size_t i = 0; i < o->domain_count; i++) {
        if (dname_equal(&o->domains[i], owner)) {
            return true;
        }
    }
    struct engine_config *config = options_engine_config(o);
    bool is_apex = reverse_zone_is_apex(config, owner);
    engine_config_free(config);
    return is_apex;
}
