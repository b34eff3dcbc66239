"""What the checks of these tests find."""

import signal

import pytest
from kube import port, service
from programs import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
def key(dns, namespace):
    """A Service's key in etcd."""
    dns.kube.create("services", service("web", port(80), namespace=namespace))
    dns.wait_model()
    (key,) = dns.etcd.get_prefix(f"/skydns/local/cluster/svc/{namespace}/")
    return key


def test_a_key_deleted_and_written_again(dns, key):
    with pytest.raises(AssertionError, match=f"{key}: None was never right"), dns.asked():
        dns.etcd.delete(key)
        dns.wait_model()


def test_a_key_written_again_with_its_value(dns, key):
    with pytest.raises(AssertionError, match=f"{key} was written again"), dns.asked():
        dns.etcd.put(key, dns.etcd.values(key)[key])


def test_a_wrong_answer_in_between(dns, namespace, key):
    """Only the answer: etcd's history is not looked at."""
    dns.check_writes = lambda *_: None
    wrong = dns.etcd.values(key)[key].replace('"host":"', '"host":"1')
    asked = (f"web.{namespace}.svc.cluster.local", "A")
    with pytest.raises(AssertionError, match="was never right"), dns.asked(asked) as asking:
        dns.kube2sky.signal(signal.SIGSTOP)
        dns.etcd.put(key, wrong)
        wait_until(lambda: dns.dns.answers(*asked)[0].startswith("110."), "the wrong answer")
        asking.wait_asked()  # it has got the wrong one, too
        dns.kube2sky.signal(signal.SIGCONT)
