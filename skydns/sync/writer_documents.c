#include "skydns/sync/writer_documents.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/cursor.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_mirror.h"
#include "common/etcd/etcd_store_id.h"
#include "skydns/settings/config_documents.h"
#include "skydns/sync/domain_set_internal.h"

/* Time between attempts after a denial: people give permissions, and the mirror itself would retry
 * every second. */
static const double denied_retry_s = 10;

/* Document of one domain. */
struct document {
    struct dname domain; /* first: of domain_set_internal.h */
    struct writer_documents *documents;
    char *key;
    struct etcd_mirror *mirror; /* NULL: etcd denies reading the key */
    ev_timer retry;             /* runs then */
    bool is_denied;             /* told, until it can be read */
    struct err denial;          /* why */
    struct buf text;            /* as of the mirror's uncommitted sequence */
    bool is_there;
    bool is_read; /* in the current full read */
    bool is_changed;
    bool is_told;     /* something, even that there is none */
    bool keeps_old;   /* the current full read removes nothing */
    int64_t revision; /* at which etcd got it; 0: of an earlier process, or there is none */
};

struct writer_documents {
    struct writer_documents_config config;
    struct domain_set domains;
    struct buf saved; /* until the first domains are set */
};

/* Part of one domain in what writer_documents_save appended; the slices are borrowed. */
struct saved_document {
    struct dname domain;
    bool is_there;
    struct slice text;
    struct slice mirror; /* etcd_mirror_save; empty: etcd denied reading the key */
};

/* ---- The mirror ---- */

static void writer_documents_on_begin(void *data, const struct etcd_mirror_read *read)
{
    struct document *document = data;
    document->is_read = false;
    document->keeps_old = read->keeps_old;
}

static void writer_documents_on_put(void *data, const struct etcd_kv *kv)
{
    struct document *document = data;
    size_t limit = WRITER_DOCUMENT_MAX + 1;
    buf_clear(&document->text);
    buf_append(&document->text, kv->value.ptr, kv->value.len < limit ? kv->value.len : limit);
    document->revision = kv->mod_revision;
    document->is_there = document->is_read = document->is_changed = true;
}

static void remove_document(struct document *document)
{
    document->is_changed = document->is_changed || document->is_there;
    document->is_there = false;
    document->revision = 0;
}

static void writer_documents_on_del(void *data, struct slice key UNUSED, int64_t revision UNUSED)
{
    remove_document(data);
}

static void writer_documents_publish(struct document *document)
{
    const struct writer_documents_config *config = &document->documents->config;
    document->is_changed = false;
    document->is_told = true;
    config->changed(config->data, &document->domain,
                    document->is_there ? slice_of(buf_cstr(&document->text), document->text.len)
                                       : slice_of(NULL, 0),
                    document->revision);
}

static void writer_documents_on_commit(void *data, int64_t revision UNUSED, bool full)
{
    struct document *document = data;
    if (full && !document->is_read && !document->keeps_old) {
        remove_document(document);
    }
    if (document->is_changed) {
        writer_documents_publish(document);
    }
}

/* Handles a denial, and its end. Outages are those of the records' mirror. */
static void writer_documents_on_state(void *data, const struct err *err)
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
        document->denial = *err;
        timer_arm(document->documents->config.loop, &document->retry, denied_retry_s);
        etcd_mirror_stop(STEAL(document->mirror));
        if (!document->is_told) {
            writer_documents_publish(document); /* that there is none, as far as anybody may know */
        }
    }
}

bool writer_documents_is_caught_up(const struct writer_documents *documents)
{
    for (size_t i = 0; i < documents->domains.count; i++) {
        const struct document *document = documents->domains.items[i];
        if (document->is_denied) {
            continue;
        }
        const struct etcd_mirror_counts counts = etcd_mirror_counts(document->mirror);
        if (!document->is_told || !counts.is_caught_up ||
            (document->is_there && counts.is_holding_old)) {
            return false;
        }
    }
    return true;
}

bool writer_documents_explain_denied(const struct writer_documents *documents, struct buf *out)
{
    bool is_denied = false;
    for (size_t i = 0; documents && i < documents->domains.count; i++) {
        const struct document *document = documents->domains.items[i];
        if (document->is_denied) {
            buf_printf(out, "%scannot read %s: %s", is_denied ? "; " : "", document->key,
                       document->denial.msg);
            is_denied = true;
        }
    }
    return is_denied;
}

/* ---- Across restarts: how many, then name, whether there is one, text and mirror of each ---- */

/* Returns false if the document is not known. */
static bool writer_documents_save_one(const struct document *document, struct buf *out)
{
    CLEANUP_BUF struct buf mirror = buf_of(out->limit);
    bool is_known = document->is_denied || (document->is_told && document->mirror &&
                                            etcd_mirror_save(document->mirror, &mirror));
    if (is_known) {
        buf_append_sized(out, slice_of(document->domain.wire, document->domain.len));
        buf_append_u8(out, document->is_there);
        buf_append_sized(out, document->is_there ? buf_slice(&document->text) : slice_of(NULL, 0));
        buf_append_sized(out, buf_slice(&mirror));
    }
    return is_known;
}

bool writer_documents_save(const struct writer_documents *documents, struct buf *out)
{
    size_t before = out->len;
    bool is_known = true;
    buf_append_u8(out, (uint8_t)documents->domains.count);
    for (size_t i = 0; is_known && i < documents->domains.count; i++) {
        is_known = writer_documents_save_one(documents->domains.items[i], out);
    }
    if (!is_known || out->failed) {
        out->len = before;
        return false;
    }
    return true;
}

static bool writer_documents_read_saved(struct reader *reader, struct saved_document *ret_saved)
{
    bool is_name = dname_read_sized(reader, &ret_saved->domain);
    uint8_t is_there = reader_u8(reader);
    ret_saved->is_there = is_there == 1;
    ret_saved->text = reader_sized(reader);
    ret_saved->mirror = reader_sized(reader);
    return is_name && !reader->failed && is_there <= 1 &&
           ret_saved->text.len <= (is_there ? WRITER_DOCUMENT_MAX + 1 : 0) &&
           (ret_saved->mirror.len == 0 || etcd_mirror_is_saved(ret_saved->mirror));
}

bool writer_documents_is_saved(struct slice saved)
{
    struct reader reader = reader_of(saved.ptr, saved.len);
    struct saved_document document;
    uint8_t count = reader_u8(&reader);
    bool is_good = !reader.failed && count <= ENGINE_ZONES_MAX;
    for (uint8_t i = 0; is_good && i < count; i++) {
        is_good = writer_documents_read_saved(&reader, &document);
    }
    return is_good && reader_left(&reader) == 0;
}

/* Returns false if nothing is known of the domain. */
static bool writer_documents_restore(struct slice saved, const struct dname *domain,
                                     struct saved_document *ret_saved)
{
    struct reader reader = reader_of(saved.ptr, saved.len);
    uint8_t count = reader_u8(&reader);
    for (uint8_t i = 0; i < count && writer_documents_read_saved(&reader, ret_saved); i++) {
        if (dname_equal(&ret_saved->domain, domain)) {
            return true;
        }
    }
    return false;
}

/* ---- Life ---- */

/* Starts the mirror. saved: of etcd_mirror_save; empty: nothing is known. */
static void writer_documents_start_mirror(struct document *document, struct slice saved)
{
    const struct writer_documents *documents = document->documents;
    char text[DNAME_TEXT_MAX];
    CLEANUP_FREE char *store_key =
        etcd_store_key(slice_str(dname_to_text(&document->domain, text)));
    document->mirror = etcd_mirror_start(documents->config.etcd,
                                         &(struct etcd_mirror_config){
                                             .prefix = slice_str(document->key),
                                             .is_one_key = true,
                                             .store_key = slice_str(store_key),
                                             .keeps_old = true,
                                             .stale_max_ms = documents->config.stale_max_ms,
                                             .saved = saved,
                                             .check_ms = ETCD_MIRROR_CHECK_RARELY_MS,
                                             .full_begin = writer_documents_on_begin,
                                             .put = writer_documents_on_put,
                                             .del = writer_documents_on_del,
                                             .commit = writer_documents_on_commit,
                                             .state = writer_documents_on_state,
                                             .data = document,
                                         });
}

static void writer_documents_on_retry(struct ev_loop *loop UNUSED, ev_timer *timer,
                                      int events UNUSED)
{
    writer_documents_start_mirror(timer->data, slice_of(NULL, 0));
}

static struct document *document_new(struct writer_documents *documents, const struct dname *domain)
{
    struct document *document = xcalloc(1, sizeof(*document));
    document->documents = documents;
    document->domain = *domain;
    document->key = writer_document_key(domain, documents->config.name);
    document->is_changed = true; /* the first full read reports it in any case */
    buf_init(&document->text, WRITER_DOCUMENT_MAX + 1);
    timer_init(&document->retry, writer_documents_on_retry, document);
    return document;
}

/* Starts with a saved document. It is told when it is found in the list, as a document from etcd
 * is. */
static void writer_documents_start(struct document *document, struct slice saved)
{
    struct saved_document before;
    if (!writer_documents_restore(saved, &document->domain, &before)) {
        writer_documents_start_mirror(document, slice_of(NULL, 0));
        return;
    }
    buf_append_slice(&document->text, before.text);
    document->is_there = before.is_there;
    writer_documents_start_mirror(document, before.mirror);
    writer_documents_publish(document);
}

static void document_free(struct document *document)
{
    etcd_mirror_stop(document->mirror);
    ev_timer_stop(document->documents->config.loop, &document->retry);
    buf_fini(&document->text);
    free(document->key);
    free(document);
}

struct writer_documents *writer_documents_new(const struct writer_documents_config *config)
{
    struct writer_documents *documents = xcalloc(1, sizeof(*documents));
    documents->config = *config;
    buf_init(&documents->saved, SIZE_MAX);
    buf_append_slice(&documents->saved, config->saved);
    return documents;
}

void writer_documents_free(struct writer_documents *documents)
{
    if (documents) {
        for (size_t i = 0; i < documents->domains.count; i++) {
            document_free(documents->domains.items[i]);
        }
        buf_fini(&documents->saved);
        free(documents);
    }
}

void writer_documents_set_domains(struct writer_documents *documents, const struct dname *domains,
                                  size_t count)
{
    struct domain_set next = {.count = 0};
    bool is_new[ENGINE_ZONES_MAX];
    for (size_t i = 0; i < count; i++) {
        if (domain_set_index(&next, &domains[i]) == next.count) {
            struct document *known = domain_set_take(&documents->domains, &domains[i]);
            is_new[next.count] = !known;
            next.items[next.count++] = known ? known : document_new(documents, &domains[i]);
        }
    }
    for (size_t i = 0; i < documents->domains.count; i++) {
        document_free(documents->domains.items[i]); /* no longer in force */
    }
    documents->domains = next;
    struct buf saved = documents->saved; /* `changed` may come back here */
    buf_init(&documents->saved, 0);
    for (size_t i = 0; i < next.count; i++) {
        if (is_new[i]) {
            writer_documents_start(next.items[i], buf_slice(&saved));
        }
    }
    buf_fini(&saved);
}
