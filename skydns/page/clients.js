'use strict';
// The section Clients: who asked most in the last five minutes, and what the search list costs each namespace.

function formatShare(share) {
  return {number: share > 0 && share < 0.001 ? '<0.1 %' : (100 * share).toFixed(1) + ' %'};
}

// Queries that were saved, and their part of all.
function formatSaving(saved, queries) {
  return {number: saved > 0 ? `${formatCount(saved)} (${Math.round(100 * saved / queries)} %)` : '–'};
}

class Clients {
  constructor() {
    this.poll = new Poll({
      every_ms: 2000,
      ask: () => 'clients',
      shown: (page) => this.show(page),
      failed: (why) => setText(byId('clients-note'), why),
    });
  }

  show(page) {
    const per_s = page.namespaces.reduce((sum, item) => sum + item.queries, 0) / page.window_s;
    setText(byId('clients-note'), `Of the last ${formatSpan(page.window_s)}: ${formatRate(per_s)} queries/s; the mean answer over UDP takes ${formatMicros(page.cpu_us_per_query)} of a CPU`);
    const clients = page.clients.map((client) => [
      make('code', {}, client.address),
      client.pod ? `${client.namespace}/${client.pod}` : client.namespace || make('span', {class: 'dim'}, 'not known'),
      {number: formatRate(client.per_s) + (client.lacks > 0 ? ` (+${formatCount(client.lacks)})` : '')},
      formatShare(client.nxdomain_share),
      formatShare(client.external_share),
      formatShare(client.miss_share),
    ]);
    setRows(byId('busy'), clients, byId('busy-none'));
    const namespaces = page.namespaces.map((item) => [
      item.namespace || make('span', {class: 'dim'}, 'none known'),
      {number: formatCount(item.clients)},
      {number: formatCount(item.queries)},
      {number: formatCount(item.misses)},
      formatSaving(item.ndots1_saves, item.queries),
      page.autopath ? {number: 'on'} : formatSaving(item.autopath_saves, item.queries),
      {number: item.autopath_saves_cpu_ms > 0 ? formatMicros(1000 * item.autopath_saves_cpu_ms / page.window_s) : '–'},
    ]);
    setRows(byId('bill'), namespaces, byId('bill-none'));
    byId('bill-more').hidden = page.namespaces_more === 0;
    setText(byId('bill-more'), `and ${formatCount(page.namespaces_more)} more`);
  }
}
