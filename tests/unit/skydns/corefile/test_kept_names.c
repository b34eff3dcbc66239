/* Names that a Corefile forwards to nobody, or in a way that is missing here, reach no nameserver.
 */
#include <stdint.h>
#include <string.h>

#include "tests/support/skydns/corefile_rows.h"
#include "tests/support/unit_test.h"

#define KUBERNETES "kubernetes cluster.local {\npods verified\n}\n"
#define FORWARD    "forward . 9.9.9.9\n"

UNIT_TEST(test_nameservers)
{
    static const struct corefile_row rows[] = {
        {". {\nforward . quic://9.9.9.9\n}",
         {" -no-rec ", "forward . quic://9.9.9.9: upstreams are queried over UDP, TCP or TLS",
          "forward . quic://9.9.9.9: no upstream is left", "\"no_rec\":true"},
         "-nameservers="},
        {". {\nforward . https://9.9.9.9/dns-query\n}",
         {" -no-rec ", "over UDP, TCP or TLS"},
         "-nameservers="},
        {". {\nforward . dns.example\n}", {" -no-rec ", "expected IP addresses"}, "-nameservers="},
        {". {\nforward . tls://dns.example\n}",
         {" -no-rec ", "expected IP addresses"},
         "-nameservers="},
        {". {\nforward . /etc/my.conf\n}",
         {" -no-rec ", "put the addresses of that file's"},
         "-nameservers="},
        {". {\nforward .\n}", {" -no-rec ", "expected a zone and its upstreams"}, "-nameservers="},
        {". {\nforward . https://9.9.9.9 10.0.0.1\n}", {"-nameservers=10.0.0.1:53 "}, "-no-rec"},
        {". {\nforward . 9.9.9.9 {\nforce_tcp\n}\n}",
         {"-nameservers=tcp://9.9.9.9:53 "},
         "-no-rec"},
        {". {\nforward . /etc/resolv.conf {\nforce_tcp\n}\n}", {" -no-rec "}, "-nameservers="},
        {". {\nforward . 9.9.9.9 tls://9.9.9.9 {\nforce_tcp\n}\n}",
         {"-nameservers=tcp://9.9.9.9:53,tls://9.9.9.9:853 "},
         "-no-rec"},
        {". {\nforward . 9.9.9.9 {\nonly_if safe\n}\n}",
         {" -no-rec ", "what its unknown options restrict is not known"},
         "-nameservers="},
        /* the first one has all names */
        {". {\nforward . https://9.9.9.9\n" FORWARD "}",
         {" -no-rec ", "another one has these"},
         "-nameservers="},
        {". {\nforward . tls://9.9.9.9\nforward . 8.8.8.8\n}",
         {"-nameservers=tls://9.9.9.9:853 ", "another one has these names first"},
         "8.8.8.8:53"},
        {". {\nforward . tls://9.9.9.9 {\ntls /a\n}\n}\na.test {\nforward . tls://10.0.0.1 {\ntls "
         "/b\n}\n}",
         {"-nameservers-ca=/a ", "another plugin has other CAs", "-stub=a.test=none "},
         "10.0.0.1:853"},
        {". {\nforward . tls://9.9.9.9\n}\na.test {\nforward . tls://10.0.0.1 {\ntls /b\n}\n}",
         {"another plugin has other CAs", "-stub=a.test=none "},
         "-nameservers-ca"},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}

/* Names that CoreDNS forwards to nobody, or in a way that is missing here, do not go to those of
 * other names. */
UNIT_TEST(test_names_that_stay)
{
    static const struct corefile_row rows[] = {
        {". {\nforward . 9.9.9.9 {\nexcept corp.test a.corp.test cluster.local\n}\n" KUBERNETES "}",
         {"-nameservers=9.9.9.9:53 ", "-stub=corp.test=none ",
          "corp.test: no upstream may be queried",
          "{\"nameservers\":[\"9.9.9.9:53\"],\"stubs\":{\"corp.test\":[\"none\"]}"},
         "cluster.local=none"},
        {". {\nforward . 9.9.9.9 {\nexcept corp.test\n}\nforward corp.test 10.0.0.1\n}",
         {"-stub=corp.test=10.0.0.1:53 "},
         "none"},
        {". {\nforward corp.test 10.0.0.1 {\nexcept a.corp.test\n}\n}",
         {" -no-rec ", "-stub=a.corp.test=none "},
         NULL},
        {". {\nforward . 9.9.9.9 {\nexcept ??\n}\n}",
         {" -no-rec ", "nothing is forwarded"},
         "-nameservers="},
        {". {\n" FORWARD "}\ncorp.test {\nforward . tls://dns.corp.test\n}",
         {"-nameservers=9.9.9.9:53 ", "-stub=corp.test=none "},
         NULL},
        {". {\nforward corp.test tls://dns.test\nforward corp.test 10.0.0.1\n" FORWARD "}",
         {"-stub=corp.test=none "},
         "=10.0.0.1"},
        {". {\n" FORWARD "}\ncorp.test {\nforward . /etc/resolv.conf\n}",
         {"-stub=corp.test=none "},
         NULL},
        {". {\nforward . /etc/resolv.conf\n}\ncorp.test {\nforward . /etc/resolv.conf\n}",
         {"-rcache=0"},
         "none "},
        {". {\n" FORWARD "}\ncorp.test {\nfile db.corp\n}", {"-stub=corp.test=none "}, NULL},
        {". {\n" FORWARD "}\ncorp.test {\nerrors\n}", {"-stub=corp.test=none "}, NULL},
        {". {\n" FORWARD "file db.corp corp.test\n}", {"-stub=corp.test=none "}, "-no-rec"},
        {". {\n" FORWARD "secondary corp.test {\ntransfer from 10.0.0.1\n}\n}",
         {"-stub=corp.test=none "},
         NULL},
        {". {\n" FORWARD "forward a.corp.test 10.0.0.1\nauto corp.test\n}",
         {"-stub=a.corp.test=none ", "-stub=corp.test=none "},
         "=10.0.0.1"},
        {". {\n" FORWARD "file db.corp corp.test\n}\na.corp.test {\nforward . 10.0.0.1\n}",
         {"-stub=corp.test=none ", "-stub=a.corp.test=10.0.0.1:53 "},
         NULL},
        {". {\n" FORWARD "template ANY ANY ads.test {\nrcode NXDOMAIN\n}\n}",
         {"-stub=ads.test=none "},
         "-no-rec"},
        {". {\n" FORWARD "template ANY AAAA {\nrcode NXDOMAIN\n}\n}",
         {" -no-rec ", "forward: another plugin has the names first"},
         "-nameservers="},
        {". {\n" FORWARD "route53 corp.test:Z1\n}", {" -no-rec "}, "-nameservers="},
        {". {\n" FORWARD
         "rewrite name exact www.corp.test a.test\nrewrite stop name suffix .b.test .c.test\n"
         "rewrite type ANY HINFO\n}",
         {"-nameservers=9.9.9.9:53 ", "-stub=www.corp.test=none ", "-stub=b.test=none "},
         "-no-rec"},
        {". {\n" FORWARD
         "rewrite continue {\nname a.corp.test b.test\nanswer name b.test c.test\n}\n}",
         {"-stub=a.corp.test=none "},
         "-stub=b.test"},
        {". {\n" FORWARD "rewrite name regex (.*)\\.corp\\.test {1}.test\n}",
         {" -no-rec "},
         "-nameservers="},
        {". {\n" FORWARD "local\n}", {"-stub=127.in-addr.arpa=none "}, "localhost=none"},
        {". {\n" FORWARD "kubernetes my_cluster.test\n}", {"-stub=my_cluster.test=none "}, NULL},
        {". {\n" FORWARD "kubernetes a.test 10.96.0.0/12 fd00:1::/33\n}",
         {"-reverse-zones=10.96.0.0/12,fd00:1::/33 ", "-nameservers="},
         "no name"},
        {". {\n" FORWARD "kubernetes a.test x.10.in-addr.arpa\n}",
         {"-stub=x.10.in-addr.arpa=none "},
         NULL},
        {". {\n" FORWARD "kubernetes a.test 10.0.0.0/8\n}\n10.in-addr.arpa {\nerrors\n}",
         {"-reverse-zones=10.0.0.0/8 "},
         "none "},
        {". {\n" FORWARD "}\n10.96.0.0/12 {\nforward . 10.0.0.1\n}",
         {" -stub=10.in-addr.arpa=none ", "of networks, those of whole octets"},
         "10.0.0.1:53"},
        {". {\n" FORWARD "}\n10.32.0.0/17 {\nfile x\n}",
         {" -stub=32.10.in-addr.arpa=none "},
         "-no-rec"},
        {". {\n" FORWARD "}\nfd00:10:96::/111 {\nerrors\n}",
         {"0.0.0.0.0.0.0.0.0.0.0.6.9.0.0.0.1.0.0.0.0.d.f.ip6.arpa=none "},
         "-no-rec"},
        /* a hosts file answers all that does not fall through */
        {". {\n" FORWARD "hosts {\n10.0.0.1 a.test\n}\n}",
         {" -no-rec ", "without fallthrough"},
         "-nameservers="},
        {". {\n" FORWARD "hosts {\n10.0.0.1 a.test\nfallthrough\n}\n}",
         {"-nameservers="},
         "-no-rec"},
        {". {\n" FORWARD "hosts /f corp.test {\n10.0.0.1 a.corp.test b.test\n10.0.0.2 c.test\n}\n}",
         {"\n10.0.0.1 a.corp.test\nEND", "-stub=corp.test=none ", "names of other zones",
          "-hosts has the names of all zones"},
         "-hosts=/f"},
        {"corp.test {\nhosts /f\n}", {"-hosts has the names of all zones"}, "-hosts=/f"},
        {". {\n" FORWARD "etcd a.test {\npath /x\n}\netcd b.test {\npath /y\n}\n}",
         {"-path-prefix=x", "etcd b.test: another one has other keys", "-stub=b.test=none "},
         "-path-prefix=y"},
    };
    corefile_check_rows(rows, ARRAY_LEN(rows));
}
