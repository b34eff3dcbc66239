/* kubeconfig files, the service account, --kube-master-url, and files that change. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "kube2sky/api/kube_auth_config_internal.h"
#include "kube2sky/api/kube_auth_internal.h"
#include "tests/support/certs.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

/* ---- The YAML ---- */

struct config_case {
    const char *name;
    const char *in;
    const char *want; /* key=value pairs of what is set, or the error */
};

#define HEAD    "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
#define CONTEXT "contexts:\n- name: c\n  context: {cluster: k, user: u}\n"
#define CLUSTER "clusters:\n- name: k\n  cluster: {server: https://h:1}\n"

static const struct config_case config_cases[] = {
    {"everything by file",
     HEAD CONTEXT "clusters:\n"
                  "- name: other\n"
                  "  cluster:\n"
                  "    server: https://wrong\n"
                  "- name: k\n"
                  "  cluster:\n"
                  "    server: https://h:6443\n"
                  "    certificate-authority: ca.pem\n"
                  "    tls-server-name: kubernetes\n"
                  "    proxy-url: http://proxy:3128\n"
                  "    insecure-skip-tls-verify: false\n"
                  "    extensions: [{name: x, extension: {a: b}}]\n"
                  "users:\n"
                  "- name: u\n"
                  "  user:\n"
                  "    tokenFile: /t\n"
                  "    client-certificate: c.pem\n"
                  "    client-key: k.pem\n"
                  "    username: me\n"
                  "    password: \"p w\"\n",
     "server=https://h:6443 ca_file=ca.pem tls_server_name=kubernetes proxy_url=http://proxy:3128 "
     "token_file=/t cert_file=c.pem key_file=k.pem username=me password=p w"},
    {"data is base64",
     HEAD CONTEXT
     "clusters: [{name: k, cluster: {server: https://h, certificate-authority-data: Q0E=, "
     "insecure-skip-tls-verify: true}}]\n"
     "users: [{name: u, user: {token: t, client-certificate-data: 'Q0VS\n      VA==', "
     "client-key-data: S0VZ}}]\n",
     "server=https://h ca_data=CA unverified token=t cert_data=CERT key_data=KEY"},
    {"JSON",
     "{\"current-context\":\"c\",\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":\"k\"}}],"
     "\"clusters\":[{\"name\":\"k\",\"cluster\":{\"server\":\"http://h\"}}]}",
     "server=http://h"},
    {"no user", HEAD CLUSTER "contexts: [{name: c, context: {cluster: k, user: ''}}]\n",
     "server=https://h:1"},
    {"null and empty are absent",
     HEAD CONTEXT CLUSTER "users:\n- name: u\n  user: {token: , tokenFile: ~, username: '', "
                          "exec: null}\n",
     "server=https://h:1"},

    {"empty file", "", "the file is empty"},
    {"not a mapping", "- a\n- b\n", "line 1: expected a mapping (kind: Config), found a list"},
    {"broken YAML", "a: b\nc: [1, 2\nd: e\n", "line 3: not YAML: did not find expected ',' or ']'"},
    {"tab", "a:\n\tb: c\n", "line 2: not YAML: found character that cannot start any token"},
    {"no current-context", "kind: Config\n",
     "no current-context is set (kubectl config use-context sets it)"},
    {"unknown context", HEAD "contexts: []\n", "there is no `c` in contexts"},
    {"no contexts", HEAD, "there is no `c` in contexts"},
    {"contexts is a mapping", HEAD "contexts: {}\n",
     "line 4: contexts: expected a list, found a mapping"},
    {"context without cluster", HEAD "contexts: [{name: c, context: {user: u}}]\n",
     "line 4: the context names no cluster"},
    {"context without content", HEAD "contexts: [{name: c}]\n",
     "line 4: `c` in contexts has no context"},
    {"unknown cluster", HEAD CONTEXT "clusters: []\n", "there is no `k` in clusters"},
    {"unknown user", HEAD CONTEXT CLUSTER, "there is no `u` in users"},
    {"server is a list", HEAD CONTEXT "clusters: [{name: k, cluster: {server: [a]}}]\n",
     "line 7: server: expected a plain value, found a list"},
    {"no base64",
     HEAD CONTEXT "clusters:\n- name: k\n  cluster:\n    certificate-authority-data: '*'\n",
     "line 10: certificate-authority-data: expected text in base64"},
    {"no boolean",
     HEAD CONTEXT "clusters:\n- name: k\n  cluster:\n    insecure-skip-tls-verify: maybe\n",
     "line 10: insecure-skip-tls-verify: expected true or false"},
    {"exec", HEAD CONTEXT CLUSTER "users:\n- name: u\n  user:\n    exec: {command: aws}\n",
     "line 13: user `u` has an exec credential plugin, which is not supported; use a token, a "
     "tokenFile or a client certificate"},
    {"auth-provider", HEAD CONTEXT CLUSTER "users: [{name: u, user: {auth-provider: {name: gcp}}}]",
     "line 10: user `u` has an auth-provider plugin, which is not supported; use a token, a "
     "tokenFile or a client certificate"},
    {"impersonation", HEAD CONTEXT CLUSTER "users: [{name: u, user: {as: root}}]",
     "line 10: user `u` has impersonation, which is not supported; use a token, a tokenFile or a "
     "client certificate"},
};

static void print_field(struct buf *out, const char *key, const char *value)
{
    if (value) {
        buf_printf(out, "%s%s=%s", out->len ? " " : "", key, value);
    }
}

static void print_config(struct buf *out, const struct kube_auth_config *c)
{
    print_field(out, "server", c->server);
    print_field(out, "ca_file", c->ca_file);
    print_field(out, "ca_data", c->ca_data);
    print_field(out, "tls_server_name", c->tls_server_name);
    print_field(out, "proxy_url", c->proxy_url);
    buf_append_str(out, c->is_unverified ? " unverified" : "");
    print_field(out, "token", c->token);
    print_field(out, "token_file", c->token_file);
    print_field(out, "cert_file", c->cert_file);
    print_field(out, "cert_data", c->cert_data);
    print_field(out, "key_file", c->key_file);
    print_field(out, "key_data", c->key_data);
    print_field(out, "username", c->username);
    print_field(out, "password", c->password);
}

UNIT_TEST(test_kubeconfig)
{
    for (size_t i = 0; i < ARRAY_LEN(config_cases); i++) {
        const struct config_case *c = &config_cases[i];
        CLEANUP(kube_auth_config_fini) struct kube_auth_config config = {0};
        struct err err = {0};
        CLEANUP_BUF struct buf got = buf_of(65536);
        if (kube_auth_config_parse(slice_str(c->in), &config, &err) == 0) {
            print_config(&got, &config);
        } else {
            buf_append_str(&got, err.msg);
        }
        assert_that(strcmp(buf_cstr(&got), c->want) == 0, "%s: got %s want %s", c->name,
                    buf_cstr(&got), c->want);
    }
}

/* ---- Files, in a folder of their own ---- */

static char dir[] = "/tmp/test_kube_auth.XXXXXX";

static char *kube_auth_path_of(const char *name)
{
    return xasprintf("%s/%s", dir, name);
}

/* Replaces the file by a new one, as rotation does. */
static void kube_auth_put_file(const char *name, const char *content)
{
    CLEANUP_FREE char *path = kube_auth_path_of(name);
    replace_file_from(path, content);
}

static void kube_auth_remove_file(const char *name)
{
    CLEANUP_FREE char *path = kube_auth_path_of(name);
    assert_int_equal(unlink(path), 0);
}

/* From one authority: c.crt and c.key match, as do d.crt and d.key; ca.crt is the authority's. */
static struct certs_ca *authority;

static int make_dir(void **state)
{
    assert_non_null(mkdtemp(dir));
    authority = certs_ca_new(dir, "ca");
    certs_issue(authority, dir, &(struct certs_leaf){.name = "c"});
    certs_issue(authority, dir, &(struct certs_leaf){.name = "d"});
    return 0;
}

static int remove_dir(void **state)
{
    static const char *const names[] = {"token", "ca.crt", "config",    "c.crt",   "c.key",
                                        "d.crt", "d.key",  "other.crt", "now.crt", "now.key"};
    certs_ca_free(authority);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CLEANUP_FREE char *path = kube_auth_path_of(names[i]);
        (void)unlink(path); /* removes what the tests left behind */
    }
    return rmdir(dir);
}

/* The caller frees it. */
static char *content_of(const char *name)
{
    CLEANUP_FREE char *path = kube_auth_path_of(name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *text = xcalloc(1, 65536);
    assert_true(fread(text, 1, 65535, f) > 0);
    assert_int_equal(fclose(f), 0);
    return text;
}

static void copy_file(const char *from, const char *to)
{
    CLEANUP_FREE char *text = content_of(from);
    kube_auth_put_file(to, text);
}

static void assert_content(struct slice text, const char *name)
{
    CLEANUP_FREE char *want = content_of(name);
    assert_true(slice_equal(text, slice_str(want)));
}

static int new_auth(const char *kubecfg_file, const char *url, struct kube_auth **ret_auth,
                    struct err *err)
{
    const struct kube_auth_source source = {
        .kubecfg_file = kubecfg_file, .kube_master_url = url, .service_account_dir = dir};
    return kube_auth_new(&source, ret_auth, err);
}

static void kube_auth_set_pod(const char *host, const char *port)
{
    assert_int_equal(
        host ? setenv("KUBERNETES_SERVICE_HOST", host, 1) : unsetenv("KUBERNETES_SERVICE_HOST"), 0);
    assert_int_equal(
        port ? setenv("KUBERNETES_SERVICE_PORT", port, 1) : unsetenv("KUBERNETES_SERVICE_PORT"), 0);
}

UNIT_TEST(test_service_account)
{
    static const struct {
        const char *host, *port, *want;
    } cases[] = {
        {"10.96.0.1", "443", "https://10.96.0.1:443"},
        {"fd00::1", "6443", "https://[fd00::1]:6443"},
        {"api.example", "443", "https://api.example:443"},
    };
    kube_auth_put_file("token", "abc.def\n");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kube_auth *auth = NULL;
        struct err err = {0};
        kube_auth_set_pod(cases[i].host, cases[i].port);
        assert_int_equal(new_auth("", "", &auth, &err), 0);
        assert_string_equal(kube_auth_server(auth), cases[i].want);
        struct kube_credentials credentials = kube_auth_credentials(auth);
        assert_string_equal(credentials.bearer_token, "abc.def");
        assert_content(credentials.tls.ca, "ca.crt");
        assert_false(credentials.tls.is_unverified);
        kube_auth_free(auth);
    }
}

static void kube_auth_expect_error(const char *kubecfg_file, const char *url, int code,
                                   const char *words)
{
    struct kube_auth *auth = NULL;
    struct err err = {0};
    int rc = new_auth(kubecfg_file, url, &auth, &err);
    assert_that(rc == code && strstr(err.msg, words), "got %d %s, want %d ...%s...", rc, err.msg,
                code, words);
}

UNIT_TEST(test_service_account_errors)
{
    kube_auth_set_pod(NULL, "443");
    kube_auth_expect_error("", "", ERR_USAGE, "KUBERNETES_SERVICE_HOST");
    kube_auth_set_pod("10.0.0.1", NULL);
    kube_auth_expect_error("", "", ERR_USAGE, "KUBERNETES_SERVICE_PORT");
    kube_auth_set_pod("10.0.0.1", "https");
    kube_auth_expect_error("", "", ERR_USAGE, "KUBERNETES_SERVICE_PORT");
    kube_auth_set_pod("10.0.0.1", "443");
    kube_auth_put_file("token", "abc");
    copy_file("ca.crt", "other.crt");
    kube_auth_put_file("ca.crt", "no certificate");
    kube_auth_expect_error("", "", ERR_SYNTAX,
                           "/ca.crt: expected a certificate as PEM text (no start line)");
    kube_auth_remove_file("ca.crt");
    kube_auth_expect_error("", "", -ENOENT, "/ca.crt: No such file or directory");
    copy_file("other.crt", "ca.crt");
    kube_auth_put_file("token", " \n");
    kube_auth_expect_error("", "", ERR_SYNTAX, "/token: expected a token, found nothing");
    kube_auth_put_file("token", "a\r\nHost: b");
    kube_auth_expect_error("", "", ERR_SYNTAX,
                           "/token: expected a token: one word of printable ASCII");
    kube_auth_remove_file("token");
    kube_auth_expect_error("", "", -ENOENT, "/token: No such file or directory");
}

/* Reread when the file changes, at once after a 401; a bad file leaves the last good token. */
UNIT_TEST(test_token_rotation)
{
    struct kube_auth *auth = NULL;
    struct err err = {0};
    struct stat before;
    kube_auth_set_pod("10.0.0.1", "443");
    kube_auth_put_file("token", "one");
    assert_int_equal(new_auth("", "", &auth, &err), 0);
    assert_string_equal(kube_auth_credentials(auth).bearer_token, "one");
    kube_auth_put_file("token", "two");
    assert_string_equal(kube_auth_credentials(auth).bearer_token, "two");
    kube_auth_put_file("token", "  ");
    assert_string_equal(kube_auth_credentials(auth).bearer_token, "two");
    kube_auth_remove_file("token");
    assert_string_equal(kube_auth_credentials(auth).bearer_token, "two");
    kube_auth_put_file("token", "six");
    assert_string_equal(kube_auth_credentials(auth).bearer_token, "six");

    /* Changed in place, with the same size and times: only a 401 reveals it. */
    CLEANUP_FREE char *path = kube_auth_path_of("token");
    assert_int_equal(stat(path, &before), 0);
    int fd = open(path, O_WRONLY);
    assert_int_equal(write(fd, "ten", 3), 3);
    assert_int_equal(futimens(fd, (struct timespec[]){before.st_atim, before.st_mtim}), 0);
    assert_int_equal(close(fd), 0);
    assert_string_equal(kube_auth_credentials(auth).bearer_token, "six");
    kube_auth_refused(auth);
    assert_string_equal(kube_auth_credentials(auth).bearer_token, "ten");
    kube_auth_free(auth);
}

/* A certificate and its key are replaced together: between the writes of the two files the old ones
 * stay. */
UNIT_TEST(test_certificate_rotation)
{
    CLEANUP_FREE char *config = kube_auth_path_of("config");
    struct kube_auth *auth = NULL;
    struct err err = {0};
    copy_file("c.crt", "now.crt");
    copy_file("c.key", "now.key");
    kube_auth_put_file(
        "config", HEAD CONTEXT CLUSTER
        "users: [{name: u, user: {client-certificate: now.crt, client-key: now.key}}]\n");
    assert_int_equal(new_auth(config, "", &auth, &err), 0);
    copy_file("d.crt", "now.crt");
    struct kube_credentials credentials = kube_auth_credentials(auth);
    assert_content(credentials.tls.cert, "c.crt");
    assert_content(credentials.tls.key, "c.key");
    copy_file("d.key", "now.key");
    credentials = kube_auth_credentials(auth);
    assert_content(credentials.tls.cert, "d.crt");
    assert_content(credentials.tls.key, "d.key");
    kube_auth_free(auth);
}

/* Error messages can name the source of the rejected credentials. */
UNIT_TEST(test_words)
{
    static const struct {
        const char *cluster, *user;
        const char *want; /* %s: the folder */
    } cases[] = {
        {"", "token: t", "the token in %s/config, the system's CAs"},
        {"certificate-authority: ca.crt", "tokenFile: token",
         "the token in %s/token, the CAs in %s/ca.crt"},
        {"insecure-skip-tls-verify: true", "username: me, password: p",
         "the user name and password in %s/config, any certificate"},
        {"tls-server-name: api", "client-certificate: c.crt, client-key: c.key",
         "the client certificate in %s/c.crt, the system's CAs for api"},
        {"", "", "no credentials, the system's CAs"},
    };
    CLEANUP_FREE char *config = kube_auth_path_of("config");
    kube_auth_put_file("token", "t");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_FREE char *text =
            xasprintf(HEAD CONTEXT "clusters: [{name: k, cluster: {server: https://h, %s}}]\n"
                                   "users: [{name: u, user: {%s}}]\n",
                      cases[i].cluster, cases[i].user);
        struct kube_auth *auth = NULL;
        struct err err = {0};
        kube_auth_put_file("config", text);
        assert_int_equal(new_auth(config, "", &auth, &err), 0);
        CLEANUP_BUF struct buf got = buf_of(4096);
        CLEANUP_BUF struct buf want = buf_of(4096);
        kube_auth_tell_identity(auth, &got);
        buf_append_str(&got, ", ");
        kube_auth_tell_trust(auth, &got);
        for (const char *c = cases[i].want; *c; c++) {
            if (*c == '%') {
                buf_append_str(&want, dir);
                c++;
            } else {
                buf_append_char(&want, *c);
            }
        }
        assert_string_equal(buf_cstr(&got), buf_cstr(&want));
        kube_auth_free(auth);
    }
}

UNIT_TEST(test_master_url)
{
    static const struct {
        const char *in;
        const char *want; /* NULL: refused */
    } cases[] = {
        {"http://127.0.0.1:8080/", "http://127.0.0.1:8080"},
        {"https://${KUBERNETES_SERVICE_HOST}:${KUBERNETES_SERVICE_PORT}", "https://10.0.0.1:443"},
        {"http://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT", "http://10.0.0.1:443"},
        {"http://h/$/x", "http://h/$/x"},
        {"http://h/${unclosed", "http://h/${unclosed"},
        {"http://${NOT_SET_ANYWHERE}", NULL},
        {"http://$NOT_SET_ANYWHERE:80", NULL},
        {"$NOT_SET_ANYWHERE", NULL},
        {"127.0.0.1:8080", NULL},
    };
    kube_auth_set_pod("10.0.0.1", "443");
    assert_int_equal(unsetenv("NOT_SET_ANYWHERE"), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kube_auth *auth = NULL;
        struct err err = {0};
        int rc = new_auth("", cases[i].in, &auth, &err);
        assert_that(rc == (cases[i].want ? 0 : ERR_USAGE) &&
                        (!cases[i].want || strcmp(kube_auth_server(auth), cases[i].want) == 0),
                    "%s: got %d %s", cases[i].in, rc, auth ? kube_auth_server(auth) : err.msg);
        if (auth) {
            assert_null(kube_auth_credentials(auth).bearer_token);
        }
        kube_auth_free(auth);
    }
}

/* Paths are relative to the kubeconfig; the URL of the flag replaces the file's. */
UNIT_TEST(test_kubeconfig_files)
{
    CLEANUP_FREE char *config = kube_auth_path_of("config");
    struct kube_auth *auth = NULL;
    struct err err = {0};
    kube_auth_put_file("token", "from-file");
    kube_auth_put_file(
        "config", HEAD CONTEXT
        "clusters: [{name: k, cluster: {server: https://h/, certificate-authority: ca.crt}}]\n"
        "users: [{name: u, user: {token: t, tokenFile: token, client-certificate: c.crt, "
        "client-key: c.key}}]\n");
    assert_int_equal(new_auth(config, "", &auth, &err), 0);
    assert_string_equal(kube_auth_server(auth), "https://h");
    struct kube_credentials credentials = kube_auth_credentials(auth);
    assert_string_equal(credentials.bearer_token, "from-file");
    assert_content(credentials.tls.ca, "ca.crt");
    assert_content(credentials.tls.cert, "c.crt");
    assert_content(credentials.tls.key, "c.key");
    kube_auth_free(auth);

    assert_int_equal(new_auth(config, "http://other:1", &auth, &err), 0);
    assert_string_equal(kube_auth_server(auth), "http://other:1");
    assert_string_equal(kube_auth_credentials(auth).bearer_token, "from-file");
    kube_auth_free(auth);
}

UNIT_TEST(test_kubeconfig_errors)
{
    static const struct {
        const char *config;
        int code;
        const char *words; /* after "kubeconfig <path>: " */
    } cases[] = {
        {"a: [", ERR_SYNTAX, "line 2: not YAML"},
        {HEAD CONTEXT "clusters: [{name: k, cluster: {server: nowhere}}]\n"
                      "users: [{name: u, user: {}}]\n",
         ERR_USAGE, "server: `nowhere` is not a server's URL"},
        {HEAD CONTEXT "clusters: [{name: k, cluster: {}}]\nusers: [{name: u, user: {}}]\n",
         ERR_SYNTAX, "the cluster has no server"},
        {HEAD CONTEXT CLUSTER "users: [{name: u, user: {client-certificate-data: QQ==}}]\n",
         ERR_SYNTAX, "client-certificate-data: expected a certificate as PEM text (no start line)"},
        {HEAD CONTEXT CLUSTER "users: [{name: u, user: {client-certificate: c.crt}}]\n", ERR_SYNTAX,
         "client-certificate and client-key: expected both or none"},
        {HEAD CONTEXT CLUSTER
         "users: [{name: u, user: {client-certificate: c.crt, client-key: d.key}}]\n",
         ERR_SYNTAX, "client-key: the key does not match the certificate"},
        {HEAD CONTEXT CLUSTER
         "users: [{name: u, user: {client-certificate: c.crt, client-key-data: S0VZ}}]\n",
         ERR_SYNTAX, "client-key-data: expected a private key as PEM text ("},
        {HEAD CONTEXT
         "clusters: [{name: k, cluster: {server: https://h, proxy-url: 'ftp://a:b@p'}}]\n"
         "users: [{name: u, user: {}}]\n",
         ERR_USAGE, "proxy-url: `ftp://p:21` is not a proxy's URL"},
        {HEAD CONTEXT CLUSTER "users: [{name: u, user: {tokenFile: gone}}]\n", -ENOENT,
         "tokenFile: "},
    };
    CLEANUP_FREE char *config = kube_auth_path_of("config");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_FREE char *words = xasprintf("kubeconfig %s: %s", config, cases[i].words);
        kube_auth_put_file("config", cases[i].config);
        kube_auth_expect_error(config, "", cases[i].code, words);
    }
    kube_auth_remove_file("config");
    kube_auth_expect_error(config, "", -ENOENT, "config: No such file or directory");
    kube_auth_expect_error(dir, "", -EISDIR, "Is a directory");
    kube_auth_expect_error("/dev/zero", "", ERR_TOO_LARGE, "longer than 1048576 bytes");
}

UNIT_TESTS_ONCE(make_dir, remove_dir)
