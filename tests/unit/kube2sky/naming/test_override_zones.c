/* override_zones: which values of --override-zones are taken, and which names they allow whom. */
#include "kube2sky/naming/override_zones.h"

#include "common/base/buf.h"
#include "tests/support/unit_test.h"

static struct override_zones *zones_of(const char *text)
{
    struct override_zones *zones = NULL;
    struct err err = {0};
    assert_that(override_zones_parse(text, "cluster.local.", &zones, &err) >= 0, "%s: %s", text,
                err.msg);
    return zones;
}

UNIT_TEST(test_flags)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"com", "`com`: expected namespaces with so short a zone, like com@prod"},
        {".", "`.`: expected namespaces with so short a zone, like com@prod"},
        {"*.", "`*.`: expected namespaces with so short a zone, like com@prod"},
        {"*.com", "`*.com`: expected namespaces with so short a zone, like com@prod"},
        {"cluster.local",
         "`cluster.local`: expected a zone outside -domain and arpa, and no special "
         "one"},
        {"svc.cluster.local", "`svc.cluster.local`: expected a zone outside -domain"},
        {"10.in-addr.arpa", "`10.in-addr.arpa`: expected a zone outside -domain"},
        {"x.localhost", "`x.localhost`: expected a zone outside -domain"},
        {"a.com,x.onion", "`x.onion`: expected a zone outside -domain"},
        {"a.com,", "``: expected a zone like example.com, *.example.com or"},
        {",a.com", "``: expected a zone like"},
        {"a..com", "`a..com`: expected a zone like"},
        {"a_b.com", "`a_b.com`: expected a zone like"},
        {"*.*.a.com", "`*.*.a.com`: expected a zone like"},
        {"a\\.b.com", "`a\\.b.com`: expected a zone like"},
        {"@a", "`@a`: expected a zone like"},
        {"a.com@", "`a.com@`: expected namespaces like prod+shop after `@`"},
        {"a.com@a+", "`a.com@a+`: expected namespaces like"},
        {"a.com@a++b", "`a.com@a++b`: expected namespaces like"},
        {"a.com@-", "`a.com@-`: expected namespaces like"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct override_zones *zones = NULL;
        struct err err = {0};
        assert_int_equal(override_zones_parse(cases[i].text, "cluster.local.", &zones, &err),
                         ERR_USAGE);
        assert_that(strncmp(err.msg, cases[i].want, strlen(cases[i].want)) == 0, "%s: %s\nwant: %s",
                    cases[i].text, err.msg, cases[i].want);
    }
    override_zones_free(NULL);
}

UNIT_TEST(test_external_zone)
{
    static const struct {
        const char *text, *want; /* the zone, or the error's beginning */
    } cases[] = {
        {"lb.example.com", "lb.example.com."},
        {"LB.Example.com.", "lb.example.com."},
        {"corp", "corp."},
        {"xcluster.local", "xcluster.local."},
        {"", "``: expected a zone like lb.example.com"},
        {".", "`.`: expected a zone like"},
        {"*.example.com", "`*.example.com`: expected a zone like"},
        {"a_b.com", "`a_b.com`: expected a zone like"},
        {"cluster.local",
         "`cluster.local`: expected a zone outside -domain, -multicluster-domain and arpa"},
        {"x.cluster.local", "`x.cluster.local`: expected a zone outside -domain"},
        {"X.Cluster.LOCAL", "`X.Cluster.LOCAL`: expected a zone outside -domain"},
        {"local", "`local`: expected a zone outside -domain"},
        {"clusterset.local", "`clusterset.local`: expected a zone outside -domain"},
        {"b.clusterset.local", "`b.clusterset.local`: expected a zone outside -domain"},
        {"ip6.arpa", "`ip6.arpa`: expected a zone outside -domain"},
        {"x.localhost", "`x.localhost`: expected a zone outside -domain"},
        {"invalid", "`invalid`: expected a zone outside -domain"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        char *zone = NULL;
        int r = override_zones_parse_external(cases[i].text, "cluster.local.", "clusterset.local.",
                                              &zone, &err);
        const char *got = r < 0 ? err.msg : zone;
        assert_that(strncmp(got, cases[i].want, strlen(cases[i].want)) == 0 &&
                        (r < 0) == (cases[i].want[0] == '`'),
                    "%s: %s\nwant: %s", cases[i].text, got, cases[i].want);
        free(zone);
    }
}

/* No name in the external zone is allowed, nor a zone. */
UNIT_TEST(test_reserved)
{
    static const struct {
        const char *zones, *name;
        enum override_verdict want; /* OVERRIDE_RESERVED without a name: the zones are refused */
    } cases[] = {
        {"example.com", "lb.example.com", OVERRIDE_RESERVED},
        {"example.com", "x.lb.example.com", OVERRIDE_RESERVED},
        {"example.com", "xlb.example.com", OVERRIDE_ALLOWED},
        {"example.com", "example.com", OVERRIDE_ALLOWED},
        {"lb.example.com", NULL, OVERRIDE_RESERVED},
        {"example.com,*.x.lb.example.com", NULL, OVERRIDE_RESERVED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct override_zones *zones = zones_of(cases[i].zones);
        struct err err = {0};
        struct dname name;
        assert_int_equal(override_zones_reserve(zones, "lb.example.com.", "-external-zone", &err),
                         cases[i].name ? 0 : ERR_USAGE);
        if (cases[i].name) {
            assert_true(override_name_parse(slice_str(cases[i].name), &name));
            assert_int_equal(override_zones_judge(zones, &name, slice_str("a")), cases[i].want);
        }
        override_zones_free(zones);
    }
}

UNIT_TEST(test_limits)
{
    for (int extra = 0; extra < 2; extra++) {
        struct override_zones *zones = NULL;
        struct err err = {0};
        CLEANUP_BUF struct buf text = buf_of(1 << 20);
        for (int i = 0; i < OVERRIDE_ZONES_MAX + extra; i++) {
            buf_printf(&text, "%sz%d.com", i ? "," : "", i);
        }
        int r = override_zones_parse(buf_cstr(&text), "cluster.local.", &zones, &err);
        assert_int_equal(r, extra ? ERR_USAGE : 0);
        override_zones_free(zones);
        buf_clear(&text);
        zones = NULL;
        buf_append_str(&text, "a.com@");
        for (int i = 0; i < OVERRIDE_NAMESPACES_MAX + extra; i++) {
            buf_printf(&text, "%sn%d", i ? "+" : "", i);
        }
        r = override_zones_parse(buf_cstr(&text), "cluster.local.", &zones, &err);
        assert_int_equal(r, extra ? ERR_USAGE : 0);
        override_zones_free(zones);
    }
}

static enum override_verdict naming_override_zones_judge(const struct override_zones *zones,
                                                         const char *text, const char *ns)
{
    struct dname name;
    return override_name_parse(slice_str(text), &name)
               ? override_zones_judge(zones, &name, slice_str(ns))
               : OVERRIDE_NO_NAME;
}

UNIT_TEST(test_verdicts)
{
    static const struct {
        const char *zones, *name, *ns;
        enum override_verdict want;
    } cases[] = {
        {"example.com", "example.com", "a", OVERRIDE_ALLOWED},
        {"Example.COM", "eXample.com.", "a", OVERRIDE_ALLOWED},
        {"example.com", "x.y.example.com", "a", OVERRIDE_ALLOWED},
        {"example.com", "xexample.com", "a", OVERRIDE_OUTSIDE},
        {"example.com", "com", "a", OVERRIDE_OUTSIDE},
        {"example.com", "*.example.com", "a", OVERRIDE_WILDCARD},
        {"*.example.com", "*.example.com", "a", OVERRIDE_ALLOWED},
        {"*.example.com", "*.x.example.com", "a", OVERRIDE_ALLOWED},
        {"*.example.com", "x.example.com", "a", OVERRIDE_ALLOWED},
        {"*.example.com", "example.com", "a", OVERRIDE_OUTSIDE},
        {"*.example.com", "*.com", "a", OVERRIDE_OUTSIDE},
        {"example.com@b+c", "x.example.com", "a", OVERRIDE_NAMESPACE},
        {"example.com@b+c", "x.example.com", "c", OVERRIDE_ALLOWED},
        {"example.com@b+c", "x.example.com", "", OVERRIDE_ALLOWED},
        {"example.com,x.example.com@b", "y.x.example.com", "a", OVERRIDE_NAMESPACE},
        {"x.example.com@b,example.com", "y.x.example.com", "b", OVERRIDE_ALLOWED},
        {"x.example.com@b,example.com", "y.example.com", "a", OVERRIDE_ALLOWED},
        {"example.com@a,example.com@b", "example.com", "b", OVERRIDE_ALLOWED},
        {"*.example.com,x.example.com@b", "*.x.example.com", "a", OVERRIDE_NAMESPACE},
        {"*.example.com@b,x.example.com@a", "*.x.example.com", "a", OVERRIDE_WILDCARD},
        {"*.example.com,x.example.com@b", "*.x.example.com", "b", OVERRIDE_ALLOWED},
        {".@a", "x.org", "a", OVERRIDE_ALLOWED},
        {".@a", "org", "a", OVERRIDE_ALLOWED},
        {".@a", "x.org", "b", OVERRIDE_NAMESPACE},
        {".@a", "*.org", "a", OVERRIDE_WILDCARD},
        {"*.@a", "*.org", "a", OVERRIDE_ALLOWED},
        {".@a", "web.default.svc.cluster.local", "a", OVERRIDE_RESERVED},
        {".@a", "cluster.local", "a", OVERRIDE_RESERVED},
        {".@a", "local", "a", OVERRIDE_ALLOWED},
        {".@a", "1.0.0.10.in-addr.arpa", "a", OVERRIDE_RESERVED},
        {".@a", "resolver.arpa", "a", OVERRIDE_RESERVED},
        {".@a", "localhost", "a", OVERRIDE_RESERVED},
        {".@a", "x.invalid", "a", OVERRIDE_RESERVED},
        {".@a", "x.onion", "a", OVERRIDE_RESERVED},
        {".@a", "*", "a", OVERRIDE_NO_NAME},
        {".@a", "", "a", OVERRIDE_NO_NAME},
        {".@a", ".", "a", OVERRIDE_NO_NAME},
        {".@a", "a b.org", "a", OVERRIDE_NO_NAME},
        {".@a", "_x.org", "a", OVERRIDE_NO_NAME},
        {".@a", "x.*.org", "a", OVERRIDE_NO_NAME},
        {".@a", "*x.org", "a", OVERRIDE_NO_NAME},
        {".@a", "x\\.y.org", "a", OVERRIDE_NO_NAME},
        {".@a", "x..org", "a", OVERRIDE_NO_NAME},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct override_zones *zones = zones_of(cases[i].zones);
        enum override_verdict got = naming_override_zones_judge(zones, cases[i].name, cases[i].ns);
        assert_that(got == cases[i].want, "%s, %s of %s: got \"%s\", want \"%s\"", cases[i].zones,
                    cases[i].name, cases[i].ns, override_verdict_text(got),
                    override_verdict_text(cases[i].want));
        override_zones_free(zones);
    }
}

/* With the label of a key below it. */
UNIT_TEST(test_longest_name)
{
    for (int len = 50; len < 54; len++) {
        struct dname name;
        CLEANUP_FREE char *text = xasprintf("%063d.%063d.%063d.%0*d", 0, 0, 0, len, 0);
        assert_int_equal(override_name_parse(slice_str(text), &name), len <= 52);
    }
}
