'use strict';
// What starts when the document is there.

addEventListener('DOMContentLoaded', () => {
  let latest = null;
  const records = new Records(), clients = new Clients(), missing = new Missing(), why = new Why(() => latest), past = new Past();
  const sections = {
    records: {open: () => records.poll.start(), close: () => records.poll.stop()},
    clients: {open: () => clients.poll.start(), close: () => clients.poll.stop()},
    missing: {open: () => missing.poll.start(), close: () => missing.poll.stop()},
    why: {open: (query) => why.open(query), close: () => why.poll.stop()},
    past: {open: (query) => past.open(query), close: () => past.close()},
  };
  startPage('skydns', new Figures(), sections, (event) => {
    latest = event;
  });
});
