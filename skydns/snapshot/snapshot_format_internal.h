/* Defines a snapshot's bytes on disk, format 5. One pass writes it, one reads it, a piece at a
 * time. All numbers are big-endian; `text` is a length (u32) and that many bytes.
 *
 *     file    magic[8]  format:u32  header  section ...  block ...  end
 *     header  len:u32  { version:text  prefix:text  domain:text (wire)  schema:u8
 *                        revision:u64  heard_ms:u64 }
 *     section text; one for each of enum snapshot_section, in its order
 *     block   len:u32 (not 0)  record ...
 *     end     0:u32  records:u64  checksum:u64
 *
 * Every format begins with the magic and its own number, so that each can name the other. The
 * checksum is XXH3's 64 bits over all bytes before it: 30 GB/s, and it need not withstand those who
 * may write the file. Nothing follows it.
 *
 * Records come in the order of store_each_record, none lies in two blocks:
 *
 *     record  shared:u8  own:u8  own bytes  fields:u16  revision:u64  age_s:u32
 *             [ttl_s:u32] [port:u16] [priority:u16] [weight:u16] [targetstrip:u16]
 *             [len:u8 host] [len:u16 host as written] [len:u16 text] [len:u16 group]
 *
 * Its name is `own` bytes, whole labels, and the last `shared` bytes of the name before it, which
 * are the root and all the labels that both end with; the first record's name shares the root.
 * Names below one Service have most of their bytes in common: 300,000 records take 20 MB. `fields`
 * says which of those in brackets there are; the others are 0 or empty. age_s: for how long it had
 * been known when etcd was last heard from.
 *
 * Format 4 is the same without the last section, SNAPSHOT_MARKS, format 3 without the last two,
 * format 2 without the last three, and format 1 without the last four. A file in which these
 * sections would be empty is written in the older format, so that releases that know no other can
 * start from it.
 *
 * A change of any of this, or of what a section holds, takes a new format number: a program reads
 * these formats alone, and starts as without a snapshot from any other. One more string of a record
 * does not (snapshot_string). */
#ifndef SKYDNS_SNAPSHOT_SNAPSHOT_FORMAT_INTERNAL_H
#define SKYDNS_SNAPSHOT_SNAPSHOT_FORMAT_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/dns/record.h"
#include "skydns/snapshot/snapshot.h"

/* Begins like PNG's: a byte that is no text, and line ends that a transfer as text would change. */
#define SNAPSHOT_MAGIC "\x89SKYS\r\n\n"

enum {
    SNAPSHOT_MAGIC_LEN = 8,
    SNAPSHOT_FORMAT = 5,
    SNAPSHOT_FORMAT_OLD = 1,                  /* the oldest */
    SNAPSHOT_SECTIONS_OLD = SNAPSHOT_CLIENTS, /* of that; each later format has one more */
};
_Static_assert(SNAPSHOT_SECTIONS - SNAPSHOT_SECTIONS_OLD == SNAPSHOT_FORMAT - SNAPSHOT_FORMAT_OLD,
               "a new section takes a new format");

static inline size_t snapshot_sections_of(unsigned format)
{
    return SNAPSHOT_SECTIONS_OLD + (size_t)(format - SNAPSHOT_FORMAT_OLD);
}

/* Bits of `fields`. The lowest two: enum store_host. */
enum {
    SNAPSHOT_HOST = 0x003,
    SNAPSHOT_MAIL = 0x004,
    SNAPSHOT_TTL = 0x008,
    SNAPSHOT_PORT = 0x010,
    SNAPSHOT_PRIORITY = 0x020,
    SNAPSHOT_WEIGHT = 0x040,
    SNAPSHOT_TARGETSTRIP = 0x080,
    SNAPSHOT_STRINGS = 0x100, /* the host as written; text and group follow */
    SNAPSHOT_LEASED = 0x800,
    SNAPSHOT_MORE_STRINGS = 0x1000,
    SNAPSHOT_FIELDS = /* all of them */
    0xfff |
    ((SNAPSHOT_MORE_STRINGS << (RECORD_STRINGS - RECORD_GROUP - 1)) - SNAPSHOT_MORE_STRINGS),
};

/* Returns the bit of one of enum record_string. One more string is one more bit: programs that do
 * not know it start as without a snapshot. */
static inline unsigned snapshot_string(unsigned string)
{
    return string <= RECORD_GROUP ? (unsigned)SNAPSHOT_STRINGS << string
                                  : (unsigned)SNAPSHOT_MORE_STRINGS << (string - RECORD_GROUP - 1);
}

/* Limits the header: version, prefix and domain at their longest take 585 bytes, the rest 17. */
enum { SNAPSHOT_HEADER_MAX = 1024 };

/* Limits what is encoded or decoded at once: few system calls for a large record store, and little
 * memory beside it. It has room for the longest record: a name, a host, strings of 64 KiB. */
enum {
    SNAPSHOT_PIECE_MAX = (64 << 10) * (RECORD_STRINGS + 1),
    SNAPSHOT_BLOCK_MAX = SNAPSHOT_PIECE_MAX - 4, /* behind its length */
    SNAPSHOT_RECORD_MAX =
        2 + DNAME_MAX + 2 + 8 + 4 + 4 + 4 * 2 + 1 + DNAME_MAX + RECORD_STRINGS * (2 + 65535),
};
_Static_assert(SNAPSHOT_RECORD_MAX <= SNAPSHOT_BLOCK_MAX, "a record fits into a block");

/* Limits a file that is read: 8 GiB is the most that etcd is run with, and a record takes more
 * there than here. */
#define SNAPSHOT_BYTES_MAX ((int64_t)8 << 30)

#endif
