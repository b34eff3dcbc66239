#include "kube2sky/naming/client_records_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/buf.h"
#include "common/base/json_text.h"
#include "common/base/key_table.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "kube2sky/naming/client_listings_internal.h"

/* Four names of at most 253 bytes, escaped. */
enum { VALUE_MAX = 16 * 1024, ID_MAX = 16 * 1024 * 1024 };

/* The keys of an address. */
enum place_key { PLACE_SHARED, PLACE_RECORD, PLACE_KEYS };

/* An address. */
struct record_place {
    struct ip ip;
    bool is_changed[PLACE_KEYS];
    uint32_t shared; /* how many pods on the host network have it */
    STAILQ_ENTRY(record_place) changed[PLACE_KEYS];
    struct record_stay *first; /* NULL: no pod has it, and its change is to be taken */
};

STAILQ_HEAD(record_place_queue, record_place);

/* Stands for every address; no pod has it. */
static const struct ip every_ip = {.family_bytes = 4};

/* One of a pod's addresses. */
struct record_stay {
    struct record_stay *next; /* another pod's, at the same address */
    const struct record_pod *pod;
    struct record_place *place;
};

struct record_node {
    struct slice name;
    LIST_HEAD(record_node_pods, record_pod) pods;
    char *zone;   /* NULL: none */
    size_t known; /* 1: the Node itself is known; else only its pods */
    uint32_t generation;
};

/* A pod that has not ended and has an address. Only its links and generation change. */
struct record_pod {
    LIST_ENTRY(record_pod) of_node;
    struct record_node *node; /* NULL: unknown */
    struct record_stay *stays;
    uint32_t generation;
    uint16_t stay_count;
    bool is_on_host;
    uint8_t ns_len; /* 1 to 63 */
    uint32_t id_len;
    char id[]; /* "default\0web" */
};

struct client_records {
    struct client_keys_config config;
    bool wants[PLACE_KEYS];
    bool are_known;
    bool are_lost;
    struct client_listings pod_lists;
    struct client_listings node_list;
    struct key_table pods;
    struct key_table nodes;
    struct key_table places;
    size_t node_count; /* known ones */
    struct record_place_queue changed[PLACE_KEYS];
    struct buf *value; /* scratch buffer */
    struct buf id;     /* scratch buffer */
};

static struct slice client_records_ip_key(const struct ip *ip)
{
    return slice_of(ip, 1 + (size_t)ip->family_bytes);
}

static struct slice key_of_place(const void *thing)
{
    return client_records_ip_key(&((const struct record_place *)thing)->ip);
}

static struct slice key_of_pod(const void *thing)
{
    const struct record_pod *pod = thing;
    return slice_of(pod->id, pod->id_len);
}

struct client_records *client_records_new(const struct client_keys_config *config)
{
    struct client_records *records = xcalloc(1, sizeof(*records));
    records->config = *config;
    records->wants[PLACE_SHARED] = config->is_wanted[CLIENT_KEYS_NODE_ADDRESS];
    records->wants[PLACE_RECORD] = config->is_wanted[CLIENT_KEYS_RECORD];
    client_listings_init(&records->pod_lists, config->namespaces, config->namespace_count);
    client_listings_init(&records->node_list, NULL, 0);
    key_table_init(&records->pods, key_of_pod);
    key_table_init_keyed(&records->nodes);
    key_table_init(&records->places, key_of_place);
    STAILQ_INIT(&records->changed[PLACE_SHARED]);
    STAILQ_INIT(&records->changed[PLACE_RECORD]);
    records->value = xmalloc(sizeof(*records->value));
    buf_init(records->value, VALUE_MAX);
    buf_init(&records->id, ID_MAX);
    return records;
}

static void free_record_pod(struct record_pod *pod)
{
    free(pod->stays);
    free(pod);
}

static void client_records_free_node(struct record_node *node)
{
    free(node->zone);
    free(node);
}

void client_records_free(struct client_records *records)
{
    void *thing;
    for (size_t at = 0; (thing = key_table_next(&records->pods, &at)); at++) {
        free_record_pod(thing);
    }
    for (size_t at = 0; (thing = key_table_next(&records->nodes, &at)); at++) {
        client_records_free_node(thing);
    }
    key_table_fini(&records->pods);
    key_table_fini(&records->nodes);
    key_table_fini_things(&records->places);
    client_listings_fini(&records->pod_lists);
    client_listings_fini(&records->node_list);
    buf_fini(records->value);
    free(records->value);
    buf_fini(&records->id);
    free(records);
}

/* ---- Changes ---- */

static void note_place(struct client_records *records, struct record_place *place,
                       enum place_key key)
{
    if (!place->is_changed[key] && records->wants[key]) {
        place->is_changed[key] = true;
        STAILQ_INSERT_TAIL(&records->changed[key], place, changed[key]);
    }
}

/* Notes a change, unless no record is wanted yet: then all are noted when they are. */
static void note_record_change(struct client_records *records, struct record_place *place)
{
    if (records->are_known) {
        note_place(records, place, PLACE_RECORD);
    }
}

static void note_all_records(struct client_records *records)
{
    struct record_place *place;
    for (size_t at = 0; (place = key_table_next(&records->places, &at)); at++) {
        if (place->first) {
            note_record_change(records, place);
        }
    }
}

static void free_unused_place(struct client_records *records, struct record_place *place)
{
    if (!place->first && !place->shared && !place->is_changed[PLACE_SHARED] &&
        !place->is_changed[PLACE_RECORD]) {
        (void)key_table_take(&records->places, key_of_place(place)); /* this one */
        free(place);
    }
}

static void check_known(struct client_records *records)
{
    bool are_known = client_listings_are_read(&records->pod_lists) &&
                     client_listings_are_read(&records->node_list);
    if (are_known && !records->are_known) {
        records->are_known = true;
        note_all_records(records);
    }
}

/* ---- Nodes ---- */

static struct record_node *client_records_get_node(struct client_records *records, const char *name)
{
    return *name ? key_table_get(&records->nodes, slice_str(name), sizeof(struct record_node))
                 : NULL;
}

static void free_unused_node(struct client_records *records, struct record_node *node)
{
    if (node && LIST_EMPTY(&node->pods) && !node->known) {
        (void)key_table_take(&records->nodes, node->name); /* this one */
        client_records_free_node(node);
    }
}

static void set_zone(struct client_records *records, struct record_node *node, const char *zone)
{
    if (strcmp(node->zone ? node->zone : "", zone) == 0) {
        return;
    }
    free(node->zone);
    node->zone = *zone ? xstrdup(zone) : NULL;
    const struct record_pod *pod;
    LIST_FOREACH(pod, &node->pods, of_node)
    {
        for (size_t i = 0; i < pod->stay_count; i++) {
            note_record_change(records, pod->stays[i].place);
        }
    }
}

static void upsert_node(struct client_records *records, const struct kube_object *object,
                        uint32_t generation)
{
    struct record_node *node = client_records_get_node(records, object->name);
    if (!node) {
        return;
    }
    node->generation = generation;
    records->node_count += 1 - node->known;
    node->known = 1;
    if (!object->is_garbled) { /* a garbled one keeps its last state */
        set_zone(records, node, object->node.zone);
    }
}

static void forget_node(struct client_records *records, struct record_node *node)
{
    set_zone(records, node, "");
    records->node_count -= node->known;
    node->known = 0;
    free_unused_node(records, node);
}

static void sweep_nodes(struct client_records *records, uint32_t generation)
{
    struct record_node *node;
    for (size_t at = 0; (node = key_table_next(&records->nodes, &at));) {
        size_t before = records->nodes.count;
        if (node->known && node->generation != generation) {
            forget_node(records, node);
        }
        at += records->nodes.count == before;
    }
}

/* ---- Pods ---- */

static struct slice client_records_id(struct client_records *records, const char *ns,
                                      const char *name)
{
    buf_clear(&records->id);
    buf_append(&records->id, ns, strlen(ns) + 1);
    buf_append_str(&records->id, name);
    return buf_slice(&records->id);
}

static struct record_place *get_place(struct client_records *records, const struct ip *ip)
{
    struct record_place *place = key_table_find(&records->places, client_records_ip_key(ip));
    if (!place) {
        place = xcalloc(1, sizeof(*place));
        place->ip = *ip;
        (void)key_table_put(&records->places, place); /* returns NULL: it was absent */
    }
    return place;
}

static bool has_stay(const struct record_pod *pod, const struct record_place *place)
{
    bool has = false;
    for (size_t i = 0; i < pod->stay_count && !has; i++) {
        has = pod->stays[i].place == place;
    }
    return has;
}

/* Counts a pod on the host network that comes to the place (change 1) or leaves it (-1). */
static void share_place(struct client_records *records, struct record_place *place, int change)
{
    const bool was_shared = place->shared > 0;
    place->shared += (uint32_t)change;
    if (was_shared != (place->shared > 0)) {
        note_place(records, place, PLACE_SHARED);
    }
}

/* Adds the pod's addresses; 0.0.0.0 is none. */
static void add_stays(struct client_records *records, struct record_pod *pod,
                      const struct kube_object *object)
{
    pod->stays = xcalloc(object->pod.ip_count, sizeof(*pod->stays));
    for (size_t i = 0; i < object->pod.ip_count && pod->stay_count < UINT16_MAX; i++) {
        struct ip ip;
        if (!ip_parse_sloppy(slice_str(object->pod.ips[i]), &ip) || ip_equal(&ip, &every_ip)) {
            continue;
        }
        struct record_place *place = get_place(records, &ip);
        if (!has_stay(pod, place)) {
            struct record_stay *stay = &pod->stays[pod->stay_count++];
            *stay = (struct record_stay){.next = place->first, .pod = pod, .place = place};
            place->first = stay;
            note_record_change(records, place);
            share_place(records, place, pod->is_on_host);
        }
    }
}

/* Frees a pod that is in no table. */
static void end_pod(struct client_records *records, struct record_pod *pod)
{
    for (size_t i = 0; i < pod->stay_count; i++) {
        struct record_stay **link = &pod->stays[i].place->first;
        while (*link != &pod->stays[i]) {
            link = &(*link)->next;
        }
        *link = pod->stays[i].next;
        note_record_change(records, pod->stays[i].place);
        share_place(records, pod->stays[i].place, -(int)pod->is_on_host);
        free_unused_place(records, pod->stays[i].place);
    }
    if (pod->node) {
        LIST_REMOVE(pod, of_node);
        free_unused_node(records, pod->node);
    }
    free_record_pod(pod);
}

static struct record_pod *make_pod(struct client_records *records, const struct kube_object *object)
{
    struct slice id = client_records_id(records, object->ns, object->name);
    struct record_pod *pod = xcalloc(1, sizeof(*pod) + id.len);
    pod->id_len = (uint32_t)id.len;
    memcpy(pod->id, id.ptr, id.len);
    pod->ns_len = (uint8_t)strlen(object->ns);
    pod->is_on_host = object->pod.is_on_host_network;
    pod->node = client_records_get_node(records, object->pod.node);
    if (pod->node) {
        LIST_INSERT_HEAD(&pod->node->pods, pod, of_node);
    }
    add_stays(records, pod, object);
    return pod;
}

/* Returns whether the object says what is known of the pod: relists, and changes of its status,
 * repeat it. */
static bool is_same_pod(const struct client_records *records, const struct record_pod *pod,
                        const struct kube_object *object)
{
    struct slice node = pod->node ? pod->node->name : slice_of("", 0);
    bool is_same = pod->is_on_host == object->pod.is_on_host_network &&
                   slice_equal(node, slice_str(object->pod.node)) &&
                   pod->stay_count == object->pod.ip_count;
    for (size_t i = 0; i < object->pod.ip_count && is_same; i++) {
        struct ip ip;
        is_same = ip_parse_sloppy(slice_str(object->pod.ips[i]), &ip);
        const struct record_place *place =
            is_same ? key_table_find(&records->places, client_records_ip_key(&ip)) : NULL;
        is_same = place && has_stay(pod, place);
    }
    return is_same;
}

/* Returns whether the pod's addresses are its own, or its node's, now. Its own are of no use
 * without client records. */
static bool is_counted(const struct client_records *records, const struct kube_object *object)
{
    return object->pod.ip_count > 0 && dname_is_host_label(slice_str(object->ns)) &&
           !kube_object_has_ended(object) &&
           (object->pod.is_on_host_network || records->wants[PLACE_RECORD]);
}

static void discard_record_pod(struct client_records *records, struct slice id)
{
    struct record_pod *pod = key_table_take(&records->pods, id);
    if (pod) {
        end_pod(records, pod);
    }
}

static void upsert_record_pod(struct client_records *records, const struct kube_object *object,
                              uint32_t generation)
{
    struct slice id = client_records_id(records, object->ns, object->name);
    struct record_pod *pod = key_table_find(&records->pods, id);
    if (pod && (object->is_garbled ||
                (is_counted(records, object) && is_same_pod(records, pod, object)))) {
        pod->generation = generation; /* a garbled one keeps its last state */
    } else if (!object->is_garbled && is_counted(records, object)) {
        struct record_pod *now =
            make_pod(records, object); /* first, so that no address is without one */
        now->generation = generation;
        pod = key_table_put(&records->pods, now);
        if (pod) {
            end_pod(records, pod);
        }
    } else if (pod) {
        discard_record_pod(records, id);
    }
}

static void sweep_record_pods(struct client_records *records, const struct client_listing *listing)
{
    struct record_pod *pod;
    for (size_t at = 0; (pod = key_table_next(&records->pods, &at));) {
        bool is_elsewhere = *listing->ns && strcmp(pod->id, listing->ns) != 0;
        if (is_elsewhere || pod->generation == listing->generation) {
            at++;
        } else {
            discard_record_pod(records, key_of_pod(pod));
        }
    }
}

/* ---- Events ---- */

/* Returns the list that the object is in; NULL: it is of no use here. */
static struct client_listing *client_records_listing(struct client_records *records,
                                                     enum kube_kind kind, const char *ns)
{
    const bool wants_records = records->wants[PLACE_RECORD];
    return kind == KUBE_POD && (wants_records || records->wants[PLACE_SHARED])
               ? client_listings_find(&records->pod_lists, ns)
           : kind == KUBE_NODE && wants_records ? client_listings_find(&records->node_list, "")
                                                : NULL;
}

static void client_records_sweep(struct client_records *records, enum kube_kind kind,
                                 const struct client_listing *listing)
{
    if (kind == KUBE_POD) {
        sweep_record_pods(records, listing);
    } else {
        sweep_nodes(records, listing->generation);
    }
}

void client_records_list_begin(struct client_records *records, enum kube_kind kind, const char *ns)
{
    struct client_listing *listing = client_records_listing(records, kind, ns);
    if (listing) {
        client_listing_begin(listing);
    }
}

void client_records_list_end(struct client_records *records, enum kube_kind kind, const char *ns)
{
    struct client_listing *listing = client_records_listing(records, kind, ns);
    if (listing &&
        client_listing_end(listing, kind == KUBE_POD && records->config.are_pods_narrowed)) {
        client_records_sweep(records, kind, listing);
    }
    if (listing) {
        check_known(records);
    }
}

void client_records_upsert(struct client_records *records, const struct kube_object *object)
{
    struct client_listing *listing = client_records_listing(records, object->kind, object->ns);
    if (!listing) {
        return;
    }
    if (object->kind == KUBE_POD) {
        upsert_record_pod(records, object, listing->generation);
    } else {
        upsert_node(records, object, listing->generation);
    }
    if (client_listing_came(listing)) {
        client_records_sweep(records, object->kind, listing);
    }
}

void client_records_remove(struct client_records *records, enum kube_kind kind, const char *ns,
                           const char *name)
{
    if (kind == KUBE_POD) {
        discard_record_pod(records, client_records_id(records, ns, name));
    } else if (kind == KUBE_NODE) {
        struct record_node *node = key_table_find(&records->nodes, slice_str(name));
        if (node) {
            forget_node(records, node);
        }
    }
}

void client_records_lack(struct client_records *records, enum kube_kind kind, const char *ns)
{
    struct client_listing *listing = client_records_listing(records, kind, ns);
    if (listing) {
        listing->is_lacking = true;
        check_known(records);
    }
}

void client_records_lose(struct client_records *records, bool are_lost)
{
    if (are_lost != records->are_lost && records->config.namespace_count == 0) {
        records->are_lost = are_lost;
        note_all_records(records);
        struct record_place *every = get_place(records, &every_ip);
        share_place(records, every, are_lost ? 1 : -1);
        free_unused_place(records, every);
    }
}

/* ---- Values ---- */

static struct slice namespace_of_pod(const struct record_pod *pod)
{
    return slice_of(pod->id, pod->ns_len);
}

/* Returns the namespace of all pods at the place; empty: they have several, or share it with their
 * node. */
static struct slice namespace_at(const struct record_place *place)
{
    struct slice ns = place->first ? namespace_of_pod(place->first->pod) : slice_of("", 0);
    for (const struct record_stay *stay = place->first; stay && ns.len > 0; stay = stay->next) {
        bool is_one = !stay->pod->is_on_host && slice_equal(namespace_of_pod(stay->pod), ns);
        ns = is_one ? ns : slice_of("", 0);
    }
    return ns;
}

static void append_namespace(struct buf *out, struct slice ns)
{
    char lower[DNAME_LABEL_MAX];
    ascii_lower_copy(lower, ns.ptr, ns.len);
    json_text_slice_field(out, "namespace", slice_of(lower, ns.len));
}

static void append_pod(struct buf *out, const struct record_pod *pod)
{
    size_t from = (size_t)pod->ns_len + 1;
    json_text_slice_field(out, "pod", slice_of(pod->id + from, pod->id_len - from));
    if (pod->node) {
        json_text_slice_field(out, "node", pod->node->name);
    }
    if (pod->node && pod->node->zone) {
        json_text_string_field(out, "zone", pod->node->zone);
    }
}

static void append_client_record(const struct record_place *place, struct buf *out)
{
    const struct slice ns = namespace_at(place);
    if (ns.len > 0) {
        json_text_open(out, NULL, '{');
        append_namespace(out, ns);
        if (!place->first->next) {
            append_pod(out, place->first->pod);
        }
        buf_append_char(out, '}');
    }
}

static enum place_key key_of_part(enum client_keys_part part)
{
    return part == CLIENT_KEYS_NODE_ADDRESS ? PLACE_SHARED : PLACE_RECORD;
}

struct slice client_records_value(const struct client_records *records, enum client_keys_part part,
                                  const struct ip *ip)
{
    const enum place_key key = key_of_part(part);
    const struct record_place *place = key_table_find(&records->places, client_records_ip_key(ip));
    char text[INET6_ADDRSTRLEN];
    buf_clear(records->value);
    if (place && records->wants[key] && key == PLACE_SHARED && place->shared) {
        buf_printf(records->value, "{\"host\":\"%s\"}", ip_format(ip, text));
    } else if (place && records->wants[key] && key == PLACE_RECORD && records->are_known &&
               !records->are_lost) {
        append_client_record(place, records->value);
    }
    return records->value->failed || !records->value->len ? slice_of(NULL, 0)
                                                          : buf_slice(records->value);
}

bool client_records_next_change(struct client_records *records, enum client_keys_part part,
                                struct ip *ret_ip)
{
    const enum place_key key = key_of_part(part);
    struct record_place *place = STAILQ_FIRST(&records->changed[key]);
    if (!place) {
        return false;
    }
    STAILQ_REMOVE_HEAD(&records->changed[key], changed[key]);
    place->is_changed[key] = false;
    *ret_ip = place->ip;
    free_unused_place(records, place);
    return true;
}

bool client_records_are_known(const struct client_records *records)
{
    return records->are_known || !records->wants[PLACE_RECORD];
}

bool client_records_may_delete(const struct client_records *records, enum client_keys_part part)
{
    const bool is_listed = client_listings_are_known(&records->pod_lists);
    return !records->wants[key_of_part(part)] ||
           (part == CLIENT_KEYS_NODE_ADDRESS
                ? is_listed
                : records->are_lost || (records->are_known && is_listed));
}

size_t client_records_count(const struct client_records *records, enum kube_kind kind)
{
    return !records->wants[PLACE_RECORD] ? 0
           : kind == KUBE_NODE           ? records->node_count
                                         : records->pods.count;
}
