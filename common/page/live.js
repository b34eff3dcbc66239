'use strict';
// Reads the figures of /live, reconnects by itself, and holds ten minutes of them.

// Holds a rate per second for each name, from totals: the difference of two events over their time.
class Rates {
  constructor() {
    this.names = [];
    this.points = []; // {time_ms, values: Map(name → rate)}, a gap has no values
    this.last = null;
  }

  add(time_ms, totals) {
    const last = this.last;
    this.last = {time_ms, totals};
    for (const name of Object.keys(totals)) {
      if (!this.names.includes(name)) {
        this.names.push(name);
      }
    }
    const seconds = last ? (time_ms - last.time_ms) / 1000 : 0;
    if (seconds <= 0) {
      return;
    }
    const values = new Map();
    for (const [name, total] of Object.entries(totals)) {
      const before = last.totals[name] || 0;
      if (total >= before) { // else it has restarted
        values.set(name, (total - before) / seconds);
      }
    }
    this.put(time_ms, values);
  }

  put(time_ms, values) {
    this.points.push({time_ms, values});
    while (this.points.length > 0 && this.points[0].time_ms < time_ms - HISTORY_S * 1000) {
      this.points.shift();
    }
  }

  // Nothing is known between here and the next event.
  gap(time_ms) {
    if (this.last) {
      this.last = null;
      this.put(time_ms, new Map());
    }
  }
}

// Calls shown(event) for each event; lost(why) when the connection is, and found() when it is back.
class Live {
  constructor({shown, lost, found}) {
    this.shown = shown;
    this.lost = lost;
    this.found = found;
    this.heard_ms = Date.now();
    this.wait_ms = 1000;
    this.is_lost = false;
    this.connect();
    setInterval(() => this.check(), 1000);
  }

  connect() {
    this.source = new EventSource('live');
    this.heard_ms = Date.now();
    this.source.onmessage = (message) => {
      this.heard_ms = Date.now();
      this.wait_ms = 1000;
      if (this.is_lost) {
        this.is_lost = false;
        this.found();
      }
      this.shown(JSON.parse(message.data));
    };
    this.source.onerror = () => this.retry();
  }

  // Closes a silent connection: the machine may have slept.
  check() {
    if (this.source && Date.now() - this.heard_ms > 5000) {
      this.retry();
    }
  }

  // Reconnects by a timer of ours: a browser gives up at the first 503.
  retry() {
    if (!this.source) {
      return;
    }
    this.source.close();
    this.source = null;
    if (!this.is_lost) {
      this.is_lost = true;
      this.lost_ms = this.heard_ms;
    }
    this.lost('No figures since ' + formatClock(this.lost_ms) + '. Trying to connect again …');
    setTimeout(() => this.connect(), this.wait_ms);
    this.wait_ms = Math.min(this.wait_ms * 2, 8000);
  }
}

// Fetches a page: {answer}, or {failure, status}, of which the failure is for people.
async function fetchPage(url) {
  try {
    const reply = await fetch(url, {cache: 'no-store', signal: AbortSignal.timeout(10000)});
    const text = await reply.text();
    return reply.ok ? {answer: JSON.parse(text)} : {failure: text.trim() || `status ${reply.status}`, status: reply.status};
  } catch (error) {
    return {failure: 'The server does not answer.'};
  }
}

// Fetches again and again while wanted; only the last response counts.
class Poll {
  constructor({every_ms, ask, shown, failed}) {
    Object.assign(this, {every_ms, ask, shown, failed, turn: 0, timer: 0});
  }

  start() {
    const turn = ++this.turn;
    clearTimeout(this.timer);
    const step = async () => {
      const url = this.ask();
      const {answer, failure, status} = url ? await fetchPage(url) : {};
      if (turn !== this.turn) {
        return;
      }
      if (failure) {
        this.failed(status ? failure : failure + ' Trying again …');
      } else if (url) {
        this.shown(answer);
      }
      this.timer = setTimeout(step, this.every_ms);
    };
    step();
  }

  stop() {
    this.turn++;
    clearTimeout(this.timer);
  }
}
