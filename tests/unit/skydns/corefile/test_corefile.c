/* Corefiles: their structure, errors with lines, and what each plugin becomes. */
#include "common/base/buf.h"
#include "skydns/corefile/translate_internal.h"
#include "tests/support/skydns/corefile_rows.h"
#include "tests/support/unit_test.h"

static const char *zone_variable_of(const char *name)
{
    return strcmp(name, "ZONE") == 0 ? "cluster.local" : NULL;
}

UNIT_TEST(test_structure)
{
    static const struct corefile_row rows[] = {
        {".:53 {\n any\n}", {" -addr=0.0.0.0:53", " -any=hinfo"}, NULL},
        {"example.org\nforward . 10.0.0.1\nany\n",
         {"-stub=example.org=10.0.0.1:53 ", "hinfo"},
         NULL},
        {". { # any\n}\n#any", {"-no-rec"}, "hinfo"},
        {"a.org, b.org,\nc.org:53 {\nforward . 10.0.0.1\n}",
         {"-addr=0.0.0.0:53 ", "-stub=a.org=10.0.0.1:53", "-stub=b.org=10.0.0.1:53",
          "-stub=c.org=10.0.0.1:53"},
         NULL},
        {". {\n\"any\"\n}", {"-any=hinfo"}, NULL},
        {". {\nhosts \"/a b\"\n}", {" '-hosts=/a b'"}, NULL},
        {". {\nhosts \"it's \\\"it\\\"\"\n}", {" '-hosts=it'\\''s \"it\"'"}, NULL},
        {". {\nkubernetes {$ZONE}\n}", {"--domain=cluster.local"}, "variable"},
        {". {\nkubernetes {%ZONE%}\n}", {"--domain=cluster.local"}, "variable"},
        {". {\nkubernetes a.{$NONE}b\n}",
         {"-domain=a.b",
          "Corefile:2: kubernetes a.b: a variable here is not set, and read as empty"},
         NULL},
        {"(s) {\nany\nbufsize 900\n}\n. {\nimport s\n}", {"-any=hinfo", "-max-udp-size=900"}, NULL},
        {". {\nimport s\n}\n(s) {\nany\n}", {"-any=hinfo"}, NULL},
        {"import other\n. {\nimport /etc/x/*\n}",
         {"Corefile:1: import other: files are not read", "Corefile:3: import /etc/x/*: files"},
         NULL},
        {". {\nlog \"a\n$(b)\x01\"\n}", {"# Corefile:2: log a?$(b)?: -query-log"}, NULL},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_errors)
{
    static const struct corefile_row rows[] = {
        {". {\nany\n", {"2: expected }, found the end of the file"}, NULL},
        {". {\nforward . 1.1.1.1 {\nany\n", {"3: expected }, found the end"}, NULL},
        {". {\n}\n}", {"3: unexpected }: expected a zone"}, NULL},
        {".{\n}", {"1: `.{`: expected a space before the {"}, NULL},
        {"\n{\n}", {"2: expected a zone before the {"}, NULL},
        {". {\n\"any\n}", {"2: quotation without an end"}, NULL},
        {"a.org,", {"1: expected a zone after the comma"}, NULL},
        {". {\n{\n}\n}", {"2: unexpected {: expected a plugin"}, NULL},
        {". {\nany }\n}", {"2: unexpected } after `any`"}, NULL},
        {"(a) {\nimport a\n}\n. {\nimport a\n}",
         {"2: import: expected snippets at most 10 deep"},
         NULL},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

#define CONFIG_MAP(value) \
    "apiVersion: v1\ndata:\n  Other: |\n    x\n  Corefile: " value "\nkind: ConfigMap\n"

UNIT_TEST(test_sources)
{
    static const struct corefile_row rows[] = {
        {"\xef\xbb\xbf. {\nany\n}", {"-any=hinfo"}, "?"},
        {CONFIG_MAP("|\n    . {\n        any\n\n        log\n    }\n  Z: |\n    debug {"),
         {"-any=hinfo", "-query-log=all"},
         "debug"},
        {CONFIG_MAP("|-\r\n    . {\r\n    nsid\r\n    }\r"),
         {"Corefile:7: nsid: without a text"},
         NULL},
        {CONFIG_MAP("|1\n    . {\n   nsid\n   }"), {"Corefile:7: nsid: without a text"}, NULL},
        {CONFIG_MAP("\". {\\nany\\n}\""), {"1: expected `Corefile: |` in an object"}, "skydns"},
        {CONFIG_MAP(">\n    . {\n    any\n    }"), {"1: expected `Corefile: |`"}, "skydns"},
        {CONFIG_MAP("|\n    . {"), {"6: expected }"}, "skydns"},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_limits)
{
    struct corefile corefile;
    struct err err = {.code = 0};
    CLEANUP_FREE char *text = malloc(COREFILE_BYTES_MAX + 1);
    assert_non_null(text);
    memset(text, ' ', COREFILE_BYTES_MAX + 1);
    assert_int_equal(
        corefile_parse(slice_of(text, COREFILE_BYTES_MAX + 1), zone_variable_of, &corefile, &err),
        ERR_TOO_LARGE);
    corefile_fini(&corefile);
    assert_int_equal(
        corefile_parse(slice_of(text, COREFILE_BYTES_MAX), zone_variable_of, &corefile, &err), 0);
    corefile_fini(&corefile);
    for (int i = 0; i < COREFILE_BYTES_MAX; i += 2) {
        text[i] = 'a';
    }
    assert_int_equal(
        corefile_parse(slice_of(text, COREFILE_BYTES_MAX), zone_variable_of, &corefile, &err),
        ERR_TOO_LARGE);
    corefile_fini(&corefile);
    assert_int_equal(corefile_parse(slice_of(". \0{}", 5), zone_variable_of, &corefile, &err),
                     ERR_SYNTAX);
    corefile_fini(&corefile);
}

UNIT_TEST(test_kubernetes)
{
    static const struct corefile_row rows[] = {
        {". {\nkubernetes my_cluster.test\n}",
         {"my_cluster.test: expected a domain of"},
         "domain="},
        {". {\nkubernetes a.test {\nnamespaces a,b -c d e\n}\n}",
         {"--namespaces=d,e", "namespaces a,b -c d e: expected names"},
         NULL},
        {". {\nkubernetes cluster.local in-addr.arpa ip6.arpa {\npods insecure\nfallthrough "
         "in-addr.arpa ip6.arpa\nttl 30\n}\n}",
         {"kube2sky \\\n  --domain=cluster.local \\\n  --pods=disabled \\\n  --ttl=30 \\\n  "
          "--endpoint-names=address\n",
          "-domain=cluster.local \\\n  -schema=kubernetes \\\n  -pods=insecure \\\n  "
          "-require-store-key",
          "-min-ttl=30"},
         "-reverse-zones="},
        {"cluster.local 10.in-addr.arpa {\nkubernetes\n}",
         {"-domain=cluster.local ", "-reverse-zones=10.0.0.0/8", "--ttl=5", "-pods=disabled"},
         "-min-ttl="},
        {". {\nkubernetes a.org 10.96.0.0/16 8.b.d.0.1.0.0.2.ip6.arpa in-addr.arpa {\nfallthrough "
         "in-addr.arpa\n}\n}",
         {"-reverse-zones=10.96.0.0/16,2001:db8::/32 "},
         NULL},
        {". {\nkubernetes a.org {\nfallthrough\n}\n}",
         {"Without a counterpart:\n# Corefile:3: fallthrough"},
         NULL},
        {". {\nkubernetes a.org {\npods verified\nendpoint_pod_names\nnamespaces x y\nlabels app "
         "in "
         "(a, b)\nendpoint https://k:6443\nkubeconfig /k ctx\nnoendpoints\nttl 0\n}\n}",
         {"--pods=verified", "--endpoint-names=pod", "--namespaces=x,y",
          "'--label-selector=app in (a, b)'", "--kube-master-url=https://k:6443",
          "--kubecfg-file=/k"},
         "endpoint-names=address"},
        {". {\nkubernetes a.org {\npods maybe\nttl 4000\nfrobnicate\n}\n}",
         {"Corefile:3: pods maybe: expected", "Corefile:4: ttl 4000: expected",
          "Corefile:5: frobnicate: unknown"},
         "--ttl"},
        {". {\nkubernetes a.org\nkubernetes b.org\n}",
         {"-domain=a.org,b.org", "a second domain"},
         NULL},
        {". {\netcd sky.local {\npath /skydns\nendpoint http://a:1 http://b:2\ncredentials u "
         "p\ntls "
         "/c /k /ca\n}\n}",
         {"-path-prefix=skydns", "-machines=http://a:1,http://b:2", "-password-file=etcd-password",
          "-tls-pem=/c", "-tls-key=/k", "-ca-cert=/ca"},
         "kube2sky"},
        {". {\netcd sky.local {\npath /a/b\ntls /ca\n}\n}",
         {"Corefile:3: path /a/b: expected one component", "-ca-cert=/ca"},
         "-tls-pem"},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_other_names)
{
    static const struct corefile_row rows[] = {
        {"_msdcs.ad.test {\nforward . 10.0.0.1\n}",
         {"-stub=_msdcs.ad.test=10.0.0.1:53", "-rcache=0", "\"rcache\":0"},
         NULL},
        {". {\nforward . /etc/resolv.conf\n}",
         {"-rcache=0", "see -allow-recursion", "-ndots=0"},
         "-nameservers"},
        {". {\nforward . 8.8.8.8 dns://8.8.4.4:54 [2001:db8::1]:53 {\npolicy "
         "sequential\nread_timeout "
         "3s\nnext NXDOMAIN\n}\ncache\n}",
         {"'-nameservers=8.8.8.8:53,8.8.4.4:54,[2001:db8::1]:53'", "-ns-rotate=false",
          "-rtimeout=3s", "Corefile:5: next NXDOMAIN: none",
          "# {\"nameservers\":[\"8.8.8.8:53\",\"8.8.4.4:54\",\"[2001:db8::1]:53\"]}"},
         "-rcache=0"},
        {". {\nforward acme.local 10.0.0.1:5353 10.0.0.2\n}",
         {"-stub=acme.local=10.0.0.1:5353,10.0.0.2:53", "-no-rec",
          "{\"no_rec\":true,\"stubs\":{\"acme.local\":[\"10.0.0.1:5353\",\"10.0.0.2:53\"]},"
          "\"rcache\":0}"},
         "-nameservers"},
        {"a.org {\nforward . fe80::1%eth7\n}", {"-stub=a.org=[fe80::1%eth7]:53"}, NULL},
        {"10.0.0.0/8 {\nforward . 10.0.0.1\n}", {"-stub=10.in-addr.arpa=10.0.0.1:53"}, NULL},
        {". {\nforward . tls://9.9.9.9 TLS://[::1]:54 10.0.0.1\n}",
         {"-nameservers=tls://9.9.9.9:853,tls://[::1]:54,10.0.0.1:53", "-ndots=0"},
         "no counterpart"},
        {". {\nforward . tls://9.9.9.9 {\ntls_servername dns.quad9.net\ntls /ca\n}\n}",
         {"-nameservers=tls://9.9.9.9:853#dns.quad9.net", "-nameservers-ca=/ca"},
         "no counterpart"},
        {"acme.org {\nforward . tls://9.9.9.9 {\ntls\ntls_servername a.b c\n}\n}",
         {"-stub=acme.org=tls://9.9.9.9:853", "tls_servername a.b c: expected a name"},
         "-nameservers-ca"},
        {". {\nforward . tls://9.9.9.9 {\ntls /c /k /ca\ntls 1 2 3 4\n}\n}",
         {"-nameservers-ca=/ca", "-nameservers-cert=/c", "-nameservers-key=/k",
          "tls 1 2 3 4: expected"},
         NULL},
        {". {\nforward . tls://9.9.9.9 {\ntls /c /k\n}\n}",
         {"-nameservers-cert=/c", "-nameservers-key=/k"},
         "-nameservers-ca"},
        {". {\nforward . tls://dns.example\n}", {"expected IP addresses"}, "-nameservers="},
        {". {\nforward . https://9.9.9.9\n}", {"over UDP, TCP or TLS"}, "-nameservers="},
        {"a.org {\nforward . /etc/resolv.conf\n}",
         {"a zone of its own needs addresses"},
         "-stub=a"},
        {". {\nforward . 1.1.1.1\ncache 30 {\nsuccess 5000 60\ndenial 100\nserve_stale 1h30m "
         "immediate\nprefetch 10\nkeepttl\n}\n}",
         {"-rcache=5100", "-rcache-ttl=30", "-rcache-stale=5400s",
          "Corefile:4: success 5000 60: none", "Corefile:8: keepttl: none",
          "\"rcache\":5100,\"rcache_ttl\":30,\"rcache_stale\":5400}"},
         NULL},
        {". {\ncache {\nsuccess 16\n}\n}", {"-rcache=10000"}, NULL},
        {". {\ncache {\nserve_stale\n}\n}", {"-rcache-stale=3600s"}, NULL},
        {". {\ncache {\nserve_stale 1ms\n}\n}", {"expected a duration"}, "-rcache-stale=1"},
        {"a.org {\ncache 30\n}", {"one -rcache-ttl for all zones"}, "-rcache-ttl=30"},
        {". {\nhosts {\n10.0.0.1 a.example b.example\nfd00::1 c.example\n10.0.0.2 $(x)\n10.0.0.3\n"
         "fallthrough\n}\n}",
         {"cat >skydns.hosts <<'END'\n10.0.0.1 a.example b.example\nfd00::1 c.example\nEND\n",
          "-hosts=skydns.hosts", "Corefile:5: 10.0.0.2 $(x): expected an address and its names",
          "Corefile:6: 10.0.0.3: expected an address"},
         NULL},
        {". {\nhosts /etc/more {\nttl 60\n}\n}",
         {"-hosts=/etc/more", "ttl 60: none: 30 s"},
         "skydns.hosts"},
        {". {\nhosts\n}", {"-hosts=/etc/hosts"}, NULL},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_server)
{
    static const struct corefile_row rows[] = {
        {". {\nhealth :8081 {\nlameduck 5s\n}\nready\nprometheus :9153\n}",
         {"-http-addr=0.0.0.0:9153", "-lameduck=5s", "/healthz on the port",
          "/readiness on the port"},
         "8081 \\"},
        {". {\nprometheus\n}", {"-http-addr=127.0.0.1:9153"}, NULL},
        {". {\nready\nhealth\n}", {"-http-addr=0.0.0.0:8080"}, NULL},
        {". {\nbind 10.0.0.1 fd00::1\n}", {"'-addr=10.0.0.1:53,[fd00::1]:53'"}, NULL},
        {"tls://a.org {\n}\nhttps3://b.org {\n}\n.:1053 {\nforward . 192.0.2.1\n}",
         {"-addr=0.0.0.0:1053 ", "Corefile: tls://0.0.0.0:853: expected the plugin tls",
          "no DNS over QUIC or HTTP/3"},
         "-cert"},
        {".:99999 {\n}", {"Corefile:1: .:99999: expected a zone and a port"}, NULL},
        {". {\nloadbalance\nerrors\nloop\nreload 10s\n}",
         {"errors are always logged", "-round-robin is the default"},
         "-round-robin=false"},
        {". {\n}", {"-round-robin=false"}, NULL},
        {". {\nbufsize 100\nmultisocket 3\nlog\ndebug\n}",
         {"beyond what the flag takes", "-workers=3", "-query-log=all", "-log-level=debug"},
         NULL},
        {". {\nlog {\nclass denial\n}\n}", {"-query-log=denials"}, "Without a counterpart"},
        {". {\nlog {\nclass error\n}\n}", {"-query-log=errors"}, NULL},
        {". {\nlog {\nclass denial error\n}\n}", {"-query-log=all"}, NULL},
        {"a. {\nlog {\nclass error\n}\n}\nb. {\nlog\n}", {"-query-log=all"}, "=errors"},
        {". {\nlog example.org \"{type}\"\n}",
         {"-query-log=all", "log example.org", "for the names of all blocks"},
         NULL},
        {". {\ndnstap /run/x.sock full\n}\na. {\ndnstap unix:///run/x.sock\n}",
         {"-dnstap=unix:/run/x.sock", "whole messages"},
         "Without a counterpart"},
        {". {\ndnstap tcp://127.0.0.1:6000 full {\nidentity x\n}\n}",
         {"-dnstap=tcp://127.0.0.1:6000", "identity x: none: the identity"},
         NULL},
        {". {\ndnstap tcp://127.0.0.1:6000 full\ndnstap /x full\n}",
         {"-dnstap=tcp://127.0.0.1:6000", "dnstap /x full: -dnstap has one sink"},
         "unix:"},
        {". {\ndnstap tls://127.0.0.1:6000 full\n}", {"expected the path of a Unix"}, "-dnstap=t"},
        {". {\ndnstap tcp://example.org:6000 full\n}", {"expected the path of a Unix"}, NULL},
        {". {\nunheard of\n}", {"unheard of: no plugin of CoreDNS"}, NULL},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_streams)
{
    static const struct corefile_row rows[] = {
        {"tls://.:8853 {\ntls /c /k\n}\nTLS://. https://. grpc://.:5443 {\nbind 10.0.0.1 "
         "fd00::1\n}",
         {"'-addr=tls://0.0.0.0:8853,tls://10.0.0.1:853,tls://[fd00::1]:853,https://10.0.0.1:443,"
          "https://[fd00::1]:443,grpc://10.0.0.1:5443,grpc://[fd00::1]:5443'",
          "-cert=/c", "-key=/k"},
         "-client-ca="},
        {"(files) {\ntls /c /k /ca {\nclient_auth require_and_verify\n}\n}\n"
         "https://. {\nimport files\n}\ntls://. {\nimport files\n}",
         {"-addr=https://0.0.0.0:443,tls://0.0.0.0:853 ", "-cert=/c", "-key=/k", "-client-ca=/ca"},
         "another block"},
        {"tls://. {\ntls /c /k /ca\n}", {"-cert=/c", "-key=/k"}, "-client-ca="},
        {"tls://. {\ntls /c /k /ca {\nclient_auth request\nkeylog /l\n}\n}",
         {"-cert=/c", "client_auth request: none: clients show a certificate that is checked",
          "keylog /l: none"},
         "-client-ca="},
        {"tls://. {\ntls /c /k {\nclient_auth require_and_verify\nclient_auth nocert\n}\n}",
         {"expected the file of the CAs", "clients show no certificate without -client-ca"},
         "-client-ca=/"},
        {"tls://. {\ntls /c /k\n}\nhttps://. {\ntls /d /k\n}",
         {"-cert=/c", "tls /d /k: another block has a certificate, which is shown to all"},
         "-cert=/d"},
        {"https://. grpc://.:444 {\n}", {"-addr=http://0.0.0.0:443,grpc://0.0.0.0:444 "}, "-cert"},
        {". {\ntls /c /k\n}", {"-addr=0.0.0.0:53 ", "no address of the file speaks TLS"}, "-cert"},
        {"tls://. {\ntls /c\n}", {"tls /c: expected a certificate and its key"}, "-cert"},
        {"https://. grpc://. {\ntls /c /k\n}",
         {"-addr=https://0.0.0.0:443 ", "grpc://0.0.0.0:443: another protocol has its port"},
         NULL},
        {".:443 https://. {\ntls /c /k\n}",
         {"-addr=0.0.0.0:443 ", "https://0.0.0.0:443: another protocol has its port",
          "no address of the file speaks TLS"},
         "-cert"},
        {"https://. {\nhttps {\nmax_connections 9\n}\ngrpc_server {\nmax_streams 1\n}\n}",
         {"https: connections have limits of their own", "grpc_server: connections have limits"},
         NULL},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_clients)
{
    static const struct corefile_row rows[] = {
        {". {\nautopath @kubernetes\n}", {" -autopath", "into -search"}, NULL},
        {". {\nautopath cluster.local @kubernetes\n}",
         {" -autopath", "-autopath is for all of -domain"},
         NULL},
        {". {\nautopath /etc/resolv.conf\n}", {"none: -autopath knows only"}, "\n  -autopath"},
        {". {\nautopath\n}", {"none: -autopath knows only"}, "\n  -autopath"},
        {". {\nacl {\nallow net 10.0.0.0/8 fd00::/8\nallow net 192.0.2.1\nblock\n}\n}",
         {"-allow=10.0.0.0/8,fd00::/8,192.0.2.1 "},
         "acl: "},
        {". {\nacl . {\nallow net 10.0.0.0/8\nblock net *\n}\n}", {"-allow=10.0.0.0/8 "}, "acl:"},
        {". {\nacl {\nallow net 10.0.0.0/8\nblock net 0.0.0.0/0 ::/0\n}\n}",
         {"-allow=10.0.0.0/8 ", "\"allow\":[\"10.0.0.0/8\"]"},
         "acl:"},
        {". {\nacl {\nallow net 10.0.0.0/8\n}\n}", {"acl: it keeps nobody out"}, "-allow="},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_dnssec)
{
    static const struct corefile_row rows[] = {
        {"cluster.local 96.10.in-addr.arpa {\nkubernetes cluster.local 96.10.in-addr.arpa\n"
         "dnssec {\nkey file /k/Kcluster.local.+013+1.key /k/Kcluster.local.+013+2 "
         "K96.10.in-addr.arpa.+013+3.private /k/mine\ncache_capacity 500\n}\n}",
         {"-dnssec=/k/Kcluster.local.+013+1,/k/Kcluster.local.+013+2,"
          "K96.10.in-addr.arpa.+013+3,/k/mine \\\n",
          "-scache=500", "\"dnssec\":[\"/k/Kcluster.local.+013+1\","},
         "Without a counterpart"},
        {"cluster.local {\nkubernetes\ndnssec {\nkey file Kx.org.+013+1 Ka,b\n}\n}",
         {"Kx.org.+013+1: none: only names of the zones",
          "key file Kx.org.+013+1 Ka,b: expected the name of a key's files"},
         "-dnssec="},
        {"cluster.local {\nkubernetes\ndnssec x.org {\ncache_capacity 0\n"
         "key aws_secretsmanager arn\nsign\n}\n}",
         {"cache_capacity 0: expected a number", "none: keys are files", "sign: unknown"},
         "-scache"},
        {"cluster.local {\nkubernetes\ndnssec\n}", {"dnssec: expected keys"}, "-dnssec"},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_tsig)
{
    static const struct corefile_row rows[] = {
        {"cluster.local {\nkubernetes\ntsig {\nsecrets /k/tsig\n}\n}\n"
         ". {\nforward . 192.0.2.1\ntsig {\nsecrets /k/tsig\n}\n}",
         {"-tsig-keys=/k/tsig"},
         "Without a counterpart"},
        {"cluster.local {\nkubernetes\ntsig {\nsecrets a\nsecrets b\nsecrets\nsecret k. AAAA\n"
         "require none\n}\n}",
         {"-tsig-keys=a", "secrets b: -tsig-keys is one file", "expected a file of keys",
          "secret k.: put it into the file of -tsig-keys", "require none: no signature"},
         "AAAA"},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_transfer)
{
    static const struct corefile_row rows[] = {
        {"cluster.local {\nkubernetes {\npods verified\n}\ntransfer {\nto 10.0.0.1 10.0.0.2:5353\n"
         "to *\n}\n}",
         {"-transfer-to=10.0.0.1,10.0.0.2:5353,0.0.0.0/0,::/0", "\"transfer_to\""},
         NULL},
        {"cluster.local {\nkubernetes {\npods insecure\n}\ntransfer cluster.local {\nto 10.0.0.1\n"
         "to\nfrom x\n}\n}",
         {"expected addresses, or * for everybody",
          "-transfer-to needs the plugin kubernetes, and pods verified or disabled"},
         "-transfer-to=10"},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

/* Whatever the default build has, something is said about it. */
UNIT_TEST(test_every_plugin_is_known)
{
    static const char names[] =
        "root metadata geoip cancel proxyproto tls quic grpc_server https https3 timeouts "
        "multisocket "
        "reload nsid bufsize bind debug trace ready health pprof shed prometheus errors log dnstap "
        "local dns64 any chaos loadbalance tsig rewrite autopath acl cache header dnssec minimal "
        "template transfer hosts route53 azure clouddns k8s_external kubernetes file auto "
        "secondary "
        "etcd loop forward grpc erratic whoami on sign view nomad";
    char *copy = strdup(names), *save = NULL;
    CLEANUP_BUF struct buf text = buf_of(1024);
    CLEANUP_BUF struct buf out = buf_of(1 << 20);
    for (char *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        buf_clear(&text);
        buf_printf(&text, "a.org {\n%s\n}", name);
        const char *got = corefile_translated(buf_cstr(&text), &out);
        assert_null(strstr(got, "no plugin of CoreDNS"));
    }
    free(copy);
}
