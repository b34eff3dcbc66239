/* Gets the Kubernetes API's address and credentials from a kubeconfig, a URL, or the pod's service
 * account. kube_client.c gets the credentials before each request. Files are reread when they
 * change, since tokens and certificates rotate on disk, and at once after a 401. Main thread only.
 */
#ifndef KUBE2SKY_API_KUBE_AUTH_INTERNAL_H
#define KUBE2SKY_API_KUBE_AUTH_INTERNAL_H

#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/http/http_client.h"

struct kube_auth;

/* Selects the source. All strings are borrowed until kube_auth_new returns; NULL is "".
 *
 *     kubecfg_file     its current context; kube_master_url, if set, replaces its server
 *     kube_master_url  alone: that server without credentials, as in kube2sky 1.15
 *     neither          KUBERNETES_SERVICE_HOST and _PORT, token and ca.crt of the service account
 */
struct kube_auth_source {
    const char *kubecfg_file;
    const char *kube_master_url; /* $NAME and ${NAME} become the environment's, "" when unset */
    const char *service_account_dir;
};

/* Reads every file once, so that a wrong path fails at start with an error that names it. Fails
 * with ERR_USAGE on a URL without scheme or host, or without KUBERNETES_SERVICE_HOST. */
int kube_auth_new(const struct kube_auth_source *source, struct kube_auth **ret_auth,
                  struct err *err) MUST_CHECK;
void kube_auth_free(struct kube_auth *auth); /* NULL is fine */

/* Returns the server's URL, "https://10.96.0.1:443", without a trailing slash. */
const char *kube_auth_server(const struct kube_auth *auth);

/* Returns the files that are reread, at most `max`: token, CAs, certificate, key. Borrowed until
 * the next kube_auth_credentials. */
size_t kube_auth_files(const struct kube_auth *auth, const char **ret_paths, size_t max);

/* An absent credential is NULL or empty. */
struct kube_credentials {
    const char *bearer_token;
    const char *username;
    const char *password;
    const char *proxy_url;
    struct http_tls tls;
};

/* Returns the current credentials, borrowed until the next call. If a file has become unreadable or
 * invalid, its previous content stays in use. */
struct kube_credentials kube_auth_credentials(struct kube_auth *auth);

/* Append, for messages, the credentials sent, "the token in /var/run/.../token", or the CAs
 * trusted, "the CAs in ...". */
void kube_auth_tell_identity(const struct kube_auth *auth, struct buf *out);
void kube_auth_tell_trust(const struct kube_auth *auth, struct buf *out);

/* Notes that the server answered 401: the next call rereads files even if they look unchanged. */
void kube_auth_refused(struct kube_auth *auth);

#endif
