'use strict';
// Shows the section Now: objects, outages, owners, and the latest changes with their times.

class Figures {
  constructor() {
    this.operations = new Rates();
    this.chart = new Chart(byId('chart-operations'), {
      rates: this.operations, title: 'Operations in etcd', unit: 'per second', format: formatRate,
    });
  }

  draw() {
    this.chart.draw();
  }

  lose() {
    this.operations.gap(Date.now());
    setText(byId('state'), 'no connection');
    byId('state').className = 'badge bad';
  }

  add(event) {
    this.operations.add(event.time_ms, {operations: event.transactions.operations, transactions: event.transactions.count});
    this.showState(event);
    this.showTiles(event);
    showKinds(event);
    showChanges(event);
    showSkipped(event);
    this.draw();
  }

  showState(event) {
    const state = byId('state'), reason = byId('reason'), doubtful = event.reason !== '';
    setText(state, !event.ready ? 'not ready' : doubtful ? 'ready, with a fault' : 'ready');
    state.className = 'badge ' + (!event.ready ? 'bad' : doubtful ? 'warn' : 'good');
    reason.hidden = !doubtful;
    setText(reason, event.reason);
    setText(byId('about'), `${event.domain} · version ${event.version} · up for ${formatSpan(event.uptime_s)}`);
  }

  showTiles(event) {
    const {leader, etcd, owners, keys, transactions} = event;
    byId('leader').replaceChildren(leader.is_leader ? badge('this one', 'good') : leader.id ? badge('another') : badge('nobody', 'bad'));
    setText(byId('leader-note'), leader.id || (leader.is_leader ? 'the only one' : ''));
    byId('etcd').replaceChildren(etcd.connected ? badge('followed', 'good') : badge('away', 'bad'));
    setText(byId('etcd-note'), etcd.connected ? `revision ${etcd.revision}; heard ${formatSpan(etcd.age_ms / 1000)} ago; ${etcd.endpoint.replace('http://', '')}`
      : `for ${formatSpan(etcd.away_s)}${etcd.reason ? ': ' + etcd.reason : ''}`);
    setText(byId('keys'), formatCount(keys.wanted));
    setText(byId('keys-note'), `wanted; ${formatCount(keys.present)} in etcd, for ${formatCount(owners.known)} Services and addresses`);
    setText(byId('waiting'), formatCount(owners.waiting + owners.in_flight));
    setText(byId('waiting-note'), `${formatCount(owners.in_flight)} in transactions, ${formatCount(owners.held_back)} held back`);
    setText(byId('trouble'), formatCount(owners.contested + owners.refused));
    setText(byId('trouble-note'), `${formatCount(owners.contested)} with another writer, ${formatCount(owners.refused)} refused by etcd`);
    setText(byId('transactions'), formatCount(transactions.count));
    setText(byId('transactions-note'), `since the start; ${formatCount(transactions.failed)} failed`);
  }
}

function whyLink(owner) {
  const service = owner.startsWith('svc/') ? owner.slice(4) : '';
  return service ? make('a', {class: 'mono', href: '#why?' + new URLSearchParams({service})}, service) : make('code', {}, owner);
}

function showKinds(event) {
  const rows = event.kinds.map((kind) => [
    kind.resource === kind.kind ? kind.kind : `${kind.kind} (${kind.resource})`,
    make('span', {}, kind.followed ? badge('followed', 'good') : badge('away', 'bad'),
      kind.followed ? '' : ` for ${formatSpan(kind.away_s)}${kind.reason ? ': ' + kind.reason : ''}`),
    {number: formatCount(kind.count)}, {number: formatCount(kind.skipped)}, {number: formatCount(kind.faults)},
  ]);
  setRows(byId('kinds'), rows, byId('kinds-none'));
}

function showChanges(event) {
  const rows = event.changes.map((change) => [
    make('span', {class: 'when'}, formatClock(change.time_ms)),
    make('span', {}, whyLink(change.owner), ' ', make('span', {class: 'dim'}, `+${change.puts} −${change.deletes}, revision ${change.revision}`)),
    {number: change.api_to_plan_us === undefined ? 'restored' : formatMicros(change.api_to_plan_us)},
    {number: formatMicros(change.plan_to_etcd_us)},
  ]);
  setRows(byId('changes'), rows, byId('changes-none'));
}

function showSkipped(event) {
  const rows = event.skipped.map((flaw) => [
    make('span', {class: 'when'}, formatClock(flaw.time_ms)), make('code', {}, flaw.what), flaw.reason]);
  setRows(byId('skipped'), rows, byId('skipped-none'));
}
