/* Plugins about names outside the domains, as flags: rewrite, template, dns64, etcd; and nsid. */
#include "tests/support/skydns/corefile_rows.h"
#include "tests/support/unit_test.h"

#define FORWARD    "forward . 9.9.9.9\n"
#define KUBERNETES "kubernetes cluster.local\n"
#define FILTER     "template ANY AAAA"

UNIT_TEST(test_rewrite)
{
    static const struct corefile_row rows[] = {
        {". {\n" FORWARD KUBERNETES "rewrite name API.example.com web.prod.svc.cluster.local.\n}",
         {"-alias=api.example.com=web.prod.svc.cluster.local ", "-stub=api.example.com=none ",
          "\"aliases\":{\"api.example.com\":\"web.prod.svc.cluster.local\"}"},
         "rewrite"},
        {". {\n" FORWARD "rewrite stop name exact a.test b.test answer auto\n}",
         {"-alias=a.test=b.test "},
         "rewrite"},
        {". {\n" FORWARD "rewrite name suffix .a.test .b.test\n}",
         {"'-alias=*.a.test=*.b.test' "},
         "rewrite"},
        {". {\n" FORWARD "rewrite name suffix a.test b.test\n}",
         {"-alias=a.test=b.test ", "'-alias=*.a.test=*.b.test' ", "only ends like that"},
         NULL},
        {". {\n" FORWARD "rewrite name suffix .a.test b.test\n}",
         {"rewrite name suffix"},
         "-alias="},
        {". {\n" FORWARD "rewrite name suffix . .b.test\n}", {"rewrite name suffix"}, "-alias="},
        {". {\n" FORWARD "rewrite name suffix .a.test .b.test\nrewrite name x.a.test c.test\n}",
         {"'-alias=*.a.test=*.b.test' ", "an earlier rule has the name"},
         "x.a.test="},
        {". {\n" FORWARD "rewrite name a.test b.test answer name x y\n}",
         {"-alias=a.test=b.test ", "an answer always has the name"},
         NULL},
        {". {\n" FORWARD "rewrite continue name a.test b.test\n}", {"rewrite continue"}, "-alias="},
        {". {\n" FORWARD "rewrite name prefix a b\n}", {"none: -alias takes names"}, "-alias="},
        {". {\n" FORWARD "rewrite name a.test\n}", {"rewrite name a.test: none"}, "-alias="},
        {". {\n" FORWARD "rewrite name exact a.test\n}", {"rewrite name exact"}, "-alias="},
        {". {\n" FORWARD "rewrite\n}", {"rewrite: none"}, "-alias="},
        {". {\n" FORWARD "rewrite type A AAAA\n}", {"rewrite type A AAAA: none"}, "-alias="},
        {". {\n" FORWARD "rewrite name {\na.test b.test\n}\n}", {"of several rules"}, "-alias="},
        {". {\n" FORWARD KUBERNETES "rewrite name a.cluster.local b.test\n}",
         {"a.cluster.local=b.test: none: -alias is for names outside"},
         "-alias=a"},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

/* Whatever comes first, the plugin or kubernetes; unsure zones stay from upstreams. */
UNIT_TEST(test_external_zone)
{
    static const struct corefile_row rows[] = {
        {". {\n" FORWARD "k8s_external LB.test. {\nheadless\napex dns\n}\n" KUBERNETES "}",
         {"--external-zone=lb.test ", "--external-zone-headless", "-external-zones=lb.test ",
          "\"external_zones\":[\"lb.test\"]"},
         "-stub="},
        {"lb.test {\n" KUBERNETES "k8s_external\n}", {"--external-zone=lb.test ", "-no-rec"}, NULL},
        {". {\n" FORWARD KUBERNETES "k8s_external a.test b.test\n}",
         {"--external-zone=a.test ", "-external-zones=a.test ", "-stub=b.test=none "},
         "-stub=a.test"},
        {". {\n" FORWARD KUBERNETES "k8s_external x.cluster.local local 10.0.0.0/8 invalid\n}",
         {"beside the domains", "-stub=local=none ", "-stub=invalid=none "},
         "external-zones="},
        {". {\n" FORWARD "k8s_external a.test\n}", {"in its block", "-stub=a.test=none "}, NULL},
        {". {\n" FORWARD KUBERNETES
         "}\nb.test {\nkubernetes b.test {\nttl 9\n}\nk8s_external a.test\n}",
         {"another one has other options", "-stub=a.test=none "},
         "external-zones="},
        {". {\n" KUBERNETES "k8s_external a.test {\nsecret\n}\n}", {"-allow=none"}, NULL},
        {". {\n" KUBERNETES "k8s_external a.test\ntransfer a.test cluster.local {\nto *\n}\n}",
         {"-transfer-to=0.0.0.0/0"},
         NULL},
        {". {\n" KUBERNETES "k8s_external a.test\ntransfer cluster.local {\nto *\n}\n}",
         {"nobody may transfer"},
         "-transfer-to=0"},
        {". {\n" KUBERNETES "k8s_external a.test\nrewrite name x.a.test y.test\n}",
         {"outside the zones answered here"},
         "-alias=x"},
        {". {\n" KUBERNETES "k8s_external a.test\ndnssec {\nkey file Ka.test.+013+1\n}\n}",
         {"-dnssec=Ka.test.+013+1"},
         NULL},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_template)
{
    static const struct corefile_row rows[] = {
        {". {\n" FORWARD FILTER " {\nrcode NOERROR\n}\n}",
         {"-no-aaaa=all ", "-nameservers=9.9.9.9:53 ", "\"no_aaaa\":[\"all\"]"},
         "template"},
        {". {\n" FORWARD "template IN AAAA a.test b.test. {\nmatch .*\nauthority \"x\"\n}\n}",
         {"-no-aaaa=a.test,b.test "},
         "template"},
        {". {\n" FORWARD "}\na.test {\n" FILTER "\nforward . 9.9.9.9\n}",
         {"-no-aaaa=a.test "},
         NULL},
        {". {\n" FORWARD KUBERNETES FILTER "\n}",
         {"-no-aaaa=all ", "all: -no-aaaa is for names outside the zones answered here"},
         NULL},
        {". {\n" FORWARD FILTER " ads.test {\nrcode NXDOMAIN\n}\n}",
         {"template ANY AAAA ads.test: none", "-stub=ads.test=none "},
         "-no-aaaa"},
        {". {\n" FORWARD FILTER " ads.test {\nmatch ^x\n}\n}",
         {"-stub=ads.test=none "},
         "-no-aaaa"},
        {". {\n" FORWARD FILTER " ads.test {\nanswer \"x\"\n}\n}",
         {"-stub=ads.test=none "},
         "-no-aaaa"},
        {". {\n" FORWARD "template ANY A ads.test\n}", {"-stub=ads.test=none "}, "-no-aaaa"},
        {". {\n" FORWARD "template ANY\n}", {" -no-rec "}, "-no-aaaa"},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_dns64)
{
    static const struct corefile_row rows[] = {
        {". {\n" FORWARD "dns64\n}", {"-dns64=64:ff9b::/96 ", "over IPv4"}, NULL},
        {". {\n" FORWARD "dns64 2001:db8:1::/48\n}", {"-dns64=2001:db8:1::/48 "}, NULL},
        {". {\n" FORWARD "dns64 {\nprefix 2001:db8::/96\nallow_ipv4\ntranslate_all\n}\n}",
         {"-dns64=2001:db8::/96 ", "translate_all: none", "\"dns64\":\"2001:db8::/96\""},
         "over IPv4"},
        {". {\n" FORWARD "dns64 2001:db8::/33\n}", {"expected a prefix"}, "-dns64="},
        {". {\n" FORWARD "dns64 2001:db8::1/96\n}", {"expected a prefix"}, "-dns64="},
        {". {\n" FORWARD "dns64 2001:db8:0:0:100::/96\n}", {"expected a prefix"}, "-dns64="},
        {". {\n" FORWARD "dns64 10.0.0.0/8\n}", {"expected a prefix"}, "-dns64="},
        {". {\n" FORWARD "}\na.test {\ndns64\nforward . 9.9.9.9\n}",
         {"one -dns64 for all zones"},
         "-dns64=64"},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_etcd)
{
    static const struct corefile_row rows[] = {
        {". {\netcd a.test\n" FORWARD "}", {"-domain=a.test "}, "-overrides"},
        {". {\netcd a.test {\nfallthrough\n}\n" FORWARD "}",
         {" -overrides ", "-nameservers=9.9.9.9:53 ", "\"overrides\":true"},
         "-domain=a.test"},
        {". {\netcd a.test b.test {\nfallthrough b.test\n}\n" FORWARD "}",
         {" -overrides ", "-domain=a.test "},
         NULL},
        {". {\netcd {\nfallthrough\n}\n" FORWARD "}",
         {" -overrides ", "-nameservers=9.9.9.9:53 "},
         "the root is no domain"},
        {". {\netcd\n" FORWARD "}", {" -overrides ", " -no-rec "}, "-nameservers="},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_nsid)
{
    static const struct corefile_row rows[] = {
        {". {\n" FORWARD "nsid replica-0\n}", {"-nsid=replica-0\n"}, "nsid: "},
        {". {\n" FORWARD "nsid \"replica 0\" of 2\n}", {"'-nsid=replica 0 of 2'\n"}, NULL},
        {". {\n" FORWARD "nsid\n}", {"nsid: without a text"}, "\n  -nsid="},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}
