"""kube2sky's page in Chromium: a Service that appears, why it has its records, hostile names, and a narrow screen."""

import pytest
from browser import phone_faults, serious_findings
from kube import port, service
from records import SVC, value

pytestmark = pytest.mark.page

SHOWN = "document.querySelector('#state').textContent !== 'waiting'"


@pytest.fixture
def kube_page(bed, browser):
    """A function that opens a section; the console stays silent, and nothing is asked of elsewhere."""
    bed.start_kube2sky()
    url = f"http://127.0.0.1:{bed.readiness_port}/"

    def open_section(section: str) -> None:
        browser.open("about:blank")
        browser.open(f"{url}#{section}")
        browser.wait(SHOWN, "figures")

    yield open_section
    own = (url, "data:", "about:", "chrome:", "chrome-untrusted:")
    assert [asked for asked in browser.requests() if not asked.startswith(own)] == []
    refused = "status of 404 (Not Found)"  # Chromium tells each 404, here that of a Service that does not exist
    assert [line for line in browser.console() if refused not in line] == []


def test_a_service_that_appears(bed, browser, kube_page):
    kube_page("now")
    bed.kube.create("services", service("web", port(80, "http")))
    browser.wait("document.querySelector('#changes').textContent.includes('default/web')", "the change with its times")
    browser.wait("document.querySelector('#kinds').textContent.includes('services')", "the kinds")
    browser.wait("document.querySelector('#leader').textContent === 'this one'", "who writes")


def test_why(bed, browser, kube_page):
    bed.kube.create("services", service("web", port(80, "http"), port(81, "<img src=x onerror=alert(1)>")))
    bed.wait_model()
    kube_page("why?service=default/web")
    browser.wait("document.querySelector('#why-answer').textContent.includes('present')", "its keys")
    browser.wait("document.querySelector('#why-answer').textContent.includes('<img src=x')", "the name, as text")
    assert browser.run("document.querySelectorAll('#why-answer img').length") == 0
    kube_page("why?service=default/wbe")
    browser.wait("document.querySelector('#why-answer').textContent.includes('Did you mean default/web')", "what was meant")


def test_a_delete_that_is_held_back(bed, browser):
    """A list without default/kubernetes is not believed: kube2sky is not ready, and says what it does not delete."""
    bed.kube.delete("services", "kubernetes")
    bed.kube.create("services", service("web"))
    bed.etcd.put(f"{SVC}/default/web/old", value("10.0.0.1"))
    bed.start_kube2sky(is_waiting=False)
    bed.kube2sky.wait_ready(lambda: bed.readiness()[0], "answers")
    browser.open(f"http://127.0.0.1:{bed.readiness_port}/#why?service=default/web")
    browser.wait("document.querySelector('#why-answer').textContent.includes('Held back')", "what is held back")
    told = browser.run("document.querySelector('#why-answer').textContent")
    assert f"delete{SVC}/default/web/old" in told and "deletes wait: not everything" in told


def test_plan(bed, browser, kube_page):
    bed.wait_model()
    kube_page("plan")
    browser.wait("document.querySelector('#plan-lines').textContent.includes('nothing to do')", "the plan")


@pytest.mark.parametrize("section", ["now", "plan", "why?service=default/web", "why?service=default/wbe"])
def test_on_a_phone(bed, browser, kube_page, section):
    """With a Service that lacks a record, changes and long names."""
    name = "a-service-with-a-long-name-as-deployments-make-them"
    bed.kube.create("services", service("web", port(80, "http"), port(81, "not a label")))
    bed.kube.create("services", service(name, port(80, "http")))
    bed.wait_model()
    bed.kube.create("services", service("late", port(80, "http")))
    browser.set_size(360, 740, is_phone=True)
    kube_page(section)
    shown = {"now": "#changes td", "plan": "#plan-lines:not(:empty)"}.get(section, "#why-answer > *")
    browser.wait(f"document.querySelector('{shown}') !== null", "content")
    assert browser.run("document.documentElement.scrollWidth") == 360
    assert phone_faults(browser) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("section", ["now", "plan", "why?service=default/web"])
def test_axe_finds_nothing_serious(bed, browser, kube_page, axe, section, scheme):
    bed.kube.create("services", service("web", port(80, "http")))
    browser.set_media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    kube_page(section)
    browser.execute(axe)
    assert serious_findings(browser) == []
