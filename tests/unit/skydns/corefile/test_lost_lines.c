/* Nothing of a Corefile is lost without a comment: lines of which another one takes the place, and
 * words beside others. */
#include "tests/support/skydns/corefile_rows.h"
#include "tests/support/unit_test.h"

#define FORWARD "forward . 9.9.9.9\n"

UNIT_TEST(test_lines_beside_others)
{
    static const struct corefile_row rows[] = {
        {". {\nbind 127.0.0.1\nbind 127.0.0.2\n}", {"-addr=127.0.0.1:53,127.0.0.2:53"}, NULL},
        {". {\nforward . 9.9.9.9 /etc/resolv.conf\n}",
         {"-nameservers=9.9.9.9:53", "Narrower", "put those of /etc/resolv.conf in its place"},
         NULL},
        {"a.test {\nforward . /etc/resolv.conf 9.9.9.9\n}",
         {"-stub=a.test=9.9.9.9:53", "put those of /etc/resolv.conf in its place"},
         NULL},
        {". {\nbind 127.0.0.1\nhealth 127.0.0.1:81\nhealth 127.0.0.1:82\n}",
         {"-http-addr=127.0.0.1:81", "Corefile:4: health 127.0.0.1:82: none: -http-addr is one"},
         "-http-addr=127.0.0.1:82"},
        {". {\nhosts {\n10.0.0.1 a.test\n}\n}", {"-hosts=skydns.hosts", "-hosts=/etc/hosts"}, NULL},
        {". {\nhosts {\n10.0.0.1 a.test $(x) b.test\n}\n}",
         {"\n10.0.0.1 a.test b.test\n", "Corefile:3: 10.0.0.1 a.test $(x) b.test: expected"},
         NULL},
        {". {\nlog {\nclass success\n}\n}",
         {"-query-log=all", "it has more than these classes"},
         NULL},
        {". {\nlog {\nclass denial\n}\n}", {"-query-log=denials"}, "more than these"},
        {". {\nlog {\nclass success denial error\n}\n}", {"-query-log=all"}, "more than these"},
        {". {\nlog {\nclass denial\n}\nlog {\nclass error\n}\n}", {"more than these"}, NULL},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_options)
{
    static const struct corefile_row rows[] = {
        {". {\nany\n" FORWARD "}", {"-any=hinfo", "ANY of others is REFUSED"}, NULL},
        {". {\nany\n}", {"-any=hinfo"}, "ANY of others"},
        {". {\nloadbalance {\nprefer 10.0.0.0/8\n}\n}",
         {"Corefile:3: prefer 10.0.0.0/8: none: no network comes first"},
         NULL},
        {". {\nbind 127.0.0.1\nprometheus 127.0.0.1:81 {\ntls c k\n}\n}",
         {"tls c k: -http-addr is without TLS"},
         "-http-addr="},
        {". {\netcd a.test\n}",
         {"records without a ttl have 300 s there", "# {\"no_rec\":true,\"ttl\":300}"},
         NULL},
        {". {\ndnstap tcp://127.0.0.1:6000 {\ntls c k\n}\n}", {"tls c k: none: no TLS"}, NULL},
        {". {\nproxyproto\nnsid\nsiit\n}", {"proxyproto: none", "siit: none"}, "default build"},
        {"quic://a.test {\n" FORWARD "}", {"no DNS over QUIC"}, NULL},
        {". {\netcd a.test {\nno_apex_fallback\n}\n}", {"no_apex_fallback: none"}, NULL},
        {". {\ntransfer {\nto *\nsource 127.0.0.1\n}\n}", {"source 127.0.0.1: none"}, NULL},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

/* Each cache has room for replies and denials, 9,984 of each without a word. */
UNIT_TEST(test_caches_of_blocks)
{
    static const struct corefile_row rows[] = {
        {". {\n" FORWARD "cache 300 {\nsuccess 3000\ndenial 500\n}\n}\na.test {\nforward . "
         "9.9.9.8\ncache 300 {\nsuccess 3000\ndenial 500\n}\n}",
         {"-rcache=7000", "\"rcache\":7000"},
         NULL},
        {". {\n" FORWARD "cache {\nsuccess 16\n}\n}\na.test {\nforward . 9.9.9.8\ncache\n}",
         {"-rcache=29968"},
         NULL},
        {". {\n" FORWARD "cache\n}\na.test {\nforward . 9.9.9.8\ncache\n}", {"skydns"}, "-rcache="},
        {". {\n" FORWARD "cache {\nsuccess 5\nsuccess 6\ndenial 5\n}\n}",
         {"-rcache=10", "success 6: another line"},
         NULL},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_both_plugins_of_domains)
{
    static const struct corefile_row rows[] = {
        {". {\nkubernetes a.test\netcd b.test {\nendpoint http://e:1\ncredentials u p\ntls c k "
         "ca\n}\n}",
         {"--etcd-server=http://e:1", "--etcd-username=u", "--etcd-password-file=etcd-password",
          "--etcd-certfile=c", "--etcd-keyfile=k", "--etcd-cafile=ca"},
         "below /skydns"},
        {". {\nkubernetes a.test\netcd b.test {\npath /other\n}\n}",
         {"kube2sky writes below /skydns"},
         NULL},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

/* -reverse-zones takes any network; CoreDNS makes zones of whole octets of it. */
UNIT_TEST(test_networks)
{
    static const struct corefile_row rows[] = {
        {". {\nkubernetes a.test 10.96.0.0/12 fd00:10:96::/112\n" FORWARD "}",
         {"-reverse-zones=10.96.0.0/12,fd00:10:96::/112", "-nameservers=9.9.9.9:53"},
         "ip6.arpa"},
        {"a.test 10.96.0.0/17 {\nkubernetes\n}\n. {\n" FORWARD "}",
         {"-domain=a.test ", "-reverse-zones=10.96.0.0/17 ", "-nameservers=9.9.9.9:53"},
         "in-addr.arpa"},
        {". {\nkubernetes a.test 10.96.0.0/12 {\nfallthrough 10.96.0.0/12\n}\n}",
         {"-domain=a.test"},
         "-reverse-zones="},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}
