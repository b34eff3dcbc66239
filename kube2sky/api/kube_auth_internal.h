/* Where the Kubernetes API is and as whom to ask it: from a kubeconfig, a URL, or the pod's service
 * account. For kube_client.c, which asks for the credentials before each request: what came from
 * a file is read again when the file changes (tokens and certificates are rotated on disk), at once
 * after a 401. Main thread only. */
#ifndef KUBE2SKY_API_KUBE_AUTH_INTERNAL_H
#define KUBE2SKY_API_KUBE_AUTH_INTERNAL_H

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/http/http_client.h"

struct kube_auth;

/* All strings borrowed until kube_auth_new returns; NULL is "".
 *
 *     kubecfg_file     its current context; kube_master_url, if given, replaces its server
 *     kube_master_url  alone: that server without credentials, as the old programs had it
 *     neither          KUBERNETES_SERVICE_HOST and _PORT, token and ca.crt of the service account
 */
struct kube_auth_source {
    const char *kubecfg_file;
    const char *kube_master_url; /* $NAME and ${NAME} become the environment's, "" when unset */
    const char *service_account_dir;
};

/* Every file is read once here, so that a wrong path shows at start: an error that names it. A URL
 * without scheme or host, or no KUBERNETES_SERVICE_HOST: ERR_USAGE. */
int kube_auth_new(const struct kube_auth_source *source, struct kube_auth **ret_auth,
                  struct err *err) MUST_CHECK;
void kube_auth_free(struct kube_auth *auth); /* NULL is fine */

/* "https://10.96.0.1:443", no slash at the end. */
const char *kube_auth_server(const struct kube_auth *auth);

/* NULL and empty: not given. */
struct kube_credentials {
    const char *bearer_token;
    const char *username;
    const char *password;
    const char *proxy_url;
    struct http_tls tls;
};

/* What to send now; borrowed until the next call. A file that has become unreadable, or holds
 * something else now, leaves what it said before. */
struct kube_credentials kube_auth_credentials(struct kube_auth *auth);

/* For messages: whom we say we are, "the token in /var/run/.../token", and whose certificate we
 * take, "the authorities in ...". Appended. */
void kube_auth_tell_identity(const struct kube_auth *auth, struct buf *out);
void kube_auth_tell_trust(const struct kube_auth *auth, struct buf *out);

/* The server answered 401: files are read again at the next call even if they look unchanged. */
void kube_auth_refused(struct kube_auth *auth);

#endif
