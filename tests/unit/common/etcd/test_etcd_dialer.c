/* common/etcd/etcd_dialer_internal.h: which address comes next, with scripted lookups. */
#include <pthread.h>
#include <semaphore.h>

#include "common/etcd/etcd_dialer_internal.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/unit_test.h"

/* ---- The names, as seen by the lookup's thread ---- */

static pthread_mutex_t names_mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *names_addresses; /* "10.0.0.1 10.0.0.2"; NULL = the lookup fails */
static sem_t gate;                  /* lets one lookup pass per post */

static void etcd_dialer_set_names(const char *addresses)
{
    assert_int_equal(pthread_mutex_lock(&names_mutex), 0);
    names_addresses = addresses;
    assert_int_equal(pthread_mutex_unlock(&names_mutex), 0);
}

static int look_up_gated(const char *host, uint16_t port, struct name_addresses *ret,
                         struct err *err)
{
    while (sem_wait(&gate) != 0) {
    }
    (void)pthread_mutex_lock(&names_mutex);
    const char *text = names_addresses;
    (void)pthread_mutex_unlock(&names_mutex);
    if (!text) {
        return err_set(err, ERR_UNAVAILABLE, "look up `%s`: nobody knows it", host);
    }
    memset(ret, 0, sizeof(*ret));
    while (*text) {
        size_t len = strcspn(text, " ");
        struct ip ip;
        struct addr *a = &ret->items[ret->count++];
        (void)ip_parse(slice_of(text, len), &ip);
        a->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
        memcpy(&a->v4.sin_addr, ip.bytes, 4);
        a->len = sizeof(a->v4);
        text += len + (text[len] == ' ');
    }
    return 0;
}

/* ---- One dialer ---- */

struct outcome {
    unsigned count; /* of callbacks */
    char text[600]; /* the address, or the message */
};

static struct ev_loop *loop;
static struct etcd_endpoints endpoints;
static struct etcd_dialer *dialer;
static struct outcome last;

static void etcd_dialer_on_address(void *data, const struct addr *address)
{
    char text[ADDR_TEXT_MAX];
    last.count++;
    (void)snprintf(last.text, sizeof(last.text), "%s", addr_format(address, text)); /* fits */
}

static void etcd_dialer_on_no_address(void *data, const struct etcd_endpoint *endpoint,
                                      const struct err *err)
{
    last.count++;
    assert_non_null(strstr(err->msg, endpoint->host));
    (void)snprintf(last.text, sizeof(last.text), "%s", err->msg); /* fits */
}

static void etcd_dialer_begin(const char *urls)
{
    struct err err;
    assert_that(etcd_endpoints_parse(urls, &endpoints, &err) == 0, "%s", err.msg);
    dialer =
        etcd_dialer_new(&(struct etcd_dialer_config){.loop = loop,
                                                     .endpoints = &endpoints,
                                                     .look_up = look_up_gated,
                                                     .on_address = etcd_dialer_on_address,
                                                     .on_no_address = etcd_dialer_on_no_address});
}

static int etcd_dialer_each(void **state)
{
    loop = ev_loop_new(EVFLAG_AUTO);
    (void)sem_init(&gate, 0, 0);
    return 0;
}

static int etcd_dialer_each_end(void **state)
{
    etcd_dialer_free(dialer);
    etcd_endpoints_fini(&endpoints);
    ev_loop_destroy(loop);
    return 0;
}

UNIT_TESTS_EACH(etcd_dialer_each, etcd_dialer_each_end)
UNIT_TESTS_HAVE_THREADS

static bool is_found(const void *data)
{
    return last.count > *(const unsigned *)data;
}

static const char *find_endpoints_text(void)
{
    unsigned before = last.count;
    memset(last.text, 0, sizeof(last.text));
    etcd_dialer_find(dialer);
    loop_until(loop, is_found, &before);
    assert_int_equal(last.count, before + 1);
    return last.text;
}

static const char *find_after_look_up(void)
{
    assert_int_equal(sem_post(&gate), 0);
    return find_endpoints_text();
}

/* ---- Tests ---- */

UNIT_TEST(test_literals_in_turn)
{
    static const char *const want[] = {"10.0.0.1:1", "[fd00::2]:2", "10.0.0.3:3"};
    size_t first = 0;
    etcd_dialer_begin("http://10.0.0.1:1,http://[fd00::2]:2,http://10.0.0.3:3");
    const char *text = find_endpoints_text();
    while (first < 2 && strcmp(text, want[first]) != 0) {
        first++;
    }
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(last.text, want[(first + i) % 3]);
        assert_false(etcd_dialer_next_address(dialer)); /* each has only one */
        find_endpoints_text();
    }
}

UNIT_TEST(test_random_start)
{
    unsigned seen = 0;
    etcd_dialer_begin("http://10.0.0.1:1,http://10.0.0.2:2");
    /* Fails without reason once in 2^63. */
    for (int i = 0; i < 64; i++) {
        seen |= strcmp(etcd_dialer_endpoint(dialer)->host, "10.0.0.1") == 0 ? 1 : 2;
        etcd_dialer_free(dialer);
        etcd_endpoints_fini(&endpoints);
        etcd_dialer_begin("http://10.0.0.1:1,http://10.0.0.2:2");
    }
    assert_int_equal(seen, 3);
}

UNIT_TEST(test_all_addresses_of_a_name)
{
    etcd_dialer_begin("http://etcd:1");
    etcd_dialer_set_names("10.0.0.1 10.0.0.2 10.0.0.3");
    assert_string_equal(find_after_look_up(), "10.0.0.1:1");
    assert_true(etcd_dialer_next_address(dialer));
    assert_string_equal(find_endpoints_text(),
                        "10.0.0.2:1"); /* from the same lookup: the gate is closed */
    assert_true(etcd_dialer_next_address(dialer));
    assert_string_equal(find_endpoints_text(), "10.0.0.3:1");
    assert_false(etcd_dialer_next_address(dialer));

    /* Looked up again; the new result counts. */
    etcd_dialer_set_names("10.0.0.4");
    assert_string_equal(find_after_look_up(), "10.0.0.4:1");
    etcd_dialer_next_endpoint(dialer);
    etcd_dialer_set_names("10.0.0.5 10.0.0.6");
    assert_string_equal(find_after_look_up(), "10.0.0.5:1");

    /* An address that worked comes first again. */
    assert_true(etcd_dialer_next_address(dialer));
    assert_string_equal(find_endpoints_text(), "10.0.0.6:1");
    etcd_dialer_next_endpoint(dialer);
    assert_string_equal(find_after_look_up(), "10.0.0.6:1");
}

UNIT_TEST(test_fails_then_succeeds_then_fails)
{
    etcd_dialer_begin("http://etcd:1");
    etcd_dialer_set_names(NULL);
    assert_string_equal(find_after_look_up(), "look up `etcd`: nobody knows it");
    assert_string_equal(find_after_look_up(), "look up `etcd`: nobody knows it");
    etcd_dialer_set_names("10.0.0.1");
    assert_string_equal(find_after_look_up(), "10.0.0.1:1");
    etcd_dialer_next_endpoint(dialer);
    etcd_dialer_set_names(NULL); /* keeps the last known addresses */
    assert_string_equal(find_after_look_up(), "10.0.0.1:1");
}

UNIT_TEST(test_late)
{
    etcd_dialer_begin("http://etcd:1");
    etcd_dialer_set_names("10.0.0.1");
    assert_string_equal(find_endpoints_text(), "look up `etcd`: no answer within 2000 ms");
    assert_int_equal(sem_post(&gate), 0); /* then it arrives */
    assert_string_equal(find_endpoints_text(), "10.0.0.1:1");
    etcd_dialer_next_endpoint(dialer);

    assert_string_equal(find_endpoints_text(),
                        "10.0.0.1:1"); /* the next lookup is late, too: the old address */
    etcd_dialer_next_endpoint(dialer);
    assert_int_equal(sem_post(&gate), 0); /* for the thread still waiting */
    find_endpoints_text();
}

UNIT_TEST(test_cancel)
{
    etcd_dialer_begin("http://etcd:1");
    etcd_dialer_set_names("10.0.0.1 10.0.0.2");
    unsigned before = last.count;
    etcd_dialer_find(dialer);
    etcd_dialer_cancel(dialer);
    assert_int_equal(sem_post(&gate), 0);
    assert_string_equal(find_endpoints_text(), "10.0.0.1:1"); /* from the lookup in flight */
    assert_int_equal(last.count, before + 1);

    etcd_dialer_cancel(dialer); /* starts over, with a lookup */
    etcd_dialer_set_names("10.0.0.3");
    assert_string_equal(find_after_look_up(), "10.0.0.3:1");
}
