'use strict';
// The section Now: rates of the last second, ten minutes of them as lines, and tables.

const WINDOW_S = 10; // for figures that one second has too few of

class Figures {
  constructor() {
    const count = (n) => formatRate(n);
    this.queries = new Rates();
    this.rcodes = new Rates();
    this.types = new Rates();
    this.latency = new Rates();
    this.latency.names = ['p50', 'p90', 'p99'];
    this.events = []; // of the last WINDOW_S
    const chart = (id, rates, title, unit, format) => new Chart(byId(id), {rates, title, unit, format});
    this.charts = [
      chart('chart-queries', this.queries, 'Queries by transport', 'per second', count),
      chart('chart-latency', this.latency, 'Answer time', 'p50, p90 and p99 of responses', formatMicros),
      chart('chart-rcodes', this.rcodes, 'Responses by result', 'per second', count),
      chart('chart-types', this.types, 'Queries by type', 'per second', count),
    ];
  }

  draw() {
    this.charts.forEach((chart) => chart.draw());
  }

  lose() {
    const now = Date.now();
    for (const rates of [this.queries, this.rcodes, this.types]) {
      rates.gap(now);
    }
    this.latency.put(now, new Map());
    this.events = [];
    setText(byId('state'), 'no connection');
    byId('state').className = 'badge bad';
  }

  add(event) {
    const last = this.events[this.events.length - 1];
    if (last && event.uptime_s < last.uptime_s) {
      this.lose(); // it has restarted
    }
    this.events.push(event);
    while (this.events[0].time_ms < event.time_ms - WINDOW_S * 1000 - 500) {
      this.events.shift();
    }
    this.queries.add(event.time_ms, event.queries || {});
    this.rcodes.add(event.time_ms, event.rcodes || {});
    this.types.add(event.time_ms, event.types || {});
    byId('chart-types').hidden = !event.types;
    const quantiles = this.quantiles(event);
    this.latency.put(event.time_ms, quantiles);
    this.showState(event);
    this.showTiles(event, quantiles);
    showChanges(event);
    showTop(event);
    showServers(event);
    showCache(event);
    this.draw();
  }

  // How much a total has grown within the window.
  growth(event, total) {
    return Math.max(0, total(event) - total(this.events[0]));
  }

  // Of all transports together, within the window; of replies in one bucket, evenly spread.
  quantiles(event) {
    const all = Object.keys(event.latency || {});
    if (all.length === 0) {
      return new Map();
    }
    const bounds = event.latency[all[0]].bounds_us;
    const counts = [...bounds, 0].map((_, i) => all.reduce((sum, name) =>
      sum + this.growth(event, (e) => ((e.latency || {})[name] || {counts: []}).counts[i] || 0), 0));
    const total = counts.reduce((a, b) => a + b, 0);
    const values = new Map();
    for (const part of total > 0 ? [50, 90, 99] : []) {
      let left = total * part / 100, i = 0;
      while (i < bounds.length && left > counts[i]) {
        left -= counts[i++];
      }
      const low = i > 0 ? bounds[i - 1] : 0, high = i < bounds.length ? bounds[i] : low;
      values.set('p' + part, low + (high - low) * (counts[i] ? left / counts[i] : 1));
    }
    return values;
  }

  showState(event) {
    const state = byId('state'), reason = byId('reason');
    const doubtful = event.reason !== '';
    setText(state, !event.ready ? 'not ready' : doubtful ? 'ready, with a fault' : 'ready');
    state.className = 'badge ' + (!event.ready ? 'bad' : doubtful ? 'warn' : 'good');
    reason.hidden = !doubtful;
    setText(reason, event.reason);
    setText(byId('about'), `${event.domains.join(' ')} · version ${event.version} · up for ${formatSpan(event.uptime_s)}`);
  }

  showTiles(event, quantiles) {
    const total = (of) => Object.values(of || {}).reduce((a, b) => a + b, 0);
    const points = this.queries.points, now = points.length ? points[points.length - 1].values : new Map();
    setText(byId('rate'), now.size ? formatRate([...now.values()].reduce((a, b) => a + b, 0)) + '/s' : '–');
    setText(byId('rate-note'), `${formatCount(total(event.queries))} since the start`);
    setText(byId('p99'), quantiles.size ? formatMicros(quantiles.get('p99')) : '–');
    setText(byId('p99-note'), quantiles.size ? `p99 over ${WINDOW_S} s, p50 ${formatMicros(quantiles.get('p50'))}` : `no response measured in ${WINDOW_S} s`);
    const hits = (e) => e.cache ? e.cache.hits + e.cache.negative_hits + e.cache.stale_hits + e.cache.failure_hits : 0;
    const hit = this.growth(event, hits), missed = this.growth(event, (e) => e.cache ? e.cache.misses : 0);
    setText(byId('hits'), hit + missed > 0 ? Math.round(100 * hit / (hit + missed)) + ' %' : '–');
    setText(byId('hits-note'), !event.cache ? 'the response cache is off' : hit + missed > 0 ? `of ${hit + missed} queries in ${WINDOW_S} s` : `no query for an external name in ${WINDOW_S} s`);
    setText(byId('record-count'), event.ready || event.records > 0 ? formatCount(event.records) : '–');
    byId('record-note').replaceChildren(event.unusable > 0 ? badge(`${event.unusable} unusable`, 'bad') : event.names !== undefined ? `${formatCount(event.names)} names` : '');
    const etcd = event.etcd;
    byId('etcd').replaceChildren(etcd.connected ? badge('followed', 'good') : badge('away', 'bad'));
    setText(byId('etcd-note'), etcd.connected ? `revision ${etcd.revision}, ${etcd.lag} behind; heard ${formatSpan(etcd.age_ms / 1000)} ago; ${etcd.endpoint.replace('http://', '')}`
      : `for ${formatSpan(etcd.away_s)}${etcd.reason ? ': ' + etcd.reason : ''}`);
    const clients = event.clients || {limited: 0, refused: 0};
    setText(byId('turned-away'), formatCount(clients.limited + clients.refused + event.dropped));
    setText(byId('turned-away-note'), `beyond a rate ${formatCount(clients.limited)}, not allowed ${formatCount(clients.refused)}, no query ${formatCount(event.dropped)}`);
  }
}

function whyLink(name, type) {
  return make('a', {class: 'mono', href: '#why?' + new URLSearchParams({name, type: type || 'A'})}, name);
}

function showChanges(event) {
  const rows = (event.changes || []).map((change) => [
    make('span', {class: 'when'}, formatClock(change.time_ms)),
    make('span', {}, badge(change.kind), ' ', change.name ? whyLink(change.name) : make('code', {}, change.key || ''), ' ',
      make('span', {class: 'dim'}, `revision ${change.revision}`)),
    {number: change.took_us === undefined ? '–' : formatMicros(change.took_us)},
  ]);
  setRows(byId('changes'), rows, byId('changes-none'));
}

function showTop(event) {
  const top = (event.top || []).slice(0, 10), all = (event.top || []).reduce((sum, item) => sum + item.count, 0);
  const rows = top.map((item) => [whyLink(item.name, item.type), item.type, {number: (100 * item.count / all).toFixed(1) + ' %'}]);
  setRows(byId('top'), rows, byId('top-none'));
}

function showServers(event) {
  const kinds = {up: 'good', down: 'bad', looping: 'bad'}; // unknown is not well
  const number = (n) => ({number: n === undefined ? '–' : formatCount(n)});
  const rows = (event.nameservers || []).map((server) => [
    server.zone === '.' ? 'all others' : server.zone,
    make('code', {}, server.address),
    badge(server.state === 'unknown' ? 'not queried yet' : server.state, kinds[server.state]),
    number(server.queries),
    number(server.failures),
  ]);
  setRows(byId('servers'), rows, byId('servers-none'));
  byId('servers-more').hidden = !event.nameservers_more;
  setText(byId('servers-more'), `and ${event.nameservers_more} more`);
}

function showCache(event) {
  const c = event.cache;
  const rows = !c ? [] : [
    ['Cached responses', {number: `${formatCount(c.entries)} of ${formatCount(c.limit)}, ${formatBytes(c.bytes)}`}],
    ['Hits: records', {number: formatCount(c.hits)}],
    ['Hits: denials', {number: formatCount(c.negative_hits)}],
    ['Hits: stale, as upstreams fail', {number: formatCount(c.stale_hits)}],
    ['Hits: failures', {number: formatCount(c.failure_hits)}],
    ['Misses', {number: formatCount(c.misses)}],
    ['Refreshed before they expire', {number: formatCount(c.prefetches)}],
    ['Dropped to make room', {number: formatCount(c.evictions)}],
  ];
  setRows(byId('cache'), rows, byId('cache-none'));
}
