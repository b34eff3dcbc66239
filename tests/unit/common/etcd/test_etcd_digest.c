/* Digests of common/etcd/etcd_saved_internal.h. */
#include "common/etcd/etcd_saved_internal.h"
#include "tests/support/unit_test.h"

enum { LAST = 7, UPTO = 9 };

static struct etcd_event etcd_digest_put(const char *key, const char *value, int64_t revision)
{
    return (struct etcd_event){.kind = ETCD_EVENT_PUT,
                               .kv = {.key = slice_str(key),
                                      .value = slice_str(value),
                                      .create_revision = 3,
                                      .mod_revision = revision,
                                      .version = 2}};
}

static struct etcd_event etcd_digest_del(const char *key, int64_t revision)
{
    return (struct etcd_event){.kind = ETCD_EVENT_DELETE,
                               .kv = {.key = slice_str(key), .mod_revision = revision}};
}

static struct etcd_digest etcd_digest_known(void)
{
    const struct etcd_event events[] = {
        etcd_digest_put("/s/before", "0", LAST - 1), etcd_digest_put("/s/a", "1", LAST),
        etcd_digest_del("/s/b", LAST), etcd_digest_put("/s/c", "2", LAST)};
    return etcd_digest_of_last(events, 4);
}

static enum etcd_digest_verdict check_known_digest(const struct etcd_event *events, size_t count)
{
    const struct etcd_digest digest = etcd_digest_known();
    return etcd_digest_check(&digest, UPTO, events, count);
}

/* In another order, too; what follows is news. */
UNIT_TEST(test_the_same_changes)
{
    const struct etcd_event events[] = {
        etcd_digest_put("/s/c", "2", LAST), etcd_digest_del("/s/b", LAST),
        etcd_digest_put("/s/a", "1", LAST), etcd_digest_put("/s/x", "9", UPTO + 1)};
    assert_int_equal(etcd_digest_known().revision, LAST);
    assert_int_equal(check_known_digest(events, 4), ETCD_DIGEST_SAME);
    assert_int_equal(check_known_digest(events, 3), ETCD_DIGEST_SAME);
}

UNIT_TEST(test_other_changes)
{
    const struct etcd_event more[] = {
        etcd_digest_put("/s/a", "1", LAST), etcd_digest_del("/s/b", LAST),
        etcd_digest_put("/s/c", "2", LAST), etcd_digest_put("/s/d", "3", LAST)};
    const struct etcd_event fewer[] = {etcd_digest_del("/s/b", LAST),
                                       etcd_digest_put("/s/c", "2", LAST)};
    const struct etcd_event deleted[] = {
        etcd_digest_put("/s/a", "1", LAST), etcd_digest_put("/s/c", "2", LAST),
        etcd_digest_del("/s/b", LAST), etcd_digest_del("/s/e", LAST)};
    const struct etcd_event swapped[] = {etcd_digest_put("/s/a", "2", LAST),
                                         etcd_digest_del("/s/b", LAST),
                                         etcd_digest_put("/s/c", "1", LAST)};
    const struct etcd_event later[] = {
        etcd_digest_put("/s/a", "1", LAST), etcd_digest_del("/s/b", LAST),
        etcd_digest_put("/s/c", "2", LAST), etcd_digest_put("/s/d", "3", UPTO)};
    const struct etcd_event none[] = {etcd_digest_put("/s/x", "9", UPTO + 1)};
    struct etcd_event recreated[] = {etcd_digest_put("/s/a", "1", LAST),
                                     etcd_digest_del("/s/b", LAST),
                                     etcd_digest_put("/s/c", "2", LAST)};
    assert_int_equal(check_known_digest(recreated, 3), ETCD_DIGEST_SAME);
    recreated[0].kv.create_revision++;
    assert_int_equal(check_known_digest(more, 4), ETCD_DIGEST_OTHER);
    assert_int_equal(check_known_digest(fewer, 2), ETCD_DIGEST_OTHER);
    assert_int_equal(check_known_digest(deleted, 4), ETCD_DIGEST_OTHER);
    assert_int_equal(check_known_digest(swapped, 3), ETCD_DIGEST_OTHER);
    assert_int_equal(check_known_digest(later, 4), ETCD_DIGEST_OTHER);
    assert_int_equal(check_known_digest(none, 1), ETCD_DIGEST_OTHER);
    assert_int_equal(check_known_digest(recreated, 3), ETCD_DIGEST_OTHER);
}

/* A compaction at that revision keeps its puts and drops its deletes. */
UNIT_TEST(test_deletes_are_gone)
{
    const struct etcd_event events[] = {etcd_digest_put("/s/a", "1", LAST),
                                        etcd_digest_put("/s/c", "2", LAST)};
    assert_int_equal(check_known_digest(events, 2), ETCD_DIGEST_UNCERTAIN);
}
