/* Which keys of a name each type uses, and why it skips one; mirrors answer_types.c. */
#include "skydns/pages/explain.h"

struct explain_manner explain_manner_of(uint16_t number)
{
    switch (number) {
    case DNS_TYPE_A:
    case DNS_TYPE_AAAA:
    case DNS_TYPE_SRV:
        return (struct explain_manner){.leads_on = true};
    case DNS_TYPE_MX:
        return (struct explain_manner){.leads_on = true, .ignores_groups = true};
    default:
        return (struct explain_manner){0};
    }
}

static enum explain_rule host_rule(const struct store_record *record, enum explain_rule if_address,
                                   enum explain_rule if_name)
{
    switch ((enum store_host)record->host) {
    case STORE_HOST_NONE:
        return EXPLAIN_NO_HOST;
    case STORE_HOST_BAD:
        return EXPLAIN_BAD_HOST;
    case STORE_HOST_IP:
        return if_address;
    case STORE_HOST_NAME:
        break;
    }
    return if_name;
}

static enum explain_rule address_rule(const struct engine_config *config,
                                      const struct store_record *record, uint16_t type)
{
    bool is_wanted = record->host_len == (type == DNS_TYPE_A ? 4 : 16);
    struct dname host;
    bool is_external = false;
    if (store_record_host_name(record, &host)) {
        dname_lower(&host);
        is_external = !engine_config_zone(config, &host);
    }
    return host_rule(record, is_wanted ? EXPLAIN_DUPLICATE : EXPLAIN_FAMILY,
                     is_external ? EXPLAIN_EXTERNAL : EXPLAIN_TARGET);
}

enum explain_rule explain_type_rule(const struct engine_config *config, uint16_t type,
                                    const struct dname *name, const struct store_record *record)
{
    struct dname own;
    store_record_name(record, &own);
    switch (type) {
    case DNS_TYPE_A:
    case DNS_TYPE_AAAA:
        return address_rule(config, record, type);
    case DNS_TYPE_SRV:
        return host_rule(record, EXPLAIN_DUPLICATE, EXPLAIN_DUPLICATE);
    case DNS_TYPE_MX:
        return record->mail ? host_rule(record, EXPLAIN_DUPLICATE, EXPLAIN_DUPLICATE)
                            : EXPLAIN_NO_MAIL;
    case DNS_TYPE_TXT:
        return record->lens[RECORD_TEXT] ? EXPLAIN_DUPLICATE : EXPLAIN_NO_TEXT;
    case DNS_TYPE_CNAME:
    case DNS_TYPE_PTR:
        return dname_equal(&own, name) ? host_rule(record, EXPLAIN_ADDRESS, EXPLAIN_DUPLICATE)
                                       : EXPLAIN_BELOW;
    default:
        return EXPLAIN_TYPE;
    }
}
