'use strict';
// The section Why: /explain's answer as a picture, of the way of the question and of the tree of the name.

const RULES = {
  gave: 'gave a record', hidden: 'hidden: below a label that starts with _', pattern: 'does not match the wildcards',
  duplicate: 'says the same as another key', group: 'of another group', family: 'an address of the other family',
  target: 'its host has no such address', external: 'an upstream is queried for its host', 'no-host': 'has no host',
  'bad-host': 'its host is neither an address nor a name', 'no-text': 'has no text', 'no-mail': 'does not say mail',
  below: 'below the name, where this type does not look', address: 'its host is an address, this type needs a name',
  schema: 'the schema has no such record here', alias: 'the name has a CNAME, so nothing else', type: 'gives no record of this type',
  room: 'no room for more in the answer', stub: 'in a stub zone', veiled: 'the client may not see it',
  far: 'in another zone than the client',
};
const OUTCOMES = {
  answers: 'answers', 'no-name': 'does not exist', failed: 'cannot be answered', asked: 'an upstream decides',
  'too-short': 'too few labels', 'too-long': 'too long for a name',
};
const STATUS_KINDS = {NOERROR: '', NXDOMAIN: 'warn', SERVFAIL: 'bad', REFUSED: 'bad'};
const KEYS_SHOWN = 30; // in the tree

const step = (what, content, kind) => make('li', {class: kind}, make('span', {class: 'what'}, what), content);

// Who asks → what is searched → where it is looked for → the answer.
function wayOfQuestion(x) {
  const steps = [], client = x.client;
  const identities = {pod: `a pod of ${client && client.namespace}`, none: 'no pod', shared: 'pods of several namespaces', node: 'a node'};
  steps.push(step('client', client ? `${client.address}${identities[client.identity] ? ', ' + identities[client.identity] : ''}` : 'anybody'));
  if (client) {
    steps.push(step('allowed', client.allowed ? 'yes' : 'no: outside -allow', client.allowed ? '' : 'absent'));
  }
  steps.push(step('query', make('code', {}, `${x.name} ${x.type}`)));
  if (x.source) {
    steps.push(step('answered by', x.source + (x.nameserver ? ` ${x.nameserver}` : '')));
  } else if (x.domain) {
    steps.push(step('domain', make('span', {}, make('code', {}, x.domain), x.incomplete ? badge('incomplete', 'warn') : '')));
  }
  for (const server of x.nameservers || []) {
    const kind = server.asked === false ? '' : {ok: 'good', dead: 'bad', looping: 'bad'}[server.state];
    steps.push(step('upstream', make('span', {}, make('code', {}, server.address), ' ', badge(server.asked === false ? 'not queried yet' : server.state, kind))));
  }
  const count = (x.answer || []).length;
  steps.push(step('answer', make('span', {}, badge(x.status, STATUS_KINDS[x.status]), count ? ` ${count} record${count > 1 ? 's' : ''}` : ''), 'chosen'));
  return make('ol', {class: 'steps'}, ...steps);
}

// The names that a resolver tries for a short one, in their order.
function searchList(x) {
  const tried = (x.search && x.search.names) || (x.client && x.client.path) || [];
  if (tried.length === 0) {
    return null;
  }
  const first = tried.findIndex((t) => t.outcome === 'answers');
  const assumed = x.search && x.search.assumed ? `, as in the namespace ${x.search.namespace}` : '';
  return make('div', {class: 'card'}, make('h2', {}, 'Search list', make('span', {class: 'dim'}, assumed)),
    make('ol', {class: 'steps'}, ...tried.map((t, i) => step(OUTCOMES[t.outcome] || t.outcome,
      t.name ? whyLink(t.name, x.type) : '–', i === first ? 'chosen' : t.outcome === 'answers' ? '' : 'absent'))));
}

function valueOfKey(key) {
  return Object.entries(key).filter(([field]) => !['key', 'revision', 'known_s', 'rule', 'instead', 'change'].includes(field))
    .map(([field, v]) => `${field} ${typeof v === 'object' ? JSON.stringify(v) : v}`).join(', ');
}

function keyOf(key) {
  return make('li', {class: key.rule === 'gave' ? '' : 'missing'},
    make('span', {class: 'node'}, badge(RULES[key.rule] || key.rule, key.rule === 'gave' ? 'good' : ''), ' ', make('code', {}, shorten(valueOfKey(key))),
      make('div', {class: 'dim mono'}, shorten(key.key), key.instead ? ` (counts: ${shorten(key.instead)})` : ''),
      make('div', {class: 'dim'}, `revision ${key.revision}` + (key.known_s === undefined ? '' : `, known for ${formatSpan(key.known_s)}`))));
}

// Labels of a name, the root's first; \. is no end of one.
function labelsOf(name) {
  return name === '.' ? [] : (name.replace(/\.$/, '').match(/(\\.|[^.\\])+/g) || []).reverse();
}

// From the root down to the name; below it its keys. What does not exist is dashed.
function treeOf(x, one) {
  const labels = labelsOf(one.name), lives = one.exists ? labels.length : labelsOf(one.closest || '.').length;
  const near = (one.near || []).map((name) => make('li', {}, make('span', {class: 'node'}, 'did you mean ', whyLink(name, x.type), '?')));
  const keys = (one.keys || []).slice(0, KEYS_SHOWN).map(keyOf);
  const hidden = (one.key_count || 0) - keys.length;
  const broken = (one.broken || []).map((b) => make('li', {}, make('span', {class: 'node'}, badge('unusable', 'bad'), ' ', make('code', {}, shorten(b.key)), ' ', b.reason)));
  let below = [...keys, ...broken, ...near];
  if (hidden > 0) {
    below.push(make('li', {class: 'dim'}, `… ${formatCount(hidden)} more keys`));
  }
  for (let i = labels.length; i >= 0; i--) {
    const full = i === 0 ? '.' : labels.slice(0, i).reverse().join('.') + '.';
    const exists = i <= lives || i === 0;
    const there = (x.tree || []).find((node) => node.name === full.toLowerCase());
    const notes = [i === 0 ? 'the root' : null, there && there.exists ? `${formatCount(there.records)} record${there.records === 1 ? '' : 's'}` : null, full === x.domain ? 'a domain of this server' : null, exists ? null : 'does not exist'].filter(Boolean);
    const item = make('li', {class: [exists ? '' : 'missing', i === labels.length ? 'asked' : ''].join(' ').trim()},
      make('span', {class: 'node'}, make('code', {}, i === 0 ? '.' : labels[i - 1]), notes.length ? make('span', {class: 'dim'}, ' ' + notes.join(', ')) : ''));
    if (below.length > 0) {
      item.append(make('ul', {}, ...below));
    }
    below = [item];
  }
  const title = one.host_of ? `${one.name} (the host of ${one.host_of})` : one.name;
  return make('div', {class: 'card'}, make('h2', {class: 'mono'}, title), make('ul', {class: 'tree'}, ...below));
}

// API event → kube2sky → etcd → skydns → answered, of the latest change below the name.
function wayOfChange(x, event) {
  const keys = x.names.flatMap((one) => one.keys || []).filter((key) => key.rule === 'gave');
  const newest = keys.reduce((a, b) => (a && a.revision >= b.revision ? a : b), null);
  if (!newest) {
    return null;
  }
  const change = newest.change || ((event && event.changes) || []).find((c) => c.key === newest.key && c.revision === newest.revision);
  const took = change && change.took_us !== undefined ? `all threads have it ${formatMicros(change.took_us)} later` : 'all threads have it';
  return make('div', {class: 'card'}, make('h2', {}, 'The way of its latest change'),
    make('ol', {class: 'steps'},
      step('Kubernetes API', 'an object changed; when, kube2sky’s page says', 'absent'),
      step('kube2sky, or another writer', make('code', {}, shorten(newest.key))),
      step('etcd', `revision ${newest.revision}${change ? ', ' + formatClock(change.time_ms) : ''}`),
      step('skydns', `${took}; known for ${formatSpan(newest.known_s)}`),
      step('answered', badge(x.status, STATUS_KINDS[x.status]), 'chosen')));
}

function listOf(title, lines) {
  return lines && lines.length ? make('div', {class: 'card'}, make('h2', {}, title),
    ...lines.map((line) => make('div', {}, make('code', {}, shorten(line))))) : null;
}

// The way, the names and the records of an explanation; `change` comes between, if there is one.
function partsOfExplanation(x, change) {
  const near = (x.near || []).length ? make('p', {}, 'Did you mean ', ...x.near.flatMap((name) => [whyLink(name, x.type), ' ']), '?') : null;
  return [make('div', {class: 'card'}, make('h2', {}, 'The way of the query'), wayOfQuestion(x), x.why ? make('p', {}, x.why) : null, near),
    searchList(x), ...x.names.map((one) => treeOf(x, one)), change,
    listOf('Answer', x.answer), listOf('Authority', x.authority), listOf('Additional', x.additional)];
}

class Why {
  constructor(latest) {
    this.latest = latest; // the last event
    this.shown = '';
    this.poll = new Poll({
      every_ms: 2000,
      ask: () => this.query && 'explain?' + this.query,
      shown: (x) => this.show(x),
      failed: (why) => this.fail(why),
    });
    followForm('why', ['name', 'type', 'client'], (query) => this.open(query));
  }

  open(query) {
    if (query.get('name')) {
      byId('why-name').value = query.get('name');
      byId('why-type').value = query.get('type') || 'A';
      byId('why-client').value = query.get('client') || '';
      this.query = query.toString();
    }
    this.poll.start();
  }

  fail(why) {
    this.shown = '';
    putContent(byId('why-answer'), make('p', {class: 'notice warn'}, why));
  }

  show(x) {
    const shown = JSON.stringify(x, (field, value) => (/_s$/.test(field) ? undefined : value)) + (this.latest() || {}).changes;
    if (shown === this.shown) {
      return; // ages alone are no news
    }
    this.shown = shown;
    const etcd = x.etcd && x.etcd.connected === false ? make('p', {class: 'notice warn'}, `etcd has been away for ${formatSpan(x.etcd.away_s)}: ${x.etcd.reason}`) : null;
    putContent(byId('why-answer'), etcd, ...partsOfExplanation(x, wayOfChange(x, this.latest())),
      make('p', {}, make('a', {href: '#past?' + this.query}, 'What changed it, and what was answered then')));
  }
}
