#include "kube2sky/api/kube_auth_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/xalloc.h"
#include "common/http/http_url.h"
#include "common/tls/tls_pem.h"
#include "kube2sky/api/kube_auth_config_internal.h"
#include "kube2sky/api/kube_auth_text_internal.h"

struct kube_auth {
    char *kubecfg_file; /* NULL: none */
    struct kube_auth_config config;
    char *server;
    char *proxy_url;
    bool is_refused;
    struct kube_auth_text token;
    struct kube_auth_text ca;
    struct kube_auth_text cert;
    struct kube_auth_text key;
};

/* ---- The three sources ---- */

/* Expands $NAME and ${NAME}; any other dollar is literal. */
static char *expand_variables(const char *text)
{
    struct buf out;
    buf_init(&out, KUBE_AUTH_FILE_BYTES_MAX);
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

/* Resolves path relative to the folder of the file that names it. */
static char *resolve_path(const char *base_file, const char *path)
{
    const char *slash = strrchr(base_file, '/');
    if (*path == '/' || !slash) {
        return xstrdup(path);
    }
    return xasprintf("%.*s/%s", (int)(slash - base_file), base_file, path);
}

/* Describes a text of the kubeconfig, inline or as the name of a file. */
struct given {
    const char *data_key; /* the kubeconfig's names, for messages */
    const char *file_key;
    char **data;
    const char *file;
    kube_auth_check check;
};

/* Sets a text, taking it from the config. Data overrides a file, as in kubectl. */
static int set_text(struct kube_auth_text *text, const char *kubecfg_file,
                    const struct given *given, struct err *err)
{
    const char *key = *given->data ? given->data_key : given->file_key;
    int rc = 0;
    if (*given->data) {
        rc = kube_auth_text_given(text, given->check, kubecfg_file, STEAL(*given->data), err);
    } else if (given->file) {
        rc = kube_auth_text_load(text, given->check, resolve_path(kubecfg_file, given->file), err);
    }
    return rc < 0 ? err_wrap(err, rc, "%s", key) : 0;
}

/* Sets the token. A token file can rotate, so it overrides a token. */
static int set_token(struct kube_auth *auth, struct err *err)
{
    struct kube_auth_config *config = &auth->config;
    char *none = NULL;
    const struct given token = {"token", "tokenFile", config->token_file ? &none : &config->token,
                                config->token_file, kube_auth_check_token};
    return set_text(&auth->token, auth->kubecfg_file, &token, err);
}

static int set_certificates(struct kube_auth *auth, struct err *err)
{
    struct kube_auth_config *config = &auth->config;
    const struct given ca = {"certificate-authority-data", "certificate-authority",
                             &config->ca_data, config->ca_file, kube_auth_check_certificates};
    const struct given cert = {"client-certificate-data", "client-certificate", &config->cert_data,
                               config->cert_file, kube_auth_check_certificates};
    const struct given key = {"client-key-data", "client-key", &config->key_data, config->key_file,
                              kube_auth_check_key};
    int rc;
    if ((rc = set_text(&auth->ca, auth->kubecfg_file, &ca, err)) < 0 ||
        (rc = set_text(&auth->cert, auth->kubecfg_file, &cert, err)) < 0 ||
        (rc = set_text(&auth->key, auth->kubecfg_file, &key, err)) < 0) {
        return rc;
    }
    if (!auth->cert.text != !auth->key.text) {
        return err_set(err, ERR_SYNTAX, "client-certificate and client-key: expected both or none");
    }
    rc = auth->cert.text ? tls_pem_check_pair(auth->cert.text, auth->key.text, err) : 0;
    return rc < 0 ? err_wrap(err, rc, "client-key") : 0;
}

static int set_urls(struct kube_auth *auth, struct err *err)
{
    const struct kube_auth_config *config = &auth->config;
    int rc = config->server ? http_url_base(config->server, &auth->server, err) : 0;
    if (rc < 0) {
        return err_wrap(err, rc, "server");
    }
    rc = config->proxy_url ? http_url_proxy(config->proxy_url, &auth->proxy_url, err) : 0;
    return rc < 0 ? err_wrap(err, rc, "proxy-url") : 0;
}

static int use_kubeconfig(struct kube_auth *auth, const struct kube_auth_source *source,
                          struct err *err)
{
    CLEANUP_FREE char *text = NULL;
    struct stat ignored;
    auth->kubecfg_file = xstrdup(source->kubecfg_file);
    int rc = kube_auth_read_file(source->kubecfg_file, &text, &ignored, err);
    if (rc == 0) {
        rc = kube_auth_config_parse(slice_str(text), &auth->config, err);
    }
    if (rc == 0) {
        rc = set_urls(auth, err);
    }
    if (rc == 0) {
        rc = set_certificates(auth, err);
    }
    if (rc == 0) {
        rc = set_token(auth, err);
    }
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
                       "is not a pod; set --kubecfg-file or --kube-master-url");
    }
    bool is_v6 = ip_parse(slice_str(host), &ip) && strchr(host, ':');
    CLEANUP_FREE char *url =
        xasprintf("https://%s%s%s:%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
    int rc = http_url_base(url, &auth->server, err);
    if (rc < 0) {
        return err_wrap(err, rc, "KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT");
    }
    rc = kube_auth_text_load(&auth->token, kube_auth_check_token, xasprintf("%s/token", dir), err);
    if (rc == 0) {
        rc = kube_auth_text_load(&auth->ca, kube_auth_check_certificates,
                                 xasprintf("%s/ca.crt", dir), err);
    }
    if (rc < 0) {
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

void kube_auth_free(struct kube_auth *auth)
{
    if (auth) {
        kube_auth_text_fini(&auth->token);
        kube_auth_text_fini(&auth->ca);
        kube_auth_text_fini(&auth->cert);
        kube_auth_text_fini(&auth->key);
        free(auth->kubecfg_file);
        free(auth->server);
        free(auth->proxy_url);
        kube_auth_config_fini(&auth->config);
        free(auth);
    }
}

/* ---- Use ---- */

const char *kube_auth_server(const struct kube_auth *auth)
{
    return auth->server;
}

size_t kube_auth_files(const struct kube_auth *auth, const char **ret_paths, size_t max)
{
    const struct kube_auth_text *const texts[] = {&auth->token, &auth->ca, &auth->cert, &auth->key};
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(texts) && count < max; i++) {
        if (texts[i]->where && texts[i]->is_own_file) {
            ret_paths[count++] = texts[i]->where;
        }
    }
    return count;
}

struct kube_credentials kube_auth_credentials(struct kube_auth *auth)
{
    kube_auth_text_refresh(&auth->token, auth->is_refused);
    kube_auth_text_refresh(&auth->ca, auth->is_refused);
    kube_auth_text_refresh_pair(&auth->cert, &auth->key, auth->is_refused);
    auth->is_refused = false;
    return (struct kube_credentials){
        .bearer_token = auth->token.text,
        .username = auth->config.username,
        .password = auth->config.password,
        .proxy_url = auth->proxy_url,
        .tls = {.ca = kube_auth_text_slice(&auth->ca),
                .cert = kube_auth_text_slice(&auth->cert),
                .key = kube_auth_text_slice(&auth->key),
                .server_name = auth->config.tls_server_name,
                .is_unverified = auth->config.is_unverified},
    };
}

void kube_auth_refused(struct kube_auth *auth)
{
    auth->is_refused = true;
}

/* ---- Descriptions ---- */

void kube_auth_tell_identity(const struct kube_auth *auth, struct buf *out)
{
    if (auth->token.text) {
        buf_printf(out, "the token in %s", auth->token.where);
    } else if (auth->config.username) {
        buf_printf(out, "the user name and password in %s", auth->kubecfg_file);
    } else if (auth->cert.text) {
        buf_printf(out, "the client certificate in %s", auth->cert.where);
    } else {
        buf_append_str(out, "no credentials");
    }
}

void kube_auth_tell_trust(const struct kube_auth *auth, struct buf *out)
{
    if (auth->config.is_unverified) {
        buf_append_str(out, "any certificate");
    } else if (auth->ca.text) {
        buf_printf(out, "the CAs in %s", auth->ca.where);
    } else {
        buf_append_str(out, "the system's CAs");
    }
    if (auth->config.tls_server_name && !auth->config.is_unverified) {
        buf_printf(out, " for %s", auth->config.tls_server_name);
    }
}
