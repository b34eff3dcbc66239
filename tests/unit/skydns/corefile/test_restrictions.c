/* A restriction of a Corefile is one of the flags, too, or nobody is asked or answered. */
#include "tests/support/skydns/corefile_rows.h"
#include "tests/support/unit_test.h"

#define KUBERNETES "kubernetes cluster.local {\npods verified\n}\n"
#define FORWARD    "forward . 9.9.9.9\n"
#define CLOSED     "Nobody may send queries (-allow=none)"

/* Nobody knows what these forbid. */
UNIT_TEST(test_what_is_not_read)
{
    static const struct corefile_row rows[] = {
        {". {\nimport custom/*.override\n" KUBERNETES "}",
         {CLOSED, "Corefile:2: import custom/*.override: files are not read", " -allow=none ",
          "\"allow\":[\"none\"]"},
         NULL},
        {". {\n}\nimport custom/*.server",
         {"Corefile:3: import custom/*.server: files", "=none "},
         NULL},
        {". {\nacl {\nimport rules\n}\n}",
         {"Corefile:3: import rules: files", " -allow=none "},
         NULL},
        {". {\nforward . {$SCHEME}9.9.9.9\n}",
         {"forward . 9.9.9.9: a variable here is not set", " -allow=none "},
         NULL},
        {"{$NONE}:53 {\nforward . 9.9.9.9\n}",
         {":53: a variable here is not set", " -allow=none "},
         NULL},
        {". {\nacl {\nallow net {$ZONE}\nblock net {$NONE}\n}\n}",
         {"acl: a variable here", " -allow=none "},
         NULL},
        {". {\nunheard of\n}", {"unheard of: no plugin of CoreDNS", " -allow=none "}, NULL},
        {". {\nview a {\nexpr client_ip() == '10.0.0.1'\n}\n" KUBERNETES "}",
         {CLOSED, "Corefile:2: view a: only -visibility", " -allow=none "},
         NULL},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_addresses)
{
    static const struct corefile_row rows[] = {
        {". {\nbind 127.0.0.1\nbind 10.0.0.1\n}", {"-addr=127.0.0.1:53,10.0.0.1:53 "}, "0.0.0.0"},
        {". {\nbind 10.0.0.1 10.0.0.2 {\nexcept 10.0.0.2\n}\n}",
         {"-addr=10.0.0.1:53 ", "except 10.0.0.2: not at what it may leave out"},
         "10.0.0.2:53"},
        {". {\nbind ::1 {\nexcept 0:0::1\n}\nbind ::1\n}", {"'-addr=[::1]:53' "}, NULL},
        /* of an interface, and of all addresses, nothing is known */
        {". {\nbind 10.0.0.1 {\nexcept eth0\n}\n}",
         {" -allow=none ", "no address is left"},
         "-addr="},
        {". {\nbind 0.0.0.0 :: {\nexcept 10.0.0.1\n}\n}", {" -allow=none "}, "-addr=0"},
        {". {\nbind 10.0.0.1 {\nunless 10.0.0.1\n}\n}", {" -allow=none "}, "-addr="},
        {". {\nbind eth0\n}", {"bind eth0: expected addresses", " -allow=none "}, "-addr="},
        {". {\nbind\n}", {" -allow=none ", "no address is left"}, "-addr="},
        {". {\nbind eth0 10.0.0.1\n}",
         {"bind eth0 10.0.0.1: expected addresses", "-addr=10.0.0.1:53 "},
         "none"},
        {"quic://. {\nforward . 10.0.0.1\n}", {" -allow=none "}, "-nameservers="},
        {"tls://. {\nforward . 10.0.0.1\n}",
         {" -allow=none ", "expected the plugin tls"},
         "-nameservers="},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

/* Blocks with other addresses are another server. */
UNIT_TEST(test_blocks)
{
    static const struct corefile_row rows[] = {
        {". {\nbind 192.0.2.1\n" KUBERNETES "}\ncorp.test {\nbind 127.0.0.1\nforward . 10.0.0.1\n}",
         {"-addr=192.0.2.1:53 ", "127.0.0.1:53: what is answered there differs",
          "Corefile:7: corp.test: not answered at the addresses of -addr"},
         "-stub=corp.test"},
        {".:53 {\nforward . 127.0.0.1:5301\n}\n.:5301 {\nforward . tls://9.9.9.9\n}",
         {"-addr=0.0.0.0:53 ", "-nameservers=127.0.0.1:5301 "},
         "tls://9"},
        /* the one with most names and plugins, and all that are like it */
        {"corp.test {\nforward . 10.0.0.1\n}\n. {\nbind 127.0.0.1\n" KUBERNETES FORWARD "}",
         {"-addr=127.0.0.1:53 ", "0.0.0.0:53: what is answered"},
         "-stub=corp.test"},
        {"corp.test:54 {\nforward . 10.0.0.1\n}\n. {\n" KUBERNETES
         "}\na.test {\nforward . 10.0.0.2\n}",
         {"-addr=0.0.0.0:53 ", "-domain=cluster.local ", "-stub=a.test="},
         "-stub=corp.test"},
        {"(s) {\n" KUBERNETES
         "}\n. {\nimport s\nready\ncache 30\n}\ntls://. {\ntls c k\nimport s\nlog\n}",
         {"-addr=0.0.0.0:53,tls://0.0.0.0:853 ", "-query-log=all"},
         "what is answered"},
        {". {\n" KUBERNETES "}\ntls://. {\ntls c k\n" KUBERNETES
         "acl {\nallow net 10.0.0.0/8\nblock\n}\n}",
         {"-addr=tls://0.0.0.0:853 ", "0.0.0.0:53: what is answered", "-allow=10.0.0.0/8 "},
         NULL},
        {"a.test:53 a.test:54 b.test:53 {\nforward . 10.0.0.1\n}",
         {"-addr=0.0.0.0:53 ", "0.0.0.0:54: what is answered", "-stub=b.test="},
         NULL},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_tls)
{
    static const struct corefile_row rows[] = {
        {"tls://. https://. .:53 {\ntls c k {\nclient_auth require_and_verify\n}\n}",
         {"-addr=0.0.0.0:53 ", "without, there is no TLS, HTTPS and gRPC",
          "tls://0.0.0.0:853: left out: not all clients that have to",
          "https://0.0.0.0:443: left out"},
         "-cert"},
        {"tls://. .:53 {\ntls c k ca {\nclient_auth require\n}\n}", {"-client-ca=ca"}, NULL},
        {"tls://. .:53 {\ntls c k {\nclient_auth require\n}\n}", {"-addr=0.0.0.0:53 "}, "-cert"},
        {"tls://. {\ntls c k\n}\nhttps://. {\ntls d k ca {\nclient_auth require_and_verify\n}\n}",
         {"-cert=c", "-client-ca=ca"},
         NULL},
        {"tls://. {\ntls c k a {\nclient_auth require_and_verify\n}\n}\n"
         "https://. {\ntls c k b {\nclient_auth require_and_verify\n}\n}",
         {"another block has other CAs", " -allow=none "},
         "-addr="},
        {"tls://. .:53 {\ntls c k {\nmin_version 1.3\n}\n}",
         {"-addr=0.0.0.0:53 ", "what its unknown options"},
         "-cert"},
        /* no HTTPS in the clear, where there is a certificate */
        {"https://. grpc://.:444 .:53 {\ntls {\nacme a.test\n}\n}",
         {"-addr=0.0.0.0:53 ", "https://0.0.0.0:443: expected the plugin tls",
          "grpc://0.0.0.0:444: expected the plugin tls"},
         "http://"},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

#define ACL(rules) ". {\nacl {\n" rules "\n}\n}"

UNIT_TEST(test_acl)
{
    static const struct corefile_row rows[] = {
        {ACL("block"), {" -allow=none "}, "keeps nobody out"},
        {ACL("block net 10.0.0.0/8"),
         {"-allow=128.0.0.0/1,64.0.0.0/2,32.0.0.0/3,16.0.0.0/4,0.0.0.0/5,12.0.0.0/6,8.0.0.0/7,"
          "11.0.0.0/8,::/0 "},
         "acl:"},
        {ACL("allow net 10.1.0.0/16\nblock net 10.0.0.0/8 ::/0\nblock net 128.0.0.0/1\ndrop net "
             "0.0.0.0/5 "
             "16.0.0.0/4 32.0.0.0/3 64.0.0.0/2 12.0.0.0/6 8.0.0.0/7"),
         {"-allow=10.1.0.0/16,11.0.0.0/8 "},
         NULL},
        {ACL("block net 10.1.0.0/17\nallow net 10.1.0.0/16\nblock"),
         {"-allow=10.1.128.0/17 "},
         NULL},
        {ACL("allow net 10.0.0.0/8\nfilter"), {"-allow=10.0.0.0/8 "}, "acl:"},
        {ACL("ALLOW NET 10.0.0.0/8\nDROP NET *"), {"-allow=10.0.0.0/8 "}, NULL},
        /* types have no counterpart */
        {ACL("allow type A net 10.0.0.0/8\nallow net 10.1.0.0/16\nblock"),
         {"-allow=10.1.0.0/16 ", "allow type A net 10.0.0.0/8: -allow is for all types"},
         NULL},
        {ACL("filter type AAAA"),
         {" -allow=none ", "filter type AAAA: -allow is for all types"},
         NULL},
        {ACL("block type A net 10.0.0.0/8\nblock type * net 11.0.0.0/8 ::/0"),
         {"-allow=128.0.0.0/1,64.0.0.0/2,32.0.0.0/3,16.0.0.0/4,0.0.0.0/5,12.0.0.0/6,8.0.0.0/7 "},
         NULL},
        {ACL("block type ANY") "\na.org {\nany\n}",
         {"block type ANY: -any=refused is"},
         "-any=hinfo"},
        {". {\n" KUBERNETES "transfer {\nto *\n}\nacl {\nblock type AXFR IXFR net *\n}\n}",
         {"nobody transfers"},
         "-transfer-to="},
        /* what is not understood */
        {ACL("allow net 10.0.0.0/8 LOCAL\nblock"),
         {"-allow=10.0.0.0/8 ", "expected networks"},
         NULL},
        {ACL("allow net 10.0.0.0/8\nblock net LOCAL"),
         {"-allow=10.0.0.0/8 ", "it keeps out everybody"},
         NULL},
        {ACL("forbid net 10.0.0.0/8"), {" -allow=none "}, NULL},
        {ACL("block from 10.0.0.0/8"), {" -allow=none "}, NULL},
        /* for some names: for all */
        {"a.org {\nacl {\nallow net 10.0.0.0/8\nblock\n}\n}",
         {"-allow=10.0.0.0/8 ", "acl: -allow is for all names"},
         NULL},
        {". {\nacl a.org {\nblock net 0.0.0.0/0\n}\n}", {"-allow=::/0 ", "for all names"}, NULL},
        {". {\nacl {\nallow net 10.0.0.0/8\nblock\n}\nacl {\nallow net 10.1.0.0/16 "
         "11.0.0.0/8\nblock\n}\n}",
         {"-allow=10.1.0.0/16 "},
         NULL},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

#define DOMAIN "cluster.local {\n" KUBERNETES

UNIT_TEST(test_transfers)
{
    static const struct corefile_row rows[] = {
        {DOMAIN "transfer {\nto 10.0.0.1\n}\n}", {"-transfer-to=10.0.0.1 "}, "Narrower"},
        /* another zone's, another block's */
        {". {\n" KUBERNETES "file db.org example.org\ntransfer example.org {\nto *\n}\n}",
         {"transfer: -transfer-to is for all domains"},
         "-transfer-to=0"},
        {DOMAIN "}\nexample.org {\nfile db.org\ntransfer {\nto *\n}\n}",
         {"transfer: "},
         "-transfer-to=0"},
        {". {\n" KUBERNETES "}\ncluster.local.org {\ntransfer cluster.local {\nto *\n}\n}",
         {"transfer: "},
         "-transfer-to=0"},
        /* the longest zone has the word */
        {". {\n" KUBERNETES "transfer {\nto *\n}\ntransfer cluster.local {\nto 10.0.0.1\n}\n}",
         {"-transfer-to=10.0.0.1 "},
         "0.0.0.0/0"},
        /* each zone that is transferred */
        {"cluster.local 10.in-addr.arpa {\nkubernetes {\npods verified\n}\ntransfer cluster.local "
         "{\nto *\n}\n}",
         {"transfer: -transfer-to is for all domains"},
         "-transfer-to=0"},
        {"cluster.local 10.in-addr.arpa {\nkubernetes {\npods verified\n}\ntransfer cluster.local "
         "{\n"
         "to 10.0.0.1 10.0.0.2\n}\ntransfer 10.in-addr.arpa {\nto 10.0.0.2 10.0.0.3\n}\n}",
         {"-transfer-to=10.0.0.2 "},
         NULL},
        {"cluster.local 10.in-addr.arpa {\nkubernetes {\npods verified\n}\ntransfer cluster.local "
         "{\n"
         "to 10.0.0.1\n}\ntransfer 10.in-addr.arpa {\nto *\n}\n}",
         {"-transfer-to=10.0.0.1 "},
         NULL},
        {". {\n" KUBERNETES "etcd b.test\ntransfer {\nto *\n}\n}",
         {"transfer: "},
         "-transfer-to=0"},
        {DOMAIN "transfer {\nto 10.0.0.1,0.0.0.0/0 key:a 10.0.0.2\n}\n}",
         {"-transfer-to=10.0.0.2 ", "expected addresses"},
         "-transfer-to=10.0.0.1"},
        {DOMAIN "transfer {\nto *\nonly_if safe\n}\n}",
         {"what its unknown options restrict"},
         "-transfer-to=0"},
        /* signed ones */
        {DOMAIN "transfer {\nto *\n}\ntsig {\nsecrets /k\nrequire AXFR IXFR\n}\n}",
         {"-tsig-keys=/k", "it must be signed", "say -transfer-to=key:NAME"},
         "-transfer-to=0"},
        {DOMAIN "transfer {\nto *\n}\ntsig {\nsecret a.key. c2VjcmV0\nrequire AXFR\n}\n}",
         {"-transfer-to=key:a.key ", "-tsig-keys=tsig-keys", "\"transfer_to\":[\"key:a.key\"]"},
         "c2VjcmV0"},
        {DOMAIN "transfer {\nto 10.0.0.1 10.1.0.0/16\n}\ntsig {\nsecret a c2\nsecret b c2\nrequire "
                "IXFR AXFR\n}\n}",
         {"-transfer-to=10.0.0.1+key:a,10.1.0.0/16+key:a,10.0.0.1+key:b,10.1.0.0/16+key:b "},
         NULL},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_signed_queries)
{
    static const struct corefile_row rows[] = {
        {DOMAIN "tsig {\nsecrets /k\nrequire all\n}\n}",
         {CLOSED, "require all: queries without a signature are answered", " -allow=none "},
         NULL},
        {DOMAIN "tsig {\nsecrets /k\nrequire A AXFR\n}\n}", {" -allow=none "}, NULL},
        {DOMAIN "tsig {\nrequire\n}\n}", {" -allow=none "}, NULL},
        {DOMAIN "tsig {\nrequire_opcode QUERY\n}\n}", {" -allow=none "}, NULL},
        {DOMAIN "tsig {\nrequire_opcode UPDATE NOTIFY\n}\n}", {"other operations"}, "-allow="},
        {DOMAIN "tsig {\ndemand all\n}\n}",
         {" -allow=none ", "what its unknown options restrict"},
         NULL},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_records)
{
    static const struct corefile_row rows[] = {
        {". {\nkubernetes a.test {\nnamespaces -a\n}\n}",
         {" -allow=none ", "without, all are"},
         "--namespaces"},
        {". {\nkubernetes a.test {\nnamespaces\n}\n}", {" -allow=none "}, "--namespaces"},
        {". {\nkubernetes a.test {\nnamespace_labels a=b, c\n}\n}",
         {"'--namespace-labels=a=b, c'"},
         "-allow="},
        {". {\nkubernetes a.test {\nnamespace_labels\n}\n}",
         {" -allow=none "},
         "--namespace-labels"},
        {". {\nkubernetes a.test {\nlabels\n}\n}", {" -allow=none "}, "--label-selector"},
        {". {\nkubernetes a.test {\nonly_if safe\n}\n}",
         {" -allow=none ", "what its unknown options restrict"},
         NULL},
        {". {\nkubernetes a.test {\nupstream 192.0.2.1\nresyncperiod 1m\n}\n}",
         {"upstream 192.0.2.1: CoreDNS ignores it"},
         "-allow="},
        {". {\nkubernetes a.test {\nendpoint http://a http://b\n}\n}",
         {" -allow=none "},
         "--kube-master-url"},
        {". {\netcd a.test {\nonly_if safe\n}\n}",
         {" -allow=none ", "what its unknown options restrict"},
         NULL},
        {". {\nkubernetes a.test {\nnoendpoints\n}\n}",
         {" -allow=none ", "with their endpoints"},
         NULL},
        {". {\nkubernetes a.test {\nnamespaces x\npods verified\n}\nkubernetes b.test "
         "{\nnamespaces y\npods insecure\n}\n}",
         {"--namespaces=x", "-pods=verified", "another one has other options"},
         "--namespaces=y"},
        {". {\nkubernetes a.test {\npods insecure\n}\nkubernetes b.test\n}",
         {"-domain=a.test \\\n", "-pods=insecure", "another one has other options"},
         "b.test,"},
        {". {\netcd a.test {\npath /a/b\n}\n}",
         {" -allow=none ", "expected one component"},
         "-path-prefix"},
        {". {\netcd a.test {\nendpoint a:2379\n}\n}",
         {" -allow=none ", "expected URLs"},
         "-machines"},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_server)
{
    static const struct corefile_row rows[] = {
        {". {\n}", {" -chaos=false "}, NULL},
        {". {\nchaos\n}", {"-chaos is the default"}, "-chaos=false"},
        /* HTTP explains all names to all who reach it */
        {". {\nbind 127.0.0.1\nprometheus :9153\nhealth 127.0.0.1:8080\n}",
         {"-http-addr=127.0.0.1:8080", "0.0.0.0:9153: DNS is not answered there"},
         "-http-addr=0"},
        {". {\nbind 10.0.0.1\nprometheus 10.0.0.2:9153\nhealth 10.0.0.1:8080\n}",
         {"-http-addr=10.0.0.1:8080"},
         "-http-addr=10.0.0.2"},
        {". {\nprometheus :9153\n"
         "acl {\nblock net 10.0.0.0/8\n}\n}",
         {"0.0.0.0:9153: -allow is not for HTTP"},
         "-http-addr="},
        {". {\nprometheus\nacl {\nblock net 10.0.0.0/8\n}\n}", {"-http-addr=127.0.0.1:9153"}, NULL},
        {". {\nprometheus :9153 {\ntls c k\n}\nhealth\n}",
         {"-http-addr is without TLS"},
         "-http-addr=0"},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}
