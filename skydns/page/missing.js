'use strict';
// The section Missing: names that pods ask for and that do not exist, and what they may have meant. It is of loopback and
// -http-allow: others see why they may not.

const MISSING_WHY = {
  deleted: 'deleted', spelling: 'mistyped', plural: 'singular or plural', namespace: 'in another namespace', svc: 'svc is missing',
  pod: 'a pod, without its Service', order: 'labels swapped', domain: 'the domain is there twice', similar: 'similar',
  hidden: 'hidden from the client', created: 'exists by now', unexplained: 'nothing is like it',
};

class Missing {
  constructor() {
    this.poll = new Poll({
      every_ms: 5000,
      ask: () => 'missing',
      shown: (page) => this.show(page),
      failed: (why) => setText(byId('missing-about'), why),
    });
  }

  show(page) {
    const counts = `Queries within ${formatSpan(page.span_s)}, from one sample in ${page.sampled}`;
    setText(byId('missing-about'), page.dropped > 0 ? `${counts}; ${formatCount(page.dropped)} samples had no room.` : counts + '.');
    setRows(byId('missing-names'), page.names.map((row) => [
      whyLink(row.name, row.type),
      row.namespace || make('span', {class: 'dim'}, 'not known'),
      missingMeant(row),
      {number: formatCount(row.queries)},
    ]), byId('missing-names-none'));
    setRows(byId('missing-aliases'), page.aliases.map((row) => [
      whyLink(row.name, row.type),
      row.namespace || make('span', {class: 'dim'}, 'not known'),
      make('code', {}, row.target),
      {number: formatCount(row.queries)},
    ]), byId('missing-aliases-none'));
    setRows(byId('missing-upstreams'), (page.upstreams || []).map((server) => [
      server.zone === '.' ? 'all others' : server.zone,
      make('code', {}, server.address),
      {number: formatCount(server.timeouts)},
      {number: formatCount(server.queries)},
    ]), byId('missing-upstreams-none'));
  }
}

function missingMeant(row) {
  const gone = row.deleted;
  const parts = gone ? ['deleted at ', make('span', {class: 'when'}, formatClock(gone.time_ms)), gone.service ? `, Service ${gone.service}` : '',
    gone.address ? `, ${gone.address}` : ''] : [MISSING_WHY[row.why] || row.why];
  return make('div', {}, row.near ? make('div', {}, whyLink(row.near, row.type)) : null, make('span', {class: 'dim'}, ...parts));
}
