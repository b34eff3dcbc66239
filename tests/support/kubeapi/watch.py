"""One open watch: a position in a resource's history, which advances as fast as the connection accepts data.

Replay and live events are the same: the watch sends the events between its position and the end of the
history. A reader that falls behind the history gets the ERROR event 410, like one that reconnects too
late.
"""

import asyncio
from typing import Callable

from kubeapi.http1 import Connection
from kubeapi.selectors import Predicate
from kubeapi.store import Event

# Events written per turn before checking whether the connection accepts more.
_BATCH = 256


def status_document(code: int, reason: str, message: str, **extra) -> dict:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    } | extra


class Watch:
    def __init__(self, app, connection: Connection, collection, namespace: str, predicate: Predicate | None, encoding):
        """encoding: from encodings or tables."""
        self._app = app
        self._connection = connection
        self._collection = collection
        self.namespace = namespace
        self._predicate = predicate
        self._encoding = encoding
        self._next_index = 0
        self._start_revision = 0
        self._is_scheduled = False
        self._is_closed = False
        self._timers: list[asyncio.TimerHandle] = []
        self._loop = asyncio.get_running_loop()

    def start(self, revision: str, has_bookmarks: bool, timeout_s: float, is_list: bool) -> None:
        """is_list: a bookmark tells that all objects have been sent."""
        self._connection.open_stream(self, self._encoding.watch_content_type)
        if revision in ("", "0"):
            self._start_revision = self._app.store.revision
            objects = [
                o
                for o in self._collection.sorted_objects(self.namespace)
                if not self._predicate or self._predicate(o)
            ]
            self._connection.write_chunks(b"".join(self._encoding.event_of("ADDED", o) for o in objects))
            if is_list:
                self._write_bookmark(self._start_revision, {"annotations": {"k8s.io/initial-events-end": "true"}})
        else:
            self._start_revision = int(revision)
            if self._start_revision < self._collection.expired_revision:
                self._send_expired()
                return
        self._next_index = self._collection.index_after(self._start_revision)
        self._collection.watches.add(self)
        self._timers.append(self._loop.call_later(timeout_s, self._finish))
        if has_bookmarks:
            self._timers.append(self._loop.call_later(self._app.options.bookmark_interval_s, self._bookmark))
        self.schedule()

    def schedule(self) -> None:
        """Sends pending events in the next turn of the loop, so that a burst goes out in one write."""
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._send)

    # ---- For Connection ----

    def resume(self) -> None:
        self.schedule()

    def connection_lost(self) -> None:
        self._close()

    # ---- For faults ----

    def drop(self) -> None:
        self._close()
        self._connection.cut()

    def freeze(self) -> None:
        """Sends nothing more, not even the end: the connection stays open until the client closes it."""
        self._close()

    def inject(self, make_chunks: Callable[[object], bytes]) -> None:
        """Sends the chunks that the function makes in the watch's encoding, after all pending events."""
        self._send()
        if not self._is_closed:
            self._connection.write_chunks(make_chunks(self._encoding))

    # ---- Inside ----

    def _send(self) -> None:
        self._is_scheduled = False
        collection = self._collection
        while not (self._is_closed or self._connection.is_paused or self._app.faults.is_silent):
            first = self._next_index - collection.first_index
            if first < 0:
                self._send_expired()
                return
            batch = collection.events[first : first + _BATCH]
            if not batch:
                return
            self._next_index += len(batch)
            if self._app.faults.take_reordering(collection.resource.plural, len(batch)):
                batch = batch[::-1]
            chunks = self._select(batch)
            if chunks and self._app.faults.take_cut(collection.resource.plural):
                self._close()
                self._connection.cut(b"".join(chunks[:-1]) + chunks[-1][: len(chunks[-1]) // 2])
                return
            self._connection.write_chunks(b"".join(chunks))

    def _select(self, batch: list[Event]) -> list[bytes]:
        if batch[0].revision <= self._start_revision:  # a start in the future: silence until then
            batch = [e for e in batch if e.revision > self._start_revision]
        if self.namespace:
            batch = [e for e in batch if e.object.namespace == self.namespace]
        if self._predicate is None:
            return [self._encoding.event(e) for e in batch]
        seen = [(self._kind_seen(e), e) for e in batch]
        return [self._encoding.event_of(kind, e.object) for kind, e in seen if kind]

    def _kind_seen(self, event: Event) -> str | None:
        """With a selector, an object that starts to match is ADDED, one that stops matching is DELETED."""
        was_seen = event.previous is not None and self._predicate(event.previous)
        is_seen = event.kind != "DELETED" and self._predicate(event.object)
        if is_seen:
            return "MODIFIED" if was_seen else "ADDED"
        return "DELETED" if was_seen else None

    def _send_expired(self) -> None:
        message = f"too old resource version: {self._start_revision} ({self._collection.expired_revision})"
        self._connection.write_chunks(self._encoding.error_event(status_document(410, "Expired", message)))
        self._finish()

    def _bookmark(self) -> None:
        self._timers[-1] = self._loop.call_later(self._app.options.bookmark_interval_s, self._bookmark)
        self._send()
        revision = self._app.store.revision
        is_all_sent = self._next_index == self._collection.first_index + len(self._collection.events)
        if (self._is_closed or self._app.faults.is_silent or not is_all_sent or revision < self._start_revision):
            return
        self._write_bookmark(revision, {})

    def _write_bookmark(self, revision: int, annotations: dict) -> None:
        self._connection.write_chunks(self._encoding.bookmark(self._collection.resource, revision, annotations))

    def _finish(self) -> None:
        if not self._is_closed:
            self._close()
            self._connection.close_stream()

    def _close(self) -> None:
        self._is_closed = True
        self._collection.watches.discard(self)
        for timer in self._timers:
            timer.cancel()
