#include "common/tls/tls_session.h"

#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/xalloc.h"
#include "common/tls/tls_client.h"
#include "common/tls/tls_explain_internal.h"
#include "common/tls/tls_session_internal.h"

enum {
    /* Holds the longest protocol name: http/1.1 is the longest that IANA lists for what we
     * speak. */
    PROTOCOL_MAX = 15,
    PROTOCOLS_WIRE_MAX = 64,

    /* Bounds what a peer may send besides data once the session has begun: key updates, tickets,
     * warnings, attempts to renegotiate. OpenSSL handles as many in one call as the peer sends, at
     * 10 us each. A peer that needs more has sent some 2^29 records and can connect again. */
    CONTROL_MESSAGES_MAX = 32,
};

/* Holds state that only the handshake needs. */
struct handshake {
    char *server_name;  /* client side: to be in the certificate; NULL: none */
    char *protocols;    /* as given, "" for none */
    struct err refused; /* by verification; code 0 = none */
};

struct tls_session {
    SSL *ssl;
    const struct tls_client *client; /* NULL: the server side */
    struct handshake *handshake;     /* NULL: done */
    struct err *failure;             /* NULL: none */
    int failure_errno;
    uint8_t control_messages;
    bool is_abused; /* by CONTROL_MESSAGES_MAX */
    bool is_ended;  /* the peer's side, in order */
    bool is_cut;    /* nothing can be sent any more: SSL_shutdown must not be called */
    bool has_more;  /* in OpenSSL, without the socket */
    bool has_read;  /* the server accepted us: later alerts are not about our certificate */
    char protocol[PROTOCOL_MAX + 1];
};

/* ---- ALPN ---- */

/* Writes "h2 http/1.1" as RFC 7301 3.1 has it; returns its length. */
static size_t protocols_wire(const char *text, unsigned char out[PROTOCOLS_WIRE_MAX])
{
    size_t len = 0;
    while (*text) {
        size_t n = strcspn(text, " ");
        assert(n > 0 && n <= PROTOCOL_MAX && len + 1 + n <= PROTOCOLS_WIRE_MAX); /* our own texts */
        out[len++] = (unsigned char)n;
        memcpy(out + len, text, n);
        len += n;
        text += n + (text[n] ? 1 : 0);
    }
    return len;
}

int tls_session_select_protocol(SSL *ssl, const unsigned char **ret_protocol,
                                unsigned char *ret_len, const unsigned char *offered,
                                unsigned offered_len, void *data UNUSED)
{
    const struct tls_session *session = SSL_get_app_data(ssl);
    unsigned char ours[PROTOCOLS_WIRE_MAX];
    unsigned char *selected;
    size_t len = protocols_wire(session->handshake->protocols, ours);
    if (len == 0) {
        return SSL_TLSEXT_ERR_NOACK; /* we speak one protocol, and name none */
    }
    if (SSL_select_next_proto(&selected, ret_len, ours, (unsigned)len, offered, offered_len) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    /* The result points into `ours`; the client's own copy stays. */
    const unsigned char *end = offered + offered_len;
    for (const unsigned char *at = offered; at < end; at += 1 + *at) {
        if (*at == *ret_len && memcmp(at + 1, selected, *ret_len) == 0) {
            *ret_protocol = at + 1;
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static bool tls_session_is_in_list(struct slice protocol, const char *list)
{
    for (const char *at = list; *at; at += strspn(at, " ")) {
        struct slice one = slice_of(at, strcspn(at, " "));
        if (slice_equal(one, protocol)) {
            return true;
        }
        at += one.len;
    }
    return false;
}

/* Returns false if the server selected what was not offered, which OpenSSL accepts. */
static bool take_protocol(struct tls_session *session)
{
    const unsigned char *protocol;
    unsigned len;
    SSL_get0_alpn_selected(session->ssl, &protocol, &len);
    if (len > 0 &&
        !tls_session_is_in_list(slice_of(protocol, len), session->handshake->protocols)) {
        return false;
    }
    if (len > 0) {
        memcpy(session->protocol, protocol, len); /* fits: it is one of ours */
    }
    session->protocol[len] = '\0';
    return true;
}

/* ---- Lifecycle ---- */

int tls_session_on_verify(int is_good, X509_STORE_CTX *verification)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx());
    const struct tls_session *session = SSL_get_app_data(ssl);
    struct handshake *handshake = session->handshake;
    if (!is_good && handshake && !handshake->refused.code) {
        tls_explain_certificate(verification, handshake->server_name,
                                session->client ? tls_client_ca_file(session->client) : "",
                                &handshake->refused);
    }
    return is_good;
}

/* Counts messages that are no data, once the handshake is over: see CONTROL_MESSAGES_MAX. */
static void tls_session_on_message(int is_ours UNUSED, int version UNUSED, int type,
                                   const void *bytes UNUSED, size_t len UNUSED, SSL *ssl,
                                   void *data)
{
    struct tls_session *session = data;
    if (session->handshake || (type != SSL3_RT_ALERT && type != SSL3_RT_HANDSHAKE)) {
        return;
    }
    if (session->control_messages < CONTROL_MESSAGES_MAX) {
        session->control_messages++;
        return;
    }
    session->is_abused = true;
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); /* ends at the next record */
}

static struct tls_session *session_new(SSL_CTX *context, int fd, const char *protocols)
{
    struct tls_session *session = xcalloc(1, sizeof(*session));
    session->handshake = xcalloc(1, sizeof(*session->handshake));
    session->handshake->protocols = xstrdup(protocols ? protocols : "");
    session->ssl = SSL_new(context);
    if (!session->ssl || SSL_set_fd(session->ssl, fd) != 1) {
        xalloc_out_of_memory();
    }
    SSL_set_app_data(session->ssl, session);
    SSL_set_msg_callback(session->ssl, tls_session_on_message);
    SSL_set_msg_callback_arg(session->ssl, session);
    return session;
}

static void handshake_free(struct handshake *handshake)
{
    if (handshake) {
        free(handshake->server_name);
        free(handshake->protocols);
        free(handshake);
    }
}

void tls_session_free(struct tls_session *session)
{
    if (!session) {
        return;
    }
    ERR_clear_error();
    if (session->is_cut) {
        SSL_set_shutdown(session->ssl, SSL_SENT_SHUTDOWN); /* as in tls_session_drop */
    } else if (!session->failure && SSL_is_init_finished(session->ssl)) {
        (void)SSL_shutdown(session->ssl); /* close_notify, if the socket accepts it at once */
    }
    SSL_free(session->ssl);
    ERR_clear_error();
    handshake_free(session->handshake);
    free(session->failure);
    free(session);
}

struct tls_session *tls_session_accept(struct ssl_ctx_st *context, int fd, const char *protocols)
{
    struct tls_session *session = session_new(context, fd, protocols);
    SSL_set_accept_state(session->ssl);
    return session;
}

static void expect_name(SSL *ssl, char *name)
{
    X509_VERIFY_PARAM *expected = SSL_get0_param(ssl);
    struct ip ip;
    int ok;
    if (ip_parse(slice_str(name), &ip)) {
        ok = X509_VERIFY_PARAM_set1_ip(expected, ip.bytes, ip.family_bytes);
    } else {
        X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                                      X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
        ok = X509_VERIFY_PARAM_set1_host(expected, name, 0) && SSL_set_tlsext_host_name(ssl, name);
    }
    if (!ok) {
        xalloc_out_of_memory(); /* the only failure with a name of at most 255 bytes */
    }
}

/* Resumes a session only for the trust and the name that it was verified with: it is not verified
 * again. */
static void tls_session_resume(SSL *ssl, const struct tls_client *client, const char *name,
                               SSL_SESSION *resumed)
{
    unsigned char id[EVP_MAX_MD_SIZE];
    unsigned len;
    uint64_t generation = tls_client_generation(client);
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    if (!digest || EVP_DigestInit_ex(digest, EVP_sha256(), NULL) != 1 ||
        EVP_DigestUpdate(digest, &generation, sizeof(generation)) != 1 ||
        EVP_DigestUpdate(digest, name, strlen(name)) != 1 ||
        EVP_DigestFinal_ex(digest, id, &len) != 1 ||
        SSL_set_session_id_context(ssl, id, len) != 1) {
        xalloc_out_of_memory(); /* the only failure */
    }
    EVP_MD_CTX_free(digest);
    if (resumed) {
        unsigned resumed_len;
        const unsigned char *resumed_id = SSL_SESSION_get0_id_context(resumed, &resumed_len);
        if (slice_equal(slice_of(resumed_id, resumed_len), slice_of(id, len))) {
            (void)SSL_set_session(ssl, resumed); /* a full handshake, if OpenSSL finds it unfit */
        }
    }
}

struct tls_session *tls_session_connect(const struct tls_client *client, int fd, const char *name,
                                        const char *protocol, struct ssl_session_st *resumed)
{
    struct tls_session *session = session_new(tls_client_context(client), fd, protocol);
    struct handshake *handshake = session->handshake;
    unsigned char wire[PROTOCOLS_WIRE_MAX];
    unsigned wire_len = (unsigned)protocols_wire(handshake->protocols, wire);
    session->client = client;
    SSL_set_connect_state(session->ssl);
    if (wire_len > 0 && SSL_set_alpn_protos(session->ssl, wire, wire_len) != 0) {
        xalloc_out_of_memory(); /* the only failure with a list of that form */
    }
    if (name) {
        size_t len = strlen(name);
        bool has_dot = len > 1 && name[len - 1] == '.'; /* not part of certificates */
        handshake->server_name = xstrndup(name, has_dot ? len - 1 : len);
        SSL_set_verify(session->ssl, SSL_VERIFY_PEER, tls_session_on_verify);
        expect_name(session->ssl, handshake->server_name);
    } else {
        SSL_set_verify(session->ssl, SSL_VERIFY_NONE, NULL); /* finish_handshake checks the dates */
    }
    tls_session_resume(session->ssl, client, name ? handshake->server_name : "", resumed);
    return session;
}

/* ---- Outcomes ---- */

/* Records the first failure; later ones are ignored. */
static void tls_session_fail(struct tls_session *session, int error, const struct err *err)
{
    if (!session->failure) {
        session->failure = xmalloc(sizeof(*session->failure));
        *session->failure = *err;
        session->failure_errno = error;
    }
}

/* Records the failure of an SSL_ERROR_SSL. */
static void tls_session_explain(struct tls_session *session)
{
    const struct handshake *handshake = session->handshake;
    struct err err;
    if (handshake && handshake->refused.code) {
        err = handshake->refused;
    } else {
        tls_explain_failure(session->ssl, session->client, &err);
    }
    if (session->has_read) {
        err.code = ERR_UNAVAILABLE;
    }
    tls_session_fail(session, EPROTO, &err);
}

/* Records that the peer has closed its side (error 0), or that the connection is gone (errno). */
static void tls_session_drop(struct tls_session *session, int error)
{
    struct err err;
    if (session->is_abused) {
        err_set(&err, ERR_REFUSED, "TLS: the peer sends more than %d messages that are no data",
                CONTROL_MESSAGES_MAX);
        tls_session_fail(session, EPROTO, &err);
    } else if (error || session->handshake) {
        /* Otherwise OpenSSL would no longer resume the session. */
        SSL_set_shutdown(session->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        tls_explain_loss(session->ssl, session->client, error, &err);
        tls_session_fail(session, error ? error : ECONNRESET, &err);
    } else {
        session->is_ended = true;
    }
}

/* Returns what an OpenSSL call that did not succeed waits for. NOTHING: the session has failed, or
 * the peer has closed its side. */
static enum tls_want take_outcome(struct tls_session *session, int rc)
{
    int error = errno;
    enum tls_want want = TLS_WANT_NOTHING;
    switch (session->is_abused ? SSL_ERROR_ZERO_RETURN : SSL_get_error(session->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
        want = TLS_WANT_READ;
        break;
    case SSL_ERROR_WANT_WRITE:
        want = TLS_WANT_WRITE;
        break;
    case SSL_ERROR_ZERO_RETURN:
        tls_session_drop(session, 0);
        break;
    case SSL_ERROR_SYSCALL:
        tls_session_drop(session, error);
        break;
    default:
        tls_session_explain(session);
    }
    ERR_clear_error();
    return want;
}

/* ---- Steps ---- */

static void finish_handshake(struct tls_session *session)
{
    struct err err;
    bool has_name = session->handshake->server_name;
    if (session->client && !has_name &&
        tls_explain_dates(SSL_get0_peer_certificate(session->ssl), &err) < 0) {
        tls_session_fail(session, EPROTO, &err);
        return;
    }
    if (!take_protocol(session)) {
        err_set(&err, ERR_REFUSED, "TLS: the server selected a protocol that was not offered");
        tls_session_fail(session, EPROTO, &err);
        return;
    }
    handshake_free(STEAL(session->handshake));
    session->has_more = SSL_has_pending(session->ssl) == 1;
}

int tls_session_handshake(struct tls_session *session, enum tls_want *ret_want, struct err *err)
{
    *ret_want = TLS_WANT_NOTHING;
    if (session->handshake && !session->failure) {
        ERR_clear_error();
        errno = 0; /* SSL_ERROR_SYSCALL may come without one */
        int rc = SSL_do_handshake(session->ssl);
        if (rc == 1) {
            finish_handshake(session);
        } else {
            *ret_want = take_outcome(session, rc);
        }
    }
    return session->failure ? err_set(err, session->failure->code, "%s", session->failure->msg) : 0;
}

bool tls_session_is_resumed(const struct tls_session *session)
{
    return SSL_session_reused(session->ssl) == 1;
}

const char *tls_session_protocol(const struct tls_session *session)
{
    return session->protocol;
}

ssize_t tls_session_recv_with_room(struct tls_session *session, void *out, size_t size, size_t room)
{
    size_t used = 0;
    bool may_go_on = !session->failure && !session->is_ended;
    session->has_more = false;
    /* One SSL_read returns one record at most. */
    while (may_go_on && size - used >= room) {
        size_t n = 0;
        ERR_clear_error();
        errno = 0; /* as above */
        int rc = SSL_read_ex(session->ssl, (char *)out + used, size - used, &n);
        if (rc == 1) {
            session->has_read = true;
            used += n;
            session->has_more = SSL_has_pending(session->ssl) == 1;
            may_go_on = session->has_more || n == SSL3_RT_MAX_PLAIN_LENGTH; /* one of many */
        } else {
            /* Never waits to write: renegotiation is off, and an answer to a key update that finds
             * the socket full goes out with the next data. */
            (void)take_outcome(session, rc);
            may_go_on = session->has_more = false;
        }
    }
    if (used > 0) {
        return (ssize_t)used;
    }
    errno = session->failure ? session->failure_errno : EAGAIN;
    return session->is_ended ? 0 : -1;
}

ssize_t tls_session_recv(struct tls_session *session, void *out, size_t size)
{
    return tls_session_recv_with_room(session, out, size, 1);
}

bool tls_session_pending(const struct tls_session *session)
{
    return session->has_more || session->is_ended || session->failure;
}

ssize_t tls_session_send(struct tls_session *session, const void *bytes, size_t len)
{
    size_t used = 0;
    int error = session->failure ? session->failure_errno : 0;
    /* One SSL_write accepts one record at most. */
    while (used < len && error == 0) {
        size_t n = 0;
        ERR_clear_error();
        errno = 0;
        int rc = SSL_write_ex(session->ssl, (const char *)bytes + used, len - used, &n);
        error = errno;
        if (rc == 1) {
            used += n;
            error = 0;
        } else if (SSL_get_error(session->ssl, rc) == SSL_ERROR_SYSCALL) {
            error = error ? error : EPIPE; /* its last bytes may still be read */
            session->is_cut = true;
            ERR_clear_error();
        } else if (take_outcome(session, rc) == TLS_WANT_NOTHING) {
            error = session->failure ? session->failure_errno : EPIPE;
        } else {
            error = EAGAIN;
        }
    }
    errno = error;
    return used > 0 || len == 0 ? (ssize_t)used : -1;
}

const struct err *tls_session_failure(const struct tls_session *session)
{
    return session->failure;
}

/* ---- Resumption ---- */

struct ssl_session_st *tls_session_ticket(struct tls_session *session)
{
    SSL_SESSION *ticket = session->failure ? NULL : SSL_get1_session(session->ssl);
    if (ticket && !SSL_SESSION_is_resumable(ticket)) {
        SSL_SESSION_free(ticket);
        ticket = NULL;
    }
    return ticket;
}

void tls_session_ticket_free(struct ssl_session_st *ticket)
{
    SSL_SESSION_free(ticket);
}
