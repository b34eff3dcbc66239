#include "kube2sky/naming/config_map.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/addr.h"
#include "common/base/cleanup.h"
#include "common/base/json_text.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/naming.h"
#include "kube2sky/naming/override_zones.h"

enum { DNS_PORT = 53 };

/* Room for three of the longest, quoted. */
enum { NAMESERVERS_BYTES_MAX = CONFIG_NAMESERVERS_MAX * (ADDR_TEXT_MAX + 4) };

/* Room for a prefix and a name of 255 bytes. */
enum { KEY_MAX = 512 };

/* Limits how much of a value an error shows. */
enum { SHOWN_MAX = 100 };

/* The state while a ConfigMap is read. */
struct reading {
    const struct config_map_rules *rules;
    struct config_map *map;
    struct dname domain;
    struct dname reserved[4]; /* svc.D, pod.D, node.D, stub.dns.D */
    struct buf key;
    struct buf value;
    size_t key_bytes;
    struct err *err;
};

/* ---- A ConfigMap's content ---- */

void config_map_init(struct config_map *map)
{
    desired_init(&map->keys);
    desired_init(&map->names);
    buf_init(&map->nameservers, NAMESERVERS_BYTES_MAX);
}

void config_map_fini(struct config_map *map)
{
    desired_fini(&map->keys);
    desired_fini(&map->names);
    buf_fini(&map->nameservers);
}

void config_map_clear(struct config_map *map)
{
    desired_clear(&map->keys);
    desired_clear(&map->names);
    buf_clear(&map->nameservers);
}

bool config_map_equal(const struct config_map *a, const struct config_map *b)
{
    bool is_equal = a->keys.count == b->keys.count &&
                    slice_equal(buf_slice(&a->nameservers), buf_slice(&b->nameservers));
    for (size_t i = 0; is_equal && i < a->keys.count; i++) {
        struct desired_record x = desired_get(&a->keys, i), y = desired_get(&b->keys, i);
        is_equal = slice_equal(x.key, y.key) && slice_equal(x.value, y.value);
    }
    return is_equal;
}

enum config_map_setting config_map_setting_of(const char *key)
{
    if (strcmp(key, "federations") == 0) {
        return CONFIG_MAP_FEDERATIONS;
    }
    bool is_known = strcmp(key, "stubDomains") == 0 || strcmp(key, "records") == 0 ||
                    strcmp(key, "upstreamNameservers") == 0;
    return is_known ? CONFIG_MAP_KNOWN : CONFIG_MAP_UNKNOWN;
}

/* ---- JSON ---- */

static int config_map_refuse(struct reading *r, const char *text, const char *expected)
{
    return err_set(r->err, ERR_SYNTAX, "`%.*s`: expected %s", SHOWN_MAX, text, expected);
}

/* Fails with an error that shows a JSON value that is no string. */
static int refuse_json(struct reading *r, const json_t *json, const char *expected)
{
    CLEANUP_FREE char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    return config_map_refuse(r, text ? text : "", expected);
}

/* Returns the parsed text, which the caller owns; NULL: refused. */
static json_t *config_map_parse(struct reading *r, const char *text, const char *expected)
{
    json_error_t why;
    size_t n = strlen(text);
    if (n > CONFIG_VALUE_MAX) {
        err_set(r->err, ERR_TOO_LARGE, "expected at most %d bytes, found %zu", CONFIG_VALUE_MAX, n);
        return NULL;
    }
    json_t *json = json_loadb(text, n, JSON_DECODE_ANY, &why);
    if (!json) {
        err_set(r->err, ERR_SYNTAX, "`%.*s`: expected %s: line %d: %s", SHOWN_MAX, text, expected,
                why.line, why.text);
    }
    return json;
}

/* ---- Keys ---- */

/* Adds the key of a name, with the value r->value. */
static int config_map_add_key(struct reading *r, const struct dname *name)
{
    buf_clear(&r->key);
    record_key_of(slice_str(SKYDNS_TREE), name, &r->key);
    r->key_bytes += r->key.len;
    if (r->map->keys.count == CONFIG_KEYS_MAX) {
        return err_set(r->err, ERR_TOO_LARGE, "expected at most %d keys in all", CONFIG_KEYS_MAX);
    }
    if (r->key_bytes > CONFIG_KEYS_BYTES_MAX) {
        return err_set(r->err, ERR_TOO_LARGE, "expected keys of at most %d bytes in all",
                       CONFIG_KEYS_BYTES_MAX);
    }
    desired_add(&r->map->keys, buf_slice(&r->key), buf_slice(&r->value));
    return 0;
}

/* Adds the key of <hash>.<name>, with the value r->value. */
static int add_hashed_key(struct reading *r, const struct dname *name)
{
    char label[9];
    struct dname hashed = *name;
    (void)record_label(buf_slice(&r->value), label);
    if (!dname_prepend(&hashed, slice_str(label))) {
        return err_set(r->err, ERR_SYNTAX,
                       "expected a shorter name: at most 255 bytes with the "
                       "label of a key");
    }
    return config_map_add_key(r, &hashed);
}

/* ---- Servers ---- */

static bool is_all_digits(struct slice text)
{
    bool is = text.len > 0;
    for (size_t i = 0; i < text.len && is; i++) {
        is = text.ptr[i] >= '0' && text.ptr[i] <= '9';
    }
    return is;
}

/* Returns whether the text is a DNS-1123 subdomain: lower case, no trailing dot. */
static bool is_subdomain(const char *text, struct dname *ret_name)
{
    const struct slice name = slice_str(text);
    return dname_is_host(name) && !slice_has_capitals(name) && dname_from_text(name, ret_name);
}

/* Does the same for a host, and refuses "10.0.0.300", a mistyped address. */
static bool config_map_is_host(const char *text, struct dname *ret_name)
{
    const char *dot = strrchr(text, '.');
    return is_subdomain(text, ret_name) && !is_all_digits(slice_str(dot ? dot + 1 : text));
}

/* Parses "10.0.0.1", "fd00::1", "10.0.0.1:53" or "[fd00::1]:53"; port 0: none. */
static bool take_server(const char *text, struct ip *ret_ip, uint16_t *ret_port)
{
    struct addr addr;
    char scope[IF_NAMESIZE];
    *ret_port = 0;
    if (ip_parse(slice_str(text), ret_ip)) {
        return true;
    }
    if (!addr_parse_remote(text, 0, &addr, scope) || *scope) { /* a host in a key has no scope */
        return false;
    }
    *ret_ip = addr_ip(&addr);
    *ret_port = addr_port(&addr);
    return true;
}

/* ---- stubDomains ---- */

static int add_stub_server(struct reading *r, const struct dname *zone, const json_t *json)
{
    static const char expected[] = "an IP address, IP:port or a host name of this domain";
    const struct naming_config naming = {.ttl_s = r->rules->ttl_s};
    char address[INET6_ADDRSTRLEN], host[DNAME_TEXT_MAX];
    struct ip ip;
    struct dname name;
    uint16_t port = 0;
    const char *text = json_string_value(json);
    if (!text) {
        return refuse_json(r, json, expected);
    }
    if (take_server(text, &ip, &port)) {
        naming_value(&naming, slice_str(ip_format(&ip, address)), port, &r->value);
    } else if (config_map_is_host(text, &name) && dname_is_within(&name, &r->domain)) {
        naming_value(&naming, slice_str(dname_to_text(&name, host)), 0, &r->value);
    } else {
        return config_map_refuse(r, text, expected);
    }
    return add_hashed_key(r, zone);
}

/* Sets the name of the zone's keys without their label: <zone>.stub.dns.D. */
static int stub_name(struct reading *r, const char *zone, struct dname *ret_name)
{
    struct dname name;
    if (!is_subdomain(zone, &name)) {
        return config_map_refuse(r, zone, "a domain like acme.local, in lower case");
    }
    if (dname_equal(&name, &r->domain)) {
        return config_map_refuse(r, zone, "another domain than that of the cluster");
    }
    CLEANUP_FREE char *text = xasprintf("%s.stub.dns.%s", zone, r->rules->domain);
    return dname_from_text(slice_str(text), ret_name)
               ? 0
               : config_map_refuse(r, zone, "a shorter domain");
}

static int read_stub_zone(struct reading *r, const char *zone, const json_t *servers)
{
    struct dname name;
    int rc = stub_name(r, zone, &name);
    if (rc < 0 || json_is_null(servers)) {
        return rc;
    }
    if (!json_is_array(servers)) {
        rc = refuse_json(r, servers, "a list of nameservers");
    }
    for (size_t i = 0; rc == 0 && i < json_array_size(servers); i++) {
        rc = add_stub_server(r, &name, json_array_get(servers, i));
    }
    return rc < 0 ? err_wrap(r->err, rc, "%.*s", SHOWN_MAX, zone) : 0;
}

/* Reads each member of an object, until one is wrong. */
static int read_members(struct reading *r, json_t *json,
                        int (*fn)(struct reading *r, const char *key, const json_t *value))
{
    const char *key = NULL;
    json_t *value = NULL;
    int rc = 0;
    json_object_foreach(json, key, value)
    {
        rc = rc < 0 ? rc : fn(r, key, value);
    }
    return rc;
}

static int read_stub_zones(struct reading *r, json_t *json)
{
    return read_members(r, json, read_stub_zone);
}

/* ---- upstreamNameservers ---- */

static int add_nameserver(struct reading *r, const json_t *json)
{
    static const char expected[] = "an IP address or IP:port";
    char text[ADDR_TEXT_MAX], scope[IF_NAMESIZE];
    struct addr addr;
    const char *given = json_string_value(json);
    if (!given) {
        return refuse_json(r, json, expected);
    }
    if (!addr_parse_remote(given, DNS_PORT, &addr, scope)) {
        return config_map_refuse(r, given, expected);
    }
    const struct ip ip = addr_ip(&addr);
    addr = addr_of_ip(&ip, addr_port(&addr));
    buf_append_char(&r->map->nameservers, r->map->nameservers.len ? ',' : '[');
    json_text_string(&r->map->nameservers, slice_str(addr_format_remote(&addr, scope, text)));
    return 0;
}

static int read_nameservers(struct reading *r, json_t *json)
{
    int rc = 0;
    if (json_array_size(json) > CONFIG_NAMESERVERS_MAX) {
        return err_set(r->err, ERR_SYNTAX, "expected at most %d nameservers, found %zu",
                       CONFIG_NAMESERVERS_MAX, json_array_size(json));
    }
    for (size_t i = 0; rc == 0 && i < json_array_size(json); i++) {
        rc = add_nameserver(r, json_array_get(json, i));
    }
    if (r->map->nameservers.len) {
        buf_append_char(&r->map->nameservers, ']');
    }
    return rc;
}

/* ---- records ---- */

static bool is_record_label(struct slice label)
{
    bool is = true;
    for (size_t i = 0; i < label.len && is; i++) {
        char c = (char)ascii_lower((uint8_t)label.ptr[i]);
        is = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    }
    return is;
}

static bool is_record_name(const struct reading *r, const struct dname *name)
{
    struct dname_labels labels;
    bool is = dname_is_within(name, &r->domain) && !dname_equal(name, &r->domain);
    for (size_t i = 0; i < ARRAY_LEN(r->reserved); i++) {
        is = is && !dname_is_within(name, &r->reserved[i]);
    }
    dname_labels(name, &labels);
    for (unsigned i = 0; i < labels.count && is; i++) {
        is = is_record_label(dname_label(name, labels.offsets[i]));
    }
    return is;
}

/* Returns whether the host is empty, an address, or a name that a response can contain. skydns
 * serves no records of other kinds. */
static bool is_record_host(const struct record *record)
{
    struct dname name;
    struct ip ip;
    return record->host.len == 0 || ip_parse_sloppy(record->host, &ip) ||
           dname_from_text(record->host, &name);
}

/* How a value stands at its name. */
enum record_place { PLACE_IN_DOMAIN, PLACE_EXTERNAL, PLACE_EXTERNAL_LIST };

/* Returns the value's text, owned by the caller; in a list of an external name, with targetstrip.
 * NULL: it has none. */
static char *dump_record(const json_t *json, enum record_place place)
{
    if (place != PLACE_EXTERNAL_LIST) {
        return json_dumps(json, JSON_COMPACT);
    }
    json_t *stripped = json_copy((json_t *)(uintptr_t)json); /* jansson wants it writable */
    char *text = NULL;
    if (stripped && json_object_del(stripped, "targetstrip") <= 0 &&
        json_object_set_new(stripped, "targetstrip", json_integer(ALIAS_TARGETSTRIP)) == 0) {
        text = json_dumps(stripped, JSON_COMPACT);
    }
    json_decref(stripped);
    return text;
}

/* Reads `targetstrip`, which only a value may set: the owner name is the key's without so many
 * labels. */
static int check_targetstrip(struct reading *r, const json_t *json, enum record_place place)
{
    json_int_t most = place == PLACE_EXTERNAL_LIST ? ALIAS_TARGETSTRIP : 0;
    const char *key = NULL;
    json_t *value = NULL;
    int rc = 0;
    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        bool is_wrong = place != PLACE_IN_DOMAIN && strcasecmp(key, "targetstrip") == 0 &&
                        (!json_is_integer(value) || json_integer_value(value) < 0 ||
                         json_integer_value(value) > most);
        rc = is_wrong ? refuse_json(r, json, "no targetstrip with an external name") : rc;
    }
    return rc;
}

/* Checks one value, and leaves it in r->value. */
static int take_record(struct reading *r, const json_t *json, enum record_place place)
{
    static const char expected[] = "an object like {\"host\": \"10.1.2.3\"}";
    struct record record;
    if (!json_is_object(json)) {
        return refuse_json(r, json, expected);
    }
    if (check_targetstrip(r, json, place) < 0) {
        return ERR_SYNTAX;
    }
    CLEANUP_FREE char *text = dump_record(json, place);
    if (!text) {
        return err_set(r->err, ERR_SYNTAX, "expected %s", expected);
    }
    int rc = record_from_json(slice_str(text), &record, r->err);
    if (rc < 0) {
        return rc;
    }
    bool has_data = record.host.len > 0 || record.text.len > 0 || record.rrs.len > 0;
    if (!is_record_host(&record)) {
        rc = err_set(r->err, ERR_SYNTAX, "field `host`: `%.*s`: expected an address or a name",
                     (int)(record.host.len < SHOWN_MAX ? record.host.len : SHOWN_MAX),
                     record.host.ptr);
    }
    record_fini(&record);
    if (rc < 0) {
        return rc;
    }
    if (!has_data) {
        return config_map_refuse(r, text, "a host, a text or rr");
    }
    buf_clear(&r->value);
    buf_append_str(&r->value, text);
    return 0;
}

static int config_map_read_record(struct reading *r, const struct dname *name, const json_t *json,
                                  bool is_external)
{
    int rc = 0;
    if (!json_is_array(json)) {
        rc = take_record(r, json, is_external ? PLACE_EXTERNAL : PLACE_IN_DOMAIN);
        return rc < 0 ? rc : config_map_add_key(r, name);
    }
    for (size_t i = 0; rc == 0 && i < json_array_size(json); i++) {
        rc = take_record(r, json_array_get(json, i),
                         is_external ? PLACE_EXTERNAL_LIST : PLACE_IN_DOMAIN);
        rc = rc < 0 ? rc : add_hashed_key(r, name);
    }
    return rc;
}

static int refuse_name(struct reading *r, const char *text, const struct dname *name)
{
    const struct override_zones *zones = r->rules->zones;
    if (zones && name && !dname_is_within(name, &r->domain)) {
        enum override_verdict verdict = override_zones_judge(zones, name, slice_of(NULL, 0));
        return err_set(r->err, ERR_SYNTAX, "`%.*s`: %s", SHOWN_MAX, text,
                       override_verdict_text(verdict));
    }
    return err_set(r->err, ERR_SYNTAX,
                   "`%.*s`: expected a name below %s, outside svc, pod, node and stub.dns%s",
                   SHOWN_MAX, text, r->rules->domain,
                   zones ? ", or one that --override-zones allows" : "");
}

static bool is_external_name(const struct reading *r, const char *text)
{
    struct dname name;
    return r->rules->zones && override_name_parse(slice_str(text), &name) &&
           override_zones_cover(r->rules->zones, &name);
}

/* Notes the name, which Services may claim, too: external_aliases.h decides. */
static void note_external_name(struct reading *r, const struct dname *name)
{
    char text[DNAME_TEXT_MAX];
    desired_add(&r->map->names, slice_str(dname_to_text(name, text)), slice_of("", 0));
}

static int config_map_read_name(struct reading *r, const char *text, const json_t *json)
{
    struct dname name;
    bool is_name = dname_from_text(slice_str(text), &name);
    bool is_external = is_name && is_external_name(r, text);
    if (!is_external && (!is_name || !is_record_name(r, &name))) {
        return refuse_name(r, text, is_name ? &name : NULL);
    }
    dname_lower(&name);
    if (is_external) {
        note_external_name(r, &name);
    }
    int rc = config_map_read_record(r, &name, json, is_external);
    return rc < 0 ? err_wrap(r->err, rc, "%.*s", SHOWN_MAX, text) : 0;
}

static int config_map_read_records(struct reading *r, json_t *json)
{
    return read_members(r, json, config_map_read_name);
}

/* ---- Settings ---- */

static const struct setting {
    const char *key;
    const char *expected;
    json_type type;
    int (*read)(struct reading *r, json_t *json);
} settings[] = {
    {"stubDomains", "an object like {\"acme.local\": [\"10.0.0.1\"]}", JSON_OBJECT,
     read_stub_zones},
    {"upstreamNameservers", "a list like [\"10.0.0.1\"]", JSON_ARRAY, read_nameservers},
    {"records", "an object like {\"db.cluster.local\": {\"host\": \"10.1.2.3\"}}", JSON_OBJECT,
     config_map_read_records},
};

static int read_setting(struct reading *r, const struct setting *setting, const char *text)
{
    json_t *json = config_map_parse(r, text, setting->expected);
    if (!json) {
        return err_wrap(r->err, ERR_SYNTAX, "%s", setting->key);
    }
    int rc = 0;
    if (json_typeof(json) == setting->type) {
        rc = setting->read(r, json);
    } else if (!json_is_null(json)) {
        rc = refuse_json(r, json, setting->expected);
    }
    json_decref(json);
    return rc < 0 ? err_wrap(r->err, rc, "%s", setting->key) : 0;
}

/* Prepares the reserved names. The domain was checked as a flag: "svc." before it is not one label
 * too many. */
static int config_map_begin(struct reading *r)
{
    static const char *const reserved[] = {SERVICE_LABEL, POD_LABEL, NODE_LABEL, "stub.dns"};
    bool is_name = dname_from_text(slice_str(r->rules->domain), &r->domain);
    for (size_t i = 0; i < ARRAY_LEN(reserved) && is_name; i++) {
        CLEANUP_FREE char *text = xasprintf("%s.%s", reserved[i], r->rules->domain);
        is_name = dname_from_text(slice_str(text), &r->reserved[i]);
    }
    buf_init(&r->key, KEY_MAX);
    buf_init(&r->value, RECORD_JSON_MAX);
    config_map_clear(r->map);
    return is_name ? 0 : err_set(r->err, ERR_SYNTAX, "expected a shorter domain");
}

int config_map_read(const struct config_map_rules *rules, const struct kube_config_map *from,
                    struct config_map *map, struct err *err)
{
    struct reading r = {.rules = rules, .map = map, .err = err};
    int rc = config_map_begin(&r);
    for (size_t i = 0; i < from->setting_count; i++) {
        for (size_t j = 0; j < ARRAY_LEN(settings) && rc == 0; j++) {
            if (strcmp(from->settings[i].key, settings[j].key) == 0) {
                rc = read_setting(&r, &settings[j], from->settings[i].value);
            }
        }
    }
    desired_seal(&map->keys);
    desired_seal(&map->names);
    buf_fini(&r.key);
    buf_fini(&r.value);
    return rc;
}
