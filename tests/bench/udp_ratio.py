#!/usr/bin/python3
"""udp_ratio.py --bin DIR: what an answer costs skydns, as a ratio to a responder that does nothing.

Loads N services into an etcd of its own, starts skydns with one worker, and asks it the chosen query mix in
rounds that alternate with the bare responder (receive, flip header bits, append one record, send), both pinned to
core 0 with the generator on core 1. The figure is CPU microseconds of the whole server process per answer; since
absolute figures drift with the machine, the ratio within one round is what counts. Prints a line a round and the
medians; a round whose generator was not the bottleneck-free side (gen_util below 0.85) or that lost answers is
marked and left out.

The measuring tools come from the folder that BENCH_TOOLS names: mkdata.py, loadkeys.py, dnsgen.c, probe.c.
Without it there is nothing to measure with, and this says so."""
import argparse
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

FIELDS = re.compile(r"(\w+)=([0-9.]+)")


def free_port(start):
    """A port from `start` up, free for UDP and TCP and below the ephemeral range."""
    for port in range(start, 32000):
        try:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                with socket.socket(socket.AF_INET, kind) as s:
                    s.bind(("127.0.0.1", port))
            return port
        except OSError:
            continue
    sys.exit("no free port")


def wait_for(what, probe, process, seconds):
    """Asks until probe() is true; the process it belongs to must go on running."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            sys.exit("%s ended with status %d" % (what, process.returncode))
        try:
            if probe():
                return
        except OSError:
            pass
        select_pause(0.05)
    sys.exit("%s not ready after %d s" % (what, seconds))


def select_pause(seconds):
    signal.sigtimedwait([], seconds)


def build_tools(tools, out):
    for name in ("dnsgen", "probe"):
        source, binary = os.path.join(tools, name + ".c"), os.path.join(out, name)
        subprocess.run(["gcc", "-O2", "-march=native", "-w", source, "-o", binary, "-lpthread"], check=True)


def start_etcd(tmp, log):
    client, peer = free_port(22379), free_port(22479)
    url, peer_url = "http://127.0.0.1:%d" % client, "http://127.0.0.1:%d" % peer
    process = subprocess.Popen(
        [os.environ.get("ETCD") or "etcd", "--name=bench", "--data-dir=" + tmp + "/etcd", "--listen-client-urls=" + url,
         "--advertise-client-urls=" + url, "--listen-peer-urls=" + peer_url,
         "--initial-advertise-peer-urls=" + peer_url, "--initial-cluster=bench=" + peer_url],
        stdout=log, stderr=subprocess.STDOUT)
    wait_for("etcd", lambda: urllib.request.urlopen(url + "/health", timeout=1).read(), process, 30)
    return process, url


def start_skydns(binary, url, address, log):
    port = free_port(15353)
    process = subprocess.Popen(
        ["taskset", "-c", "0", binary, "-machines=" + url, "-addr=%s:%d" % (address, port),
         "-domain=cluster.local.", "-no-rec", "-workers=1"], stdout=log, stderr=subprocess.STDOUT)
    query = bytes.fromhex("abcd01000001000000000000") + b"\x07cluster\x05local\0" + bytes.fromhex("00060001")

    def answers():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(0.5)
            s.sendto(query, ("127.0.0.1", port))
            return s.recv(512)[3] & 15 == 0

    wait_for("skydns", answers, process, 60)
    return process, port


def one_run(generator, port, mix, seconds, pid):
    command = ["taskset", "-c", "1", generator, "-p", str(port), "-d", mix, "-l", str(seconds), "-c", "4", "-w", "48",
               "-b", "32", "-P", str(pid)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {k: float(v) for k, v in FIELDS.findall(out)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of the programs")
    parser.add_argument("--services", type=int, default=10000)
    parser.add_argument("--mix", default="a", choices=["a", "nx", "srv", "k8s"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--address", default="127.0.0.1", help="what skydns binds; 0.0.0.0 as in the pod")
    args = parser.parse_args()
    tools = os.environ.get("BENCH_TOOLS")
    if not tools:
        sys.exit("BENCH_TOOLS is not set: expected the folder of mkdata.py, loadkeys.py, dnsgen.c and probe.c")

    tmp, processes = tempfile.mkdtemp(prefix="udp-ratio-"), []
    try:
        with open(tmp + "/log", "wb") as log:
            build_tools(tools, tmp)
            subprocess.run([sys.executable, tools + "/mkdata.py", str(args.services), tmp + "/zone"], check=True)
            etcd, url = start_etcd(tmp, log)
            processes.append(etcd)
            subprocess.run([sys.executable, tools + "/loadkeys.py", str(args.services), url], check=True)
            skydns, port = start_skydns(os.path.join(args.bin, "skydns"), url, args.address, log)
            processes.append(skydns)
            probe_port = free_port(15453)
            probe = subprocess.Popen(["taskset", "-c", "0", tmp + "/probe", "mmsg", str(probe_port), "64"],
                                     stdout=log, stderr=subprocess.STDOUT)
            processes.append(probe)
            report(args, tmp, (probe_port, probe.pid), (port, skydns.pid))
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()
        shutil.rmtree(tmp, ignore_errors=True)


def report(args, tmp, probe, skydns):
    ratios, costs = [], []
    mix = "%s/zone/mix_%s" % (tmp, args.mix)
    print("mix %s, %d services, skydns on %s, %d rounds of %g s" %
          (args.mix, args.services, args.address, args.rounds, args.seconds))
    for i in range(args.rounds):
        bare = one_run(tmp + "/dnsgen", probe[0], mix, args.seconds, probe[1])
        ours = one_run(tmp + "/dnsgen", skydns[0], mix, args.seconds, skydns[1])
        ratio = ours["srv_us_q"] / bare["srv_us_q"]
        noisy = min(bare["gen_util"], ours["gen_util"]) < 0.85 or bare["lost"] + ours["lost"] > 0
        print("round %d: probe %.3f us, skydns %.3f us, ratio %.2f, %.0f q/s, lost %d%s" %
              (i + 1, bare["srv_us_q"], ours["srv_us_q"], ratio, ours["qps"], ours["lost"],
               " (noisy, left out)" if noisy else ""))
        if not noisy:
            ratios.append(ratio)
            costs.append(ours["srv_us_q"])
    if len(ratios) < 3:
        sys.exit("only %d usable rounds: the machine is too noisy to say anything" % len(ratios))
    with open("/proc/%d/status" % skydns[1]) as f:
        rss_kb = int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))
    print("median of %d: ratio %.2f, %.3f us CPU per answer, %.1f MiB resident" %
          (len(ratios), statistics.median(ratios), statistics.median(costs), rss_kb / 1024))


main()
