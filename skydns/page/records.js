'use strict';
// The section Records: searches as one types, and again every second while it is shown.

function valueOf(record) {
  const parts = [];
  for (const [field, value] of Object.entries(record)) {
    if (!['name', 'match', 'key', 'revision', 'known_s'].includes(field)) {
      const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
      parts.push(make('div', {}, make('span', {class: 'dim'}, field + ' '), make('code', {}, shorten(text))));
    }
  }
  return make('div', {}, ...parts);
}

// A value may have 64 KiB.
function shorten(text) {
  return text.length > 400 ? `${text.slice(0, 400)}… (${text.length} characters)` : text;
}

class Records {
  constructor() {
    this.input = byId('search');
    this.poll = new Poll({
      every_ms: 1000,
      ask: () => 'search?' + new URLSearchParams({q: this.input.value.trim()}),
      shown: (found) => this.show(found),
      failed: (why) => setText(byId('search-count'), why),
    });
    this.input.addEventListener('input', () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.poll.start(), 120);
    });
    byId('search-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.poll.start();
    });
  }

  show(found) {
    const shown = found.records.length;
    setText(byId('search-count'), found.matches > shown ? `${formatCount(found.matches)} found, the best ${shown} are shown; etcd revision ${found.revision}`
      : `${formatCount(found.matches)} found; etcd revision ${found.revision}`);
    const rows = found.records.map((record) => [
      make('div', {}, whyLink(record.name, typeOf(record)), make('div', {class: 'dim mono'}, shorten(record.key))),
      valueOf(record),
      {number: String(record.revision)},
      {number: formatSpan(record.known_s)},
    ]);
    setRows(byId('found'), rows, byId('found-none'));
  }
}

// The type that one would ask for.
function typeOf(record) {
  const host = record.host || '';
  return host.includes(':') ? 'AAAA' : /^[0-9.]+$/.test(host) ? 'A' : host ? 'CNAME' : 'TXT';
}
