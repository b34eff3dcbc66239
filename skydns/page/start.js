'use strict';
// What starts when the document is there.

addEventListener('DOMContentLoaded', () => {
  let latest = null, section = 'now';
  const figures = new Figures(), records = new Records(), why = new Why(() => latest);
  const lost = byId('lost');
  new Live({
    shown: (event) => {
      latest = event;
      figures.add(event);
    },
    lost: (text) => {
      figures.lose();
      lost.hidden = false;
      setText(lost, text);
    },
    found: () => {
      lost.hidden = true;
    },
  });
  followSections(['now', 'records', 'why'], (name, query) => {
    section = name;
    records.poll.stop();
    why.poll.stop();
    document.title = `skydns · ${{now: 'now', records: 'records', why: 'why'}[name]}`;
    if (section === 'records') {
      records.poll.start();
    } else if (section === 'why') {
      why.open(query);
    } else {
      figures.draw();
    }
  });
});
