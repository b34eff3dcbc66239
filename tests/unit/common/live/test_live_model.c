#include "common/live/live_model.h"

#include "common/live/live_form.h"
#include "tests/support/unit_test.h"

static void take_numbered_event(struct live_model *model, int time_ms, int uptime_s, int n)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"time_ms\":%d,\"uptime_s\":%d,\"n\":%d}", time_ms, uptime_s, n);
    live_model_take(model, live_event_parse(slice_str(text)), "n");
}

static double live_model_rate(const struct live_model *model)
{
    return live_model_total_rate(model, "n");
}

UNIT_TEST(test_rates)
{
    CLEANUP(live_model_fini) struct live_model model = {.server = ""};
    take_numbered_event(&model, 1000, 5, 10);
    assert_true(live_model_rate(&model) < 0); /* one event alone */
    take_numbered_event(&model, 3000, 7, 30);
    assert_true(live_model_rate(&model) == 10);
    assert_true(live_model_total_rate(&model, "absent") == 0);
    take_numbered_event(&model, 3000, 7, 40); /* no time has passed */
    assert_true(live_model_rate(&model) < 0);
    take_numbered_event(&model, 2000, 8, 50); /* the clock was set back */
    assert_true(live_model_rate(&model) < 0);
    take_numbered_event(&model, 4000, 1, 3); /* it started again */
    assert_null(model.before);
    assert_true(live_model_rate(&model) < 0);
    take_numbered_event(&model, 5000, 2, 5);
    assert_true(live_model_rate(&model) == 2);
    assert_int_equal(model.history_count, 2);
    assert_true(model.history[0] == 10 && model.history[1] == 2);
}

UNIT_TEST(test_history_is_bounded)
{
    CLEANUP(live_model_fini) struct live_model model = {.server = ""};
    for (int i = 0; i <= LIVE_HISTORY_MAX + 10; i++) {
        take_numbered_event(&model, i * 1000, i, i * i);
    }
    assert_int_equal(model.history_count, LIVE_HISTORY_MAX);
    int last = LIVE_HISTORY_MAX + 10;
    assert_true(model.history[LIVE_HISTORY_MAX - 1] == 2 * last - 1);
    double past_s = live_number(model.past, "time_ms") / 1000;
    assert_true(past_s <= last - LIVE_PAST_S && past_s > last - 2 * LIVE_PAST_S - 2);
}

UNIT_TEST(test_texts)
{
    char out[LIVE_TIME_MAX];
    assert_string_equal(live_form_age(59.9, out), "59s");
    assert_string_equal(live_form_age(61, out), "1m 1s");
    assert_string_equal(live_form_age(3600, out), "1h 0m");
    assert_string_equal(live_form_age(90000, out), "1d 1h");
    assert_string_equal(live_form_age(-1e300, out), "0s");
    assert_string_equal(live_form_age(1e300, out), "115740d 17h");
    assert_string_equal(live_form_clock(1700000000000, out), "22:13:20");
    assert_string_equal(live_form_clock(-1e300, out), "00:00:00");
    assert_string_equal(live_form_rate(-1, out), "-");
    assert_string_equal(live_form_rate(1234.56, out), "1234.6");
    assert_string_equal(live_form_rate(1e300, out), "1e+300");
    assert_string_equal(live_form_micros(-1, out), "-");
    assert_string_equal(live_form_micros(850, out), "850us");
    assert_string_equal(live_form_micros(1500, out), "1.5ms");
    assert_string_equal(live_form_micros(3.25e6, out), "3.25s");
}

UNIT_TEST(test_events)
{
    assert_null(live_event_parse(slice_str("")));
    assert_null(live_event_parse(slice_str("[]")));
    assert_null(live_event_parse(slice_str("{} x")));
    assert_null(live_event_parse(slice_str("{\"a\":\"\xff\"}")));
    struct live_node *event = live_event_parse(
        slice_str("{\"t\":\"x\",\"n\":1.5,\"b\":true,\"l\":[\"y\",2],\"o\":{\"p\":1,\"q\":2}}"));
    assert_string_equal(live_text(event, "t"), "x");
    assert_string_equal(live_text(event, "n"), "");
    assert_true(live_number(event, "n") == 1.5 && live_number(event, "t") == 0);
    assert_true(live_value(live_get(event, "n"), -1) == 1.5 &&
                live_value(live_get(event, "t"), -1) == -1);
    assert_true(live_flag(event, "b") && !live_flag(event, "t"));
    const struct live_node *list = live_get(event, "l"), *object = live_get(event, "o");
    assert_int_equal(live_count(list), 2);
    assert_int_equal(live_count(object), 0);
    assert_true(slice_equal(live_bytes(live_at(list, 0)), slice_str("y")));
    assert_true(live_number_at(list, 1) == 2 && live_number_at(list, 9) == 0);
    assert_string_equal(live_next_name(object, NULL), "p");
    assert_string_equal(live_next_name(object, "p"), "q");
    assert_null(live_next_name(object, "q"));
    assert_null(live_next_name(list, NULL));
    assert_null(live_get(live_get(event, "absent"), "x"));
    live_event_free(event);
}
