"""Makes the pictures of the documents from running programs (`make screenshots`).

    screenshots.py --out docs

skydns with the records of a small cluster is asked by three pods for a minute, now more, now less; then Chromium shows
its page, the tabs about who asks, and the past of a name.
"""

import argparse
import json
import math
import os
import random
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/integration"), str(ROOT / "tests/integration/page")]

from bed import Bed  # noqa: E402
from browser import Browser, missing  # noqa: E402
from programs import reserve_port  # noqa: E402

SHOWN_S = 55
WIDTH, HEIGHT = 1180, 1010
SERVICES = ("web", "api", "db", "cache", "mail", "queue", "search", "login")
QUESTIONS = ["web.shop"] * 9 + ["api.shop"] * 6 + ["db.shop"] * 5 + ["cache.shop"] * 3 + ["login.default", "web.shop.svc"]
SLIPS = ["webs.shop", "cache.shops", "web.billing", "report.billing"]
TYPES = (1, 1, 1, 28, 33)
PODS = {"127.0.1.1": ("shop", "cart-7d9f"), "127.0.1.2": ("shop", "cart-8c2a"), "127.0.2.1": ("billing", "batch-0")}


def fill(bed: Bed) -> None:
    for number, service in enumerate(SERVICES):
        for namespace in ("default", "shop"):
            key = f"/skydns/local/cluster/svc/{namespace}/{service}"
            bed.etcd.put(key, json.dumps({"host": f"10.96.0.{10 + number}", "port": 8080}))
    for address, (namespace, pod) in PODS.items():
        label = address.replace(".", "-")
        bed.etcd.put(f"/skydns/local/cluster/pod/{namespace}/{label}/x", json.dumps({"host": address}))
        bed.etcd.put(f"/kube2sky/cluster.local/client/{label}", json.dumps({"namespace": namespace, "pod": pod}))


def ask(port: int, address: str, ends: threading.Event) -> None:
    """Replies are read, so that nothing piles up."""
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.bind((address, 0))
    client.connect(("127.0.0.1", port))
    client.setblocking(False)
    rng = random.Random(address)
    while not ends.wait(0.02):
        for _ in range(int(4 + 3 * math.sin(time.monotonic() / 6) + rng.random() * 2)):
            asked = SLIPS if rng.random() < 0.1 else QUESTIONS
            name = f"{rng.choice(asked)}.svc.cluster.local"
            labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
            header = rng.randbytes(2) + b"\1\0\0\1\0\0\0\0\0\0"
            client.send(header + labels + b"\0" + rng.choice(TYPES).to_bytes(2, "big") + b"\0\1")
        try:
            while client.recv(4096):
                pass
        except BlockingIOError:
            pass


def change(bed: Bed, ends: threading.Event) -> None:
    number = 0
    while not ends.wait(4):
        number += 1
        key = f"/skydns/local/cluster/svc/shop/{SERVICES[number % len(SERVICES)]}"
        bed.etcd.put(key, json.dumps({"host": f"10.96.1.{number}", "port": 8080}))


def take(folder: Path, out: Path) -> None:
    bed = Bed(folder)
    port = reserve_port()
    ends = threading.Event()
    try:
        bed.start_etcd()
        fill(bed)
        bed.start_skydns(f"-http-addr=127.0.0.1:{port}", "-no-rec")
        threads = [
            *(threading.Thread(target=ask, args=(bed.dns.port, address, ends)) for address in PODS),
            threading.Thread(target=change, args=(bed, ends)),
        ]
        for thread in threads:
            thread.start()
        browser = Browser(folder)
        browser.set_size(WIDTH, HEIGHT)
        browser.open(f"http://127.0.0.1:{port}/")
        threading.Event().wait(SHOWN_S)
        browser.picture(out / "skydns-page.png")
        for tab, query in (("clients", ""), ("missing", ""), ("past", "?name=api.shop.svc.cluster.local")):
            browser.open(f"http://127.0.0.1:{port}/#{tab}{query}")
            browser.wait(f"document.querySelector('#{tab} tbody tr') !== null", f"the rows of {tab}")
            browser.wait("document.querySelector('#past-answer .card') !== null" if query else "true", "an answer")
            browser.picture(out / f"skydns-{tab}.png")
        browser.close()
    finally:
        ends.set()
        bed.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the pictures")
    options = parser.parse_args()
    if missing():
        print(f"screenshots: {missing()}", file=sys.stderr)
        return 1
    os.makedirs(options.out, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="screenshots-") as folder:
        take(Path(folder), options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
