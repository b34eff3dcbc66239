/* Sends requests to the Kubernetes API: URLs, credentials, list pages and watch streams, readable
 * Status errors. It uses common/http/http_client.h, and kube_auth_internal.h for address and
 * credentials.
 *
 * Lists go over HTTP/1.1. A watch has a new connection of its own, over HTTP/2 where the server has
 * it. So each one may reach another API server behind a balancer, and can be asked whether that
 * server is still there. Single-threaded, on the main loop. */
#ifndef KUBE2SKY_API_KUBE_CLIENT_H
#define KUBE2SKY_API_KUBE_CLIENT_H

#include <ev.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "kube2sky/api/kube_object.h"

struct kube_client;

/* Says how to reach the API, from the flags. All strings are borrowed until kube_client_new
 * returns. */
struct kube_client_config {
    struct ev_loop *loop;
    const char *kubecfg_file; /* "" = none */
    const char
        *kube_master_url; /* "" = none; $VARS are expanded; overrides the kubeconfig's server */
    /* Used without both: the service account in this folder (tests use others) */
    const char *service_account_dir; /* /var/run/secrets/kubernetes.io/serviceaccount */
};

/* Reads the kubeconfig or service account. Errors name the file and what was expected. Fails with
 * ERR_USAGE on a URL without scheme or host, or without KUBERNETES_SERVICE_HOST. */
int kube_client_new(const struct kube_client_config *config, struct kube_client **ret_client,
                    struct err *err) MUST_CHECK;
void kube_client_free(struct kube_client *client); /* call it after its requests have ended; NULL is
                                                    * fine */

/* Rereads credential files before the next request, even if they look unchanged. */
void kube_client_reload(struct kube_client *client);

/* Returns a number for the credentials of the next request, which changes with them. Rereads
 * changed files. */
uint64_t kube_client_credentials_id(struct kube_client *client);

/* Returns the number of credential files that are reread when they change, and their paths,
 * borrowed until the next request. */
enum { KUBE_CLIENT_FILES_MAX = 4 };
size_t kube_client_files(const struct kube_client *client,
                         const char *ret_paths[KUBE_CLIENT_FILES_MAX]);

/* Returns the server's URL, for log lines. */
const char *kube_client_server(const struct kube_client *client);

/* Returns a kind's name for log lines, that in URLs: "services", "endpointslices". Slices of
 * imports have a name of their own. Constant. */
const char *kube_kind_name(enum kube_kind kind);

/* Says where the objects of a kind are: "/api/v1" and "services". Constants. */
struct kube_resource {
    enum kube_kind kind;
    const char *group_path;
    const char *name;
};
/* Returns the resource in the group's newest version. */
const struct kube_resource *kube_resource_of(enum kube_kind kind);

/* Filters objects. All strings are borrowed; "" = all. */
struct kube_scope {
    const char *ns;
    const char *label_selector; /* at most KUBE_SELECTOR_MAX bytes */
    const char *object;         /* only the object of this valid name; NULL: all */
};
enum { KUBE_SELECTOR_MAX = 16 * 1024 }; /* servers limit URLs to fewer bytes */

/* ---- For reflector.c and watcher.c. No callback runs inside the call that starts a request. ----
 */

struct kube_request;

/* Codes of the errors below; each message begins with `GET <URL>`, or the other method:
 *     ERR_COMPACTED    410: list again from the start
 *     ERR_REFUSED      401, 403, 404, TLS: a person must act; retry slowly
 *     ERR_UNAVAILABLE  no connection, connection lost, 429, 5xx
 *     ERR_TIMEOUT      no connection in time, or silence
 *     ERR_TOO_LARGE    an event over its limit
 *     ERR_PROTOCOL     any other response that the server should not send, such as another encoding
 */
struct kube_failure {
    struct err err;
    int status;              /* HTTP status; 0 without a response */
    uint32_t retry_after_ms; /* delay that an overloaded server (429, 503) asks for; 0: none */
};

/* Limits the delay that a server, or a proxy in front of it, can ask for. */
enum { KUBE_RETRY_AFTER_MAX_MS = 60 * 1000 };

/* Requests one page of a list; continue_token is "" for the first. limit: number of objects, 0 =
 * all.
 *
 * Calls on_open once the server has answered 200, and on_object and on_bad as the body arrives
 * (kube_list_new). Calls on_end once. On success failure is NULL and meta is set, whose strings may
 * be taken; else meta is NULL. */
enum { KUBE_PAGE_OBJECTS = 500 };
struct kube_list_callbacks {
    void (*on_open)(void *data); /* may be NULL */
    kube_object_fn on_object;    /* NULL: objects are freed */
    kube_bad_object_fn on_bad;   /* NULL: bad objects are skipped */
    void (*on_end)(void *data, struct kube_list_meta *meta, const struct kube_failure *failure);
};
struct kube_request *kube_client_list(struct kube_client *client,
                                      const struct kube_resource *resource,
                                      const struct kube_scope *scope, int limit,
                                      const char *continue_token,
                                      const struct kube_list_callbacks *callbacks, void *data);

/* Starts a watch. Calls on_open once the server has answered 200, on_frame for each event as it
 * arrives, and on_end once when the stream ends. A NULL failure means that the server closed it at
 * its timeout, normally. timeout_s is sent as timeoutSeconds. */
struct kube_watch_callbacks {
    void (*on_open)(void *data);
    void (*on_frame)(void *data, enum kube_encoding encoding, struct slice frame);
    void (*on_end)(void *data, const struct kube_failure *failure);
};
struct kube_request *kube_client_watch(struct kube_client *client,
                                       const struct kube_resource *resource,
                                       const struct kube_scope *scope, const char *resource_version,
                                       int timeout_s, const struct kube_watch_callbacks *callbacks,
                                       void *data);

/* Requests a list as the events of a watch (scope_list_internal.h), over a connection of lists.
 * kube_client_has_event_lists returns false for an hour after a server lacked such lists, which may
 * be upgraded meanwhile. */
struct kube_request *kube_client_list_events(struct kube_client *client,
                                             const struct kube_resource *resource,
                                             const struct kube_scope *scope,
                                             const struct kube_watch_callbacks *callbacks,
                                             void *data);
bool kube_client_has_event_lists(const struct kube_client *client);
void kube_client_lacks_event_lists(struct kube_client *client);

/* Writes one object: POSTs it to a path like "/apis/events.k8s.io/v1/namespaces/default/events", or
 * merges it into the object there. Calls on_end once; failure NULL: the server has taken it. */
struct kube_write {
    enum { KUBE_CREATE, KUBE_MERGE } verb;
    const char *path; /* with valid names only; all is copied */
    struct slice json;
};
struct kube_request *kube_client_write(struct kube_client *client, const struct kube_write *write,
                                       void (*on_end)(void *data,
                                                      const struct kube_failure *failure),
                                       void *data);

/* Asks the server a question on the open connection of a watch, one at a time. answered() is called
 * once, from the loop: with true for any response, with false if the server wants to close the
 * connection and takes no more questions. It is never called without a response, or if the watch
 * ends before.
 *
 * Returns false, asking nothing, on HTTP/1.1, where a question would use another connection,
 * perhaps to another server. */
bool kube_request_ask(struct kube_request *watch, void (*answered)(void *data, bool is_there));

/* Cancels the request: no callback follows. Do not call it after on_end; the other callbacks may
 * call it. */
void kube_request_cancel(struct kube_request *request);

#endif
