'use strict';
// Shows the section Why: one Service, its keys, and the reasons why some are not in etcd.

const KEY_KINDS = {present: 'good', missing: 'warn', differs: 'warn', unwanted: 'warn', unknown: ''};

function card(title, ...content) {
  return make('div', {class: 'card after'}, make('h2', {}, title), ...content);
}

function tableOf(title, heads, rows, more) {
  if (rows.length === 0) {
    return null;
  }
  const body = make('tbody');
  const table = make('table', {}, make('thead', {}, make('tr', {}, ...heads.map((head) => make('th', {scope: 'col'}, head)))), body);
  setRows(body, rows);
  return card(title, make('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': title}, table),
    more ? make('p', {class: 'nothing'}, `and ${more} more`) : null);
}

function serviceCard(x) {
  const lines = x.exists ? [
    x.understood ? `type ${x.type || 'ClusterIP'}${x.headless ? ', headless' : ''}` : 'cannot be understood: its keys are unchanged',
    x.external_name ? `is ${x.external_name}` : (x.cluster_ips || []).join(', '),
    (x.ports || []).map((port) => `${port.name || 'unnamed'} ${port.port}/${port.protocol}`).join(', '),
    x.endpoints ? `endpoints: ${x.endpoints.ready} ready, ${x.endpoints.not_ready} not ready` : '',
  ] : ['does not exist; this is what is left of it'];
  return make('div', {class: 'card'}, make('h2', {}, x.service), make('p', {}, badge(x.state, x.state === 'settled' ? 'good' : 'warn'),
    ` ${x.due.puts} puts and ${x.due.deletes} deletes are due`), ...lines.filter(Boolean).map((line) => make('div', {}, line)),
  ...x.reasons.map((reason) => make('p', {class: 'notice warn'}, reason)));
}

class Why {
  constructor() {
    this.shown = '';
    this.poll = new Poll({
      every_ms: 2000,
      ask: () => this.service && 'explain?' + new URLSearchParams({service: this.service}),
      shown: (x) => this.show(x),
      failed: (why) => this.fail(why),
    });
    followForm('why', ['service'], (query) => this.open(query));
  }

  open(query) {
    if (query.get('service')) {
      this.service = query.get('service');
      byId('why-service').value = this.service;
    }
    this.poll.start();
  }

  put(...content) {
    byId('why-answer').replaceChildren(...content.filter(Boolean));
  }

  // A refusal is JSON, too.
  fail(why) {
    let x = {};
    this.shown = '';
    try {
      x = JSON.parse(why);
    } catch (error) {
      x.error = why;
    }
    const text = x.error || (x.followed === false ? `${x.service} is not followed: --namespaces has other namespaces` :
      x.not_listed ? `${x.service} is not known yet: ${x.not_listed}` : `${x.service} does not exist`);
    const near = (x.near || []).flatMap((name) => [whyLink('svc/' + name), ' ']);
    this.put(make('p', {class: 'notice warn'}, text), near.length ? make('p', {}, 'Did you mean ', ...near, '?') : null);
  }

  show(x) {
    const shown = JSON.stringify(x, (field, value) => (/_m?s$/.test(field) ? undefined : value));
    if (shown === this.shown) {
      return; // ages alone are no news
    }
    this.shown = shown;
    const code = (text) => make('code', {}, text);
    this.put(serviceCard(x),
      tableOf('Keys', ['Key', 'Wanted', 'State', 'Revision'], x.keys.map((key) =>
        [code(key.key), code(key.value || ''), badge(key.state, KEY_KINDS[key.state]), {number: key.revision || '–'}]), x.keys_more),
      tableOf('Reverse names', ['Address', 'Name', 'State'], x.reverse.map((claim) =>
        [code(claim.address), make('span', {}, code(claim.winner || claim.host), claim.wins ? '' : ` of ${claim.winner_owner} wins against ${claim.host}`),
          badge(claim.state, KEY_KINDS[claim.state])]), x.reverse_more),
      tableOf('Held back', ['What', 'Key'], x.held_back.map((held) => [held.what, code(held.key)]), x.held_back_more),
      tableOf('Not understood', ['Object', 'Why'], x.faults.map((fault) => [code(`${fault.kind} ${fault.name}`), fault.reason]), x.faults_more),
      tableOf('Left out', ['What', 'Value', 'Why'], x.skipped.map((drop) => [drop.what, code(drop.value), drop.reason]), x.skipped_more));
  }
}
