"""An API server that refuses EndpointSlices at moments, as a real one does after a restart until its RBAC is warm:
what only slices have stays in etcd and is answered, whether kube2sky was running or starts at such a moment.
"""

import pytest
from fault_bed import PATIENCE_S, full
from kube import endpoint, endpoint_slice, endpoints, headless, port
from records import SVC, endpoint_records

PORT = port(5432, "pg")
IN_BOTH = ["10.1.0.1", "10.1.0.2"]
SLICES_ONLY = [f"10.2.0.{i}" for i in range(1, 21)]
ROUNDS = 4


class Slices:
    """A headless Service with endpoints that its Endpoints lack, and the server's moods."""

    def __init__(self, bed):
        self.bed = bed
        self.addresses = IN_BOTH + SLICES_ONLY
        bed.kube.create("services", headless("db", PORT))
        bed.kube.create("endpoints", endpoints("db", IN_BOTH, PORT))
        self.put_more(is_new=True)
        self.wait_right()
        self.written = bed.etcd.get_prefix(f"{SVC}/default/db/")

    def put_more(self, is_new: bool) -> None:
        entries = [endpoint(ip, ready=True) for ip in self.addresses if ip not in IN_BOTH]
        put = self.bed.kube.create if is_new else self.bed.kube.replace
        put("endpointslices", endpoint_slice("db-more", "db", entries, PORT))

    def wait_right(self) -> None:
        right = endpoint_records("db", {ip: "" for ip in self.addresses}, ("tcp", "pg", 5432))
        self.bed.wait_records(f"{SVC}/default/db/", right)

    def refuse(self, way: str, is_refused: bool) -> None:
        if way == "forbidden":
            self.bed.kube.control("forbid", resource="endpointslices", on=is_refused)
        else:
            self.bed.kube.control("slices", version="" if is_refused else "v1")

    def list_again(self) -> None:
        self.bed.kube.control("expire-history")
        self.bed.kube.control("drop-watches")

    def check_kept(self) -> None:
        """After a change of something else, which kube2sky has written since."""
        bed = self.bed
        bed.seconds_until_right(bed.change())
        assert bed.etcd.get_prefix(f"{SVC}/default/db/") == self.written
        assert sorted(bed.dns.answers(full("db"))) == sorted(self.addresses)


@pytest.mark.faults
def test_slices_refused_at_moments(single):
    bed = single
    with bed.under_load():
        slices, watched = Slices(bed), bed.watched[1]
        for i in range(ROUNDS):
            way = ("forbidden", "not served")[i % 2]
            slices.refuse(way, True)
            slices.list_again()
            watched.wait_metric(0, "api_up", kind="endpoints")
            slices.check_kept()
            slices.refuse(way, False)
            watched.wait_metric(1, "api_up", kind="endpoints")
            slices.check_kept()

        slices.refuse("forbidden", True)
        bed.kube2sky.stop()
        since = len(bed.kube2sky.lines)
        bed.start_kube2sky()
        bed.kube2sky.wait_line("endpoint slices are refused, following endpoints", since, PATIENCE_S)
        slices.check_kept()
        slices.refuse("forbidden", False)
        slices.list_again()
        bed.kube2sky.wait_line(r"source of endpoints changed .*kind=endpointslices\b", since, PATIENCE_S)
        slices.check_kept()
        slices.addresses = slices.addresses[:-5]
        slices.put_more(is_new=False)
        slices.wait_right()
        bed.kube.delete("services", "db")
    bed.note(f"{ROUNDS + 1} refusals of slices, no key deleted")
