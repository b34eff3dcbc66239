#include "common/live/live_form.h"

#include "tests/support/unit_test.h"

/* Expects this text of a form and a page. */
static void live_form_expect(const char *form, const char *page, const char *text)
{
    struct buf json;
    buf_init(&json, 10000);
    CLEANUP_BUF struct buf out = buf_of(10000);
    buf_append_str(&json, page);
    live_form_page(form, &json, &out);
    assert_false(out.failed);
    assert_string_equal(buf_cstr(&out), text);
}

UNIT_TEST(test_values)
{
    live_form_expect("{t} {n} {o/t}{none}{o/none/none}.",
                     "{\"t\":\"x\",\"n\":12,\"o\":{\"t\":\"y\"}}", "x 12 y.");
    live_form_expect("[{n|5}] [{none|3}] [{t|.2}] [{t|.9}]", "{\"t\":\"xyz\",\"n\":12}",
                     "[   12] [  0] [xy] [xyz]");
    live_form_expect("{n|age},{n|long},{n|s},{n|ms},{n|age_ms}", "{\"n\":93784000}",
                     "1085d 11h,1085 d 11 h,26051h6m40s,26h3m4s,1d 2h");
    live_form_expect("{n|long} {m|long} {none|micros} {m|micros8} {n|clock}", "{\"n\":61,\"m\":59}",
                     "1 m 1 s 59 s -     59us 00:00:00");
}

UNIT_TEST(test_conditions)
{
    static const char page[] =
        "{\"t\":\"up\",\"e\":\"\",\"z\":0,\"n\":-1,\"p\":2,\"b\":true,\"f\":false,"
        "\"l\":[1],\"k\":[],\"o\":{\"a\":1},\"q\":{}}";
    live_form_expect("{?t}y{/}{?p}y{/}{?b}y{/}{?l}y{/}{?o}y{/}", page, "yyyyy");
    live_form_expect("{?e}y{/}{?z}y{/}{?n}y{/}{?f}y{/}{?k}y{/}{?q}y{/}{?none}y{/}", page, "");
    live_form_expect("{??e}y{/}{??z}y{/}{??f}y{/}{??none}y{/}{?!z}n{/}{?!p}n{/}", page, "yyyn");
    live_form_expect("{?t=up}a{:}b{/}{?t=down}a{:}b{/}{?none=}a{/}", page, "aba");
    live_form_expect("{?t}{?z}a{:}b{?p}c{/}{/}{:}d{?p}e{:}f{/}{/}g", page, "bcg");
}

UNIT_TEST(test_lists)
{
    static const char page[] = "{\"n\":7,\"l\":[\"x\",\"y\"],\"o\":{\"a\":1,\"b\":2},"
                               "\"s\":[{\"k\":[1,2]},{\"k\":[3]}],\"k\":[]}";
    live_form_expect("{*l}{?+}, {:}: {/}{#}{.}{^n}{/}", page, ": 1x7, 2y7");
    live_form_expect("{*o/}{@}={.} {/}", page, "a=1 b=2 ");
    live_form_expect("{*o}{a}{b}{^n}{/}{*k}x{/}{*none}x{/}{*none/}x{/}", page, "127");
    live_form_expect("{*s}{*k}{?^+}n{:}f{/}{?+}n{:}f{/}{.}{/}{/}", page, "ff1fn2nf3");
}

/* Nothing that moves a cursor gets to a terminal; one ? for what JSON cannot have. */
UNIT_TEST(test_bytes_of_others)
{
    live_form_expect("{t}\n", "{\"t\":\"a\\u001b[1m\\n\\u00e4\\u0000b\\ufffdc{t}\"}",
                     "a?[1m?\?\?\?b?c{t}\n");
}

UNIT_TEST(test_pages_that_do_not_fit)
{
    struct buf json;
    buf_init(&json, 4);
    CLEANUP_BUF struct buf out = buf_of(100);
    buf_append_str(&json, "{\"t\":1}");
    live_form_page("x", &json, &out);
    assert_true(out.failed);
}

UNIT_TEST(test_rates)
{
    CLEANUP(live_model_fini) struct live_model model = {.server = ""};
    struct live_scope scope;
    CLEANUP_BUF struct buf out = buf_of(1000);
    live_model_take(&model, live_event_parse(slice_str("{\"time_ms\":1000,\"o\":{\"a\":1}}")), "o");
    live_model_take(
        &model,
        live_event_parse(slice_str("{\"time_ms\":3000,\"t\":\"\\u001b\",\"o\":{\"a\":5,\"b\":4}}")),
        "o");
    scope = (struct live_scope){.now = model.now, .before = model.before};
    live_form_write("{*o/}{@} {.|rate6} {/}{t}{?o/a|rate}y{/}{?t|rate}y{/}", &scope, &model, &out);
    assert_string_equal(buf_cstr(&out), "a    2.0 b    2.0 \x1by");
}
