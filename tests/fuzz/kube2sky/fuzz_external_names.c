/* Names of an annotation and of --override-zones, and keys of others: override_zones.h,
 * external_aliases.h and external_keys.h over arbitrary bytes. Lines: zones, names, then a key and
 * a value in turn. Each wanted key is one of ours that a reader takes for the name. */
#include <assert.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/external_aliases.h"
#include "kube2sky/naming/external_keys.h"
#include "kube2sky/reconcile/ownership_internal.h"
#include "tests/fuzz/fuzz_target.h"

struct run {
    struct ownership ownership;
    struct external_aliases *aliases;
    struct external_keys *keys;
};

static void external_names_ignore_change(void *data UNUSED, struct slice what UNUSED)
{
}

static bool external_names_is_taken(const void *data, struct slice name_key,
                                    struct slice key UNUSED)
{
    return external_keys_has_other(data, name_key, NULL, NULL);
}

static struct slice external_names_take_line(struct slice *rest)
{
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
    struct slice line = slice_of(rest->ptr, len);
    len += end != NULL;
    *rest = slice_of(rest->ptr + len, rest->len - len);
    return line;
}

static void check_wanted(const struct run *run, const struct desired_record *record)
{
    struct dname name;
    size_t len = external_keys_name_len(record->key, record->value);
    CLEANUP_BUF struct buf owner = buf_of(1024);
    assert(ownership_place(&run->ownership, record->key) == KEY_EXTERNAL);
    ownership_external(&run->ownership, record->key, record->value, &owner);
    assert(slice_equal(buf_slice(&owner), slice_str("alias/default/web")));
    assert(record_key_to_name(slice_str(SKYDNS_TREE), record->key, &name));
    assert(len &&
           record_key_to_name(slice_str(SKYDNS_TREE), slice_of(record->key.ptr, len), &name));
    assert(!external_keys_has_other(run->keys, slice_of(record->key.ptr, len), NULL, NULL));
}

static void external_names_put_keys(struct run *run, struct slice rest)
{
    while (rest.len) {
        struct slice key = external_names_take_line(&rest), value = external_names_take_line(&rest);
        if (ownership_place(&run->ownership, key) == KEY_EXTERNAL) {
            external_keys_put(run->keys, key, value, slice_of(NULL, 0), 1, 1);
            assert(external_keys_name_len(key, value) <= key.len);
        }
    }
}

static void check_swept(const struct run *run, struct slice rest)
{
    while (rest.len) {
        struct slice key = external_names_take_line(&rest), value = external_names_take_line(&rest);
        size_t len = external_keys_name_len(key, value);
        assert(!external_keys_has_other(run->keys, slice_of(key.ptr, len), NULL, NULL));
    }
}

static void run_names(struct run *run, struct slice names, struct slice rest)
{
    const struct alias_owner_object owner_object = {
        .id = slice_str("svc/default/web"),
        .ns = slice_str("default"),
        .target = slice_str("default/web"),
        .rank = ALIAS_OF_SERVICE,
    };
    struct desired wanted, left;
    desired_init(&wanted);
    desired_init(&left);
    external_names_put_keys(run, rest);
    external_aliases_set_text(run->aliases, &owner_object, names);
    external_aliases_build(run->aliases, slice_str("alias/default/web"), SIZE_MAX,
                           external_names_is_taken, run->keys, &wanted, &left);
    assert(wanted.count <= EXTERNAL_ALIASES_OBJECT_MAX);
    for (size_t i = 0; i < wanted.count; i++) {
        struct desired_record record = desired_get(&wanted, i);
        check_wanted(run, &record);
    }
    external_aliases_set(run->aliases, &owner_object, NULL, 0);
    const struct external_aliases_counts counts = external_aliases_count(run->aliases);
    assert(!counts.names && !counts.taken && !counts.refused);
    external_keys_sweep(run->keys, 2);
    check_swept(run, rest);
    desired_fini(&wanted);
    desired_fini(&left);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice rest = slice_of(data, size);
    struct slice line = external_names_take_line(&rest), names = external_names_take_line(&rest);
    char *text = xstrndup(line.ptr, line.len);
    struct override_zones *zones = NULL;
    struct err err;
    if (override_zones_parse(text, "cluster.local.", &zones, &err) == 0) {
        struct run run = {.keys = external_keys_new(&(struct external_keys_config){
                              .zones = zones, .changed = external_names_ignore_change})};
        run.aliases = external_aliases_new(
            &(struct external_aliases_config){.zones = zones,
                                              .domain = "cluster.local.",
                                              .ttl_s = 30,
                                              .changed = external_names_ignore_change});
        ownership_init(&run.ownership, &(struct ownership_config){.domain = "cluster.local."});
        run_names(&run, names, rest);
        ownership_fini(&run.ownership);
        external_aliases_free(run.aliases);
        external_keys_free(run.keys);
        override_zones_free(zones);
    }
    free(text);
    return 0;
}
