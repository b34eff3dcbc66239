/* Parses -allow, -rate and -rate-namespace, and checks -topology. */
#include <stdlib.h>
#include <string.h>

#include "skydns/settings/option_lists.h"
#include "skydns/settings/option_values.h"

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
    const bool is_all = option_list_has(list, "all"), is_none = option_list_has(list, "none");
    const int r = option_list_read(OPTION_ADMITTED, o, list, err);
    o->engine.is_restricted = !is_all && (is_none || o->engine.admitted_count > 0);
    o->engine.admitted_count = o->engine.is_restricted ? o->engine.admitted_count : 0;
    return r;
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
