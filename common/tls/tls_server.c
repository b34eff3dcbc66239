#include "common/tls/tls_server.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/file_stamp.h"
#include "common/base/xalloc.h"
#include "common/tls/tls_client.h"
#include "common/tls/tls_files_internal.h"
#include "common/tls/tls_session_internal.h"
#include "common/tls/tls_tickets_internal.h"

enum { FILE_CERT, FILE_KEY, FILE_CLIENT_CA, FILE_TICKET_KEYS, FILE_COUNT };

enum {
    /* Bounds a client's certificates to six of RSA with 4096 bits, where OpenSSL would take 100
     * KiB. Its limit of a ClientHello is higher, and fixed: TLS_HANDSHAKE_BYTES. */
    CLIENT_CHAIN_MAX = 16 * 1024,
};

/* Allows forward secrecy and authenticated ciphers only, as TLS 1.3 has them; leaves out groups
 * that cost a server ten times as much (P-521, X448, finite fields). */
static const char ciphers_1_2[] = "ECDHE+AESGCM:ECDHE+CHACHA20";
static int groups[] = {NID_X25519, NID_X9_62_prime256v1, NID_secp384r1};

struct tls_server {
    char *paths[FILE_COUNT]; /* "" = none */
    struct file_stamp stamps[FILE_COUNT];
    struct tls_tickets *tickets; /* of every context */
    int64_t key_made_ms;         /* of a ticket key made here */
    pthread_mutex_t lock;        /* of context: threads of sessions hold it */
    SSL_CTX *context;
    _Atomic int64_t not_after_s;
};

/* ---- Client certificates ---- */

static void digest_or_die(EVP_MD_CTX *digest, X509 *certificate)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned len;
    if (X509_digest(certificate, EVP_sha256(), bytes, &len) != 1 ||
        EVP_DigestUpdate(digest, bytes, len) != 1) {
        xalloc_out_of_memory(); /* the only failure */
    }
}

/* Binds tickets to the CAs in force: OpenSSL compares this id with the one that is inside the
 * ticket. Without client certificates it is the hash of nothing. Also collects the names of the
 * CAs, so that a client knows which of its certificates to show. */
static void bind_to_cas(SSL_CTX *context, STACK_OF(X509_NAME) * names)
{
    STACK_OF(X509_OBJECT) *cas = X509_STORE_get0_objects(SSL_CTX_get_cert_store(context));
    unsigned char id[EVP_MAX_MD_SIZE];
    unsigned len;
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    bool ok = digest && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1;
    for (int i = 0; ok && i < sk_X509_OBJECT_num(cas); i++) {
        X509 *ca = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(cas, i));
        if (ca) {
            digest_or_die(digest, ca);
            X509_NAME *name = X509_NAME_dup(X509_get_subject_name(ca));
            ok = name && sk_X509_NAME_push(names, name) > 0;
        }
    }
    if (!ok || EVP_DigestFinal_ex(digest, id, &len) != 1 ||
        SSL_CTX_set_session_id_context(context, id, len) != 1) {
        xalloc_out_of_memory(); /* the only failure: 32 bytes are its maximum */
    }
    EVP_MD_CTX_free(digest);
}

static int read_client_ca(SSL_CTX *context, const char *path, struct err *err)
{
    int rc = path[0] ? tls_files_read_ca(context, "client CA certificate", path, err) : 0;
    if (rc != 0) {
        return rc;
    }
    STACK_OF(X509_NAME) *names = sk_X509_NAME_new_null();
    if (!names) {
        xalloc_out_of_memory();
    }
    bind_to_cas(context, names);
    SSL_CTX_set_client_CA_list(context, names);
    if (path[0]) {
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                           tls_session_on_verify);
        SSL_CTX_set_max_cert_list(context, CLIENT_CHAIN_MAX);
    }
    return 0;
}

/* ---- The context ---- */

static SSL_CTX *context_new(struct tls_server *server)
{
    SSL_CTX *context = tls_context_new(TLS_server_method());
    if (SSL_CTX_set_cipher_list(context, ciphers_1_2) != 1 ||
        SSL_CTX_set1_groups(context, groups, ARRAY_LEN(groups)) != 1) {
        xalloc_out_of_memory(); /* the only failure with such arguments */
    }
    SSL_CTX_set_read_ahead(context, 1); /* one system call for a record, or several, not two */
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF); /* returns the old mode */
    (void)SSL_CTX_set_timeout(context, TLS_TICKET_S);                  /* likewise */
    SSL_CTX_set_alpn_select_cb(context, tls_session_select_protocol, NULL);
    tls_tickets_serve(server->tickets, context);
    return context;
}

static int64_t tls_server_end_of(X509 *certificate, int64_t earliest_s)
{
    struct tm tm;
    if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) != 1) {
        return earliest_s; /* not in the form of RFC 5280: clients refuse it */
    }
    int64_t end_s = timegm(&tm);
    return end_s < earliest_s ? end_s : earliest_s;
}

static int64_t chain_end_s(SSL_CTX *context)
{
    STACK_OF(X509) *chain = NULL;
    int64_t end_s = tls_server_end_of(SSL_CTX_get0_certificate(context), INT64_MAX);
    (void)SSL_CTX_get0_chain_certs(context, &chain); /* always 1 */
    for (int i = 0; i < sk_X509_num(chain); i++) {
        end_s = tls_server_end_of(sk_X509_value(chain, i), end_s);
    }
    return end_s;
}

/* Takes the context over. */
static void tls_server_adopt_context(struct tls_server *server, SSL_CTX *context)
{
    (void)pthread_mutex_lock(&server->lock); /* cannot fail: a plain mutex, not held */
    SSL_CTX *old = server->context;
    server->context = context;
    (void)pthread_mutex_unlock(&server->lock);
    SSL_CTX_free(old);
    atomic_store_explicit(&server->not_after_s, chain_end_s(context), memory_order_relaxed);
}

/* Takes the stamps first, so that a change during the read is noticed next time. */
static int tls_server_read_all(struct tls_server *server, struct err *err)
{
    struct tls_ticket_keys keys = {.count = 0};
    for (size_t i = 0; i < FILE_COUNT; i++) {
        server->stamps[i] = file_stamp_at(server->paths[i]);
    }
    SSL_CTX *context = context_new(server);
    ERR_clear_error();
    int rc = tls_files_read_pair(context, server->paths[FILE_CERT], server->paths[FILE_KEY], err);
    if (rc == 0) {
        rc = read_client_ca(context, server->paths[FILE_CLIENT_CA], err);
    }
    if (rc == 0 && server->paths[FILE_TICKET_KEYS][0]) {
        rc = tls_ticket_keys_read(server->paths[FILE_TICKET_KEYS], &keys, err);
    }
    if (rc != 0) {
        SSL_CTX_free(context);
        return rc;
    }
    if (keys.count) {
        tls_tickets_set(server->tickets, &keys);
        tls_ticket_keys_wipe(&keys);
    }
    tls_server_adopt_context(server, context);
    return 0;
}

/* ---- Lifecycle ---- */

int tls_server_new(const struct tls_server_files *files, struct tls_server **ret, struct err *err)
{
    const char *const paths[FILE_COUNT] = {files->cert, files->key, files->client_ca,
                                           files->ticket_keys};
    struct tls_server *server = xcalloc(1, sizeof(*server));
    for (size_t i = 0; i < FILE_COUNT; i++) {
        server->paths[i] = xstrdup(paths[i] ? paths[i] : "");
    }
    (void)pthread_mutex_init(&server->lock, NULL); /* cannot fail without attributes */
    server->tickets = tls_tickets_new();
    server->key_made_ms = clock_monotonic_ms();
    int rc;
    if (!server->paths[FILE_CERT][0] || !server->paths[FILE_KEY][0]) {
        rc = err_set(err, ERR_USAGE, "TLS: set both a certificate and its key");
    } else {
        rc = tls_server_read_all(server, err);
    }
    if (rc != 0) {
        tls_server_free(server);
        return rc;
    }
    *ret = server;
    return 0;
}

void tls_server_free(struct tls_server *server)
{
    if (server) {
        for (size_t i = 0; i < FILE_COUNT; i++) {
            free(server->paths[i]);
        }
        SSL_CTX_free(server->context);
        tls_tickets_free(server->tickets);
        (void)pthread_mutex_destroy(&server->lock); /* no thread holds it */
        free(server);
    }
}

static void renew_ticket_key(struct tls_server *server)
{
    int64_t now_ms = clock_monotonic_ms();
    if (!server->paths[FILE_TICKET_KEYS][0] &&
        now_ms - server->key_made_ms >= (int64_t)TLS_TICKET_S * 1000) {
        server->key_made_ms = now_ms;
        tls_tickets_renew(server->tickets);
    }
}

int tls_server_refresh(struct tls_server *server, struct err *err)
{
    bool is_changed = false;
    renew_ticket_key(server);
    for (size_t i = 0; i < FILE_COUNT; i++) {
        const struct file_stamp now = file_stamp_at(server->paths[i]);
        is_changed |= !file_stamp_is_same(&now, &server->stamps[i]);
    }
    if (!is_changed) {
        return TLS_UNCHANGED;
    }
    return tls_server_read_all(server, err) == 0 ? TLS_READ_AGAIN : TLS_READ_FAILED;
}

struct ssl_ctx_st *tls_server_hold(struct tls_server *server)
{
    (void)pthread_mutex_lock(&server->lock); /* as above */
    SSL_CTX *context = server->context;
    if (SSL_CTX_up_ref(context) != 1) {
        xalloc_out_of_memory(); /* the only failure */
    }
    (void)pthread_mutex_unlock(&server->lock);
    return context;
}

void tls_server_release(struct ssl_ctx_st *context)
{
    SSL_CTX_free(context);
}

int64_t tls_server_not_after_s(const struct tls_server *server)
{
    return atomic_load_explicit(&server->not_after_s, memory_order_relaxed);
}
