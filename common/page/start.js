'use strict';
// Starts a program's page: it shows the figures of /live, says when they are lost, and has sections, of which `now` has
// the figures.

// sections: the others, by name, {open(query), close()}: open() when one is shown, close() whenever another may be.
// shown(event) is called for each event.
function startPage(program, figures, sections, shown = () => {}) {
  const lost = byId('lost');
  new Live({
    shown: (event) => {
      shown(event);
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
  followSections(['now', ...Object.keys(sections)], (name, query) => {
    Object.values(sections).forEach((section) => section.close());
    document.title = `${program} · ${name}`;
    if (name === 'now') {
      figures.draw();
    } else {
      sections[name].open(query);
    }
  });
}
