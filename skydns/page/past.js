'use strict';
// The section Past: the changes of a name out of etcd's history, what was answered at a moment of it, and what changed
// between two. It is of loopback and -http-allow: others see why they may not.

const PAST_TRIES = 5; // a second apart: one question is answered at a time
const PAST_FIELDS = ['name', 'type', 'client', 'since', 'at'];

const goneText = (text) => make('del', {class: 'mono'}, '− ' + shorten(text));
const newText = (text) => make('ins', {class: 'mono'}, '+ ' + shorten(text));
const pastTime = (moment) => moment.time || `revision ${moment.revision}`;

// Says from when on etcd has the history: an older moment is compacted.
function pastFailure(failure, status) {
  if (status !== 410) {
    return failure;
  }
  const {asked, oldest} = JSON.parse(failure);
  return `${asked} is gone: the oldest that can be had is ` +
    (oldest.revision ? `revision ${oldest.revision}` : 'not known') + (oldest.time ? `, the oldest time ${oldest.time}` : '');
}

// Groups the changes by their revision: the moments at which the answer may have become another one, the newest first. The
// last moment is the one after which the list begins.
function momentsOf(history) {
  const moments = [];
  for (const change of history.changes) {
    const last = moments[moments.length - 1];
    if (last && last.revision === change.revision) {
      last.changes.push(change);
    } else {
      moments.push({revision: change.revision, time: change.time, time_ms: change.time_ms, changes: [change]});
    }
  }
  if (!history.more) {
    moments.push({...history.from, changes: []});
  }
  return moments;
}

function changeOf(change) {
  const kind = change.after === undefined ? 'deleted' : change.before === undefined ? 'new' : 'changed';
  return make('div', {}, badge(kind), ' ', make('span', {class: 'dim mono'}, shorten(change.key)),
    change.before === undefined ? null : make('div', {}, goneText(change.before)),
    change.after === undefined ? null : make('div', {}, newText(change.after)));
}

// Draws the moments by their times, or evenly if one has none. The table says the same.
function timeLineOf(moments, query) {
  const width = 1000, times = moments.map((moment) => moment.time_ms), last = moments.length - 1;
  const span = times[0] - times[last];
  const x = (i) => 10 + (width - 20) * (span > 0 ? (times[i] - times[last]) / span : last > 0 ? (last - i) / last : 0.5);
  const line = svg('svg', {class: 'timeline', viewBox: `0 0 ${width} 24`, preserveAspectRatio: 'none', role: 'img',
    'aria-label': `${moments.length} moments from ${pastTime(moments[last])} to ${pastTime(moments[0])}`});
  line.append(svg('line', {class: 'rule', x1: 0, x2: width, y1: 12, y2: 12}));
  moments.forEach((moment, i) => {
    const revision = String(moment.revision), is_chosen = revision === query.get('at') || revision === query.get('from');
    line.append(svg('line', {class: is_chosen ? 'moment chosen' : 'moment', x1: x(i), x2: x(i), y1: is_chosen ? 0 : 5, y2: is_chosen ? 24 : 19}));
  });
  return line;
}

// Keys of all names that an explanation looked at, with what they said.
const saidByKeys = (x) => new Map(x.names.flatMap((one) => one.keys || []).map((key) => [key.key, `${valueOfKey(key)}, revision ${key.revision}`]));

// Lists what only one of the two answers has.
function differencesOf(before, after) {
  const items = [];
  const differ = (title, gone, come) => {
    if (gone.length + come.length > 0) {
      items.push(make('dt', {}, title), ...gone.map((text) => make('dd', {}, goneText(text))),
        ...come.map((text) => make('dd', {}, newText(text))));
    }
  };
  const lists = (title, a, b) => differ(title, a.filter((text) => !b.includes(text)), b.filter((text) => !a.includes(text)));
  lists('Result', [before.status], [after.status]);
  lists('Why', before.why ? [before.why] : [], after.why ? [after.why] : []);
  for (const section of ['answer', 'authority', 'additional']) {
    lists(section[0].toUpperCase() + section.slice(1), before[section] || [], after[section] || []);
  }
  const then = saidByKeys(before), now = saidByKeys(after);
  for (const key of new Set([...then.keys(), ...now.keys()])) {
    if (then.get(key) !== now.get(key)) {
      differ(shorten(key), [then.get(key)].filter(Boolean), [now.get(key)].filter(Boolean));
    }
  }
  return items.length > 0 ? make('dl', {class: 'differences'}, ...items) : make('p', {class: 'differences'}, 'Nothing: both answers are the same.');
}

function pastTitle(at) {
  const by = at.mark ? `, by the mark of ${at.mark.time}` : '';
  return make('p', {}, `The answer as of ${at.asked}: revision ${at.revision}${by}. Settings are those of today.`);
}

class Past {
  constructor() {
    this.turn = 0; // what was asked before is not shown any more
    followForm('past', PAST_FIELDS, (query) => this.open(query));
    byId('past-moments').addEventListener('change', (event) => this.choose(event.target.name, event.target.value));
  }

  close() {
    this.turn++;
    clearTimeout(this.chosen);
  }

  // Returns null if something else is wanted by now, or if it failed, which it has told.
  async ask(page, query) {
    const turn = this.turn;
    for (let tries = 1; turn === this.turn; tries++) {
      const {answer, failure, status} = await fetchPage(`${page}?` + new URLSearchParams(query));
      if (turn === this.turn && answer) {
        return answer;
      }
      if (turn === this.turn && (status !== 503 || tries === PAST_TRIES)) {
        putContent(byId('past-answer'), make('p', {class: 'notice warn'}, pastFailure(failure, status)));
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    return null;
  }

  async open(query) {
    this.close();
    this.query = new URLSearchParams(query);
    if (!query.get('name')) {
      return;
    }
    for (const field of PAST_FIELDS) {
      byId(`past-${field}`).value = query.get(field) || {type: 'A', since: '1h'}[field] || '';
    }
    putContent(byId('past-answer'), make('p', {class: 'nothing'}, 'Reading etcd’s history …'));
    byId('past-changes').hidden = true;
    const history = await this.ask('history', {name: query.get('name'), since: query.get('since') || '1h'});
    if (history) {
      this.moments = momentsOf(history);
      if (!query.get('at')) {
        this.query.set('at', this.moments[0].revision);
      }
      if (!query.get('from') && !query.get('at') && this.moments.length > 1) {
        this.query.set('from', this.moments[1].revision);
      }
      this.showMoments(history);
      this.showAnswers();
    }
  }

  showMoments(history) {
    const cuts = {compacted: '; etcd has dropped what was before', unmarked: '; this server knows no earlier time'};
    byId('past-changes').hidden = false;
    setText(byId('past-title'), `Changes of ${history.name} since ${pastTime(history.from)}${cuts[history.cut] || ''}`);
    byId('past-more').hidden = !history.more;
    setText(byId('past-more'), `and ${formatCount(history.more || 0)} older ones`);
    const radio = (which, title, moment) => make('label', {class: 'choice'}, make('input', {type: 'radio', name: which, value: moment.revision,
      checked: String(moment.revision) === this.query.get(which)}), title, make('span', {class: 'unseen'}, ` revision ${moment.revision}`));
    setRows(byId('past-moments'), this.moments.map((moment) => [
      make('div', {class: 'choices'}, radio('from', 'from', moment), radio('at', 'to', moment)),
      make('div', {}, make('code', {}, moment.time || ''), make('div', {class: 'dim'}, `revision ${moment.revision}`)),
      moment.changes.length ? make('div', {}, ...moment.changes.map(changeOf)) : make('span', {class: 'dim'}, 'where this list begins'),
    ]));
    putContent(byId('past-line'), timeLineOf(this.moments, this.query));
  }

  // Waits a moment, since arrow keys pass over others.
  choose(which, revision) {
    this.close();
    this.query.set(which, revision);
    history.replaceState(null, '', '#past?' + this.query);
    putContent(byId('past-line'), timeLineOf(this.moments, this.query));
    this.chosen = setTimeout(() => this.showAnswers(), 200);
  }

  async showAnswers() {
    const question = {name: this.query.get('name'), type: this.query.get('type') || 'A', client: this.query.get('client') || ''};
    const from = this.query.get('from');
    const after = await this.ask('explain', {...question, at: this.query.get('at')});
    const before = after && from ? await this.ask('explain', {...question, at: from}) : null;
    if (!after || (from && !before)) {
      return;
    }
    putContent(byId('past-answer'),
      before ? make('div', {class: 'card'}, make('h2', {}, `What changed from revision ${before.revision} to ${after.revision}`), differencesOf(before, after)) : null,
      make('div', {class: 'card'}, make('h2', {}, 'What was answered'), pastTitle(after.at)), ...partsOfExplanation(after));
  }
}
