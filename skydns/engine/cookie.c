#include "skydns/engine/cookie.h"

#include <string.h>

#include "common/base/seeded_hash.h"

_Static_assert((int)COOKIE_SECRET_SIZE == (int)SIPHASH_KEY_SIZE, "the secret is the key");

/* Offsets in a server cookie, RFC 9018 4: version, three reserved bytes, time, hash. */
enum { VERSION = 1, TIME_AT = 4, HASH_AT = 8, HASHED_MAX = COOKIE_CLIENT_SIZE + HASH_AT + 16 };

/* Hashes the client's cookie, the server's up to its own hash, and the address. */
static void cookie_hash(const uint8_t secret[COOKIE_SECRET_SIZE], const uint8_t *cookie,
                        const struct ip *client, uint8_t out[8])
{
    uint8_t text[HASHED_MAX];
    memcpy(text, cookie, COOKIE_CLIENT_SIZE + HASH_AT);
    memcpy(text + COOKIE_CLIENT_SIZE + HASH_AT, client->bytes, client->family_bytes);
    uint64_t value = siphash24(
        secret, slice_of(text, COOKIE_CLIENT_SIZE + HASH_AT + (size_t)client->family_bytes));
    for (unsigned i = 0; i < 8; i++) {
        out[i] = (uint8_t)(value >> 8 * i);
    }
}

/* Compares two hashes in constant time. */
static bool is_same_hash(const uint8_t *a, const uint8_t *b)
{
    unsigned differences = 0;
    for (unsigned i = 0; i < 8; i++) {
        differences |= a[i] ^ b[i];
    }
    return differences == 0;
}

/* Returns the seconds since the cookie was made; negative: it is from the future. */
static int32_t age_of(const struct cookie *cookie, uint32_t now_s)
{
    const uint8_t *at = cookie->bytes + COOKIE_CLIENT_SIZE + TIME_AT;
    uint32_t made_s = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    return (int32_t)(now_s - made_s);
}

/* Returns the index of the secret that made the cookie; -1: none of ours did. */
static int find_secret(const struct cookie_secrets *secrets, const struct cookie *cookie,
                       const struct ip *client)
{
    for (size_t i = 0; i < secrets->count; i++) {
        uint8_t want[8];
        cookie_hash(secrets->items[i], cookie->bytes, client, want);
        if (is_same_hash(want, cookie->bytes + COOKIE_CLIENT_SIZE + HASH_AT)) {
            return (int)i;
        }
    }
    return -1;
}

/* Checks a cookie. Sets *ret_may_keep to whether the client may go on using it. */
static enum cookie_verdict engine_cookie_check(const struct cookie_secrets *secrets,
                                               const struct cookie *cookie, const struct ip *client,
                                               uint32_t now_s, bool *ret_may_keep)
{
    *ret_may_keep = false;
    if (cookie->len <= COOKIE_CLIENT_SIZE) {
        return COOKIE_ALONE;
    }
    if (cookie->len != COOKIE_SIZE || cookie->bytes[COOKIE_CLIENT_SIZE] != VERSION) {
        return COOKIE_WRONG;
    }
    int32_t age_s = age_of(cookie, now_s);
    if (age_s > COOKIE_AGE_MAX_S || age_s < -COOKIE_AHEAD_MAX_S) {
        return COOKIE_WRONG;
    }
    int secret = find_secret(secrets, cookie, client);
    *ret_may_keep = secret == 0 && age_s < COOKIE_RENEW_S;
    return secret < 0 ? COOKIE_WRONG : COOKIE_VALID;
}

enum cookie_verdict cookie_check(const struct cookie_secrets *secrets, const struct cookie *cookie,
                                 const struct ip *client, uint32_t now_s)
{
    bool unused;
    return engine_cookie_check(secrets, cookie, client, now_s, &unused);
}

enum cookie_verdict cookie_answer(const struct cookie_secrets *secrets, const struct cookie *cookie,
                                  const struct ip *client, uint32_t now_s,
                                  uint8_t option[COOKIE_OPTION_SIZE])
{
    const uint8_t head[EDNS_OPTION_HEAD] = {[1] = EDNS_OPTION_COOKIE, [3] = COOKIE_SIZE};
    const uint8_t server[HASH_AT] = {
        VERSION, [TIME_AT] = (uint8_t)(now_s >> 24), [TIME_AT + 1] = (uint8_t)(now_s >> 16),
        [TIME_AT + 2] = (uint8_t)(now_s >> 8), [TIME_AT + 3] = (uint8_t)now_s};
    uint8_t *out = option + EDNS_OPTION_HEAD;
    bool may_keep;
    enum cookie_verdict verdict = engine_cookie_check(secrets, cookie, client, now_s, &may_keep);
    memcpy(option, head, sizeof(head));
    if (may_keep) {
        memcpy(out, cookie->bytes, COOKIE_SIZE);
        return verdict;
    }
    memcpy(out, cookie->bytes, COOKIE_CLIENT_SIZE);
    memcpy(out + COOKIE_CLIENT_SIZE, server, sizeof(server));
    cookie_hash(secrets->items[0], out, client, out + COOKIE_CLIENT_SIZE + HASH_AT);
    return verdict;
}
