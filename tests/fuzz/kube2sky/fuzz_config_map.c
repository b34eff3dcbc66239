/* Any bytes as the values of a ConfigMap, stubDomains, upstreamNameservers and records, separated
 * by NULs: refused with a message that begins with the setting, or keys below the domain, or of
 * external names, that queries can ask for, within the limits, with values that are records; and
 * always the same. The document that lists those keys gives them back. */
#include <assert.h>

#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "kube2sky/naming/config_map.h"
#include "kube2sky/naming/override_zones.h"
#include "kube2sky/reconcile/config_keys_internal.h"
#include "tests/fuzz/fuzz_target.h"

static const char *const names[] = {"stubDomains", "upstreamNameservers", "records"};

static void config_map_check_key(struct desired_record at)
{
    static const char tree[] = "/skydns/local/cluster/";
    struct dname name;
    struct record record;
    if (!slice_has_prefix(at.key, slice_str(tree))) { /* an external name's */
        assert(slice_has_prefix(at.key, slice_str("/skydns/com/example/")));
        return;
    }
    assert(record_key_to_name(slice_str("/skydns/"), at.key, &name));
    struct slice below = slice_of(at.key.ptr + strlen(tree), at.key.len - strlen(tree));
    assert(!slice_has_prefix(below, slice_str("svc/")) && !slice_equal(below, slice_str("svc")));
    assert(!slice_has_prefix(below, slice_str("pod/")) && !slice_equal(below, slice_str("pod")));
    int rc = record_from_json(at.value, &record, NULL);
    assert(rc == 0);
    record_fini(&record);
}

static void config_map_on_key(void *data, struct slice key)
{
    struct desired *list = data;
    desired_add(list, key, slice_str(""));
}

static void check_document(const struct config_map *map)
{
    struct desired list;
    CLEANUP_BUF struct buf text = buf_of(CONFIG_DOCUMENT_MAX);
    desired_init(&list);
    config_document_begin(buf_slice(&map->nameservers), &text);
    for (size_t i = 0; i < map->keys.count; i++) {
        config_document_add(desired_get(&map->keys, i).key, &text);
    }
    config_document_end(&text);
    int rc = config_document_read(buf_slice(&text), config_map_on_key, &list, NULL);
    assert(rc == 0 && !text.failed && list.count == map->keys.count);
    for (size_t i = 0; i < list.count; i++) {
        assert(slice_equal(desired_get(&list, i).key, desired_get(&map->keys, i).key));
    }
    desired_fini(&list);
}

static void ignore_key(void *data, struct slice key)
{
    (void)data;
    (void)key;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct config_map_rules rules = {.domain = "cluster.local.", .ttl_s = 30};
    static struct override_zones *zones; /* of all runs */
    struct err none;
    fuzz_check(zones || override_zones_parse("*.example.com", rules.domain, &zones, &none) >= 0);
    rules.zones = zones;
    struct kube_setting settings[3];
    struct kube_config_map from = {.settings = settings};
    struct config_map map, again;
    struct err err = {0}, other = {0};
    char *text = xmalloc(size + 1);
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    for (size_t at = 0; at < size && from.setting_count < 3; at += strlen(text + at) + 1) {
        settings[from.setting_count] =
            (struct kube_setting){.key = names[from.setting_count], .value = text + at};
        from.setting_count++;
    }
    config_map_init(&map);
    config_map_init(&again);
    int rc = config_map_read(&rules, &from, &map, &err);
    assert(rc == config_map_read(&rules, &from, &again, &other));
    if (rc < 0) {
        assert(strcmp(err.msg, other.msg) == 0);
        assert(strncmp(err.msg, "stubDomains", 11) == 0 || strncmp(err.msg, "records", 7) == 0 ||
               strncmp(err.msg, "upstreamNameservers", 19) == 0);
    } else {
        assert(config_map_equal(&map, &again) && map.keys.count <= CONFIG_KEYS_MAX);
        for (size_t i = 0; i < map.keys.count; i++) {
            config_map_check_key(desired_get(&map.keys, i));
        }
        check_document(&map);
    }
    rc = config_document_read(slice_of(data, size), ignore_key, NULL, &err);
    assert(rc == 0 || rc == ERR_SYNTAX || rc == ERR_TOO_LARGE);
    config_map_fini(&map);
    config_map_fini(&again);
    free(text);
    return 0;
}
