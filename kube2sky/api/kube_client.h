/* Requests to the Kubernetes API (common/http/http_client.h): URLs, credentials, list pages and
 * watch streams, readable Status errors. Lists go over HTTP/1.1. A watch has a new connection of
 * its own, over HTTP/2 where the server has it, so that each one may reach another API server
 * behind a balancer, and can be asked whether it is still there. Address and credentials come from
 * kube_auth_internal.h. Single-threaded, on the main loop. */
#ifndef KUBE2SKY_API_KUBE_CLIENT_H
#define KUBE2SKY_API_KUBE_CLIENT_H

#include <ev.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "kube2sky/api/kube_object.h"

struct kube_client;

/* How to reach the API, from the flags. All strings borrowed until kube_client_new returns. */
struct kube_client_config {
    struct ev_loop *loop;
    const char *kubecfg_file; /* "" = none */
    const char
        *kube_master_url; /* "" = none; $VARS are expanded; overrides the kubeconfig's server */
    /* neither: the service account in these (tests use others) */
    const char *service_account_dir; /* /var/run/secrets/kubernetes.io/serviceaccount */
};

/* Reads the kubeconfig or service account. Errors name the file and what was expected; ERR_USAGE
 * for a URL without scheme or host, or a missing KUBERNETES_SERVICE_HOST. */
int kube_client_new(const struct kube_client_config *config, struct kube_client **ret_client,
                    struct err *err) MUST_CHECK;
void kube_client_free(struct kube_client *client); /* after its requests; NULL is fine */

/* Rereads credential files before the next request, even if they look unchanged. */
void kube_client_reload(struct kube_client *client);

/* A number for the credentials of the next request: another one when they have changed. Rereads
 * files that did. */
uint64_t kube_client_credentials_id(struct kube_client *client);

/* The credential files that it rereads when they change; borrowed until the next request. Returns
 * their number. */
enum { KUBE_CLIENT_FILES_MAX = 4 };
size_t kube_client_files(const struct kube_client *client,
                         const char *ret_paths[KUBE_CLIENT_FILES_MAX]);

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
/* Use the group's newest version. */
const struct kube_resource *kube_resource_of(enum kube_kind kind);

/* Filters. All borrowed; "" = all. */
struct kube_scope {
    const char *ns;
    const char *label_selector; /* at most KUBE_SELECTOR_MAX bytes */
    const char *object;         /* only that of this name, valid for the API; NULL: all */
};
enum { KUBE_SELECTOR_MAX = 16 * 1024 }; /* servers limit URLs to less */

/* ---- For reflector.c and watcher.c. No callback runs inside the call that starts a request. ----
 */

struct kube_request;

/* Codes of the errors below; each message begins with `GET <URL>`:
 *     ERR_COMPACTED    410: list again from the start
 *     ERR_REFUSED      401, 403, 404, TLS: somebody must act; retry slowly
 *     ERR_UNAVAILABLE  no connection, connection lost, 429, 5xx
 *     ERR_TIMEOUT      no connection in time, or silence
 *     ERR_TOO_LARGE    an event over its limit
 *     ERR_PROTOCOL     any other reply that the server should not give, such as another encoding
 */
struct kube_failure {
    struct err err;
    int status;              /* of HTTP; 0 without a reply */
    uint32_t retry_after_ms; /* what an overloaded server (429, 503) asks for; 0: nothing */
};

/* A server, or a proxy that answers for it, cannot silence us for longer. */
enum { KUBE_RETRY_AFTER_MAX_MS = 60 * 1000 };

/* One page of a list; continue_token "" for the first. limit: how many objects, 0 = all. on_open
 * once the server has answered 200, on_object and on_bad as the body arrives (kube_list_new),
 * on_end once: failure NULL and meta, whose strings may be taken, if it is complete; else meta
 * NULL. */
enum { KUBE_PAGE_OBJECTS = 500 };
struct kube_list_callbacks {
    void (*on_open)(void *data); /* NULL: nobody waits for that */
    kube_object_fn on_object;    /* NULL: objects are freed */
    kube_bad_object_fn on_bad;   /* NULL: they are passed over */
    void (*on_end)(void *data, struct kube_list_meta *meta, const struct kube_failure *failure);
};
struct kube_request *kube_client_list(struct kube_client *client,
                                      const struct kube_resource *resource,
                                      const struct kube_scope *scope, int limit,
                                      const char *continue_token,
                                      const struct kube_list_callbacks *callbacks, void *data);

/* A watch: on_open once the server has answered 200, on_frame for each event as it arrives, on_end
 * once when the stream ends (failure NULL: the server closed it at its timeout, normally).
 * timeout_s is sent as timeoutSeconds. */
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

/* A list as the events of a watch (scope_list_internal.h), over a connection of lists. A server
 * that turns out to lack such lists may have been upgraded an hour later: until then has is false.
 */
struct kube_request *kube_client_list_events(struct kube_client *client,
                                             const struct kube_resource *resource,
                                             const struct kube_scope *scope,
                                             const struct kube_watch_callbacks *callbacks,
                                             void *data);
bool kube_client_has_event_lists(const struct kube_client *client);
void kube_client_lacks_event_lists(struct kube_client *client);

/* Asks the server, on the connection of a watch that is open, for a word. answered() once, from the
 * loop: true for any reply, false if the connection takes no more questions (the server wants to
 * close it). Never, if there is no reply, or if the watch ends before. False, and nothing is asked:
 * the connection is HTTP/1.1, where a question would go over another one, perhaps to another
 * server. One at a time. */
bool kube_request_ask(struct kube_request *watch, void (*answered)(void *data, bool is_there));

/* No callback follows. Do not call it after on_end; the other callbacks may call it. */
void kube_request_cancel(struct kube_request *request);

#endif
