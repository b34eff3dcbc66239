#include "common/etcd/etcd_store_id.h"

#include <stdio.h>
#include <stdlib.h>

#include <sys/random.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_link_internal.h"

/* Bounds a key and a value by an etcd request, 1.5 MiB by default. Larger ones are no witnesses. */
enum { WITNESS_BYTES_MAX = 2 << 20 };

/* Bounds what a data set can grow by while no reader watches: 18 hours of 1,500 revisions a second.
 * A backup is restored with more (etcdutl --bump-revision): etcd's documentation says
 * 1,000,000,000, of which the lost revisions are to be taken off. */
enum { GROWTH_MAX = 100000000 };

char *etcd_writer_key(struct slice domain, const char *name)
{
    if (domain.len && domain.ptr[domain.len - 1] == '.') {
        domain.len--;
    }
    return xasprintf("/kube2sky/%.*s/%s", (int)domain.len, domain.ptr, name);
}

char *etcd_store_key(struct slice domain)
{
    return etcd_writer_key(domain, "store");
}

bool etcd_store_id_random(char ret_id[ETCD_STORE_ID_SIZE])
{
    unsigned char bits[(ETCD_STORE_ID_SIZE - 1) / 2];
    if (getrandom(bits, sizeof(bits), 0) != (ssize_t)sizeof(bits)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(bits); i++) {
        (void)snprintf(ret_id + 2 * i, 3, "%02x", bits[i]); /* exactly two digits */
    }
    return true;
}

/* ---- The serial ---- */

bool etcd_serial_base(struct slice value, uint32_t *ret_base)
{
    enum { DIGITS_MAX = 10 }; /* as many as 2^32 - 1 has */
    uint64_t base = 0;
    bool is_number = value.len > 0 && value.len <= DIGITS_MAX;
    for (size_t i = 0; i < value.len && is_number; i++) {
        is_number = value.ptr[i] >= '0' && value.ptr[i] <= '9';
        base = base * 10 + (uint64_t)(value.ptr[i] - '0');
    }
    *ret_base = (uint32_t)base;
    return is_number && base <= UINT32_MAX;
}

struct etcd_serial etcd_serial_of(const struct etcd_kv *kv)
{
    uint32_t base;
    const bool is_there = etcd_serial_base(kv->value, &base);
    return (struct etcd_serial){.is_there = is_there, .value = base + (uint32_t)kv->mod_revision};
}

bool etcd_serial_is_after(struct etcd_serial a, struct etcd_serial b)
{
    uint32_t ahead = a.value - b.value;
    return a.is_there && b.is_there && ahead != 0 && ahead < UINT32_C(1) << 31;
}

/* ---- Evidence ---- */

static void witness_init(struct etcd_witness *witness)
{
    *witness = (struct etcd_witness){.mod_revision = 0};
    buf_init(&witness->key, WITNESS_BYTES_MAX);
    buf_init(&witness->value, WITNESS_BYTES_MAX);
}

static void witness_fini(struct etcd_witness *witness)
{
    buf_fini(&witness->key);
    buf_fini(&witness->value);
}

static void etcd_store_id_set(struct buf *b, struct slice s)
{
    buf_clear(b);
    buf_append_slice(b, s);
}

static void witness_set(struct etcd_witness *witness, const struct etcd_kv *kv)
{
    if (kv->mod_revision <= witness->mod_revision) {
        return;
    }
    etcd_store_id_set(&witness->key, kv->key);
    etcd_store_id_set(&witness->value, kv->value);
    bool fits = !witness->key.failed && !witness->value.failed;
    witness->create_revision = kv->create_revision;
    witness->mod_revision = fits ? kv->mod_revision : 0;
    witness->version = kv->version;
}

void etcd_evidence_init(struct etcd_evidence *evidence)
{
    evidence->revision = 0;
    evidence->written = 0;
    evidence->serial = (struct etcd_serial){.is_there = false};
    buf_init(&evidence->id, WITNESS_BYTES_MAX);
    witness_init(&evidence->put);
    witness_init(&evidence->del);
}

void etcd_evidence_fini(struct etcd_evidence *evidence)
{
    buf_fini(&evidence->id);
    witness_fini(&evidence->put);
    witness_fini(&evidence->del);
}

void etcd_evidence_clear(struct etcd_evidence *evidence)
{
    evidence->revision = 0;
    evidence->written = 0;
    evidence->serial = (struct etcd_serial){.is_there = false};
    buf_clear(&evidence->id);
    evidence->put.mod_revision = 0;
    evidence->del.mod_revision = 0;
}

void etcd_evidence_set_id(struct etcd_evidence *evidence, struct slice id)
{
    etcd_store_id_set(&evidence->id, id);
}

void etcd_evidence_put(struct etcd_evidence *evidence, const struct etcd_kv *kv)
{
    witness_set(&evidence->put, kv);
}

void etcd_evidence_del(struct etcd_evidence *evidence, struct slice key, int64_t revision)
{
    const struct etcd_kv kv = {.key = key, .mod_revision = revision};
    witness_set(&evidence->del, &kv);
}

int64_t etcd_evidence_newest(const struct etcd_evidence *evidence)
{
    int64_t put = evidence->put.mod_revision, del = evidence->del.mod_revision;
    return put > del ? put : del;
}

/* ---- Asking ---- */

struct etcd_store_question {
    struct etcd *etcd;
    struct etcd_store_ask ask;
    struct etcd_call *call;
    int64_t revision;
    int64_t newest;
    struct buf id;
    struct etcd_serial serial;
    bool can_read_serial;
    struct err key_err; /* code 0: the store key was read */
    struct err refusal; /* of a witness, while the range read is in flight */
    bool is_compacted;  /* a witness was compacted, and nothing else proves as much */
    bool is_seen_compacted;
    char reason[160];
};

static void question_free(struct etcd_store_question *question)
{
    buf_fini(&question->id);
    free(question);
}

static void etcd_store_id_fail(struct etcd_store_question *question, const struct err *err)
{
    question->ask.cb(question->ask.data, NULL, err);
    question_free(question);
}

static void etcd_store_id_answer(struct etcd_store_question *question,
                                 enum etcd_store_verdict verdict)
{
    if (question->key_err.code && verdict != ETCD_STORE_OTHER) {
        etcd_store_id_set(&question->id, buf_slice(&question->ask.evidence->id));
    }
    const struct etcd_store_answer result = {
        .verdict = verdict,
        .revision = question->revision,
        .newest = question->newest,
        .is_seen_compacted = question->is_seen_compacted,
        .id = buf_slice(&question->id),
        .serial = question->serial,
        .can_read_serial = question->can_read_serial,
        .reason = question->reason,
        .key_err = question->key_err.code ? &question->key_err : NULL,
    };
    question->ask.cb(question->ask.data, &result, NULL);
    question_free(question);
}

#define SAY(question, ...) \
    (void)snprintf((question)->reason, sizeof((question)->reason), __VA_ARGS__)

/* Judges that it is another data set: its history contradicts the witness. */
static void etcd_store_id_refute(struct etcd_store_question *question,
                                 const struct etcd_witness *witness, const char *what)
{
    SAY(question, "%s at revision %lld: %.*s", what, (long long)witness->mod_revision,
        (int)(witness->key.len < 64 ? witness->key.len : 64), (const char *)witness->key.data);
    etcd_store_id_answer(question, ETCD_STORE_OTHER);
}

/* Reads the witness's key at a revision; 0: as it is now. */
static void ask_witness(struct etcd_store_question *question, const struct etcd_witness *witness,
                        int64_t revision, etcd_range_cb cb)
{
    const struct etcd_range range = {
        .key = buf_slice(&witness->key),
        .revision = revision,
    };
    question->call = etcd_watch_range(question->etcd, &range, true, cb, question);
}

static void on_range(void *data, const struct etcd_range_reply *reply UNUSED, const struct err *err)
{
    struct etcd_store_question *question = data;
    question->call = NULL;
    etcd_store_id_fail(question, err ? err : &question->refusal);
}

/* Reads the mirrored range, too, if a witness may not be read: the error should name the range, not
 * one key in it. */
static void explain_refusal(struct etcd_store_question *question, const struct err *err)
{
    const struct etcd_range range = {
        .key = question->ask.range,
        .range_end = question->ask.range_end,
        .limit = 1,
        .keys_only = true,
    };
    question->refusal = *err;
    question->call = etcd_watch_range(question->etcd, &range, true, on_range, question);
}

/* Decides what follows from a witness that could not be read. */
static void witness_failed(struct etcd_store_question *question, const struct etcd_witness *witness,
                           const struct err *err)
{
    if (err->code == ERR_FUTURE) {
        etcd_store_id_refute(question, witness, "the data set is older than what was last seen");
    } else if (err->code == ERR_REFUSED) {
        explain_refusal(question, err);
    } else {
        etcd_store_id_fail(question, err);
    }
}

/* Returns true to skip this witness and go on. */
static bool is_passed_over(struct etcd_store_question *question, const struct err *err)
{
    if (err && err->code == ERR_COMPACTED) {
        question->is_compacted = true;
        return true;
    }
    return false;
}

/* Returns the revision that the data set had reached at least. */
static int64_t revision_reached(const struct etcd_evidence *known)
{
    return known->written > known->revision ? known->written : known->revision;
}

/* Judges witnesses that have left the history. Those of a backup restored with higher revisions
 * have, too (etcdutl --mark-compacted). */
static void judge_compacted(struct etcd_store_question *question)
{
    const int64_t reached = revision_reached(question->ask.evidence);
    if (question->newest - reached > GROWTH_MAX) {
        SAY(question, "its revision is %lld, far beyond the last known %lld",
            (long long)question->newest, (long long)reached);
        etcd_store_id_answer(question, ETCD_STORE_OTHER);
    } else {
        SAY(question, "the revision last seen is compacted");
        etcd_store_id_answer(question, ETCD_STORE_COMPACTED);
    }
}

static void etcd_store_id_conclude(struct etcd_store_question *question)
{
    const struct etcd_evidence *known = question->ask.evidence;
    bool has_witness = etcd_evidence_newest(known) > 0;
    bool has_key = known->id.len > 0 && !question->key_err.code; /* and it is the same */
    if (question->is_compacted) {
        judge_compacted(question);
    } else if (!has_witness && !has_key) {
        SAY(question, "nothing was seen in it");
        etcd_store_id_answer(question, ETCD_STORE_UNKNOWN);
    } else {
        SAY(question, "it has what was last seen");
        etcd_store_id_answer(question, ETCD_STORE_SAME);
    }
}

static void note_newest(struct etcd_store_question *question, const struct etcd_range_reply *reply)
{
    if (reply && reply->revision > question->newest) {
        question->newest = reply->revision;
    }
}

static void on_del_witness(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct etcd_store_question *question = data;
    const struct etcd_witness *witness = &question->ask.evidence->del;
    question->call = NULL;
    note_newest(question, reply);
    if (err && !is_passed_over(question, err)) {
        witness_failed(question, witness, err);
    } else if (reply && reply->count > 0) {
        etcd_store_id_refute(question, witness, "a deleted key exists");
    } else {
        etcd_store_id_conclude(question);
    }
}

static void ask_del(struct etcd_store_question *question)
{
    if (question->ask.evidence->del.mod_revision) {
        const struct etcd_witness *witness = &question->ask.evidence->del;
        ask_witness(question, witness, witness->mod_revision, on_del_witness);
    } else {
        etcd_store_id_conclude(question);
    }
}

static bool is_same_kv(const struct etcd_witness *witness, const struct etcd_kv *kv)
{
    return kv->create_revision == witness->create_revision &&
           kv->mod_revision == witness->mod_revision && kv->version == witness->version &&
           slice_equal(kv->value, buf_slice(&witness->value));
}

static bool is_newest(const struct etcd_store_question *question,
                      const struct etcd_witness *witness)
{
    return witness->mod_revision == etcd_evidence_newest(question->ask.evidence);
}

/* Judges a compacted history by the key as it is now. If the last put seen, which nothing followed,
 * is still the key's last one, that proves as much as the history would. A watch may then start
 * behind it, not at it. */
static void on_put_now(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct etcd_store_question *question = data;
    const struct etcd_witness *witness = &question->ask.evidence->put;
    question->call = NULL;
    note_newest(question, reply);
    if (err) {
        witness_failed(question, witness, err);
    } else if (reply->count > 0 && is_same_kv(witness, &reply->kvs[0])) {
        question->is_seen_compacted = true;
        etcd_store_id_conclude(question);
    } else {
        question->is_compacted = true;
        etcd_store_id_conclude(question);
    }
}

static void on_put_witness(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct etcd_store_question *question = data;
    const struct etcd_witness *witness = &question->ask.evidence->put;
    question->call = NULL;
    note_newest(question, reply);
    if (err && err->code == ERR_COMPACTED && is_newest(question, witness)) {
        ask_witness(question, witness, 0, on_put_now);
    } else if (err && !is_passed_over(question, err)) {
        witness_failed(question, witness, err);
    } else if (reply && reply->count == 0) {
        etcd_store_id_refute(question, witness, "a key is missing");
    } else if (reply && !is_same_kv(witness, &reply->kvs[0])) {
        etcd_store_id_refute(question, witness, "a key was rewritten");
    } else {
        ask_del(question);
    }
}

static void judge_key(struct etcd_store_question *question)
{
    const struct etcd_evidence *known = question->ask.evidence;
    const int64_t reached = revision_reached(known);
    if (known->revision == 0) {
        etcd_store_id_answer(question, ETCD_STORE_UNKNOWN);
    } else if (!question->key_err.code && known->id.len &&
               !slice_equal(buf_slice(&known->id), buf_slice(&question->id)) &&
               !(question->ask.is_key_old && question->id.len > 0)) {
        SAY(question, question->id.len ? "the store key changed" : "the store key is gone");
        etcd_store_id_answer(question, ETCD_STORE_OTHER);
    } else if (question->revision && question->revision < reached) {
        SAY(question, "its revision is %lld, last known %lld", (long long)question->revision,
            (long long)reached);
        etcd_store_id_answer(question, ETCD_STORE_OTHER);
    } else if (known->put.mod_revision) {
        ask_witness(question, &known->put, known->put.mod_revision, on_put_witness);
    } else {
        ask_del(question);
    }
}

static void etcd_store_id_on_serial(void *data, const struct etcd_range_reply *reply,
                                    const struct err *err)
{
    struct etcd_store_question *question = data;
    question->call = NULL;
    if (err && err->code != ERR_REFUSED) {
        etcd_store_id_fail(question, err);
        return;
    }
    note_newest(question, reply);
    question->can_read_serial = !err;
    if (reply && reply->count > 0) {
        question->serial = etcd_serial_of(&reply->kvs[0]);
    }
    judge_key(question);
}

/* Reads the serial at the revision at which the store key was read. */
static void etcd_store_id_ask_serial(struct etcd_store_question *question)
{
    const struct etcd_range range = {
        .key = question->ask.serial_key,
        .revision = question->revision,
    };
    question->call =
        etcd_watch_range(question->etcd, &range, true, etcd_store_id_on_serial, question);
}

static void etcd_store_id_on_key(void *data, const struct etcd_range_reply *reply,
                                 const struct err *err)
{
    struct etcd_store_question *question = data;
    question->call = NULL;
    if (err && err->code != ERR_REFUSED) {
        etcd_store_id_fail(question, err);
        return;
    }
    if (err) {
        question->key_err = *err;
    }
    note_newest(question, reply);
    if (reply) {
        question->revision = reply->revision;
    }
    if (reply && reply->count > 0) {
        buf_append_slice(&question->id, reply->kvs[0].value);
    }
    if (question->id.len > 0 && question->ask.serial_key.len > 0) {
        etcd_store_id_ask_serial(question);
    } else {
        judge_key(question);
    }
}

struct etcd_store_question *etcd_store_ask(struct etcd *etcd, const struct etcd_store_ask *ask)
{
    struct etcd_store_question *question = xcalloc(1, sizeof(*question));
    const struct etcd_range range = {.key = ask->store_key};
    question->etcd = etcd;
    question->ask = *ask;
    buf_init(&question->id, WITNESS_BYTES_MAX);
    question->call = etcd_watch_range(etcd, &range, false, etcd_store_id_on_key, question);
    return question;
}

void etcd_store_question_cancel(struct etcd_store_question *question)
{
    if (question) {
        if (question->call) {
            etcd_call_cancel(question->call);
        }
        question_free(question);
    }
}
