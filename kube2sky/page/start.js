'use strict';
// Starts the page when the document is loaded.

const PLAN_LINES_MAX = 500, PLAN_EVERY_MS = 3000;

// Polls the plan while it is shown; reads no more of a long plan than it shows.
class Plan {
  start() {
    this.stop();
    this.abort = new AbortController();
    this.ask(this.abort.signal);
  }

  stop() {
    clearTimeout(this.timer);
    if (this.abort) {
      this.abort.abort();
    }
  }

  async ask(signal) {
    let text = '', more = false;
    try {
      const reply = await fetch('plan', {cache: 'no-store', signal});
      const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        text += part.value;
        if (text.split('\n').length > PLAN_LINES_MAX) {
          more = true;
          await reader.cancel();
          break;
        }
      }
    } catch (error) {
      text = '# kube2sky does not answer. Trying again …';
    }
    if (!signal.aborted) {
      byId('plan-lines').replaceChildren(...text.split('\n').slice(0, PLAN_LINES_MAX).filter(Boolean).map((line) => make('div', {}, line)));
      byId('plan-more').hidden = !more;
      setText(byId('plan-more'), 'and more: see /plan');
      this.timer = setTimeout(() => this.ask(signal), PLAN_EVERY_MS);
    }
  }
}

addEventListener('DOMContentLoaded', () => {
  const plan = new Plan(), why = new Why();
  startPage('kube2sky', new Figures(), {
    plan: {open: () => plan.start(), close: () => plan.stop()},
    why: {open: (query) => why.open(query), close: () => why.poll.stop()},
  });
});
