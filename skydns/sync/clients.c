#include "skydns/sync/clients_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/clients/client_index.h"
#include "skydns/publish/publisher.h"
#include "skydns/records/store.h"
#include "skydns/sync/client_marks_internal.h"
#include "skydns/sync/client_pods_internal.h"

struct clients {
    struct clients_config config;
    struct client_index *index;
    struct client_marks *marks; /* NULL: off */
    bool is_optional;           /* as client_marks_set_optional, */
    bool wants_topology;        /* and client_marks_set_topology */
    struct client_pods pods;
    const struct store *store; /* the version followed last, on or off; NULL: none */
    bool is_reading;           /* all is read again: names are not noted */
    bool is_behind;            /* records were put or deleted since that version */
    bool is_confirmed;         /* the records are etcd's of this process */
    size_t domain_count;
    struct dname domains[ENGINE_ZONES_MAX];
};

static void retire_block(void *data, void *block, void (*fn)(void *block))
{
    struct clients *clients = data;
    publisher_retire(clients->config.publisher, block, fn);
}

struct clients *clients_new(const struct clients_config *config)
{
    struct clients *clients = xcalloc(1, sizeof(*clients));
    clients->config = *config;
    clients->is_confirmed = !config->is_from_snapshot;
    clients->index =
        client_index_new(&(struct client_index_config){.retire = retire_block, .data = clients});
    client_pods_init(&clients->pods, clients->index);
    return clients;
}

void clients_free(struct clients *clients)
{
    if (clients) {
        client_marks_free(clients->marks);
        client_pods_fini(&clients->pods);
        client_index_free(clients->index);
        free(clients);
    }
}

bool clients_explain_trouble(const struct clients *clients, struct buf *out)
{
    return clients->marks && client_marks_explain_trouble(clients->marks, out);
}

/* ---- The index ---- */

/* Reads all from the version followed last. Readers see the old content until the new one is
 * whole. */
static void clients_read_all(struct clients *clients)
{
    struct client_pods *pods = &clients->pods;
    client_index_clear(clients->index);
    for (size_t i = 0; i < clients->domain_count; i++) {
        pods->domains[i].is_known =
            clients->is_confirmed && client_marks_is_known(clients->marks, &clients->domains[i]);
    }
    client_marks_show(clients->marks);
    if (clients->store) {
        client_pods_read(pods, clients->store);
    }
    client_index_commit(clients->index);
    struct client_index_counts counts = client_index_counts(clients->index);
    log_debug("pods of clients read", LOG_INT("addresses", (int64_t)counts.addresses),
              LOG_INT("shared", (int64_t)counts.shared),
              LOG_INT("records", (int64_t)counts.records),
              LOG_INT("namespaces", (int64_t)counts.spaces));
}

/* Reads all between two versions: names that changed since the last one may not have been noted. */
static void read_all_between(struct clients *clients)
{
    bool is_noted = !client_pods_is_to_read(&clients->pods) || !clients->is_behind;
    clients_read_all(clients);
    if (!is_noted) {
        client_pods_read_again(&clients->pods);
    }
}

void clients_note(struct clients *clients, const struct dname *name)
{
    clients->is_behind = true;
    if (clients->marks && !clients->is_reading) {
        client_pods_note(&clients->pods, name);
    }
}

void clients_read_again(struct clients *clients)
{
    clients->is_reading = true;
}

void clients_follow(struct clients *clients, const struct store *store)
{
    bool is_same = store == clients->store;
    if (clients->is_reading && !is_same) {
        client_pods_read_again(&clients->pods);
    }
    clients->is_reading = clients->is_behind = false;
    clients->store = store;
    if (!clients->marks) {
        return;
    }
    if (client_pods_is_to_read(&clients->pods)) {
        clients_read_all(clients);
    } else if (!is_same) {
        client_pods_follow(&clients->pods, store);
        client_index_commit(clients->index);
    }
}

/* ---- What kube2sky keeps ---- */

void clients_on_known(struct clients *clients)
{
    read_all_between(clients);
    clients->config.known(clients->config.data);
}

void clients_on_lists_known(const struct clients *clients)
{
    clients->config.known(clients->config.data);
}

void clients_on_visible(const struct clients *clients, const struct visible_namespace *listed,
                        size_t count)
{
    if (clients->config.on_visible) {
        clients->config.on_visible(clients->config.on_visible_data, listed, count);
    }
}

void clients_on_ended(struct clients *clients)
{
    client_index_commit(clients->index);
    clients->config.changed(clients->config.data);
}

void clients_confirm(struct clients *clients)
{
    bool is_news = !clients->is_confirmed;
    clients->is_confirmed = true;
    if (is_news && clients->marks) {
        clients_on_known(clients);
        clients_on_ended(clients);
    }
}

void clients_remember_broken(struct clients *clients)
{
    if (clients->marks) {
        client_marks_remember_broken(clients->marks);
    }
}

bool clients_save(const struct clients *clients, struct buf *out)
{
    return !clients->marks || client_marks_save(clients->marks, out);
}

void clients_save_records(const struct clients *clients, struct buf *out)
{
    if (clients->marks) {
        client_marks_save_records(clients->marks, out);
    }
}

void clients_save_topology(const struct clients *clients, struct buf *out)
{
    if (clients->marks) {
        client_marks_save_topology(clients->marks, out);
    }
}

/* ---- On and off ---- */

static void open_marks(struct clients *clients)
{
    const struct clients_config *config = &clients->config;
    clients->marks = client_marks_new(&(struct client_marks_config){
        .loop = config->loop,
        .etcd = config->etcd,
        .stale_max_ms = config->stale_max_ms,
        .broken = config->broken,
        .index = clients->index,
        .saved = config->saved,
        .saved_records = config->saved_records,
        .saved_topology = config->saved_topology,
        .owner = clients,
    });
}

void clients_set_optional(struct clients *clients, bool is_optional)
{
    clients->is_optional = is_optional;
    if (clients->marks) {
        client_marks_set_optional(clients->marks, is_optional);
    }
}

void clients_set_topology(struct clients *clients, bool wants_topology)
{
    clients->wants_topology = wants_topology;
    if (clients->marks) {
        client_marks_set_topology(clients->marks, wants_topology);
    }
}

static void clients_turn_off(struct clients *clients)
{
    client_marks_free(clients->marks);
    clients->marks = NULL;
    client_index_clear(clients->index);
    clients_on_visible(clients, NULL, 0);
    clients_on_ended(clients);
}

void clients_set(struct clients *clients, bool is_on, const struct dname *domains, size_t count)
{
    bool was_on = clients->marks != NULL;
    bool is_same = dname_lists_equal(domains, count, clients->domains, clients->domain_count);
    clients->domain_count = count;
    memcpy(clients->domains, domains, count * sizeof(domains[0]));
    if (was_on && !is_on) {
        clients_turn_off(clients);
    } else if (is_on && (!was_on || !is_same)) {
        client_pods_set_domains(&clients->pods, domains, count);
        if (!was_on) {
            open_marks(clients);
            client_marks_set_optional(clients->marks, clients->is_optional);
            client_marks_set_topology(clients->marks, clients->wants_topology);
        }
        client_marks_set_domains(clients->marks, domains, count); /* all is read */
    }
    clients->config.saved = clients->config.saved_records = clients->config.saved_topology =
        slice_of(NULL, 0);
}

const struct client_index *clients_index(const struct clients *clients)
{
    return clients->index;
}

bool clients_is_known(const struct clients *clients, const struct dname *domain)
{
    return clients->marks && clients->is_confirmed &&
           client_marks_is_known(clients->marks, domain) &&
           client_marks_are_lists_known(clients->marks, domain);
}

bool clients_are_settled(const struct clients *clients)
{
    return !clients->marks || client_marks_are_settled(clients->marks);
}
