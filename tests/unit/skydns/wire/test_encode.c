/* Encoding of plans: exact sizes, truncation, compression. Replies are read back by a decoder that
 * shares no code with the encoder. */
#include "skydns/wire/encode.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

enum { NAMES_MAX = 4100 };

/* A plan under construction, with the names its records point to. */
struct bench {
    struct encoder *encoder;
    struct question question;
    struct answer_plan plan;
    struct dname *names;
    size_t name_count;
    uint8_t reply[ENGINE_REPLY_MAX];
    char text[DNS_TEXT_MAX];
};

static struct bench *bench_new(const char *question, uint16_t type)
{
    struct bench *b = xcalloc(1, sizeof(*b));
    b->encoder = encoder_new(1232);
    b->question = (struct question){
        .id = 7, .name = dname_from(question), .type = type, .qclass = DNS_CLASS_IN};
    b->plan = (struct answer_plan){.error = EDNS_ERROR_NONE, .rr_class = DNS_CLASS_IN};
    rr_list_init(&b->plan.answers);
    rr_list_init(&b->plan.additionals);
    b->names = xcalloc(NAMES_MAX, sizeof(*b->names));
    return b;
}

static void bench_free(struct bench *b)
{
    encoder_free(b->encoder);
    rr_list_fini(&b->plan.answers);
    rr_list_fini(&b->plan.additionals);
    free(b->names);
    free(b);
}

static struct slice encode_keep_name(struct bench *b, const char *text)
{
    assert_true(b->name_count < NAMES_MAX);
    b->names[b->name_count] = dname_from(text);
    return rr_name(&b->names[b->name_count++]);
}

static struct slice question_name(const struct bench *b)
{
    return rr_name(&b->question.name);
}

static void add_pointer(struct bench *b, struct slice owner, uint16_t type, const char *target)
{
    struct rr rr = {.owner = owner, .ttl_s = 30, .type = type, .data = encode_keep_name(b, target)};
    rr_list_add(&b->plan.answers, &rr);
}

/* `count` different addresses; `bytes` keeps them. */
static void encode_add_addresses(struct rr_list *list, struct slice owner, uint32_t *bytes,
                                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint32_t)i;
        struct rr rr = {.owner = owner, .ttl_s = 30, .type = RR_A, .data = slice_of(&bytes[i], 4)};
        rr_list_add(list, &rr);
    }
}

/* Checks that OPT is the last record and stands at opt_at. */
static size_t encode_check_response(const struct bench *b, const struct response *response)
{
    const uint8_t *opt = response->bytes + response->opt_at;
    assert_int_equal(response->opt_at > 0, b->question.has_edns);
    if (b->question.has_edns) {
        assert_memory_equal(opt, "\0\0\x29", 3);
        assert_int_equal(response->opt_at + EDNS_OPT_SIZE + opt[9] * 256u + opt[10], response->len);
    }
    return response->len;
}

static size_t write_plan(struct bench *b, const struct answer_plan *plan, size_t limit,
                         uint8_t *out)
{
    struct response response = {.bytes = out};
    encode_plan(b->encoder, &b->question, plan, limit, &response);
    return encode_check_response(b, &response);
}

static size_t write_bare(struct bench *b, enum dns_rcode rcode, uint16_t flags)
{
    struct response response = {.bytes = b->reply};
    encode_bare(b->encoder, &b->question, rcode, flags, &response);
    return encode_check_response(b, &response);
}

static size_t wire_encode(struct bench *b, size_t limit)
{
    memset(b->reply, 0xa5, sizeof(b->reply));
    size_t len = write_plan(b, &b->plan, limit, b->reply);
    assert_true(len <= limit);
    for (size_t i = limit; i < sizeof(b->reply); i++) {
        assert_int_equal(b->reply[i], 0xa5); /* the encoder writes nothing past the limit */
    }
    dns_text(b->reply, len, b->text, sizeof(b->text));
    assert_that(strncmp(b->text, "malformed", 9) != 0, "limit %zu: %s", limit, b->text);
    return len;
}

static unsigned encode_count_lines(const char *text, const char *mark)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, mark)); at++) {
        n++;
    }
    return n;
}

/* Header 12, question 10 + 4, 40 answers of 2 + 10 + 4, three additionals of the same size. */
UNIT_TEST(sizes)
{
    static const struct {
        size_t limit;
        bool has_edns;
        size_t want_len;
        unsigned answers, additionals;
        bool is_truncated;
    } cases[] = {
        {65535, false, 714, 40, 3, false}, {714, false, 714, 40, 3, false},
        {713, false, 666, 40, 0, false},   {666, false, 666, 40, 0, false},
        {665, false, 650, 39, 0, true},    {650, false, 650, 39, 0, true},
        {512, false, 506, 30, 0, true},    {725, true, 725, 40, 3, false},
        {724, true, 677, 40, 0, false},    {677, true, 677, 40, 0, false},
        {676, true, 661, 39, 0, true},     {512, true, 501, 29, 0, true},
    };
    uint32_t answers[40], additionals[3];
    struct bench *b = bench_new("big.test.", DNS_TYPE_A);
    encode_add_addresses(&b->plan.answers, question_name(b), answers, 40);
    encode_add_addresses(&b->plan.additionals, question_name(b), additionals, 3);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        b->question.has_edns = cases[i].has_edns;
        size_t len = wire_encode(b, cases[i].limit);
        assert_that(len == cases[i].want_len &&
                        encode_count_lines(b->text, "\n= ") == cases[i].answers &&
                        encode_count_lines(b->text, "\n+ ") == cases[i].additionals &&
                        (strstr(b->text, " tc") != NULL) == cases[i].is_truncated &&
                        (strstr(b->text, "\nedns 1232") != NULL) == cases[i].has_edns,
                    "limit %zu, EDNS %d: want %zu bytes, got %zu:\n%s", cases[i].limit,
                    cases[i].has_edns, cases[i].want_len, len, b->text);
    }
    bench_free(b);
}

UNIT_TEST(cut_list_is_truncated)
{
    uint32_t address;
    struct bench *b = bench_new("big.test.", DNS_TYPE_A);
    encode_add_addresses(&b->plan.answers, question_name(b), &address, 1);
    b->plan.answers.is_cut = true;
    (void)wire_encode(b, 512);
    assert_string_equal(b->text, "NOERROR qr tc\n? big.test. IN A\n= big.test. 30 A 0.0.0.0");
    b->plan.answers.is_cut = false;
    encode_add_addresses(&b->plan.additionals, question_name(b), &address, 1);
    b->plan.additionals.is_cut = true;
    (void)wire_encode(b, 512);
    assert_string_equal(b->text, "NOERROR qr\n? big.test. IN A\n= big.test. 30 A 0.0.0.0");
    bench_free(b);
}

/* A question of 255 bytes and a SOA that shares nothing with it: the SOA goes, without TC, since no
 * answer is missing. */
UNIT_TEST(authority_that_does_not_fit)
{
    char question[256], mailbox[256];
    memset(question, 'q', sizeof(question));
    memset(mailbox, 'm', sizeof(mailbox));
    for (size_t i = 49; i < 250; i += 50) {
        question[i] = mailbox[i] = '.';
    }
    question[250] = mailbox[250] = '\0';
    struct bench *b = bench_new(question, DNS_TYPE_A);
    b->plan.rcode = DNS_RCODE_NXDOMAIN;
    b->plan.authority_count = 1;
    b->plan.authorities[0] = (struct rr){.owner = encode_keep_name(b, "zone."), .type = RR_SOA};
    b->plan.soa = (struct answer_soa){.mname = encode_keep_name(b, "ns.zone."),
                                      .rname = encode_keep_name(b, mailbox)};
    (void)wire_encode(b, 512);
    assert_int_equal(strncmp(b->text, "NXDOMAIN qr\n? ", 14), 0);
    assert_null(strstr(b->text, "\n!"));
    (void)wire_encode(b, 600);
    assert_non_null(strstr(b->text, "\n! zone. 0 SOA ns.zone. mmm"));
    bench_free(b);
}

/* Lists what each record adds to a response to `www.example.com.`, question 12 + 17 + 4 bytes. */
UNIT_TEST(compression)
{
    static const struct {
        uint16_t type;
        const char *target;
        size_t want_data; /* bytes of the name in the record's data */
    } cases[] = {
        {DNS_TYPE_CNAME, "www.example.com.", 2},
        {DNS_TYPE_CNAME, "ftp.example.com.", 4 + 2},
        {DNS_TYPE_CNAME, "a.b.www.example.com.", 4 + 2},
        {DNS_TYPE_CNAME, "com.", 2},
        {DNS_TYPE_CNAME, "example.org.", 13},
        {DNS_TYPE_CNAME, "WWW.example.com.", 4 + 2},
        {DNS_TYPE_CNAME, "www.Example.com.", 4 + 8 + 2},
        {DNS_TYPE_CNAME, ".", 1},
        {DNS_TYPE_CNAME, "a.a.a.a.", 9},
        {DNS_TYPE_CNAME, "com.com.com.", 4 + 4 + 2},
        {DNS_TYPE_NS, "ns.example.com.", 3 + 2},
        {DNS_TYPE_PTR, "ptr.example.com.", 4 + 2},
        {DNS_TYPE_MX, "mx.example.com.", 2 + 3 + 2},
        {DNS_TYPE_SRV, "srv.example.com.", 6 + 17},
        {DNS_TYPE_SRV, "www.example.com.", 6 + 17},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench *b = bench_new("www.example.com.", DNS_TYPE_A);
        add_pointer(b, question_name(b), cases[i].type, cases[i].target);
        size_t len = wire_encode(b, 512), want = 33 + 12 + cases[i].want_data;
        const char *end = strrchr(b->text, ' ');
        assert_that(len == want && strcmp(end + 1, cases[i].target) == 0,
                    "%s: want %zu bytes, got %zu:\n%s", cases[i].target, want, len, b->text);
        bench_free(b);
    }
}

/* An address after an SRV record points to the target in its data. */
UNIT_TEST(pointer_into_srv)
{
    uint32_t address;
    struct bench *b = bench_new("s.test.", DNS_TYPE_SRV);
    add_pointer(b, question_name(b), DNS_TYPE_SRV, "far.example.org.");
    encode_add_addresses(&b->plan.additionals, b->plan.answers.items[0].data, &address, 1);
    /* header, question, SRV, and 2 + 10 + 4 for the address */
    assert_int_equal(wire_encode(b, 512), 12 + 12 + (12 + 6 + 17) + 16);
    assert_string_equal(b->text, "NOERROR qr\n? s.test. IN SRV\n"
                                 "= s.test. 30 SRV 0 0 0 far.example.org.\n"
                                 "+ far.example.org. 30 A 0.0.0.0");
    bench_free(b);
}

/* Pointers reach no further than 16,383 bytes, messages no further than 65,535. */
UNIT_TEST(large_messages)
{
    struct bench *b = bench_new("s.test.", DNS_TYPE_SRV);
    char name[64], line[128];
    for (unsigned i = 0; i < 4000; i++) {
        (void)snprintf(name, sizeof(name), "host-%u.pool.example.org.", i);
        add_pointer(b, question_name(b), DNS_TYPE_SRV, name);
    }
    size_t len = wire_encode(b, ENGINE_REPLY_MAX);
    assert_true(len > ENGINE_REPLY_MAX - 64);
    assert_non_null(strstr(b->text, " tc"));
    unsigned answers = encode_count_lines(b->text, "\n= ");
    assert_in_range(answers, 1200, 1700);
    for (unsigned i = 0; i < answers; i++) {
        (void)snprintf(line, sizeof(line), "SRV 0 0 0 host-%u.pool.example.org.", i);
        assert_non_null(strstr(b->text, line));
    }
    rr_list_clear(&b->plan.answers);
    for (unsigned i = 0; i < 4000; i++) { /* 2 + 10 + 9 to 10 + 2: do not fit either */
        struct rr rr = {.owner = question_name(b), .type = RR_PTR};
        rr.data = rr_name(&b->names[i]);
        rr_list_add(&b->plan.answers, &rr);
    }
    len = wire_encode(b, ENGINE_REPLY_MAX);
    answers = encode_count_lines(b->text, "\n= ");
    assert_in_range(answers, 2000, 3999);
    assert_non_null(strstr(b->text, "PTR host-1999.pool.example.org."));
    bench_free(b);
}

/* Targets beyond the reach of pointers come up again as owners. */
UNIT_TEST(owners_past_the_pointers)
{
    enum { HOSTS = 800 };
    static uint32_t addresses[HOSTS];
    struct bench *b = bench_new("s.test.", DNS_TYPE_SRV);
    char name[64], line[128];
    for (unsigned i = 0; i < HOSTS; i++) {
        (void)snprintf(name, sizeof(name), "host-%u.pool.example.org.", i);
        add_pointer(b, question_name(b), DNS_TYPE_SRV, name);
        encode_add_addresses(&b->plan.additionals, b->plan.answers.items[i].data, &addresses[i], 1);
    }
    assert_true(wire_encode(b, ENGINE_REPLY_MAX) > 2 * DNS_POINTER_MAX);
    assert_int_equal(encode_count_lines(b->text, "\n= "), HOSTS);
    for (unsigned i = 0; i < HOSTS; i++) {
        (void)snprintf(line, sizeof(line), "\n+ host-%u.pool.example.org. 30 A 0.0.0.0\n", i);
        assert_true(strstr(b->text, line) || i == HOSTS - 1);
    }
    bench_free(b);
}

/* The encoder's memory of one message must not leak into the next, even after 65,535 others without
 * names to remember. */
UNIT_TEST(messages_do_not_mix)
{
    struct bench *b = bench_new("www.example.com.", DNS_TYPE_CNAME);
    const struct answer_plan empty = {.error = EDNS_ERROR_NONE, .rr_class = DNS_CLASS_IN};
    add_pointer(b, question_name(b), DNS_TYPE_CNAME, "a.b.test.");
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(wire_encode(b, 512), 33 + 12 + 10);
    }
    uint8_t other[512];
    for (unsigned i = 0; i < UINT16_MAX; i++) {
        (void)write_plan(b, &empty, sizeof(other), other);
    }
    for (unsigned i = 0; i < 3; i++) { /* over the buffer's old content */
        size_t len = write_plan(b, &b->plan, 512, b->reply);
        assert_int_equal(len, 33 + 12 + 10);
        assert_string_equal(dns_text(b->reply, len, b->text, sizeof(b->text)),
                            "NOERROR qr\n? www.example.com. IN CNAME\n"
                            "= www.example.com. 30 CNAME a.b.test.");
    }
    bench_free(b);
}

UNIT_TEST(texts)
{
    static const struct {
        size_t len, want_data;
    } cases[] = {{1, 2}, {254, 255}, {255, 256}, {256, 258}, {510, 512}, {600, 603}};
    char text[600];
    memset(text, 't', sizeof(text));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench *b = bench_new("t.", DNS_TYPE_TXT);
        struct rr rr = {
            .owner = question_name(b), .type = RR_TXT, .data = slice_of(text, cases[i].len)};
        rr_list_add(&b->plan.answers, &rr);
        assert_int_equal(wire_encode(b, 1232), 12 + 7 + 12 + cases[i].want_data);
        bench_free(b);
    }
}

UNIT_TEST(bare_replies)
{
    struct bench *b = bench_new("web.test.", DNS_TYPE_A);
    b->question.opcode = 5;
    b->question.recursion_desired = true;
    size_t len = write_bare(b, DNS_RCODE_NOTIMP, 0);
    assert_string_equal(dns_text(b->reply, len, b->text, sizeof(b->text)),
                        "NOTIMP qr rd opcode=5\n? web.test. IN A");
    b->question.opcode = 0;
    b->question.has_edns = b->question.dnssec_ok = true;
    len = write_bare(b, DNS_RCODE_BADVERS, 0);
    assert_string_equal(dns_text(b->reply, len, b->text, sizeof(b->text)),
                        "NOERROR qr rd\n? web.test. IN A\nedns 1232 do rcode=16 version=0 flags=0");
    b->question = (struct question){.id = 0xabcd};
    len = write_bare(b, DNS_RCODE_FORMERR, DNS_FLAG_RA);
    assert_int_equal(len, 12);
    assert_memory_equal(b->reply, "\xab\xcd", 2);
    assert_string_equal(dns_text(b->reply, len, b->text, sizeof(b->text)), "FORMERR qr ra");
    bench_free(b);
}
