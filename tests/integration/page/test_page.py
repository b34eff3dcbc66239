"""skydns's page in Chromium: live figures, records, why, and who may use it: by keyboard, on a phone, in the dark."""

import json

import pytest
from browser import ARROW_DOWN, ARROW_LEFT, ENTER, TAB, phone_faults, serious_findings
from programs import http_get, wait_until
from records import value

pytestmark = pytest.mark.page

HOSTILE = "<script>document.title='stolen'</script><img src=x onerror=\"document.title='stolen'\">"
TURNED = "\u202egnp.exe\u2066"


def found(page) -> str:
    return page.browser.text("#found")


def numbers(text: str) -> int:
    return int("".join(c for c in text if c.isdigit()) or "0")


# ---- Now ----


def test_figures_move_under_load(page):
    page.open()
    page.browser.wait("document.querySelector('#rate').textContent === '0/s'", "no queries")
    before = numbers(page.browser.text("#rate-note"))
    page.ask("web.default.svc.cluster.local", 500)
    page.browser.wait(f"parseInt(document.querySelector('#rate-note').textContent.replace(/\\D/g, '')) >= {before + 500}", "500")
    page.browser.wait_text("#chart-queries .legend", "udp")
    page.browser.wait_text("#chart-rcodes .legend", "NOERROR")
    page.browser.wait_text("#chart-latency .legend", "p99")
    path = page.browser.run("document.querySelector('#chart-queries path.series').getAttribute('d')")
    assert path.startswith("M") and "L" in path


def test_what_is_not_known_is_not_well(page):
    page.open()
    assert page.browser.text("#servers").count("not queried yet") == 1
    assert page.browser.run("document.querySelectorAll('#servers .good').length") == 0
    page.ask("www.example.com", 1)
    page.browser.wait("document.querySelector('#servers .bad') !== null", "a nameserver that is down")
    page.bed.etcd_program.kill()
    page.browser.wait("document.querySelector('#etcd .bad') !== null", "etcd away")


def test_a_reader_that_is_cut_off_says_so_and_comes_back(page):
    page.quiet = False  # Chromium tells its console of a connection that is refused
    page.open()
    page.bed.skydns.stop()
    page.browser.wait("!document.querySelector('#lost').hidden", "the notice")
    assert page.browser.text("#state") == "no connection"
    assert page.browser.run("document.querySelector('#state').classList.contains('good')") is False
    page.start_skydns()
    page.browser.wait("document.querySelector('#lost').hidden", "figures again")
    page.browser.wait("document.querySelector('#state').textContent === 'ready'", "ready")


def test_the_most_asked_names_and_the_latest_changes(page):
    page.open()
    page.ask("web.default.svc.cluster.local", 640)
    page.browser.wait_text("#top", "web.default.svc.cluster.local.")
    page.put("new.default", "10.0.0.9")
    page.browser.wait_text("#changes", "new.default.svc.cluster.local.")
    page.browser.wait_text("#changes", "µs")


# ---- Records ----


def test_search_follows_what_is_typed_and_what_changes(page):
    page.open("records")
    page.browser.click("#search")
    page.browser.type("web")
    page.browser.wait_text("#search-count", "1 found")
    assert "10.0.0.1" in found(page) and "db" not in found(page)
    page.put("web2.default", "10.0.0.7")
    page.browser.wait_text("#found", "10.0.0.7")
    page.bed.etcd.delete_prefix("/skydns/local/cluster/svc/default/web2")
    page.browser.wait("!document.querySelector('#found').innerText.includes('10.0.0.7')", "the record to go")


def test_hostile_records_are_text(page):
    records = {"a": HOSTILE, "b": TURNED, "c": "long " * 9000}
    for name, text in records.items():
        page.bed.etcd.put(f"/skydns/local/cluster/svc/evil/{name}", json.dumps({"host": "10.9.9.9", "text": text}))
    page.open("records")
    page.browser.click("#search")
    page.browser.type("evil")
    page.browser.wait_text("#search-count", "3 found")
    assert HOSTILE in found(page)
    assert "\\u202egnp.exe\\u2066" in found(page) and "\u202e" not in found(page)
    assert len(found(page)) < 3000
    assert page.browser.run("document.querySelectorAll('main img, main script').length") == 0
    page.browser.open(f"{page.url}#why?name=a.evil.svc.cluster.local&type=TXT")
    page.browser.wait_text("#why-answer", "<script>")
    assert page.browser.run("document.title") == "skydns · why"
    assert page.browser.run("document.documentElement.scrollWidth <= innerWidth")


# ---- Why ----


def test_why_a_name_is_answered(page):
    page.open("why")
    page.browser.click("#why-name")
    page.browser.type("web.default.svc.cluster.local")
    page.browser.press(ENTER)
    page.browser.wait_text("#why-answer", "NOERROR")
    nodes = page.browser.run("[...document.querySelectorAll('.tree .node > code:first-child')].map((n) => n.textContent)")
    assert nodes[:6] == [".", "local", "cluster", "svc", "default", "web"]
    assert "/skydns/local/cluster/svc/default/web" in page.browser.text(".tree")
    assert "10.0.0.1" in page.browser.text("#why-answer")
    page.put("web.default", "10.0.0.5")
    page.browser.wait_text("#why-answer", "all threads have it")
    page.browser.wait_text("#why-answer", "10.0.0.5")


def test_why_a_name_does_not_exist_and_what_was_meant(page):
    page.open("why?name=wep.default.svc.cluster.local&type=A")
    page.browser.wait_text("#why-answer", "NXDOMAIN")
    assert page.browser.text(".tree .asked.missing .node").startswith("wep")
    page.browser.click(".tree a[href*='web.default']")
    page.browser.wait_text("#why-answer", "NOERROR")


def test_why_follows_changes(page):
    page.open("why?name=new.default.svc.cluster.local&type=A")
    page.browser.wait_text("#why-answer", "NXDOMAIN")
    page.put("new.default", "10.0.0.8")
    page.browser.wait_text("#why-answer", "10.0.0.8")


def test_a_search_list_and_a_client(page):
    page.open("why?name=web.default&type=A&client=10.3.3.3")
    page.browser.wait_text("#why-answer", "Search list")
    assert page.browser.text(".steps .chosen a") == "web.default.svc.cluster.local."
    assert "10.3.3.3" in page.browser.text("#why-answer")


def test_why_names_a_wrong_type(page):
    page.quiet = False  # Chromium tells its console of a reply 400
    page.open("why?name=web.default.svc.cluster.local&type=HUH")
    page.browser.wait_text("#why-answer", "HUH")


# ---- Past ----


def changed_web(page) -> dict[str, int]:
    """Revisions at which web.default had one address, another one, and none; the last has it again."""
    key = "/skydns/local/cluster/svc/default/web"
    revisions = {"first": page.bed.etcd.revision()}
    for name, change in (
        ("second", lambda: page.put("web.default", "10.0.0.5")),
        ("gone", lambda: page.bed.etcd.delete_prefix(key)),
        ("again", lambda: page.bed.etcd.put(key, json.dumps({"host": "10.0.0.9", "text": HOSTILE}))),
    ):
        change()
        revisions[name] = page.bed.etcd.revision()
    at = f"{page.url}explain?name=cluster.local"
    wait_until(lambda: json.loads(http_get(at)[1])["revision"] >= revisions["again"], "all changes")
    return revisions


def past(page, name: str = "web.default.svc.cluster.local", **arguments: object) -> None:
    page.open("past?" + "&".join(f"{field}={text}" for field, text in {"name": name, "since": 1, **arguments}.items()))


def compared(page, before: int, after: int) -> str:
    page.browser.wait_text("#past-answer", f"from revision {before} to {after}")
    return page.browser.text("#past-answer .differences")


def test_what_changed_between_two_moments(page):
    revisions = changed_web(page)
    past(page)
    told = compared(page, revisions["gone"], revisions["again"])
    assert "\u2212 NXDOMAIN" in told and "+ NOERROR" in told and "+ web.default.svc.cluster.local." in told
    moments = page.browser.run("[...document.querySelectorAll('#past-moments tr')].map((row) => row.innerText)")
    assert len(moments) == 5 and "where this list begins" in moments[-1]
    assert "deleted" in moments[1] and "10.0.0.5" in moments[1] and "10.0.0.1" in moments[2] and "new" in moments[3]
    assert "<script>document.title='stolen'</script>" in moments[0]
    assert page.browser.run("document.querySelectorAll('main img, main script').length") == 0
    # By keyboard: the moment before, then two others; the address has them for a link.
    page.browser.run("document.querySelector('#past-moments input[name=at]:checked').focus()")
    page.browser.press(ARROW_DOWN)
    page.browser.wait_text("#past-answer .differences", "Nothing: both answers are the same.")
    page.browser.click(f"#past-moments input[name=from][value='{revisions['second']}']")
    told = compared(page, revisions["second"], revisions["gone"])
    assert "\u2212 NOERROR" in told and "+ NXDOMAIN" in told and "10.0.0.5" in told
    assert "web.default.svc.cluster.local. does not exist" not in told
    assert page.browser.run("location.hash").endswith(f"at={revisions['gone']}&from={revisions['second']}")
    assert page.browser.run("document.querySelectorAll('.timeline .moment').length") == 5
    assert page.browser.run("document.querySelectorAll('.timeline .chosen').length") == 2


def test_the_answer_of_a_moment(page):
    revisions = changed_web(page)
    page.open("why?name=web.default.svc.cluster.local&type=A")
    page.browser.wait_text("#why-answer", "what was answered then")
    page.browser.click("#why-answer a[href^='#past']")
    page.browser.wait_text("#past-answer", "What was answered")
    page.browser.click("#past-at")
    page.browser.type(str(revisions["first"]))
    page.browser.press(ENTER)
    page.browser.wait_text("#past-answer", f"The answer as of {revisions['first']}: revision {revisions['first']}")
    page.browser.wait_text("#past-answer", "10.0.0.1")
    assert "NXDOMAIN" not in page.browser.text("#past-answer")


def test_a_past_that_is_gone(page):
    page.quiet = False  # Chromium tells its console of a reply 410
    revisions = changed_web(page)
    page.bed.etcd.compact()
    past(page, at=revisions["first"])
    page.browser.wait_text("#past-answer", f"{revisions['first']} is gone: the oldest that can be had is revision {revisions['again']}")
    assert "etcd has dropped what was before" in page.browser.text("#past-title")
    past(page, name="nothing.at.all.cluster.local")
    page.browser.wait_text("#past-answer", "NXDOMAIN")


# ---- Missing ----


def ask_missing(page, count: int) -> None:
    """Asks for so many names until all are listed: a turn looks at a few new ones."""
    names = [f"a-service-with-a-long-name-{n}.default.svc.cluster.local" for n in range(count)] + ["wbe.default.svc.cluster.local"]

    def are_listed() -> bool:
        for name in names:
            page.ask(name, 24)
        listed = json.loads(http_get(f"{page.url}missing")[1])["names"]
        return len(listed) == min(len(names), 100)

    wait_until(are_listed, f"{count} missing names")


def test_a_missing_name_and_what_was_meant(page):
    page.open("missing")
    ask_missing(page, 0)
    page.browser.wait_text("#missing-names", "wbe.default.svc.cluster.local.")
    page.browser.wait_text("#missing-names", "mistyped")
    page.browser.click("#missing-names a[href*='web.default']")
    page.browser.wait_text("#why-answer", "NOERROR")


def test_a_hundred_missing_names_on_a_phone(page):
    page.browser.set_size(360, 740, is_phone=True)
    ask_missing(page, 100)
    page.open("missing")
    page.browser.wait("document.querySelectorAll('#missing-names tr').length === 100", "a hundred rows")
    assert page.browser.run("document.documentElement.scrollWidth") == 360
    assert phone_faults(page.browser) == []


# ---- For everybody ----


def test_by_keyboard_alone(page):
    page.browser.open(page.url)
    page.browser.press(TAB)
    assert page.browser.run("document.activeElement.textContent") == "Skip to content"
    page.browser.press(TAB, TAB, TAB, TAB, TAB)
    assert page.browser.run("document.activeElement.textContent") == "Why"
    page.browser.press(ENTER)
    page.browser.wait("!document.querySelector('#why').hidden", "the section")
    page.browser.press(TAB)
    page.browser.type("web.default.svc.cluster.local")
    page.browser.press(ENTER)
    page.browser.wait_text("#why-answer", "NOERROR")
    page.open()
    page.browser.run("document.querySelector('#chart-queries svg').focus()")
    page.browser.press(ARROW_LEFT)
    assert page.browser.run("document.activeElement.getAttribute('aria-valuenow')") == "-1"
    assert "seconds ago" in page.browser.run("document.activeElement.getAttribute('aria-valuetext')")


SECTIONS = [
    "now",
    "records",
    "clients",
    "missing",
    "why?name=web.default.svc.cluster.local&type=A",
    "why?name=default.svc.cluster.local&type=CNAME",  # records that do not count, and why
    "why?name=web.default&type=A&client=10.3.3.3",
    "why?name=www.example.com&type=A",
    "past?name=web.default.svc.cluster.local&since=1",
]


@pytest.mark.parametrize("section", SECTIONS)
def test_on_a_phone(page, section):
    page.bed.etcd.put("/skydns/local/cluster/dns/stub/example/a-zone/1", value("127.0.0.1", 9))
    page.put("a-service-with-a-long-name-as-deployments-make-them.production-of-the-shop", "10.0.0.77")
    page.browser.set_size(360, 740, is_phone=True)
    page.open(section)
    page.browser.wait("document.querySelectorAll('td, .tree li').length > 0", "content")
    page.ask("web.default.svc.cluster.local", 640)
    if section == "now":
        page.browser.wait_text("#top", "web.default.svc.cluster.local.")
    assert page.browser.run("document.documentElement.scrollWidth") == 360
    assert phone_faults(page.browser) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("section", ["now", "records", "why?name=wep.default.svc.cluster.local&type=A", "past?name=web.default.svc.cluster.local&since=1"])
def test_axe_finds_nothing_serious(page, axe, section, scheme):
    page.browser.set_media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    page.open(section)
    page.browser.wait("document.querySelectorAll('td, .tree li').length > 0", "content")
    page.browser.execute(axe)
    assert serious_findings(page.browser) == []


def test_dark_is_dark(page):
    lightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number).reduce((a, b) => a + b)"
    page.browser.set_media(prefers_color_scheme="dark")
    page.open()
    assert page.browser.run(lightness) < 150
    page.browser.set_media(prefers_color_scheme="light")
    assert page.browser.run(lightness) > 600


def test_many_pages_and_a_probe(page):
    """Of one address, as behind a proxy."""
    page.open()
    streams = [page.stream() for _ in range(200)]
    for stream in streams:
        assert b"data: {" in stream.recv(65536)
    status, text = page.readiness()
    assert (status, text) == (200, "ok")
    for stream in streams:
        stream.close()
