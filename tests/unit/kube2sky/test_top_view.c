#include "kube2sky/live_figures.h"

#include "tests/support/unit_test.h"
#include "tests/unit/common/live/drawn.h"

static const char event_format[] =
    "{\"program\":\"kube2sky\",\"version\":\"0.1.0\",\"time_ms\":%lld,\"uptime_s\":61,"
    "\"domain\":\"cluster.local.\",\"ready\":true,\"reason\":\"\","
    "\"leader\":{\"is_leader\":true,\"id\":\"kube2sky-1\"},"
    "\"kinds\":[{\"kind\":\"services\",\"count\":120,\"followed\":true,\"away_s\":0,\"reason\":"
    "\"\","
    "\"skipped\":2,\"faults\":1},{\"kind\":\"pods\",\"count\":0,\"followed\":false,\"away_s\":61,"
    "\"reason\":\"403 Forbidden\",\"skipped\":0,\"faults\":0}],"
    "\"etcd\":{\"connected\":false,\"revision\":99,\"lag\":0,\"age_ms\":7000,"
    "\"endpoint\":\"http://127.0.0.1:2379\",\"away_s\":7,\"reason\":\"Connection refused\"},"
    "\"owners\":{\"known\":120,\"waiting\":3,\"in_flight\":1,\"held_back\":1,\"contested\":0,"
    "\"refused\":0},\"transactions\":{\"count\":10,\"failed\":0,\"operations\":%d},"
    "\"changes\":[{\"time_ms\":1699999990000,\"owner\":\"default/web\",\"puts\":2,\"deletes\":1,"
    "\"api_to_plan_us\":350,\"plan_to_etcd_us\":1500,\"revision\":99}],"
    "\"skipped\":[{\"what\":\"services default/x\",\"reason\":\"no \\u001b[1m name\"}]}";

static void top_view_take(struct live_model *model, int second)
{
    CLEANUP_FREE char *text =
        xasprintf(event_format, 1700000000000LL + second * 1000LL, 100 + second * 12);
    live_model_take(model, live_event_parse(slice_str(text)), top_view.total);
}

/* clang-format off */
static const char screen_80[] =
    " kube2sky 0.1.0  cluster.local.  up 1m 1s                  22:13:21 UTC  q ends\n"
    "ready\n"
    "12.0 keys written/s       █\n"
    "\n"
    "Objects         known  skipped   faults  etcd\n"
    "services          120        2        1  http://127.0.0.1:2379       away for 7s\n"
    "pods: 403 Forbidden      away for 1m 1s  Connection refused\n"
    "                                         revision                             99\n"
    "Owners of keys                           heard from                       7s ago\n"
    "known                               120\n"
    "waiting to be planned                 3  Leader\n"
    "in flight                             1  kube2sky-1       leads: this one writes\n"
    "held back                             1\n"
    "contested                             0  Latest changes          planned in etcd\n"
    "refused by etcd                       0  22:13:10 default… +2 -1   350us   1.5ms\n"
    "\n"
    "To etcd                  1/s      total  Skipped\n"
    "transactions             0.0         10  services default/x: no \\x1b[1m name\n"
    "failed                   0.0          0\n"
    "operations              12.0        112\n"
    "\n\n\n\n";

static const char screen_200[] =
    " kube2sky 0.1.0  cluster.local.  up 1m 1s                                                                                                                                          22:13:21 UTC  q ends\n"
    "ready\n"
    "12.0 keys written/s       █\n"
    "\n"
    "Objects                                   known  skipped   faults  etcd                                                               Owners of keys\n"
    "services                                    120        2        1  http://127.0.0.1:2379                                 away for 7s  known                                                         120\n"
    "pods: 403 Forbidden                                away for 1m 1s  Connection refused                                                 waiting to be planned                                           3\n"
    "                                                                   revision                                                       99  in flight                                                       1\n"
    "Leader                                                             heard from                                                 7s ago  held back                                                       1\n"
    "kube2sky-1                                 leads: this one writes                                                                     contested                                                       0\n"
    "                                                                   Latest changes                                    planned in etcd  refused by etcd                                                 0\n"
    "To etcd                                            1/s      total  22:13:10 default/web                        +2 -1   350us   1.5ms\n"
    "transactions                                       0.0         10                                                                     Skipped\n"
    "failed                                             0.0          0                                                                     services default/x: no \\x1b[1m name\n"
    "operations                                        12.0        112\n"
    "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
    "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
    "\n\n\n\n\n";
/* clang-format on */

UNIT_TEST(test_80_by_24)
{
    CLEANUP(live_model_fini) struct live_model model = {.server = "127.0.0.1:8081"};
    top_view_take(&model, 0);
    top_view_take(&model, 1);
    drawn_expect(&top_view, &model, 80, 24, true, screen_80);
}

UNIT_TEST(test_200_by_60)
{
    CLEANUP(live_model_fini) struct live_model model = {.server = "127.0.0.1:8081"};
    top_view_take(&model, 0);
    top_view_take(&model, 1);
    drawn_expect(&top_view, &model, 200, 60, true, screen_200);
}

/* Nothing is drawn outside of any screen, whatever the event lacks. */
UNIT_TEST(test_sizes)
{
    CLEANUP(live_model_fini) struct live_model model = {.server = "127.0.0.1:8081"};
    top_view_take(&model, 0);
    for (int round = 0; round < 2; round++) {
        drawn_at_any_size(&top_view, &model);
        live_model_take(&model, live_event_parse(slice_str("{\"kinds\":[{}],\"changes\":[1]}")),
                        top_view.total);
    }
}
