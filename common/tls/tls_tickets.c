#include "common/tls/tls_tickets_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/slice.h"
#include "common/base/xalloc.h"

/* Holds all keys with as much comment again, and lines that end in CR LF. */
enum { FILE_MAX = TLS_TICKET_KEYS_MAX * 2 * (TLS_TICKET_KEY_BYTES * 2 + 2) };

struct tls_tickets {
    atomic_uint references;
    EVP_CIPHER *cipher;   /* fetched once: each fetch takes a lock of the library's */
    pthread_mutex_t lock; /* guards the keys: handshakes run on several threads */
    struct tls_ticket_keys keys;
};

/* ---- The file ---- */

static bool tls_tickets_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool parse_key(struct slice line, struct tls_ticket_key *ret_key)
{
    uint8_t bytes[TLS_TICKET_KEY_BYTES];
    bool ok = line.len == sizeof(bytes) * 2;
    for (size_t i = 0; i < sizeof(bytes) && ok; i++) {
        int high = hex_value(line.ptr[2 * i]);
        int low = hex_value(line.ptr[2 * i + 1]);
        ok = high >= 0 && low >= 0;
        bytes[i] = (uint8_t)(ok ? high << 4 | low : 0);
    }
    if (ok) {
        memcpy(ret_key, bytes, sizeof(bytes));
    }
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return ok;
}

/* Returns the next line, without its end and the blanks around it; moves *at behind it. */
static struct slice tls_tickets_next_line(struct slice text, size_t *at)
{
    const char *start = text.ptr + *at;
    const char *end = memchr(start, '\n', text.len - *at);
    size_t len = end ? (size_t)(end - start) : text.len - *at;
    *at += len + (end ? 1 : 0);
    while (len > 0 && tls_tickets_is_blank(start[len - 1])) {
        len--;
    }
    while (len > 0 && tls_tickets_is_blank(*start)) {
        start++;
        len--;
    }
    return slice_of(start, len);
}

static int tls_tickets_parse_keys(struct slice text, const char *path, struct tls_ticket_keys *keys,
                                  struct err *err)
{
    size_t at = 0;
    for (unsigned number = 1; at < text.len; number++) {
        struct slice line = tls_tickets_next_line(text, &at);
        if (line.len == 0 || line.ptr[0] == '#') {
            continue;
        }
        if (keys->count == TLS_TICKET_KEYS_MAX) {
            return err_set(err, ERR_SYNTAX, "TLS: ticket keys `%s`: line %u: more than %d keys",
                           path, number, TLS_TICKET_KEYS_MAX);
        }
        if (!parse_key(line, &keys->items[keys->count])) {
            return err_set(err, ERR_SYNTAX,
                           "TLS: ticket keys `%s`: line %u: expected %d hex digits (16 bytes of "
                           "name, 32 of HMAC key, 32 of AES key)",
                           path, number, TLS_TICKET_KEY_BYTES * 2);
        }
        keys->count++;
    }
    return keys->count
               ? 0
               : err_set(err, ERR_SYNTAX,
                         "TLS: ticket keys `%s`: no key; expected one a line, %d hex digits", path,
                         TLS_TICKET_KEY_BYTES * 2);
}

/* Reads without stdio, whose buffers would hold the keys. */
static ssize_t tls_tickets_read_text(const char *path, char *out, size_t size)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 && used < size) {
        n = read(fd, out + used, size - used);
        used += n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? -errno : (ssize_t)used;
}

int tls_ticket_keys_read(const char *path, struct tls_ticket_keys *ret_keys, struct err *err)
{
    char text[FILE_MAX + 1];
    struct tls_ticket_keys keys = {.count = 0};
    ssize_t len = tls_tickets_read_text(path, text, sizeof(text));
    int rc;
    if (len < 0) {
        rc =
            err_set(err, (int)len, "TLS: read ticket keys `%s`: %s", path, err_code_text((int)len));
    } else if (len > FILE_MAX) {
        rc =
            err_set(err, ERR_SYNTAX, "TLS: ticket keys `%s`: longer than %d bytes", path, FILE_MAX);
    } else {
        rc = tls_tickets_parse_keys(slice_of(text, (size_t)len), path, &keys, err);
    }
    if (rc == 0) {
        *ret_keys = keys;
    }
    OPENSSL_cleanse(text, sizeof(text));
    tls_ticket_keys_wipe(&keys);
    return rc;
}

void tls_ticket_keys_wipe(struct tls_ticket_keys *keys)
{
    OPENSSL_cleanse(keys, sizeof(*keys));
}

/* ---- The set ---- */

/* Writes the key straight to its place: no copy stays on the stack. */
static void tls_tickets_make_key(struct tls_ticket_key *key)
{
    if (RAND_bytes((unsigned char *)key, sizeof(*key)) != 1) {
        xalloc_out_of_memory(); /* the kernel always has some */
    }
}

struct tls_tickets *tls_tickets_new(void)
{
    struct tls_tickets *tickets = xcalloc(1, sizeof(*tickets));
    atomic_init(&tickets->references, 1);
    tickets->cipher = EVP_CIPHER_fetch(NULL, "AES-256-CBC", NULL);
    if (!tickets->cipher) {
        xalloc_out_of_memory(); /* every provider has it */
    }
    (void)pthread_mutex_init(&tickets->lock, NULL); /* cannot fail without attributes */
    tls_tickets_make_key(&tickets->keys.items[0]);
    tickets->keys.count = 1;
    return tickets;
}

void tls_tickets_free(struct tls_tickets *tickets)
{
    if (tickets && atomic_fetch_sub(&tickets->references, 1) == 1) {
        tls_ticket_keys_wipe(&tickets->keys);
        (void)pthread_mutex_destroy(&tickets->lock); /* no thread holds it */
        EVP_CIPHER_free(tickets->cipher);
        free(tickets);
    }
}

void tls_tickets_set(struct tls_tickets *tickets, const struct tls_ticket_keys *keys)
{
    (void)pthread_mutex_lock(&tickets->lock); /* cannot fail: a plain mutex, not held */
    tls_ticket_keys_wipe(&tickets->keys);
    tickets->keys = *keys;
    (void)pthread_mutex_unlock(&tickets->lock);
}

void tls_tickets_renew(struct tls_tickets *tickets)
{
    (void)pthread_mutex_lock(&tickets->lock); /* as above */
    tickets->keys.items[1] = tickets->keys.items[0];
    tls_tickets_make_key(&tickets->keys.items[0]);
    tickets->keys.count = 2;
    (void)pthread_mutex_unlock(&tickets->lock);
}

/* Returns the key's index, or -1. name NULL: the one that makes tickets. */
static int tls_tickets_find_key(struct tls_tickets *tickets, const uint8_t *name,
                                struct tls_ticket_key *ret_key)
{
    int found = -1;
    (void)pthread_mutex_lock(&tickets->lock); /* as above */
    for (size_t i = 0; i < tickets->keys.count && found < 0; i++) {
        const struct tls_ticket_key *key = &tickets->keys.items[i];
        if (!name || memcmp(key->name, name, sizeof(key->name)) == 0) {
            *ret_key = *key;
            found = (int)i;
        }
    }
    (void)pthread_mutex_unlock(&tickets->lock);
    return found;
}

/* ---- OpenSSL's callbacks, on the thread of the handshake ---- */

static int context_index;

static void on_context_gone(void *context UNUSED, void *tickets, CRYPTO_EX_DATA *data UNUSED,
                            int index UNUSED, long unused UNUSED, void *unused_too UNUSED)
{
    tls_tickets_free(tickets);
}

static void make_index(void)
{
    context_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, on_context_gone);
    if (context_index < 0) {
        xalloc_out_of_memory(); /* the only failure */
    }
}

static bool set_keys(const struct tls_tickets *tickets, const struct tls_ticket_key *key,
                     const unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int is_new)
{
    static char digest[] = "SHA256";
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_CipherInit_ex2(cipher, tickets->cipher, key->aes, iv, is_new, NULL) == 1 &&
           EVP_MAC_init(mac, key->hmac, sizeof(key->hmac), params) == 1;
}

/* Finds the key of a ticket, for SSL_CTX_set_tlsext_ticket_key_evp_cb. Returns < 0: failure; 0: no
 * such key; 1: good; 2: good, and the client gets a new ticket. */
static int on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                     EVP_MAC_CTX *mac, int is_new)
{
    struct tls_tickets *tickets = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), context_index);
    struct tls_ticket_key key;
    int index = tls_tickets_find_key(tickets, is_new ? NULL : name, &key);
    if (index < 0) {
        return 0;
    }
    int rc = 1;
    if (is_new) {
        memcpy(name, key.name, sizeof(key.name));
        rc = RAND_bytes(iv, EVP_CIPHER_get_iv_length(tickets->cipher)) == 1 ? 1 : -1;
    } else if (index > 0 || SSL_version(ssl) >= TLS1_3_VERSION) {
        rc = 2; /* an old key; or a ticket that a client uses only once (RFC 8446 C.4) */
    }
    if (rc > 0 && !set_keys(tickets, &key, iv, cipher, mac, is_new)) {
        rc = -1;
    }
    OPENSSL_cleanse(&key, sizeof(key));
    return rc;
}

/* Refuses tickets whose certificate has expired. Each resumption makes a new ticket, so a client
 * could otherwise go on for ever. */
static SSL_TICKET_RETURN on_decrypted(SSL *ssl UNUSED, SSL_SESSION *session,
                                      const unsigned char *name UNUSED, size_t name_len UNUSED,
                                      SSL_TICKET_STATUS status, void *data UNUSED)
{
    if (status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW) {
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    }
    const X509 *peer = SSL_SESSION_get0_peer(session);
    if (peer && X509_cmp_current_time(X509_get0_notAfter(peer)) <= 0) {
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    }
    return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

void tls_tickets_serve(struct tls_tickets *tickets, struct ssl_ctx_st *context)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_index); /* cannot fail */
    if (SSL_CTX_set_ex_data(context, context_index, tickets) != 1) {
        xalloc_out_of_memory(); /* the only failure */
    }
    (void)atomic_fetch_add(&tickets->references, 1);
    (void)SSL_CTX_set_tlsext_ticket_key_evp_cb(context, on_ticket);         /* always 1 */
    (void)SSL_CTX_set_session_ticket_cb(context, NULL, on_decrypted, NULL); /* always 1 */
    /* A client gets one ticket, not two: it has one connection here at a time. */
    (void)SSL_CTX_set_num_tickets(context, 1); /* always 1 */
}
