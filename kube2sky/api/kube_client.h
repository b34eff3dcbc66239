/* Requests to the Kubernetes API over HTTP/1.1 (common/http/http_client.h): URLs, credentials, list
 * pages and watch streams, Status errors made readable. Where to and as whom comes from
 * kube_auth_internal.h. Single-threaded, on the main loop. */
#ifndef KUBE2SKY_API_KUBE_CLIENT_H
#define KUBE2SKY_API_KUBE_CLIENT_H

#include <ev.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "kube2sky/api/kube_object.h"

struct kube_client;

/* How to reach the API, as the flags say. All strings borrowed until kube_client_new returns. */
struct kube_client_config {
    struct ev_loop *loop;
    const char *kubecfg_file; /* "" = none */
    const char
        *kube_master_url; /* "" = none; $VARS are expanded; overrides the kubeconfig's server */
    /* neither: the service account, from these (tests point them elsewhere) */
    const char *service_account_dir; /* /var/run/secrets/kubernetes.io/serviceaccount */
};

/* Reads kubeconfig or service account. Unreadable or malformed: an error that names the file and
 * what was expected; a URL without scheme or host, a missing KUBERNETES_SERVICE_HOST: ERR_USAGE. */
int kube_client_new(const struct kube_client_config *config, struct kube_client **ret_client,
                    struct err *err) MUST_CHECK;
void kube_client_free(struct kube_client *client); /* after its requests; NULL is fine */

/* Credential files are read again for the next request, even those that look unchanged. */
void kube_client_reload(struct kube_client *client);

/* The server's URL, for log lines. */
const char *kube_client_server(const struct kube_client *client);

/* "services", "endpointslices": a kind's name in URLs, for log lines. Constant. */
const char *kube_kind_name(enum kube_kind kind);

/* Where the objects of a kind are: "/api/v1" and "services". Constants. */
struct kube_resource {
    enum kube_kind kind;
    const char *group_path;
    const char *name;
};
/* In the group's newest version. */
const struct kube_resource *kube_resource_of(enum kube_kind kind);

/* Which of them. Both borrowed; "" = all. */
struct kube_scope {
    const char *ns;
    const char *label_selector; /* at most KUBE_SELECTOR_MAX bytes */
};
enum { KUBE_SELECTOR_MAX = 16 * 1024 }; /* what fits into a URL anywhere is less */

/* ---- For reflector.c and watcher.c. No callback comes from inside the call that starts a
 * request. ---- */

struct kube_request;

/* Codes of the errors below; each message begins with `GET <URL>`:
 *     ERR_COMPACTED    410: list again from the start
 *     ERR_REFUSED      401, 403, 404, TLS: needs a change somewhere; worth trying at leisure
 *     ERR_UNAVAILABLE  no connection, connection lost, 429, 5xx
 *     ERR_TIMEOUT      no connection in time, or silence
 *     ERR_TOO_LARGE    an event over its limit
 *     ERR_PROTOCOL     anything else the server should not answer, other encodings too
 * status is the HTTP status, 0 without an answer. */

/* One page of a list; continue_token "" for the first. limit: how many objects, 0 = all. on_open
 * once the server has answered 200, on_bytes for its body as it comes, on_end once: err NULL when
 * all of it has come. */
enum { KUBE_PAGE_OBJECTS = 500 };
struct kube_list_callbacks {
    void (*on_open)(void *data, enum kube_encoding encoding);
    void (*on_bytes)(void *data, struct slice bytes);
    void (*on_end)(void *data, int status, const struct err *err);
};
struct kube_request *kube_client_list(struct kube_client *client,
                                      const struct kube_resource *resource,
                                      const struct kube_scope *scope, int limit,
                                      const char *continue_token,
                                      const struct kube_list_callbacks *callbacks, void *data);

/* A watch: on_open once the server has answered 200, on_frame for each event as it comes, on_end
 * once when the stream ends (err NULL: the server closed it at its timeout, normally). timeout_s is
 * sent as timeoutSeconds. */
struct kube_watch_callbacks {
    void (*on_open)(void *data);
    void (*on_frame)(void *data, enum kube_encoding encoding, struct slice frame);
    void (*on_end)(void *data, int status, const struct err *err);
};
struct kube_request *kube_client_watch(struct kube_client *client,
                                       const struct kube_resource *resource,
                                       const struct kube_scope *scope, const char *resource_version,
                                       int timeout_s, const struct kube_watch_callbacks *callbacks,
                                       void *data);

/* No callback after it; not after on_end was called. May be called inside the other callbacks. */
void kube_request_cancel(struct kube_request *request);

#endif
