#!/usr/bin/python3
"""A small Kubernetes API server, for the tests, the benchmarks and `make run`. Python's standard library
only.

    apiserver.py --port 8001
    kubectl --server http://127.0.0.1:8001 create service clusterip web --tcp=80:80

It serves Namespaces, Services, Endpoints, Pods, ConfigMaps, EndpointSlices (discovery.k8s.io/v1), Ingresses
(networking.k8s.io/v1) and Events (events.k8s.io/v1) from memory: list
(pages consistent at one revision), watch (history, bookmarks, 410, selectors), get, create, replace,
merge and strategic merge patch, the status subresource, delete; JSON and protobuf by the Accept header;
tables and discovery for kubectl. It assigns cluster IPs and fills in defaults. It runs one controller,
which mirrors Endpoints to EndpointSlices. Addresses of pods and Endpoints are what the client writes.
Deleting a Service deletes its Endpoints, as a real server does.

Controls, by POST with a JSON object (defaults in brackets); the reply is JSON:

  /_test/state            GET or POST: revision, number of objects and open watches by resource, requests
                          so far by verb; "check": lists of one object that only ask for
                          the version; "list-as-events": watches with sendInitialEvents, or "refused"
  /_test/drop-watches     {resource [all]}  end the connections of open watches
  /_test/cut-watch        {resource, count [1]}  the next watch with an event to send sends half of it,
                          then ends the connection
  /_test/expire-history   {resource [all]}  a watch from any revision so far gets 410 inside a 200; open
                          watches continue
  /_test/expire-continue  {count [1]}  the next list requests with a continue token get 410 and a fresh,
                          inconsistent token
  /_test/fail             {status, count [1], match [""], message, body}  answer the next requests whose
                          URL contains match with this
  /_test/delay            {seconds, count [1], match [""]}  answer them late
  /_test/hang-up          {count [1], match [""]}  end their connections without an answer
  /_test/silence          {on [true]}  watches send nothing, not even bookmarks, until {"on": false}; then
                          they catch up
  /_test/freeze           {resource [all]}  open watches send nothing more and never end, as behind a router
                          that has forgotten their connections
  /_test/refuse           {}  stop listening and end every connection but this one, which may later send
  /_test/accept           {}  listen again
  /_test/forbid           {resource, namespace [""], on [true]}  403 for lists and watches of it, and writes of events;
                          open watches end
  /_test/token            {token}  require this bearer token from now on
  /_test/ignore-limit     {on [true]}  lists are complete, whatever limit is requested
  /_test/protobuf         {on [true]}  whether it supports that encoding; open watches end
  /_test/slices           {version "v1" | "v1beta1" | ""}  serve EndpointSlices in this version, or not at all
  /_test/gateways         {on [true]}  serve Gateways and HTTPRoutes of the Gateway API, as with its CRDs
  /_test/backup           {}  keep a copy of the objects, for
  /_test/restore          {}  go back to that copy and its revision, and end every other connection:
                          the clients' revisions then lie in the future
  /_test/malformed        {resource, line [an object with fields of wrong types]}  send these bytes as an
                          event on open watches
  /_test/put              {resource, object, pad_bytes}  store an object unchecked; lists and watches show it.
                          pad_bytes adds an annotation of that size
  /_test/duplicate        {resource, count [1], is_reversed [false]}  send the last events again on open
                          watches
  /_test/reorder          {resource, count [1]}  the next batches of several events that watches send go out
                          in reverse (up to 256 events in one after a silence)
  /_test/bulk             {verb ["create"] | "replace" | "delete", resource ["services"] | "pods" |
                          "endpointslices", count, namespace ["default"], prefix ["bulk-"], start [0],
                          net [172], salt [0], rate [0], stamps [false], headless, endpoints}  change
                          `count` objects <prefix><number>, as fast as possible or `rate` a second.
                          Addresses are <net>.x.y.z by number + salt, the port is http/TCP 80. A slice
                          belongs to the Service of the same name and has that many endpoints [10].
                          Replies with first_ns and last_ns (CLOCK_MONOTONIC, when the event was handed
                          to the watches); with stamps, the time of each event.
"""

import argparse
import asyncio
import gc
import signal
import ssl
import sys

from kubeapi.api import ApiServer, Options
from kubeapi.http1 import Connection
from kubeapi.resources import ENDPOINT_SLICES


class Listener:
    """The listening socket, which a fault may close and reopen."""

    def __init__(self, app: ApiServer, host: str, port: int, tls: ssl.SSLContext | None):
        self._app, self._host, self._port, self._tls = app, host, port, tls
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        if self._server is None:
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(
                lambda: Connection(self._app),
                self._host,
                self._port,
                ssl=self._tls,
                reuse_address=True,
                backlog=512,
            )

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    defaults = Options()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--tls-cert", help="serve HTTPS with this certificate (PEM)")
    parser.add_argument("--tls-key", help="and its key (PEM)")
    parser.add_argument("--token", default="", help="require this bearer token, 401 otherwise")
    parser.add_argument(
        "--service-cidr", default=",".join(defaults.service_cidrs), help="one range, or one of each family"
    )
    parser.add_argument("--history", type=int, default=defaults.history_max, help="events kept for each resource")
    parser.add_argument("--page-max", type=int, default=0, help="largest page, whatever limit is requested")
    parser.add_argument("--bookmark-interval", type=float, default=defaults.bookmark_interval_s, help="seconds")
    parser.add_argument("--slices", default="v1", choices=["v1", "v1beta1", "none"], help="version of EndpointSlices")
    parser.add_argument("--no-mirroring", action="store_true", help="no slices from Endpoints")
    parser.add_argument("--event-lists", action="store_true", help="lists as events, too (sendInitialEvents)")
    parser.add_argument("--json-only", action="store_true", help="do not support protobuf")
    parser.add_argument("--verbose", action="store_true", help="log each request")
    return parser.parse_args()


async def serve(arguments: argparse.Namespace) -> None:
    ENDPOINT_SLICES.version = "" if arguments.slices == "none" else arguments.slices
    app = ApiServer(
        Options(
            service_cidrs=arguments.service_cidr.split(","),
            token=arguments.token,
            history_max=arguments.history,
            page_max=arguments.page_max,
            bookmark_interval_s=arguments.bookmark_interval,
            has_protobuf=not arguments.json_only,
            has_event_lists=arguments.event_lists,
            is_mirroring=not arguments.no_mirroring,
            is_logging=arguments.verbose,
        )
    )
    tls = None
    if arguments.tls_cert:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(arguments.tls_cert, arguments.tls_key)
    listener = Listener(app, arguments.host, arguments.port, tls)
    app.control.listener = listener
    await listener.start()
    print(f"apiserver: ready on {'https' if tls else 'http'}://{arguments.host}:{arguments.port}", flush=True)

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
    await listener.stop()


def main() -> int:
    arguments = parse_arguments()
    # Objects and history are long-lived and have no cycles: keep the garbage collector away from them.
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    try:
        asyncio.run(serve(arguments))
    except (OSError, ssl.SSLError, ValueError) as error:
        print(f"apiserver: {arguments.host}:{arguments.port}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
