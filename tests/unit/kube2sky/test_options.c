/* options: spellings of every age, defaults, and what is refused with which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/attributes.h"
#include "kube2sky/options.h"

enum { ARGS_MAX = 8 };

static int parse(const char *const *args, struct options *ret_options, struct err *err)
{
    char *argv[ARGS_MAX + 2] = {(char *)(uintptr_t) "kube2sky"};
    int argc = 1;
    for (; *args; args++) {
        argv[argc++] = (char *)(uintptr_t)*args;
    }
    return options_parse(argc, argv, ret_options, err);
}

static void test_defaults(void **state)
{
    struct options o;
    (void)state;
    assert_int_equal(parse((const char *const[]){NULL}, &o, NULL), 0);
    assert_string_equal(o.domain, "cluster.local.");
    assert_string_equal(o.etcd_server, "http://127.0.0.1:4001");
    assert_string_equal(o.kubecfg_file, "");
    assert_string_equal(o.kube_master_url, "");
    assert_int_equal(o.etcd_mutation_timeout_ms, 10000);
    assert_int_equal(o.healthz_port, 8081);
    assert_int_equal(o.verbosity, 0);
    assert_false(o.want_version);
    options_fini(&o);
}

static void test_spellings(void **state)
{
    struct options o;
    (void)state;
    assert_int_equal(parse((const char *const[]){"-etcd_mutation_timeout=1m30s", "--kubecfg_file",
                                                 "/a", "-kube-master-url=http://b",
                                                 "--healthz_port", "9000", "-v=4", NULL},
                           &o, NULL),
                     0);
    assert_int_equal(o.etcd_mutation_timeout_ms, 90000);
    assert_string_equal(o.kubecfg_file, "/a");
    assert_string_equal(o.kube_master_url, "http://b");
    assert_int_equal(o.healthz_port, 9000);
    assert_int_equal(o.verbosity, OPTIONS_DEBUG_VERBOSITY);
    options_fini(&o);
}

static void test_tls(void **state)
{
    static const struct {
        const char *args[4];
        const char *want; /* in the message */
    } cases[] = {
        {{"--etcd-certfile=/c", NULL}, "flag -etcd-certfile: expected -etcd-keyfile with it"},
        {{"--etcd_keyfile=/k", NULL}, "flag -etcd-keyfile: expected -etcd-certfile with it"},
    };
    struct options o;
    (void)state;
    assert_int_equal(parse((const char *const[]){"--etcd_cafile=/ca", "--etcd-certfile=/c",
                                                 "--etcd-keyfile=/k", NULL},
                           &o, NULL),
                     0);
    assert_string_equal(o.etcd_cafile, "/ca");
    assert_string_equal(o.etcd_certfile, "/c");
    assert_string_equal(o.etcd_keyfile, "/k");
    options_fini(&o);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err;
        assert_int_equal(parse(cases[i].args, &o, &err), ERR_USAGE);
        assert_string_equal(err.msg, cases[i].want);
    }
}

static void test_ignored_flags_of_glog(void **state)
{
    struct options o;
    (void)state;
    assert_int_equal(
        parse((const char *const[]){"--logtostderr", "--alsologtostderr=false", "--log_dir=/tmp",
                                    "--vmodule", "a=1", "--stderrthreshold=2",
                                    "--log-flush-frequency=5s", "--log_backtrace_at=a:1", NULL},
              &o, NULL),
        0);
    options_fini(&o);
}

static void test_domains(void **state)
{
    static const struct {
        const char *flag;
        const char *want; /* NULL: refused */
    } cases[] = {
        {"--domain=kubernetes.local", "kubernetes.local."},
        {"--domain=kubernetes.local.", "kubernetes.local."},
        {"--domain=Cluster.LOCAL", "cluster.local."},
        {"--domain=local", "local."},
        {"--domain=a-1.b.c", "a-1.b.c."},
        {"--domain=", NULL},
        {"--domain=.", NULL},
        {"--domain=a..b", NULL},
        {"--domain=.a", NULL},
        {"--domain=a b", NULL},
        {"--domain=a/b", NULL},
        {"--domain=_a.b", NULL},
        {"--domain=-a.b", NULL},
        {"--domain=a\\.b", NULL},
        {"--domain=a2345678901234567890123456789012345678901234567890123456789012345", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct options o = {.domain = NULL};
        struct err err = {.code = 0};
        int r = parse((const char *const[]){cases[i].flag, NULL}, &o, &err);
        if (!cases[i].want) {
            assert_int_equal(r, ERR_USAGE);
            assert_non_null(strstr(err.msg, "expected a domain name like cluster.local"));
            assert_null(o.domain); /* untouched */
            continue;
        }
        assert_int_equal(r, 0);
        assert_string_equal(o.domain, cases[i].want);
        options_fini(&o);
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *flag;
        const char *want;
    } cases[] = {
        {"--unknown", "unknown flag `--unknown`"},
        {"argument", "unexpected argument `argument`"},
        {"--healthz-port=0", "expected a number from 1 to 65535"},
        {"--healthz-port=65536", "expected a number from 1 to 65535"},
        {"--healthz_port=http", "flag -healthz-port: `http`"},
        {"--etcd-mutation-timeout=10", "expected a duration like 10s"},
        {"--etcd-mutation-timeout=0s", "expected a duration like 10s"},
        {"--v=high", "flag -v: `high`"},
        {"--etcd-server", "flag -etcd-server: value missing"},
        {"--etcd-username=dns", "flag -etcd-username: expected -etcd-password-file with it"},
        {"--etcd-password-file=/x", "flag -etcd-password-file: expected -etcd-username with it"},
        {"--version=maybe", "expected true or false"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct options o;
        struct err err = {.code = 0};
        assert_int_equal(parse((const char *const[]){cases[i].flag, NULL}, &o, &err), ERR_USAGE);
        if (!strstr(err.msg, cases[i].want)) {
            fail_msg("%s: `%s` lacks `%s`", cases[i].flag, err.msg, cases[i].want);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_tls),      cmocka_unit_test(test_ignored_flags_of_glog),
        cmocka_unit_test(test_domains),  cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
