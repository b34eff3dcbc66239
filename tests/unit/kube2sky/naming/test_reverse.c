/* reverse: precedence between claims and between namespaces, takeover when the winner goes, and
 * random sequences against a plain table of all claims, scanned in full. */
#include "tests/unit/kube2sky/objects.h"

#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/reverse.h"
#include "tests/support/from_text.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

CLEANUP_POINTER(reverse_free, struct reverse)

/* ---- Tables ---- */

static void reverse_note_address(void *data, const struct ip *ip)
{
    char text[INET6_ADDRSTRLEN];
    buf_printf(data, "%s ", ip_format(ip, text));
}

struct wish {
    const char *ip;
    enum claim_rank rank;
    const char *host;
};

/* reverse_set must report `want`, "10.0.0.1 10.0.0.2 ". */
static void naming_reverse_set(struct reverse *reverse, const char *owner,
                               const struct wish *wishes, size_t count, const char *want)
{
    CLEANUP(claims_fini) struct claims claims;
    claims_init(&claims);
    CLEANUP_BUF struct buf told = buf_of(4096);
    for (size_t i = 0; i < count; i++) {
        struct claim claim = {
            .ip = ip_from(wishes[i].ip),
            .rank = wishes[i].rank,
            .host = slice_str(wishes[i].host),
        };
        claims_add(&claims, &claim);
    }
    claims_seal(&claims);
    reverse_set(reverse, slice_str(owner), &claims, reverse_note_address, &told);
    assert_string_equal(buf_cstr(&told), want);
}

#define SET(reverse, owner, want, ...)                                     \
    naming_reverse_set(reverse, owner, (const struct wish[]){__VA_ARGS__}, \
                       sizeof((const struct wish[]){__VA_ARGS__}) / sizeof(struct wish), want)
#define CLEAR(reverse, owner, want) naming_reverse_set(reverse, owner, NULL, 0, want)

/* "host owner", "" for none. */
static void assert_winner(const struct reverse *reverse, const char *ip, const char *want)
{
    struct reverse_winner winner;
    struct ip address = ip_from(ip);
    CLEANUP_FREE char *got = reverse_winner(reverse, &address, &winner)
                                 ? xasprintf("%.*s %.*s", (int)winner.host.len, winner.host.ptr,
                                             (int)winner.owner.len, winner.owner.ptr)
                                 : xstrdup("");
    assert_string_equal(got, want);
}

UNIT_TEST(test_precedence_and_take_over)
{
    CLEANUP(reverse_free_of)
    struct reverse *r = reverse_new(&(struct reverse_config){.holder = NULL});
    SET(r, "svc/n/hash", "10.0.0.1 ", {"10.0.0.1", CLAIM_HASH, "aaa"});
    assert_winner(r, "10.0.0.1", "aaa svc/n/hash");
    SET(r, "svc/n/name", "10.0.0.1 ", {"10.0.0.1", CLAIM_HOSTNAME, "web-1"});
    assert_winner(r, "10.0.0.1", "web-1 svc/n/name");
    SET(r, "svc/n/smaller", "10.0.0.1 ", {"10.0.0.1", CLAIM_HOSTNAME, "web-0"});
    assert_winner(r, "10.0.0.1", "web-0 svc/n/smaller");
    SET(r, "svc/n/ip", "10.0.0.1 ", {"10.0.0.1", CLAIM_CLUSTER_IP, "zzz"});
    assert_winner(r, "10.0.0.1", "zzz svc/n/ip");
    CLEAR(r, "svc/n/name", ""); /* was not the winner */
    CLEAR(r, "svc/n/ip", "10.0.0.1 ");
    assert_winner(r, "10.0.0.1", "web-0 svc/n/smaller");
    CLEAR(r, "svc/n/smaller", "10.0.0.1 ");
    assert_winner(r, "10.0.0.1", "aaa svc/n/hash");
    CLEAR(r, "svc/n/hash", "10.0.0.1 ");
    assert_winner(r, "10.0.0.1", "");
    CLEAR(r, "svc/n/hash", "");
}

UNIT_TEST(test_the_smallest_host_in_byte_order)
{
    CLEANUP(reverse_free_of)
    struct reverse *r = reverse_new(&(struct reverse_config){.holder = NULL});
    SET(r, "a", "fd00::1 ", {"fd00::1", CLAIM_HASH, "b"});
    SET(r, "b", "", {"fd00::1", CLAIM_HASH, "ba"});
    SET(r, "c", "fd00::1 ", {"fd00::1", CLAIM_HASH, "a-z"});
    SET(r, "d", "", {"fd00::1", CLAIM_HASH, "a.z"}); /* '-' is smaller than '.' */
    assert_winner(r, "fd00::1", "a-z c");
}

UNIT_TEST(test_only_what_changed_is_told)
{
    CLEANUP(reverse_free_of)
    struct reverse *r = reverse_new(&(struct reverse_config){.holder = NULL});
    SET(r, "a", "10.0.0.1 10.0.0.2 fd00::1 ", {"fd00::1", CLAIM_HASH, "a"},
        {"10.0.0.2", CLAIM_HASH, "a"}, {"10.0.0.1", CLAIM_HASH, "a"});
    SET(r, "a", "", {"10.0.0.1", CLAIM_HASH, "a"}, {"10.0.0.2", CLAIM_HASH, "a"},
        {"fd00::1", CLAIM_HASH, "a"});
    SET(r, "a", "10.0.0.2 10.0.0.3 ", {"10.0.0.1", CLAIM_HASH, "a"}, {"10.0.0.2", CLAIM_HASH, "b"},
        {"10.0.0.3", CLAIM_HASH, "a"}, {"fd00::1", CLAIM_HASH, "a"});
    SET(r, "a", "", {"10.0.0.1", CLAIM_HOSTNAME, "a"}, {"10.0.0.2", CLAIM_HASH, "b"},
        {"10.0.0.3", CLAIM_HASH, "a"}, {"fd00::1", CLAIM_HASH, "a"}); /* better rank, same name */
    SET(r, "a", "10.0.0.1 10.0.0.3 fd00::1 ", {"10.0.0.2", CLAIM_HASH, "b"});
}

UNIT_TEST(test_best_of_one_owners_claims)
{
    CLEANUP(reverse_free_of)
    struct reverse *r = reverse_new(&(struct reverse_config){.holder = NULL});
    SET(r, "a", "10.0.0.1 ", {"10.0.0.1", CLAIM_HASH, "a"}, {"10.0.0.1", CLAIM_HOSTNAME, "c"},
        {"10.0.0.1", CLAIM_HOSTNAME, "b"});
    assert_winner(r, "10.0.0.1", "b a");
}

/* ---- Between namespaces ---- */

/* An inventory with pods, and what etcd says. */
struct cluster {
    struct inventory *inventory;
    const char *holder; /* "svc/a/web"; "": none */
    struct reverse *reverse;
};

static void ignore_owner(void *data UNUSED, struct slice owner UNUSED)
{
}

static struct slice holder_of(void *data, const struct ip *ip UNUSED)
{
    const struct cluster *cluster = data;
    return slice_str(cluster->holder);
}

static void cluster_init(struct cluster *cluster)
{
    *cluster = (struct cluster){.holder = ""};
    cluster->inventory = inventory_new(&(struct inventory_config){.changed = ignore_owner});
    cluster->reverse = reverse_new(&(struct reverse_config){
        .inventory = cluster->inventory, .holder = holder_of, .data = cluster});
}

static void cluster_fini(struct cluster *cluster)
{
    reverse_free(cluster->reverse);
    inventory_free(cluster->inventory);
}

/* phase "": the pod goes. Returns whether the address's name changed. */
static bool reverse_put_pod(struct cluster *cluster, const char *ns, const char *name,
                            const char *phase, const char *ip)
{
    struct ip address = ip_from(ip);
    if (*phase) {
        CLEANUP_FREE char *status = xasprintf("'phase':'%s','podIPs':[{'ip':'%s'}]", phase, ip);
        inventory_upsert(cluster->inventory, pod_from(ns, name, status));
    } else {
        inventory_remove(cluster->inventory, KUBE_POD, ns, name);
    }
    return reverse_decide(cluster->reverse, &address);
}

UNIT_TEST(test_a_pods_address_is_its_namespaces)
{
    CLEANUP(cluster_fini) struct cluster c;
    cluster_init(&c);
    SET(c.reverse, "svc/evil/a", "10.1.0.1 ", {"10.1.0.1", CLAIM_HOSTNAME, "a"});
    assert_true(
        reverse_put_pod(&c, "good", "p", "Running", "10.1.0.1")); /* who does not claim it */
    assert_winner(c.reverse, "10.1.0.1", "");
    assert_int_equal(reverse_count(c.reverse), 0);
    assert_int_equal(reverse_refused_count(c.reverse), 1);
    SET(c.reverse, "svc/good/z", "10.1.0.1 ", {"10.1.0.1", CLAIM_HASH, "z"});
    assert_winner(c.reverse, "10.1.0.1", "z svc/good/z");
    CLEAR(c.reverse, "svc/evil/a", "");
    SET(c.reverse, "svc/evil/a", "", {"10.1.0.1", CLAIM_HOSTNAME, "a"});
    assert_winner(c.reverse, "10.1.0.1", "z svc/good/z");
    struct ip ip = ip_from("10.1.0.1");
    assert_true(reverse_may_win(c.reverse, &ip, slice_str("svc/good/other")));
    assert_false(reverse_may_win(c.reverse, &ip, slice_str("svc/evil/other")));
    SET(c.reverse, "svc/evil/ip", "10.1.0.1 ", {"10.1.0.1", CLAIM_CLUSTER_IP, "ip"});
    assert_winner(c.reverse, "10.1.0.1", "ip svc/evil/ip"); /* the API server's word */
    assert_false(reverse_may_win(c.reverse, &ip, slice_str("svc/good/other")));
}

UNIT_TEST(test_pods_that_ended_or_share_an_address)
{
    CLEANUP(cluster_fini) struct cluster c;
    cluster_init(&c);
    assert_false(reverse_put_pod(&c, "good", "p", "Succeeded", "10.1.0.1"));
    SET(c.reverse, "svc/evil/a", "10.1.0.1 ", {"10.1.0.1", CLAIM_HASH, "a"});
    assert_false(
        reverse_put_pod(&c, "evil", "host", "Running", "10.1.0.1")); /* on the host network */
    assert_false(reverse_put_pod(&c, "good", "p", "Running", "10.1.0.1"));
    SET(c.reverse, "svc/good/b", "", {"10.1.0.1", CLAIM_HOSTNAME, "b"}); /* the other has it */
    SET(c.reverse, "svc/third/c", "", {"10.1.0.1", CLAIM_HOSTNAME, "0"});
    assert_true(reverse_put_pod(&c, "evil", "host", "", "10.1.0.1"));
    assert_winner(c.reverse, "10.1.0.1", "b svc/good/b");
    assert_false(reverse_put_pod(&c, "good", "p", "", "10.1.0.1")); /* and still has the name */
    CLEAR(c.reverse, "svc/good/b", "10.1.0.1 ");
    assert_winner(c.reverse, "10.1.0.1", "0 svc/third/c");
}

/* Addresses that no pod has: of machines outside, or all with --pods=disabled. */
UNIT_TEST(test_the_holder_keeps_it)
{
    CLEANUP(cluster_fini) struct cluster c;
    struct ip ip = ip_from("10.1.0.1");
    cluster_init(&c);
    c.holder = "svc/good/gone"; /* before a restart; another Service of it claims */
    SET(c.reverse, "svc/evil/a", "10.1.0.1 ", {"10.1.0.1", CLAIM_HOSTNAME, "a"});
    SET(c.reverse, "svc/good/z", "10.1.0.1 ", {"10.1.0.1", CLAIM_HASH, "z"});
    assert_winner(c.reverse, "10.1.0.1", "z svc/good/z");
    SET(c.reverse, "svc/good/y", "10.1.0.1 ",
        {"10.1.0.1", CLAIM_HASH, "y"}); /* within it, as ever */
    assert_winner(c.reverse, "10.1.0.1", "y svc/good/y");
    c.holder = ""; /* etcd was emptied */
    assert_false(reverse_decide(c.reverse, &ip));
    SET(c.reverse, "svc/evil/b", "", {"10.1.0.1", CLAIM_HOSTNAME, "0"});
    assert_winner(c.reverse, "10.1.0.1", "y svc/good/y");
    c.holder = "svc/evil/a"; /* another kube2sky decided */
    assert_true(reverse_decide(c.reverse, &ip));
    assert_winner(c.reverse, "10.1.0.1", "0 svc/evil/b");
    assert_true(reverse_is_claimed_beside(c.reverse, &ip, slice_str("svc/good/other")));
    assert_false(reverse_is_claimed_beside(c.reverse, &ip, slice_str("svc/third/other")));
    CLEAR(c.reverse, "svc/evil/b", "10.1.0.1 ");
    CLEAR(c.reverse, "svc/evil/a", "10.1.0.1 ");
    assert_winner(c.reverse, "10.1.0.1", "y svc/good/y");
}

/* ---- Keys ---- */

UNIT_TEST(test_keys)
{
    static const struct {
        const char *ip, *key;
    } rows[] = {
        {"10.0.0.1", "/skydns/arpa/in-addr/10/0/0/1"},
        {"255.255.255.255", "/skydns/arpa/in-addr/255/255/255/255"},
        {"fd00::1",
         "/skydns/arpa/ip6/f/d/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/1"},
        {"2001:db8:1234:5678:9abc:def0:1234:5678",
         "/skydns/arpa/ip6/2/0/0/1/0/d/b/8/1/2/3/4/5/6/7/8/9/a/b/c/d/e/f/0/1/2/3/4/5/6/7/8"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct ip ip = ip_from(rows[i].ip), back;
        CLEANUP_BUF struct buf key = buf_of(REVERSE_KEY_MAX);
        reverse_key(&ip, &key);
        assert_string_equal(buf_cstr(&key), rows[i].key);
        assert_true(reverse_parse_key(buf_slice(&key), &back));
        assert_int_equal(claim_compare_ips(&ip, &back), 0);
    }
}

UNIT_TEST(test_keys_that_are_none)
{
    static const char *const keys[] = {
        "",
        "/skydns/arpa",
        "/skydns/arpa/in-addr",
        "/skydns/arpa/in-addr/",
        "/skydns/arpa/in-addr/10/0/0",
        "/skydns/arpa/in-addr/10/0/0/1/x",
        "/skydns/arpa/in-addr/10/0/0/1/",
        "/skydns/arpa/in-addr/10.0.0.1",
        "/skydns/arpa/in-addr/10/0/0.1",
        "/skydns/arpa/in-addr/010/0/0/1",
        "/skydns/arpa/in-addr/256/0/0/1",
        "/skydns/arpa/in-addr10/0/0/1",
        "/skydns/arpa/in-addr/::1",
        "/skydns/arpa/ip6/f/d/0/0",
        "/skydns/arpa/ip6/F/d/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/1",
        "/skydns/arpa/ip6/g/d/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/1",
        "/skydns/arpa/ip6/f/d/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/1/x",
        "/skydns/arpa/ip6/fd/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/1",
        "/skydns/local/cluster/svc/arpa/in-addr/10/0/0/1",
    };
    struct ip ip;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        assert_that(!reverse_parse_key(slice_str(keys[i]), &ip), "%s was accepted as an address",
                    keys[i]);
    }
}

/* ---- Random sequences ---- */

enum { OWNERS = 7, ADDRESSES = 12, STEPS = 20000 };

struct model {
    /* 0: no claim; else rank * 2 + variant of the host + 1 */
    uint8_t claims[OWNERS][ADDRESSES];
    struct buf told;
};

static struct ip reverse_address(unsigned i)
{
    char text[INET6_ADDRSTRLEN];
    (void)snprintf(text, sizeof(text), i % 2 ? "10.0.0.%u" : "fd00::%x", i);
    return ip_from(text);
}

/* "h<variant>.o<owner>", shorter than any limit. */
static void reverse_host_of(unsigned owner, unsigned claim, char out[16])
{
    (void)snprintf(out, 16, "h%u.o%u", (claim - 1) % 2, owner);
}

/* The name an address should have, "" for none. */
static void reverse_expected(const struct model *m, unsigned address_index, char out[16])
{
    unsigned best_rank = 3;
    out[0] = '\0';
    for (unsigned owner = 0; owner < OWNERS; owner++) {
        unsigned claim = m->claims[owner][address_index];
        char host[16];
        if (claim == 0) {
            continue;
        }
        unsigned rank = (claim - 1) / 2;
        reverse_host_of(owner, claim, host);
        if (rank < best_rank || (rank == best_rank && strcmp(host, out) < 0)) {
            best_rank = rank;
            memcpy(out, host, sizeof(host));
        }
    }
}

static void reverse_step(struct model *m, struct reverse *reverse)
{
    unsigned owner = random_below(OWNERS), count = random_below(4);
    char before[ADDRESSES][16], id[16];
    struct claims claims;
    claims_init(&claims);
    for (unsigned i = 0; i < ADDRESSES; i++) {
        reverse_expected(m, i, before[i]);
        if (random_below(4) < count) {
            m->claims[owner][i] = (uint8_t)random_below(7);
        }
        if (m->claims[owner][i]) {
            char host[16];
            reverse_host_of(owner, m->claims[owner][i], host);
            struct claim claim = {
                .ip = reverse_address(i),
                .rank = (m->claims[owner][i] - 1) / 2,
                .host = slice_str(host),
            };
            claims_add(&claims, &claim);
        }
    }
    claims_seal(&claims);
    (void)snprintf(id, sizeof(id), "o%u", owner);
    buf_clear(&m->told);
    reverse_set(reverse, slice_str(id), &claims, reverse_note_address, &m->told);
    claims_fini(&claims);

    for (unsigned i = 0; i < ADDRESSES; i++) {
        char want[16], spelled[INET6_ADDRSTRLEN + 1];
        struct ip ip = reverse_address(i);
        struct reverse_winner winner = {.host = slice_str("")};
        reverse_expected(m, i, want);
        assert_int_equal(reverse_winner(reverse, &ip, &winner), want[0] != '\0');
        assert_true(slice_equal(winner.host, slice_str(want)));
        (void)ip_format(&ip, spelled);
        size_t len = strlen(spelled);
        spelled[len] = ' ';
        spelled[len + 1] = '\0';
        bool was_told = strstr(buf_cstr(&m->told), spelled) != NULL;
        assert_int_equal(was_told, strcmp(before[i], want) != 0);
    }
}

UNIT_TEST(test_random_sequences)
{
    struct model m = {0};
    random_state = 20260214;
    CLEANUP(reverse_free_of)
    struct reverse *reverse = reverse_new(&(struct reverse_config){.holder = NULL});
    buf_init(&m.told, 1 << 16);
    for (unsigned i = 0; i < STEPS; i++) {
        reverse_step(&m, reverse);
    }
    buf_fini(&m.told);
}
