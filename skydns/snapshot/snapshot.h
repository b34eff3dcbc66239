/* Describes what a snapshot holds: everything that answers depended on, so that a process that
 * starts without etcd gives them again. snapshot_file.h has the file.
 *
 *     writing   store_sync_save, live settings --image--> snapshot_writer --> file
 *     starting  file --snapshot_file_read--> content --> store_sync_start, live_config
 *
 * All but the records is in sections, each packed and unpacked by the file that knows it
 * (buf.h, cursor.h). Each checks all it unpacks, and a snapshot with a malformed section is
 * refused as a whole. */
#ifndef SKYDNS_SNAPSHOT_SNAPSHOT_H
#define SKYDNS_SNAPSHOT_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/dns/dname.h"

struct store;
struct store_writer;

enum snapshot_section {
    SNAPSHOT_CONFIG,         /* `/<prefix>/config` as it is; empty: there is none */
    SNAPSHOT_MIRROR,         /* which etcd data set it was, and its revision: etcd_mirror_save */
    SNAPSHOT_STORE_KEYS,     /* of which domains there was one: store_keys_save */
    SNAPSHOT_LEASES,         /* lease_table_save */
    SNAPSHOT_BROKEN,         /* broken_save */
    SNAPSHOT_WRITERS,        /* kube2sky's documents: writer_documents_save */
    SNAPSHOT_CLIENTS,        /* what kube2sky writes of clients: client_marks_save */
    SNAPSHOT_CLIENT_RECORDS, /* client_marks_save_records */
    SNAPSHOT_TOPOLOGY,       /* client_marks_save_topology */
    SNAPSHOT_MARKS,          /* when which revision was reached: revision_marks_save */
    SNAPSHOT_SECTIONS,
};

/* Limits one section: 100,000 leased records take 10 MB. */
enum { SNAPSHOT_SECTION_MAX = 64 << 20 };

enum {
    SNAPSHOT_PREFIX_MAX = 256,
    SNAPSHOT_VERSION_MAX = 64, /* of the program */
};

/* Describes the process that wrote it: the loading process must agree, and its log line says so. */
struct snapshot_header {
    char version[SNAPSHOT_VERSION_MAX]; /* of the program that wrote it; only for the log */
    char prefix[SNAPSHOT_PREFIX_MAX];   /* "/skydns/" */
    struct dname domain;                /* the first one: its store key tells etcd data sets
                                         * apart */
    uint8_t schema;                     /* enum engine_schema: decides which keys are records */
    int64_t revision;                   /* of etcd, which the records are complete up to */
    int64_t heard_ms;                   /* Unix time: etcd was last heard from */
};

/* Everything to be written. */
struct snapshot_image {
    struct snapshot_header header;
    struct buf sections[SNAPSHOT_SECTIONS]; /* owned */
    const struct store *store;              /* pinned by whoever has the image written */
};

void snapshot_image_init(struct snapshot_image *image);
void snapshot_image_fini(struct snapshot_image *image);

/* Everything that was read. */
struct snapshot_content {
    struct snapshot_header header;
    struct buf sections[SNAPSHOT_SECTIONS]; /* owned */
    struct store_writer *writer;            /* the records, without a version; owned; STEAL it */
    size_t records;
    size_t bytes; /* of the file */
};

void snapshot_content_fini(struct snapshot_content *content);

#endif
