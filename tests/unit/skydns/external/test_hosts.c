/* Hosts files: what their lines say, what of them is left out, and what is found again. */
#include "skydns/external/hosts_file.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

enum { TEXT_MAX = 4096 };

enum { ENOUGH = 1 << 20 }; /* bytes */

static const char *hosts_addresses(const struct hosts_table *table, const char *text)
{
    static char out[TEXT_MAX];
    struct dname name = dname_from(text);
    size_t count, n = 0;
    const struct ip *ips = hosts_table_find(table, &name, &count);
    out[0] = '\0';
    assert_int_equal(ips != NULL, count > 0);
    for (size_t i = 0; i < count; i++) {
        char address[INET6_ADDRSTRLEN];
        n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%s", i ? " " : "",
                              ip_format(&ips[i], address));
    }
    return out;
}

static const char *first_name(const struct hosts_table *table, const char *text)
{
    static char out[DNAME_TEXT_MAX];
    struct ip ip = ip_from(text);
    const struct slice wire = hosts_table_name(table, &ip);
    struct dname name = {.len = (uint8_t)wire.len};
    if (wire.len == 0) {
        return "";
    }
    memcpy(name.wire, wire.ptr, wire.len);
    return dname_to_text(&name, out);
}

static struct hosts_table *table_of(const char *text, struct hosts_report *report)
{
    struct hosts_reader reader = {.text = slice_str(text)};
    struct hosts_table *table = hosts_table_new(ENOUGH);
    struct hosts_entry entry;
    while (hosts_reader_next(&reader, &entry)) {
        assert_true(hosts_table_add(table, &entry));
    }
    *report = reader.report;
    return table;
}

UNIT_TEST(test_lines)
{
    struct hosts_report report;
    struct hosts_table *table = table_of("# a comment\n"
                                         "10.0.0.1 Db.Test db.\tdb2.test# the first\r\n"
                                         "\n   \t\n"
                                         "  fd00::1   db.test\n"
                                         "10.0.0.2\t db.test\n"
                                         "10.0.0.1 db.test again.test\n"
                                         "::ffff:10.0.0.3 mapped.test\n"
                                         "010.000.0.05 zeros.test\n"
                                         "10.0.0.4 last.test",
                                         &report);
    assert_int_equal(report.bad_lines, 0);
    assert_int_equal(hosts_table_count(table), 7);
    assert_string_equal(hosts_addresses(table, "db.test"), "10.0.0.1 fd00::1 10.0.0.2");
    assert_string_equal(hosts_addresses(table, "db"), "10.0.0.1");
    assert_string_equal(hosts_addresses(table, "db2.test"), "10.0.0.1");
    assert_string_equal(hosts_addresses(table, "mapped.test"), "10.0.0.3");
    assert_string_equal(hosts_addresses(table, "last.test"), "10.0.0.4");
    assert_string_equal(hosts_addresses(table, "test"), "");
    assert_string_equal(hosts_addresses(table, "x.db.test"), "");
    assert_string_equal(first_name(table, "10.0.0.1"), "db.test.");
    assert_string_equal(first_name(table, "fd00::1"), "db.test.");
    assert_string_equal(first_name(table, "10.0.0.3"), "mapped.test.");
    assert_string_equal(hosts_addresses(table, "zeros.test"), "10.0.0.5");
    assert_string_equal(first_name(table, "10.0.0.5"), "zeros.test.");
    assert_string_equal(first_name(table, "10.0.0.9"), "");
    hosts_table_unref(hosts_table_ref(table));
    hosts_table_unref(table);
    hosts_table_unref(NULL);
}

/* A bad line is left out whole, so that no name has half of its line's data. */
UNIT_TEST(test_bad_lines)
{
    static const struct {
        const char *line, *why;
    } rows[] = {
        {"10.0.0 a.test", "expected an address first"},
        {"a.test 10.0.0.1", "expected an address first"},
        {"fe80::1%lo a.test", "expected an address first"},
        {"10.0.0.1", "expected a name"},
        {"10.0.0.1 # a.test", "expected a name"},
        {"10.0.0.1 a.test b..test", "not a DNS name"},
        {"10.0.0.1 a.test .", "not a DNS name"},
        {"10.0.0.1 a.test b\\999.test", "not a DNS name"},
        {"10.0.0.1 a.test \xc3\xa4.test", "not a DNS name"},
        {"10.0.0.1 a.test b\x01.test", "not a DNS name"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct hosts_report report;
        char text[128];
        (void)snprintf(text, sizeof(text), "10.0.0.8 before.test\n%s\n10.0.0.9 after.test\n",
                       rows[i].line); /* fits */
        struct hosts_table *table = table_of(text, &report);
        assert_int_equal(report.bad_lines, 1);
        assert_int_equal(report.shown[0].line, 2);
        assert_non_null(strstr(report.shown[0].why, rows[i].why));
        assert_int_equal(hosts_table_count(table), 2);
        assert_string_equal(hosts_addresses(table, "a.test"), "");
        assert_string_equal(hosts_addresses(table, "after.test"), "10.0.0.9");
        hosts_table_unref(table);
    }
}

UNIT_TEST(test_many_bad_lines)
{
    enum { LINES = HOSTS_BAD_LINES_SHOWN + 5 };
    char text[LINES * 2 + 1] = "";
    struct hosts_report report;
    for (size_t i = 0; i < LINES; i++) {
        memcpy(text + 2 * i, "x\n", 3);
    }
    hosts_table_unref(table_of(text, &report));
    assert_int_equal(report.bad_lines, LINES);
    assert_int_equal(report.shown[HOSTS_BAD_LINES_SHOWN - 1].line, HOSTS_BAD_LINES_SHOWN);
}

/* The table has as many names as the header promises for the memory; each is found. */
UNIT_TEST(test_room)
{
    enum { BYTES_MAX = 8 << 20, NAMES = 200000, NAME_BYTES = 100 };
    struct hosts_table *table = hosts_table_new(BYTES_MAX);
    struct hosts_entry entry = {.ip = {.family_bytes = 4}};
    size_t cached = 0;
    for (size_t i = 0; i < NAMES; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "blocked%zu.test", i);
        entry.name = dname_from(text);
        const bool is_added = hosts_table_add(table, &entry);
        assert_true(!is_added || cached == i); /* none after the first that is left out */
        cached += is_added;
        assert_string_equal(hosts_addresses(table, text), is_added ? "0.0.0.0" : "");
    }
    assert_in_range(cached, BYTES_MAX / NAME_BYTES, NAMES - 1);
    assert_int_equal(hosts_table_count(table), cached);
    assert_int_equal(hosts_table_left_out(table), NAMES - cached);
    assert_string_equal(hosts_addresses(table, "blocked0.test"), "0.0.0.0");
    entry.name = dname_from("blocked0.test"); /* full for further addresses, too */
    entry.ip.bytes[0] = 10;
    assert_false(hosts_table_add(table, &entry));
    assert_string_equal(first_name(table, "0.0.0.0"), "blocked0.test.");
    hosts_table_unref(table);
}

UNIT_TEST(test_many_addresses_of_a_name)
{
    enum { IPS = HOSTS_IPS_MAX + 72 };
    struct hosts_table *table = hosts_table_new(ENOUGH);
    struct hosts_entry entry = {.name = dname_from("a.test")};
    size_t count;
    for (unsigned i = 0; i < 2 * IPS; i++) { /* each twice */
        entry.ip = (struct ip){.family_bytes = 4, .bytes = {10, 0, 0, (uint8_t)(i / 2)}};
        assert_true(hosts_table_add(table, &entry));
    }
    const struct ip *ips = hosts_table_find(table, &entry.name, &count);
    assert_int_equal(count, HOSTS_IPS_MAX);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ips[i].bytes[3], i);
    }
    assert_string_equal(first_name(table, "10.0.0.199"), "a.test.");
    hosts_table_unref(table);
}
