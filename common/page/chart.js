'use strict';
// Draws lines over the last ten minutes, or over less while there is less. The pointer, or the arrow keys, show the values
// of another time in the legend.

const HISTORY_S = 600;
const SPANS_S = [60, 120, 300, HISTORY_S];
const SERIES_MAX = 8; // as many as have a colour and dashes; the least of the others are left out

// Returns the next of 1, 2, 5, 10, ... that is not smaller.
function niceMax(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= value * 0.999);
}

class Chart {
  // figure: the element. rates: a Rates. format: a value as text.
  constructor(figure, {rates, title, unit, format}) {
    Object.assign(this, {rates, title, unit, format, offset_s: null, span_s: SPANS_S[0]});
    this.plot = svg('svg', {tabindex: 0, role: 'slider', 'aria-label': `${title}, time shown`,
      'aria-valuemin': -SPANS_S[0], 'aria-valuemax': 0, 'aria-valuenow': 0});
    this.legend = make('ul', {class: 'legend'});
    figure.classList.add('chart');
    figure.append(make('h2', {}, title, ' ', make('span', {class: 'dim'}, `(${unit})`)), this.plot, this.legend);
    this.plot.addEventListener('pointermove', (event) => this.point(event));
    this.plot.addEventListener('pointerleave', () => this.move(null));
    this.plot.addEventListener('blur', () => this.move(null));
    this.plot.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  point(event) {
    const box = this.plot.getBoundingClientRect();
    const x = (event.clientX - box.left - this.left) / (this.width - this.left - this.right);
    this.move(Math.round((x - 1) * this.span_s));
  }

  key(event) {
    const steps = {ArrowLeft: -1, ArrowRight: 1, PageUp: 60, PageDown: -60, ArrowDown: -1, ArrowUp: 1};
    const now = this.offset_s === null ? 0 : this.offset_s;
    if (event.key === 'Escape') {
      this.move(null);
    } else if (event.key === 'Home' || event.key === 'End') {
      this.move(event.key === 'Home' ? -this.span_s : 0);
    } else if (steps[event.key]) {
      this.move(now + steps[event.key]);
    } else {
      return;
    }
    event.preventDefault();
  }

  move(offset_s) {
    this.offset_s = offset_s === null ? null : Math.max(-this.span_s, Math.min(0, offset_s));
    this.draw();
  }

  // Returns the names with the largest values, in a fixed order, so that each keeps its colour.
  shownNames() {
    const sums = new Map(this.rates.names.map((name) => [name, 0]));
    for (const point of this.rates.points) {
      for (const [name, value] of point.values) {
        sums.set(name, sums.get(name) + value);
      }
    }
    const largest = [...sums].filter(([, sum]) => sum > 0).sort((a, b) => b[1] - a[1]).slice(0, SERIES_MAX);
    const kept = new Set(largest.map(([name]) => name));
    this.order = (this.order || []).filter((name) => kept.has(name));
    for (const name of kept) {
      if (!this.order.includes(name)) {
        this.order.push(name);
      }
    }
    return this.order;
  }

  draw() {
    if (this.plot.clientWidth === 0) {
      return; // not on screen
    }
    this.width = this.plot.clientWidth;
    this.height = this.plot.clientHeight;
    Object.assign(this, {left: 52, right: 10, top: 8, bottom: 22});
    const points = this.rates.points, names = this.shownNames();
    const end_ms = points.length ? points[points.length - 1].time_ms : 0;
    const age_s = points.length ? (end_ms - points[0].time_ms) / 1000 : 0;
    this.span_s = SPANS_S.find((span) => span >= age_s) || HISTORY_S;
    this.plot.setAttribute('aria-valuemin', -this.span_s);
    let max = 0;
    for (const point of points) {
      for (const name of names) {
        max = Math.max(max, point.values.get(name) || 0);
      }
    }
    const scale = {end_ms, max: max > 0 ? niceMax(max) : 1};
    this.plot.setAttribute('viewBox', `0 0 ${this.width} ${this.height}`);
    this.plot.replaceChildren(...this.axes(scale, max > 0), ...names.map((name, i) => this.line(name, i, scale)),
      ...this.cursor(scale));
    if (max === 0) {
      this.plot.append(svg('text', {class: 'empty', x: this.width / 2, y: this.height / 2, 'text-anchor': 'middle'},
        points.length > 2 ? 'nothing in this time' : 'waiting for figures'));
    }
    this.drawLegend(names, points, end_ms);
  }

  x(time_ms, scale) {
    return this.left + (this.width - this.left - this.right) * (1 + (time_ms - scale.end_ms) / (this.span_s * 1000));
  }

  y(value, scale) {
    return this.height - this.bottom - (this.height - this.top - this.bottom) * value / scale.max;
  }

  axes(scale, has_values) {
    const parts = [];
    for (const part of [0, 0.5, 1]) {
      const y = this.y(scale.max * part, scale);
      parts.push(svg('line', {class: 'rule', x1: this.left, x2: this.width - this.right, y1: y, y2: y}));
      if (has_values || part === 0) {
        parts.push(svg('text', {class: 'tick', x: this.left - 6, y: y + 4, 'text-anchor': 'end'}, this.format(scale.max * part)));
      }
    }
    for (const [part, anchor] of [[1, 'start'], [0.5, 'middle'], [0, 'end']]) {
      const ago_s = this.span_s * part, x = this.x(scale.end_ms - ago_s * 1000, scale);
      const text = ago_s === 0 ? 'now' : ago_s >= 60 ? `−${ago_s / 60} min` : `−${ago_s} s`;
      parts.push(svg('text', {class: 'tick', x, y: this.height - 5, 'text-anchor': anchor}, text));
    }
    return parts;
  }

  line(name, index, scale) {
    let path = '', is_down = false;
    for (const point of this.rates.points) {
      const value = point.values.get(name);
      if (value === undefined) {
        is_down = false;
        continue;
      }
      path += `${is_down ? 'L' : 'M'}${this.x(point.time_ms, scale).toFixed(1)} ${this.y(value, scale).toFixed(1)}`;
      is_down = true;
    }
    return svg('path', {class: `series s${index}`, d: path || 'M0 0'});
  }

  cursor(scale) {
    if (this.offset_s === null) {
      return [];
    }
    const x = this.x(scale.end_ms + this.offset_s * 1000, scale);
    return [svg('line', {class: 'cursor', x1: x, x2: x, y1: this.top, y2: this.height - this.bottom})];
  }

  drawLegend(names, points, end_ms) {
    const wanted_ms = end_ms + (this.offset_s || 0) * 1000;
    let shown = null;
    for (const point of points) {
      if (!shown || Math.abs(point.time_ms - wanted_ms) <= Math.abs(shown.time_ms - wanted_ms)) {
        shown = point;
      }
    }
    const value = (name) => {
      const v = shown && Math.abs(shown.time_ms - wanted_ms) < 3000 ? shown.values.get(name) : undefined;
      return v === undefined ? '–' : this.format(v);
    };
    const items = names.map((name, i) => {
      const swatch = svg('svg', {viewBox: '0 0 30 10', 'aria-hidden': 'true'});
      swatch.append(svg('path', {class: `series s${i}`, d: 'M0 5L30 5'}));
      return make('li', {}, swatch, name, ' ', make('b', {}, value(name)));
    });
    if (this.offset_s !== null && shown) {
      items.unshift(make('li', {class: 'dim'}, 'at ' + formatClock(wanted_ms)));
    }
    this.legend.replaceChildren(...items);
    const when = this.offset_s ? `${-this.offset_s} seconds ago` : 'now';
    this.plot.setAttribute('aria-valuenow', this.offset_s || 0);
    this.plot.setAttribute('aria-valuetext', `${when}: ` +
      (names.map((name) => `${name} ${value(name)}`).join(', ') || 'nothing') + ` ${this.unit}`);
  }
}
