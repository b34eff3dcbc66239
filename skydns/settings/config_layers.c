#include "skydns/settings/config_layers.h"

#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/settings/config_doc_internal.h"
#include "skydns/settings/config_documents.h"
#include "skydns/settings/stub_zones.h"

/* Document of settings, wherever it comes from: the text seen last, and the one in force, which is
 * older while the newest cannot be used */

struct config_source {
    char *name; /* a key or a path, for the log; owned; NULL: not in use */
    struct buf seen, used;
    bool has_seen, has_used;
};

/* Takes the name. Longer texts are cut to one byte more, so that this shows. */
static void config_source_init(struct config_source *source, char *name, size_t bytes_max)
{
    *source = (struct config_source){.name = name};
    buf_init(&source->seen, bytes_max + 1);
    buf_init(&source->used, bytes_max + 1);
}

/* Zeroes a source, initialized or zeroed. */
static void config_source_fini(struct config_source *source)
{
    if (source->name) {
        buf_fini(&source->seen);
        buf_fini(&source->used);
        free(source->name);
    }
    *source = (struct config_source){0};
}

/* Notes a new text; ptr NULL means none. Returns false if it is the one seen last. */
static bool config_source_see(struct config_source *source, struct slice text)
{
    bool has_text = text.ptr != NULL;
    if (has_text == source->has_seen && slice_equal(text, buf_slice(&source->seen))) {
        return false;
    }
    buf_clear(&source->seen);
    buf_append(&source->seen, text.ptr,
               text.len < source->seen.limit ? text.len : source->seen.limit);
    source->has_seen = has_text;
    return true;
}

/* Puts the text seen last in force: it can be used. */
static void config_source_use(struct config_source *source)
{
    buf_clear(&source->used);
    buf_append_slice(&source->used, buf_slice(&source->seen));
    source->has_used = source->has_seen;
}

/* Returns whether the text seen last cannot be used: an older one is in force. */
static bool config_layers_is_source_refused(const struct config_source *source)
{
    return source->has_seen != source->has_used ||
           !slice_equal(buf_slice(&source->seen), buf_slice(&source->used));
}

static struct slice config_source_text_of(struct buf *text, bool is_there)
{
    return is_there ? slice_of(buf_cstr(text), text->len) : slice_of(NULL, 0);
}

static struct slice config_source_seen(struct config_source *source)
{
    return config_source_text_of(&source->seen, source->has_seen);
}

static struct slice config_source_used(struct config_source *source)
{
    return config_source_text_of(&source->used, source->has_used);
}

struct writer_source {
    struct dname domain;
    struct config_source source; /* name NULL: not in use */
};

struct config_layers {
    const struct options *flags;
    struct config_source file, document;
    struct writer_source writers[ENGINE_ZONES_MAX];
};

struct config_layers *config_layers_new(const struct options *flags)
{
    struct config_layers *layers = xcalloc(1, sizeof(*layers));
    layers->flags = flags;
    config_source_init(&layers->file, xstrdup(flags->config_file), CONFIG_DOCUMENT_MAX);
    config_source_init(&layers->document, xasprintf("/%s/config", flags->path_prefix),
                       CONFIG_DOCUMENT_MAX);
    return layers;
}

void config_layers_free(struct config_layers *layers)
{
    if (layers) {
        config_source_fini(&layers->file);
        config_source_fini(&layers->document);
        for (size_t i = 0; i < ENGINE_ZONES_MAX; i++) {
            config_source_fini(&layers->writers[i].source);
        }
        free(layers);
    }
}

bool config_layers_has_document(const struct config_layers *layers)
{
    return layers->document.has_used;
}

const char *config_layers_key(const struct config_layers *layers)
{
    return layers->document.name;
}

/* ---- Laying one over the other ---- */

/* Returns the text that counts while the new one of `candidate` is tried. */
static struct slice config_layers_text_of(struct config_source *source,
                                          const struct config_source *candidate)
{
    return source == candidate ? config_source_seen(source) : config_source_used(source);
}

static struct writer_source *find_writer(struct config_layers *layers, const struct dname *domain)
{
    for (size_t i = 0; i < ENGINE_ZONES_MAX; i++) {
        struct writer_source *writer = &layers->writers[i];
        if (writer->source.name && dname_equal(&writer->domain, domain)) {
            return writer;
        }
    }
    return NULL;
}

/* Applies kube2sky's documents in the order of the domains, until one has upstreams. */
static int apply_writers(struct config_layers *layers, const struct config_source *candidate,
                         struct options *options, struct err *err)
{
    struct config_doc_report report = {0};
    for (size_t i = 0; i < options->domain_count && !report.has_nameservers; i++) {
        struct writer_source *writer = find_writer(layers, &options->domains[i]);
        struct slice text =
            writer ? config_layers_text_of(&writer->source, candidate) : slice_of(NULL, 0);
        int r = text.ptr ? config_doc_apply_writers(text, options, &report, err) : 0;
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static void log_ignored(const struct config_layers *layers, const struct config_source *source,
                        const struct config_doc_report *report)
{
    bool is_file = source == &layers->file;
    for (size_t i = 0; i < report->ignored_count; i++) {
        log_warn(is_file ? "field of the configuration file is ignored"
                         : "field of the configuration in etcd is ignored",
                 LOG_STR(is_file ? "file" : "key", source->name),
                 LOG_STR("field", report->ignored[i].field),
                 LOG_STR("reason", report->ignored[i].why));
    }
}

static int apply_document(const struct config_layers *layers, struct config_source *source,
                          const struct config_source *candidate, struct options *options,
                          struct config_doc_report *report, struct err *err)
{
    struct slice text = config_layers_text_of(source, candidate);
    int r = text.ptr ? config_doc_apply(text, options, report, err) : 0;
    if (r == 0 && source == candidate) {
        log_ignored(layers, source, report);
    }
    return r;
}

/* Lays all sources over each other; on success with a reference to the stub zones, else with
 * nothing that can be used. */
static int lay_over(struct config_layers *layers, const struct config_source *candidate,
                    struct options *ret_options, struct err *err)
{
    struct config_doc_report file = {0}, document = {0};
    *ret_options = *layers->flags; /* large: there is no second one on the stack */
    (void)stub_zones_ref(ret_options->stubs);
    int r = apply_document(layers, &layers->file, candidate, ret_options, &file, err);
    if (r == 0) {
        r = apply_document(layers, &layers->document, candidate, ret_options, &document, err);
    }
    if (r == 0 && !document.has_nameservers) {
        r = apply_writers(layers, candidate, ret_options, err);
    }
    if (r < 0) {
        stub_zones_unref(ret_options->stubs);
    }
    return r;
}

/* ---- Taking ---- */

/* Returns whether the source's new text can be used, by itself and with the others. */
static int config_layers_try(struct config_layers *layers, struct config_source *source,
                             bool is_writers, struct err *err)
{
    struct options options = *layers->flags;
    struct config_doc_report report;
    struct slice text = config_source_seen(source);
    int r = 0;
    if (is_writers && text.ptr) { /* another one may hide it now */
        r = config_doc_apply_writers(text, &options, &report, err);
    }
    if (r == 0) {
        r = lay_over(layers, source, &options, err);
    }
    if (r == 0) {
        stub_zones_unref(options.stubs);
        config_source_use(source);
    }
    return r;
}

static bool is_in_force(const struct writer_source *writer, const struct options *now)
{
    for (size_t i = 0; i < now->domain_count && writer->source.name; i++) {
        if (dname_equal(&now->domains[i], &writer->domain)) {
            return true;
        }
    }
    return false;
}

/* Returns the domain's source, or a free one, or that of a domain that is no longer in force. */
static struct writer_source *claim_writer(struct config_layers *layers, const struct dname *domain)
{
    struct writer_source *writer = find_writer(layers, domain);
    struct options now = config_layers_settings(layers);
    stub_zones_unref(now.stubs);
    for (size_t i = 0; i < ENGINE_ZONES_MAX && !writer; i++) {
        writer = is_in_force(&layers->writers[i], &now) ? NULL : &layers->writers[i];
    }
    if (writer && !(writer->source.name && dname_equal(&writer->domain, domain))) {
        config_source_fini(&writer->source);
        config_source_init(&writer->source, writer_document_key(domain, "config"),
                           WRITER_DOCUMENT_MAX);
        writer->domain = *domain;
    }
    return writer;
}

/* Tries a refused source again. Returns false if it was not refused, or still is. */
static bool config_layers_retry(struct config_layers *layers, struct config_source *source,
                                bool is_writers)
{
    struct err err;
    if (!source->name || !config_layers_is_source_refused(source) ||
        config_layers_try(layers, source, is_writers, &err) < 0) {
        return false;
    }
    log_info("settings that were refused agree with the others now",
             LOG_STR("source", source->name));
    return true;
}

/* Tries refused sources again: another source's change may have made them right. */
static void retry_refused(struct config_layers *layers)
{
    bool is_other = true;
    while (is_other) { /* at most once for each source */
        is_other = config_layers_retry(layers, &layers->file, false) ||
                   config_layers_retry(layers, &layers->document, false);
        for (size_t i = 0; i < ENGINE_ZONES_MAX && !is_other; i++) {
            is_other = config_layers_retry(layers, &layers->writers[i].source, true);
        }
    }
}

bool config_layers_take(struct config_layers *layers, enum config_layer layer,
                        const struct dname *domain, struct slice text)
{
    struct writer_source *writer = layer == CONFIG_WRITERS ? claim_writer(layers, domain) : NULL;
    struct config_source *source = layer == CONFIG_FILE       ? &layers->file
                                   : layer == CONFIG_DOCUMENT ? &layers->document
                                   : writer                   ? &writer->source
                                                              : NULL;
    struct err err;
    if (!source || !config_source_see(source, text)) {
        return false; /* without a source: of no domain in force */
    }
    if (config_layers_try(layers, source, layer == CONFIG_WRITERS, &err) < 0) {
        log_error(layer == CONFIG_FILE
                      ? "cannot use the configuration file, keeping the settings in force"
                      : "cannot use the configuration in etcd, keeping the settings in force",
                  LOG_STR(layer == CONFIG_FILE ? "file" : "key", source->name),
                  LOG_STR("error", err.msg));
        return false;
    }
    retry_refused(layers);
    return true;
}

int config_layers_take_file(struct config_layers *layers, struct slice text, struct err *err)
{
    (void)config_source_see(&layers->file, text); /* the first one */
    int r = config_layers_try(layers, &layers->file, false, err);
    return r < 0 ? err_wrap(err, r, "`%s`", layers->file.name) : 0;
}

struct options config_layers_settings(struct config_layers *layers)
{
    struct options options;
    struct err err;
    if (lay_over(layers, NULL, &options, &err) < 0) { /* each was tried with the others */
        log_error("cannot use the settings", LOG_STR("error", err.msg));
        options = *layers->flags;
        (void)stub_zones_ref(options.stubs); /* the same pointer */
    }
    return options;
}

struct options config_layers_preview(struct config_layers *layers, struct slice document)
{
    struct options options = config_layers_settings(layers);
    struct config_doc_report report;
    struct err err;
    if (document.ptr && config_doc_apply(document, &options, &report, &err) < 0) {
        log_debug("looked at settings that cannot be used", LOG_STR("error", err.msg));
    }
    stub_zones_unref(options.stubs);
    options.stubs = NULL;
    return options;
}

/* Returns whether the document of a domain in force is refused. Rarely is any, so rarely are the
 * settings laid out. */
static bool is_writer_refused(struct config_layers *layers)
{
    bool is_refused = false;
    for (size_t i = 0; i < ENGINE_ZONES_MAX && !is_refused; i++) {
        const struct writer_source *writer = &layers->writers[i];
        if (writer->source.name && config_layers_is_source_refused(&writer->source)) {
            struct options now = config_layers_settings(layers);
            stub_zones_unref(now.stubs);
            is_refused = is_in_force(writer, &now);
        }
    }
    return is_refused;
}

bool config_layers_is_refused(struct config_layers *layers, enum config_layer layer)
{
    switch (layer) {
    case CONFIG_FILE:
        return config_layers_is_source_refused(&layers->file);
    case CONFIG_DOCUMENT:
        return config_layers_is_source_refused(&layers->document);
    case CONFIG_WRITERS:
        break;
    }
    return is_writer_refused(layers);
}
