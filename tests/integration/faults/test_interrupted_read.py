"""kube2sky's first read of etcd breaks off, and what it has read by then is deleted before the next one."""

import socket
import threading
from contextlib import suppress

import pytest
from gates import Gate
from kube import pod, port, service
from programs import wait_until
from records import SVC, value

pytestmark = pytest.mark.faults

KEYS = 60_000  # more than a page, which has 50,000; those of "web" are in the first one
CUT_AFTER = 55_000
TXN_KEYS = 100
KEY, VALUE = f"{SVC}/default/zzz/{{:06}}", value("10.0.0.1")
KEY_BYTES = len(KEY.format(0)) + len(VALUE) + 15  # of a reply: revisions, tags and lengths


class CutOnce:
    """Before etcd: ends the connection after CUT_AFTER keys of replies, and lets none in until `open` is set."""

    def __init__(self, etcd_port: int):
        self.open = threading.Event()
        self.is_cut = threading.Event()
        self._etcd_port = etcd_port
        self._left = CUT_AFTER * KEY_BYTES

    def enter(self, client: socket.socket) -> socket.socket | None:
        if self.is_cut.is_set() and not self.open.is_set():
            return None
        etcd = socket.create_connection(("127.0.0.1", self._etcd_port))
        if self.is_cut.is_set():
            return etcd
        asking = threading.Thread(target=self._ask, args=(client, etcd), daemon=True)
        asking.start()
        with etcd, suppress(OSError):
            while (data := etcd.recv(65536)) and self._left > 0:
                self._left -= len(data)
                client.sendall(data)
            self.is_cut.set()
            for end in (client, etcd):
                end.shutdown(socket.SHUT_RDWR)
        asking.join()
        return None

    def _ask(self, client: socket.socket, etcd: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                etcd.sendall(data)


def test_what_was_deleted_between_two_reads_is_written(bed):
    address = "10.96.7.1"
    web = service("web", port(80, "http"), namespace="default", clusterIP=address, clusterIPs=[address])
    bed.kube.control("put", resource="services", object=web)
    bed.kube.control("put", resource="pods", object=pod("always", "10.3.9.9"))  # a list without pods is not believed
    bed.start_kube2sky()
    bed.wait_model()
    bed.kube2sky.stop()
    for first in range(0, KEYS, TXN_KEYS):
        bed.etcd.put_all({KEY.format(number): VALUE for number in range(first, first + TXN_KEYS)})
    cut = CutOnce(bed.etcd_port)
    with Gate(cut.enter) as gate:
        here, there = f":{bed.etcd_port}", f":{gate.port}"
        bed.kube2sky.argv = [text.replace(here, there) for text in bed.kube2sky.argv]
        bed.kube2sky.start()
        wait_until(cut.is_cut.is_set, "the end of the connection")
        bed.kube2sky.wait_line("etcd cannot be followed")
        bed.etcd.delete_prefix(f"{SVC}/default/web/")
        bed.etcd.delete("/skydns/arpa/in-addr/10/96/7/1")
        cut.open.set()
        bed.wait_model()
        bed.kube2sky.stop()
