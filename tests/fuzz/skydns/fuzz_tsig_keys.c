/* The file of -tsig-keys: keys that can be found, or a message of bounded length. */
#include "skydns/tsig/tsig_keys.h"
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tsig_keys *keys;
    struct err err = {.code = 0};
    if (tsig_keys_parse(slice_of(data, size), &keys, &err) != 0) {
        return err.msg[0] ? 0 : (abort(), 1);
    }
    size_t count = tsig_keys_count(keys);
    bool is_sound = count > 0 && count <= TSIG_KEYS_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct tsig_key *key = tsig_keys_at(keys, i);
        is_sound = is_sound && tsig_keys_find(keys, tsig_key_name(key)) == key &&
                   tsig_key_name(key)->len <= TSIG_NAME_MAX && *tsig_key_algorithm(key);
    }
    fuzz_check(is_sound);
    tsig_keys_unref(keys);
    return 0;
}
