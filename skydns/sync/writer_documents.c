#include "skydns/sync/writer_documents.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_mirror.h"
#include "common/etcd/etcd_store_id.h"
#include "skydns/store/engine_config.h"

/* Permissions are given by people: the mirror itself would retry every second. */
static const double denied_retry_s = 60;

/* One domain's. */
struct document {
    struct writer_documents *documents;
    struct dname domain;
    char *key;
    struct etcd_mirror *mirror; /* NULL: etcd denies reading the key */
    ev_timer retry;             /* runs then */
    bool is_denied;             /* told, until it can be read */
    struct buf text;            /* as of the mirror's uncommitted sequence */
    bool is_there;
    bool is_read; /* in the current full read */
    bool is_changed;
    bool keeps_old; /* the current full read removes nothing */
};

struct writer_documents {
    struct writer_documents_config config;
    size_t count;
    struct document *items[ENGINE_ZONES_MAX];
};

char *writer_document_key(const struct dname *domain)
{
    char text[DNAME_TEXT_MAX];
    return etcd_writer_key(slice_str(dname_to_text(domain, text)), "config");
}

/* ---- The mirror ---- */

static void on_begin(void *data, const struct etcd_mirror_read *read)
{
    struct document *document = data;
    document->is_read = false;
    document->keeps_old = read->keeps_old;
}

static void on_put(void *data, const struct etcd_kv *kv)
{
    struct document *document = data;
    size_t limit = WRITER_DOCUMENT_MAX + 1;
    if (!slice_equal(kv->key, slice_str(document->key))) {
        return; /* a longer key */
    }
    buf_clear(&document->text);
    buf_append(&document->text, kv->value.ptr, kv->value.len < limit ? kv->value.len : limit);
    document->is_there = document->is_read = document->is_changed = true;
}

static void remove_document(struct document *document)
{
    document->is_changed = document->is_changed || document->is_there;
    document->is_there = false;
}

static void on_del(void *data, struct slice key, int64_t revision UNUSED)
{
    struct document *document = data;
    if (slice_equal(key, slice_str(document->key))) {
        remove_document(document);
    }
}

static void on_commit(void *data, int64_t revision UNUSED, bool full)
{
    struct document *document = data;
    const struct writer_documents_config *config = &document->documents->config;
    if (full && !document->is_read && !document->keeps_old) {
        remove_document(document);
    }
    if (document->is_changed) {
        document->is_changed = false;
        config->changed(config->data, &document->domain,
                        document->is_there ? slice_of(buf_cstr(&document->text), document->text.len)
                                           : slice_of(NULL, 0));
    }
}

/* Outages are those of the records' mirror. */
static void on_state(void *data, const struct err *err)
{
    struct document *document = data;
    if (!err && document->is_denied) {
        document->is_denied = false;
        log_info("kube2sky's document can be read again", LOG_STR("key", document->key));
    }
    if (err && err->code == ERR_REFUSED) {
        if (!document->is_denied) {
            log_warn("cannot read kube2sky's document, going without",
                     LOG_STR("key", document->key), LOG_STR("reason", err->msg));
        }
        document->is_denied = true;
        ev_timer_start(document->documents->config.loop, &document->retry);
        etcd_mirror_stop(STEAL(document->mirror));
    }
}

/* ---- Life ---- */

static void start_mirror(struct document *document)
{
    const struct writer_documents *documents = document->documents;
    char text[DNAME_TEXT_MAX];
    CLEANUP_FREE char *store_key =
        etcd_store_key(slice_str(dname_to_text(&document->domain, text)));
    document->mirror = etcd_mirror_start(documents->config.etcd,
                                         &(struct etcd_mirror_config){
                                             .prefix = slice_str(document->key),
                                             .store_key = slice_str(store_key),
                                             .keeps_old = true,
                                             .stale_max_ms = documents->config.stale_max_ms,
                                             .full_begin = on_begin,
                                             .put = on_put,
                                             .del = on_del,
                                             .commit = on_commit,
                                             .state = on_state,
                                             .data = document,
                                         });
}

static void on_retry(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
    start_mirror(timer->data);
}

static struct document *document_new(struct writer_documents *documents, const struct dname *domain)
{
    struct document *document = xcalloc(1, sizeof(*document));
    document->documents = documents;
    document->domain = *domain;
    document->key = writer_document_key(domain);
    document->is_changed = true; /* the first full read reports it in any case */
    buf_init(&document->text, WRITER_DOCUMENT_MAX + 1);
    ev_timer_init(&document->retry, on_retry, denied_retry_s, 0.);
    document->retry.data = document;
    start_mirror(document);
    return document;
}

static void document_free(struct document *document)
{
    if (document) {
        etcd_mirror_stop(document->mirror);
        ev_timer_stop(document->documents->config.loop, &document->retry);
        buf_fini(&document->text);
        free(document->key);
        free(document);
    }
}

struct writer_documents *writer_documents_new(const struct writer_documents_config *config)
{
    struct writer_documents *documents = xcalloc(1, sizeof(*documents));
    documents->config = *config;
    return documents;
}

void writer_documents_free(struct writer_documents *documents)
{
    if (documents) {
        for (size_t i = 0; i < documents->count; i++) {
            document_free(documents->items[i]);
        }
        free(documents);
    }
}

/* Takes the domain's document out of the list; NULL: there is none. */
static struct document *take(struct writer_documents *documents, const struct dname *domain)
{
    for (size_t i = 0; i < documents->count; i++) {
        struct document *document = documents->items[i];
        if (document && dname_equal(&document->domain, domain)) {
            documents->items[i] = NULL;
            return document;
        }
    }
    return NULL;
}

static bool is_among(const struct dname *domain, struct document *const *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (dname_equal(&items[i]->domain, domain)) {
            return true;
        }
    }
    return false;
}

void writer_documents_set_domains(struct writer_documents *documents, const struct dname *domains,
                                  size_t count)
{
    struct document *next[ENGINE_ZONES_MAX];
    size_t next_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_among(&domains[i], next, next_count)) {
            struct document *known = take(documents, &domains[i]);
            next[next_count++] = known ? known : document_new(documents, &domains[i]);
        }
    }
    for (size_t i = 0; i < documents->count; i++) {
        document_free(documents->items[i]); /* no longer in force */
    }
    memcpy(documents->items, next, next_count * sizeof(next[0]));
    documents->count = next_count;
}

bool writer_documents_is_saved(struct slice saved)
{
    return saved.len == 0;
}

bool writer_documents_save(const struct writer_documents *documents, struct buf *out)
{
    return documents && out;
}
