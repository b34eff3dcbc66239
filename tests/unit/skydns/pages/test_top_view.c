#include "skydns/pages/top_view.h"

#include "tests/support/screen_lines.h"
#include "tests/support/unit_test.h"
#include "tests/unit/common/live/drawn.h"

/* One second of a busy server: each %d is 0, then what came in that second. */
static const char event_format[] =
    "{\"program\":\"skydns\",\"version\":\"0.1.0\",\"time_ms\":%lld,\"uptime_s\":273600,"
    "\"domains\":[\"cluster.local.\"],\"ready\":true,\"reason\":\"%s\","
    "\"queries\":{\"udp\":%d,\"tcp\":5000,\"tls\":300},"
    "\"types\":{\"A\":600000,\"AAAA\":400000,\"SRV\":5000,\"other\":0},"
    "\"rcodes\":{\"NOERROR\":%d,\"NXDOMAIN\":200000,\"SERVFAIL\":5000},"
    "\"latency\":{\"udp\":{\"bounds_us\":[50,100,200,400,800,1600],"
    "\"counts\":[%d,800,100,50,40,5,5]},"
    "\"tcp\":{\"bounds_us\":[50,100],\"counts\":[0,0,0]}},"
    "\"cache\":{\"entries\":812,\"bytes\":100000,\"limit\":10000,\"hits\":%d,\"negative_hits\":10,"
    "\"stale_hits\":0,\"failure_hits\":0,\"misses\":1000,\"prefetches\":3,\"evictions\":0},"
    "\"nameservers\":[{\"zone\":\".\",\"address\":\"10.0.0.1:53\",\"transport\":\"udp\","
    "\"state\":\"up\",\"queries\":1000,\"failures\":2,\"seconds\":1.5},"
    "{\"zone\":\"acme.test.\",\"address\":\"tls://[2001:db8::1]:853#dns.acme.test\","
    "\"transport\":\"tls\",\"state\":\"down\"}],"
    "\"etcd\":{\"connected\":true,\"revision\":123456,\"lag\":0,\"age_ms\":1500,"
    "\"endpoint\":\"http://127.0.0.1:2379\",\"away_s\":0,\"reason\":\"\"},"
    "\"records\":1234,\"unusable\":1,"
    "\"top\":[{\"name\":\"web.default.svc.cluster.local.\",\"type\":\"A\",\"count\":900},"
    "{\"name\":\"\\u001b[2J\\u202edb.prod.\",\"type\":\"AAAA\",\"count\":100}],"
    "\"changes\":[{\"time_ms\":1699999990000,\"revision\":123456,\"kind\":\"put\","
    "\"name\":\"web.default.svc.cluster.local.\",\"key\":\"/skydns/a\",\"took_us\":850},"
    "{\"time_ms\":1699999980000,\"revision\":123455,\"kind\":\"delete\",\"name\":\"\","
    "\"key\":\"/skydns/local/cluster/svc/default/a-long-name/that-fits-nowhere/at/all/x\","
    "\"took_us\":15000}],"
    "\"clients\":{\"limited\":0,\"refused\":3},\"dropped\":1}";

static struct live_node *make_event(int second, const char *reason)
{
    CLEANUP_FREE char *text =
        xasprintf(event_format, 1700000000000LL + second * 1000LL, reason, 1000000 + second * 1250,
                  800000 + second * 1000, 9000 + second * 20, 5000 + second * 40);
    struct live_node *event = live_event_parse(slice_str(text));
    assert_non_null(event);
    return event;
}

static void pages_top_view_take(struct live_model *model, int second, const char *reason)
{
    live_model_take(model, make_event(second, reason), top_view.total);
}

/* clang-format off */
static const char screen_80[] =
    " skydns 0.1.0  cluster.local.  up 3d 4h                    22:13:23 UTC  q ends\n"
    "ready\n"
    "1250.0 queries/s      ██ peak 1250.0\n"
    "\n"
    "Queries               1/s         total  etcd\n"
    "udp                1250.0       1003750  http://127.0.0.1:2379         connected\n"
    "tcp                   0.0          5000  revision                         123456\n"
    "tls                   0.0           300  revisions behind                      0\n"
    "                                         heard from                       1s ago\n"
    "Responses             1/s         total  records                            1234\n"
    "NOERROR            1000.0        803000  unusable keys                         1\n"
    "NXDOMAIN              0.0        200000\n"
    "SERVFAIL              0.0          5000  Answered within   50%      90%      99%\n"
    "                                         udp              50us     50us     50us\n"
    "Upstreams                                tcp                 -        -        -\n"
    ".  10.0.0.1:53       1000, 2 failed  up\n"
    "acme.test.  tls://[2001:db8::1]:8… down  Latest changes             in use after\n"
    "                                         22:13:10 web.default.svc.c… put   850us\n"
    "Cache (5 of 8)        1/s         total  22:13:00 /skydns/local/… delete  15.0ms\n"
    "cached responses           812 of 10000\n"
    "hits                 40.0          5120  Most queried                    sampled\n"
    "negative              0.0            10  web.default.svc.cluster.lo… A       900\n"
    "stale                 0.0             0  \\x1b[2J\\u{202e}db.prod.  AAAA       100\n"
    "failure               0.0             0\n";

static const char screen_200[] =
    " skydns 0.1.0  cluster.local.  up 3d 4h                                                                                                                                            22:13:21 UTC  q ends\n"
    "ready: answers from a snapshot of 12s ago\n"
    "1250.0 queries/s      # peak 1250.0\n"
    "\n"
    "Queries                                         1/s         total  etcd                                                               Responses                                       1/s         total\n"
    "udp                                          1250.0       1001250  http://127.0.0.1:2379                                   connected  NOERROR                                      1000.0        801000\n"
    "tcp                                             0.0          5000  revision                                                   123456  NXDOMAIN                                        0.0        200000\n"
    "tls                                             0.0           300  revisions behind                                                0  SERVFAIL                                        0.0          5000\n"
    "                                                                   heard from                                                 1s ago\n"
    "Answered within                             50%      90%      99%  records                                                      1234  Upstreams\n"
    "udp                                        50us     50us     50us  unusable keys                                                   1  .  10.0.0.1:53                                 1000, 2 failed  up\n"
    "tcp                                           -        -        -                                                                     acme.test.  tls://[2001:db8::1]:853#dns.acme.test            down\n"
    "                                                                   Latest changes                                       in use after\n"
    "Cache                                           1/s         total  22:13:10 web.default.svc.cluster.local.               put   850us  Most queried                                              sampled\n"
    "cached responses                                     812 of 10000  22:13:00 /skydns/local/cluster/svc/default/a-long~ delete  15.0ms  web.default.svc.cluster.local.                        A       900\n"
    "hits                                           40.0          5040                                                                     \\x1b[2J\\u{202e}db.prod.                            AAAA       100\n"
    "negative                                        0.0            10  Types                                           1/s         total\n"
    "stale                                           0.0             0  A                                               0.0        600000  Not answered                                    1/s         total\n"
    "failure                                         0.0             0  AAAA                                            0.0        400000  rate-limited                                    0.0             0\n"
    "misses                                          0.0          1000  SRV                                             0.0          5000  refused                                         0.0             3\n"
    "prefetches                                      0.0             3  other                                           0.0             0  no query                                        0.0             1\n"
    "evictions                                       0.0             0\n"
    "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
    "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n";

static const char screen_gone[] =
    " skydns                                                                  q ends\n"
    "skydns at [::1]:8080 is gone for 1m 1s; trying every second\n"
    "\n"
    "Connection refused\n";

static const char screen_old[] =
    " skydns 0.1.0  cluster.local.  up 3d 4h                    22:13:20 UTC  q ends\n"
    "skydns at [::1]:8080 is gone for 1m 1s; trying every second\n"
    "- queries/s\n"
    "Connection refused; what is below is old\n";
/* clang-format on */

UNIT_TEST(test_80_by_24)
{
    CLEANUP(live_model_fini) struct live_model model = {.server = "127.0.0.1:8080"};
    pages_top_view_take(&model, 0, "");
    pages_top_view_take(&model, 1, "");
    pages_top_view_take(&model, 3, "");
    drawn_expect(&top_view, &model, 80, 24, true, screen_80);
}

UNIT_TEST(test_200_by_60)
{
    CLEANUP(live_model_fini) struct live_model model = {.server = "127.0.0.1:8080"};
    pages_top_view_take(&model, 0, "");
    pages_top_view_take(&model, 1, "answers from a snapshot of 12s ago");
    drawn_expect(&top_view, &model, 200, 60, false, screen_200);
}

UNIT_TEST(test_gone)
{
    CLEANUP(live_model_fini)
    struct live_model model = {
        .server = "[::1]:8080", .is_away = true, .away_ms = 61000, .why = "Connection refused"};
    drawn_expect(&top_view, &model, 80, 4, true, screen_gone);
    pages_top_view_take(&model, 0, "");
    drawn_expect(&top_view, &model, 80, 4, true, screen_old);
}

/* Nothing is drawn outside of any screen. */
UNIT_TEST(test_sizes)
{
    CLEANUP(live_model_fini) struct live_model model = {.server = "127.0.0.1:8080"};
    pages_top_view_take(&model, 0, "");
    pages_top_view_take(&model, 1, "x");
    drawn_at_any_size(&top_view, &model);
}

/* Any JSON: fields that are absent or of other types. */
UNIT_TEST(test_odd_events)
{
    static const char *const events[] = {
        "{}",
        "{\"queries\":[],\"latency\":{\"udp\":1,\"tcp\":{\"counts\":[1]}},\"cache\":{},\"etcd\":{},"
        "\"nameservers\":[1],\"top\":{},\"changes\":[{}],\"clients\":{},\"time_ms\":-1e300}",
        "{\"queries\":{\"udp\":1e308,\"tcp\":1e308},\"time_ms\":1e300,\"uptime_s\":1e300,"
        "\"nameservers_more\":-1e300,\"latency\":{\"udp\":{\"bounds_us\":[1],\"counts\":[1e308]}}}",
    };
    CLEANUP(live_model_fini) struct live_model model = {.server = "127.0.0.1:8080"};
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        CLEANUP(screen_fini) struct screen screen;
        live_model_take(&model, live_event_parse(slice_str(events[i])), top_view.total);
        screen_init(&screen, 120, 40, true);
        live_screen_draw(&top_view, &model, &screen);
    }
}

/* Green is for states: no figure has it, whatever its value. */
UNIT_TEST(test_no_figure_is_green)
{
    CLEANUP(live_model_fini) struct live_model model = {.server = "127.0.0.1:8080"};
    CLEANUP(screen_fini) struct screen screen;
    pages_top_view_take(&model, 0, "");
    pages_top_view_take(&model, 0, "");
    screen_init(&screen, 200, 60, true);
    live_screen_draw(&top_view, &model, &screen);
    for (size_t i = 0; i < screen.width * screen.height; i++) {
        const struct screen_cell *cell = &screen.cells[i];
        bool is_digit = cell->character >= '0' && cell->character <= '9';
        assert_false(is_digit && cell->style == SCREEN_GOOD);
    }
}

/* Clients of /clients, beside the figures of /live. */
UNIT_TEST(test_busiest_clients)
{
    static const char page[] =
        "{\"clients\":[{\"address\":\"10.1.0.7\",\"namespace\":\"prod\",\"queries\":900,"
        "\"misses\":600},{\"address\":\"10.9.9.9\",\"queries\":30,\"misses\":0}]}";
    CLEANUP(live_model_fini) struct live_model model = {.server = "127.0.0.1:8080"};
    struct live_node *event = make_event(0, ""), *busy = live_event_parse(slice_str(page));
    CLEANUP(screen_fini) struct screen screen;
    live_event_put(event, "busy", busy);
    live_event_free(busy); /* the event has it, too */
    live_model_take(&model, event, top_view.total);
    CLEANUP_BUF struct buf text = buf_of(1 << 20);
    screen_init(&screen, 60, 120, true);
    live_screen_draw(&top_view, &model, &screen);
    screen_lines(&screen, &text);
    const char *table = strstr(buf_cstr(&text), "Busiest clients");
    assert_non_null(table);
    assert_non_null(strstr(table, "10.1.0.7  prod"));
    assert_non_null(strstr(table, "900       600\n"));
    assert_non_null(strstr(table, "10.9.9.9 "));
}
