'use strict';
// Makes elements, and text in them. All that a server sends becomes text, never markup.

// Shows characters that would hide text, or change its direction, as their code.
function visible(text) {
  return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
}

// make('td', {class: 'number'}, 'text', element, ...)
function make(tag, attributes, ...content) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null && value !== false) {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  for (const part of content) {
    if (part !== undefined && part !== null) {
      element.append(part instanceof Node ? part : visible(part));
    }
  }
  return element;
}

function svg(tag, attributes, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    element.setAttribute(name, value);
  }
  if (text !== undefined) {
    element.textContent = visible(text);
  }
  return element;
}

function byId(id) {
  return document.getElementById(id);
}

function setText(element, text) {
  const shown = visible(text);
  if (element.textContent !== shown) {
    element.textContent = shown;
  }
}

const badge = (text, kind) => make('span', {class: 'badge ' + (kind || '')}, text);

// On a phone, style.css makes blocks of tables; only these roles tell a screen reader that they are tables.
function keepRoles(table) {
  for (const [parts, role] of [['thead, tbody', 'rowgroup'], ['tr', 'row'], ['th', 'columnheader']]) {
    table.querySelectorAll(parts).forEach((part) => part.setAttribute('role', role));
  }
  table.setAttribute('role', 'table');
}

// Sets rows of cells, each a text, a node, or {number: text}. Replaces them only if something differs, and keeps the
// focus, so that a table can be read, selected and navigated while it is updated.
function setRows(body, rows, nothing) {
  const table = body.closest('table');
  const titles = [...table.querySelectorAll('thead th')].map((th) => th.textContent);
  const cell = (c, i) => {
    const is_number = c && c.number !== undefined;
    return make('td', {role: 'cell', class: is_number ? 'number' : null, 'data-title': titles[i]}, is_number ? c.number : c);
  };
  if (!table.hasAttribute('role')) {
    keepRoles(table);
  }
  const fresh = rows.map((cells) => make('tr', {role: 'row'}, ...cells.map(cell)));
  const before = body.querySelectorAll('tr');
  table.hidden = rows.length === 0;
  if (nothing) {
    nothing.hidden = rows.length !== 0;
  }
  fresh.forEach((row, i) => {
    if (!before[i]) {
      body.append(row);
    } else if (!before[i].isEqualNode(row)) {
      const inside = 'a, button';
      const at = [...before[i].querySelectorAll(inside)].indexOf(document.activeElement);
      before[i].replaceWith(row);
      if (at >= 0 && row.querySelectorAll(inside)[at]) {
        row.querySelectorAll(inside)[at].focus();
      }
    }
  });
  for (let i = rows.length; i < before.length; i++) {
    before[i].remove();
  }
}

// Shows sections by the address after #, so that links, the back button and the keyboard work as everywhere.
function followSections(sections, onShown) {
  const show = () => {
    const [wanted, query] = location.hash.slice(1).split('?');
    const name = sections.includes(wanted) ? wanted : sections[0];
    for (const section of sections) {
      byId(section).hidden = section !== name;
      const link = document.querySelector(`nav a[href="#${section}"]`);
      if (section === name) {
        link.setAttribute('aria-current', 'page');
      } else {
        link.removeAttribute('aria-current');
      }
    }
    onShown(name, new URLSearchParams(query || ''));
  };
  addEventListener('hashchange', show);
  show();
}

// Makes a section's address of its form's fields, each with the id SECTION-FIELD, so that links and the back button
// lead to the same page. open(query) if the address stays the same.
function followForm(section, fields, open) {
  byId(`${section}-form`).addEventListener('submit', (event) => {
    event.preventDefault();
    const query = new URLSearchParams();
    for (const field of fields) {
      const value = byId(`${section}-${field}`).value.trim();
      if (value) {
        query.set(field, value);
      }
    }
    const hash = `#${section}?` + query;
    if (location.hash === hash) {
      open(query);
    } else {
      location.hash = hash;
    }
  });
}

// Sets what is in an element; null is nothing. Cards keep their distance.
function putContent(element, ...content) {
  element.replaceChildren(...content.filter(Boolean));
  for (const card of element.querySelectorAll(':scope > .card + .card')) {
    card.classList.add('after');
  }
}
