#include "kube2sky/kube_auth.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/addr.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/http_url.h"
#include "common/xalloc.h"
#include "kube2sky/kube_auth_config.h"

/* A bundle of all public authorities is 220 KB, a token 1 KB, a large kubeconfig some 10 KB. */
enum { FILE_BYTES_MAX = 1024 * 1024 };

/* A text that may come from a file. */
struct source_text {
    char *path; /* NULL: text was given directly, or there is none */
    char *text; /* NULL: none */
    struct stat stat;
};

struct kube_auth {
    char *server;
    char *username;
    char *password;
    char *proxy_url;
    char *tls_server_name;
    bool is_unverified;
    bool is_refused;
    struct source_text token;
    struct source_text ca;
    struct source_text cert;
    struct source_text key;
};

/* ---- Files ---- */

static int read_all(int fd, struct buf *out, struct err *err)
{
    for (;;) {
        uint8_t chunk[4096];
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n < 0) {
            return err_set(err, -errno, "%s", strerror(errno));
        }
        if (n == 0) {
            return 0;
        }
        buf_append(out, chunk, (size_t)n);
        if (out->failed) {
            return err_set(err, ERR_TOO_LARGE, "longer than %d bytes", FILE_BYTES_MAX);
        }
    }
}

/* *ret_text (owned) has no NUL in it. */
static int read_file(const char *path, char **ret_text, struct stat *ret_stat, struct err *err)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct buf content;
    if (fd < 0 || fstat(fd, ret_stat) < 0) {
        return err_set(err, -errno, "%s", strerror(errno));
    }
    buf_init(&content, FILE_BYTES_MAX);
    int rc = read_all(fd, &content, err);
    if (rc == 0 && content.len > 0 && memchr(content.data, '\0', content.len)) {
        rc = err_set(err, ERR_SYNTAX, "not a text file");
    }
    if (rc == 0) {
        *ret_text = xstrdup(buf_cstr(&content));
    }
    buf_fini(&content);
    return rc;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* ---- What a text must be. Each may shorten it in place. ---- */

typedef int (*check_fn)(char *text, struct err *err);

static int check_pem(char *text, struct err *err)
{
    return strstr(text, "-----BEGIN ") ? 0 : err_set(err, ERR_SYNTAX, "expected PEM text");
}

/* It becomes a header line: nothing may be in it that ends one. */
static int check_token(char *text, struct err *err)
{
    size_t blanks = strspn(text, " \t\r\n");
    size_t len = strlen(text);
    while (len > blanks && strchr(" \t\r\n", text[len - 1])) {
        len--;
    }
    memmove(text, text + blanks, len - blanks);
    text[len - blanks] = '\0';
    for (const char *c = text; *c; c++) {
        if (*c <= ' ' || *c >= 0x7f) {
            return err_set(err, ERR_SYNTAX, "expected a token: one word of printable ASCII");
        }
    }
    return *text ? 0 : err_set(err, ERR_SYNTAX, "expected a token, found nothing");
}

static int load(struct source_text *source, check_fn check, struct err *err)
{
    char *text = NULL;
    int rc = read_file(source->path, &text, &source->stat, err);
    if (rc == 0) {
        rc = check(text, err);
    }
    if (rc < 0) {
        free(text);
        return err_wrap(err, rc, "%s", source->path);
    }
    free(source->text);
    source->text = text;
    return 0;
}

static void refresh(struct source_text *source, check_fn check, bool is_forced)
{
    struct stat now;
    struct err err = {0};
    if (!source->path || stat(source->path, &now) < 0 ||
        (!is_forced && is_same_file(&now, &source->stat))) {
        return;
    }
    static struct log_limit limit = {.burst = 2};
    if (load(source, check, &err) < 0 && log_limit_pass(&limit)) {
        log_warn("keeping what a credential file said before", LOG_STR("reason", err.msg));
    }
}

/* ---- The three ways ---- */

/* $NAME and ${NAME}; a dollar that begins neither is itself. */
static char *expand_variables(const char *text)
{
    struct buf out;
    buf_init(&out, FILE_BYTES_MAX);
    while (*text) {
        bool has_brace = text[0] == '$' && text[1] == '{';
        const char *name = text + (has_brace ? 2 : 1);
        size_t len = 0;
        while (text[0] == '$' && (isalnum((unsigned char)name[len]) || name[len] == '_')) {
            len++;
        }
        if (len > 0 && (!has_brace || name[len] == '}')) {
            CLEANUP_FREE char *variable = xstrndup(name, len);
            const char *value = getenv(variable);
            buf_append_str(&out, value ? value : "");
            text = name + len + (has_brace ? 1 : 0);
        } else {
            buf_append_char(&out, *text++);
        }
    }
    char *result = xstrdup(buf_cstr(&out));
    buf_fini(&out);
    return result;
}

static int set_master_url(struct kube_auth *auth, const char *url, struct err *err)
{
    CLEANUP_FREE char *expanded = expand_variables(url);
    char *server = NULL;
    int rc = http_url_base(expanded, &server, err);
    if (rc < 0) {
        return err_wrap(err, rc, "--kube-master-url %s", url);
    }
    free(auth->server);
    auth->server = server;
    return 0;
}

/* path as seen from the folder of the file that names it. */
static char *resolve_path(const char *base_file, const char *path)
{
    const char *slash = strrchr(base_file, '/');
    if (*path == '/' || !slash) {
        return xstrdup(path);
    }
    return xasprintf("%.*s/%s", (int)(slash - base_file), base_file, path);
}

/* Data given in the kubeconfig itself comes before a file, as for kubectl. Takes data. */
static int set_text(struct source_text *source, const char *key, const char *kubecfg_file,
                    char *data, const char *file, check_fn check, struct err *err)
{
    source->text = data;
    if (!data && !file) {
        return 0;
    }
    if (!data) {
        source->path = resolve_path(kubecfg_file, file);
    }
    int rc = data ? check(data, err) : load(source, check, err);
    return rc < 0 ? err_wrap(err, rc, "%s", key) : 0;
}

/* A token file is read again, so it comes before a token. */
static int set_token(struct kube_auth *auth, const char *kubecfg_file,
                     struct kube_auth_config *config, struct err *err)
{
    char *token = config->token_file ? NULL : STEAL(config->token);
    return set_text(&auth->token, config->token_file ? "tokenFile" : "token", kubecfg_file, token,
                    config->token_file, check_token, err);
}

static int set_texts(struct kube_auth *auth, const char *kubecfg_file,
                     struct kube_auth_config *config, struct err *err)
{
    int rc = set_token(auth, kubecfg_file, config, err);
    if (rc == 0) {
        rc = set_text(&auth->ca, "certificate-authority", kubecfg_file, STEAL(config->ca_data),
                      config->ca_file, check_pem, err);
    }
    if (rc == 0) {
        rc = set_text(&auth->cert, "client-certificate", kubecfg_file, STEAL(config->cert_data),
                      config->cert_file, check_pem, err);
    }
    if (rc == 0) {
        rc = set_text(&auth->key, "client-key", kubecfg_file, STEAL(config->key_data),
                      config->key_file, check_pem, err);
    }
    if (rc == 0 && !auth->cert.text != !auth->key.text) {
        rc = err_set(err, ERR_SYNTAX, "client-certificate and client-key: expected both or none");
    }
    return rc;
}

static int use_config(struct kube_auth *auth, const char *kubecfg_file,
                      struct kube_auth_config *config, struct err *err)
{
    auth->username = STEAL(config->username);
    auth->password = STEAL(config->password);
    auth->proxy_url = STEAL(config->proxy_url);
    auth->tls_server_name = STEAL(config->tls_server_name);
    auth->is_unverified = config->is_unverified;
    int rc = set_texts(auth, kubecfg_file, config, err);
    if (rc == 0 && config->server) {
        rc = http_url_base(config->server, &auth->server, err);
        rc = rc < 0 ? err_wrap(err, rc, "server") : 0;
    }
    return rc;
}

static int use_kubeconfig(struct kube_auth *auth, const struct kube_auth_source *source,
                          struct err *err)
{
    CLEANUP_FREE char *text = NULL;
    struct kube_auth_config config = {0};
    struct stat ignored;
    int rc = read_file(source->kubecfg_file, &text, &ignored, err);
    if (rc == 0) {
        rc = kube_auth_config_parse(slice_str(text), &config, err);
    }
    if (rc == 0) {
        rc = use_config(auth, source->kubecfg_file, &config, err);
    }
    kube_auth_config_fini(&config);
    if (rc == 0 && *source->kube_master_url) {
        return set_master_url(auth, source->kube_master_url, err);
    }
    if (rc == 0 && !auth->server) {
        rc = err_set(err, ERR_SYNTAX, "the cluster has no server");
    }
    return rc < 0 ? err_wrap(err, rc, "kubeconfig %s", source->kubecfg_file) : 0;
}

static int use_service_account(struct kube_auth *auth, const char *dir, struct err *err)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    struct ip ip;
    if (!host || !*host || !port || !*port) {
        return err_set(err, ERR_USAGE,
                       "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, so this "
                       "is no pod; give --kubecfg-file or --kube-master-url");
    }
    bool is_v6 = ip_parse(slice_str(host), &ip) && strchr(host, ':');
    CLEANUP_FREE char *url =
        xasprintf("https://%s%s%s:%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
    int rc = http_url_base(url, &auth->server, err);
    if (rc < 0) {
        return err_wrap(err, rc, "KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT");
    }
    auth->token.path = xasprintf("%s/token", dir);
    auth->ca.path = xasprintf("%s/ca.crt", dir);
    if ((rc = load(&auth->token, check_token, err)) < 0 ||
        (rc = load(&auth->ca, check_pem, err)) < 0) {
        return err_wrap(err, rc, "service account");
    }
    return 0;
}

int kube_auth_new(const struct kube_auth_source *given, struct kube_auth **ret_auth,
                  struct err *err)
{
    struct kube_auth *auth = xcalloc(1, sizeof(*auth));
    const struct kube_auth_source source = {
        .kubecfg_file = given->kubecfg_file ? given->kubecfg_file : "",
        .kube_master_url = given->kube_master_url ? given->kube_master_url : "",
        .service_account_dir = given->service_account_dir ? given->service_account_dir : "",
    };
    int rc;
    if (*source.kubecfg_file) {
        rc = use_kubeconfig(auth, &source, err);
    } else if (*source.kube_master_url) {
        rc = set_master_url(auth, source.kube_master_url, err);
    } else {
        rc = use_service_account(auth, source.service_account_dir, err);
    }
    if (rc < 0) {
        kube_auth_free(auth);
        return rc;
    }
    *ret_auth = auth;
    return 0;
}

static void free_text(struct source_text *source)
{
    free(source->path);
    free(source->text);
}

void kube_auth_free(struct kube_auth *auth)
{
    if (auth) {
        free_text(&auth->token);
        free_text(&auth->ca);
        free_text(&auth->cert);
        free_text(&auth->key);
        free(auth->server);
        free(auth->username);
        free(auth->password);
        free(auth->proxy_url);
        free(auth->tls_server_name);
        free(auth);
    }
}

/* ---- Use ---- */

const char *kube_auth_server(const struct kube_auth *auth)
{
    return auth->server;
}

static struct slice text_slice(const struct source_text *source)
{
    return source->text ? slice_str(source->text) : slice_of(NULL, 0);
}

struct kube_credentials kube_auth_credentials(struct kube_auth *auth)
{
    refresh(&auth->token, check_token, auth->is_refused);
    refresh(&auth->ca, check_pem, auth->is_refused);
    refresh(&auth->cert, check_pem, auth->is_refused);
    refresh(&auth->key, check_pem, auth->is_refused);
    auth->is_refused = false;
    return (struct kube_credentials){
        .bearer_token = auth->token.text,
        .username = auth->username,
        .password = auth->password,
        .proxy_url = auth->proxy_url,
        .tls = {.ca = text_slice(&auth->ca),
                .cert = text_slice(&auth->cert),
                .key = text_slice(&auth->key),
                .server_name = auth->tls_server_name,
                .is_unverified = auth->is_unverified},
    };
}

void kube_auth_refused(struct kube_auth *auth)
{
    auth->is_refused = true;
}
