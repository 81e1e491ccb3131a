// GanttDrawing: which job uses which GPU over time, drawn on a canvas.
//
// A few bars are drawn one by one. If there are many bars, or rows of a few pixels, each pixel shows
// the mean of its area: darker means more use, and the colour is that of the queue, user or job.
// The drawing time is proportional to the number of bars in both cases.

const GUTTER = 104, AXIS = 22;           // px, on the left for names and below for times
const MOST_DRAWN = 4000;                 // bars one by one
const LEAST_ROW = 3;                     // px of a row that is drawn by itself
const COLOURS = 8;

class GanttDrawing {
  // `queueColours` and the like: a Map from a name to a colour's name.
  constructor(host, run, view, title, palettes) {
    this.run = run;
    this.view = view;
    this.palettes = palettes;
    this.by = 'queue';
    this.load(run.gantt);
    const canvas = this.canvas = element('canvas');
    canvas.tabIndex = 0;
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', `Use of ${this.rows} GPUs by job over time`);
    canvas.style.height = Math.min(Math.max(this.rows * 14, 84), 520) + AXIS + 'px';
    this.context = canvas.getContext('2d');
    this.legend = element('div.legend');
    host.append(element('div.gantt', element('div.bar', title, this.note(), this.controls()), this.legend, canvas));
    this.listen();
    view.listeners.push(this);
    new ResizeObserver(() => this.redraw()).observe(canvas);
    this.recolour();
  }

  load({nodes, bars, jobs}) {
    this.jobs = jobs;
    this.nodes = [];
    this.rows = 0;
    for (const [name, gpus] of nodes) {
      this.nodes.push({name, first: this.rows, gpus});
      this.rows += gpus;
    }
    this.job = Uint32Array.from(bars.job);
    this.start = Float64Array.from(bars.start_s);
    this.length = Float64Array.from(bars.length_s);
    this.row = Int32Array.from(bars.row);
    this.count = Int32Array.from(bars.count);
    this.height = new Float32Array(this.job.length).fill(1);  // part of its rows
    this.offset = new Float32Array(this.job.length);          // from their top
    if (bars.share) this.stack(bars.share);
    this.from = 0;  // rows that are looked at
    this.to = this.rows;
  }

  // Stacks the fractions of one GPU: each bar takes the topmost free place. Bars are sorted by row and
  // start. A fraction of memory only is drawn as a tenth.
  stack(shares) {
    let held = [];
    for (let i = 0; i < shares.length; ++i) {
      if (shares[i] === 1000) continue;
      const height = this.height[i] = Math.max(shares[i], 100) / 1000;
      held = held.filter(k => this.row[k] === this.row[i] && this.start[k] + this.length[k] > this.start[i]);
      let offset = 0;
      for (const k of held.sort((a, b) => this.offset[a] - this.offset[b])) {
        if (this.offset[k] >= offset + height - 1e-6) break;
        offset = Math.max(offset, this.offset[k] + this.height[k]);
      }
      this.offset[i] = Math.min(offset, 1 - height);
      held.push(i);
    }
  }

  // The fraction of the used GPU time that the bars show. Earlier attempts and omitted bars are missing.
  note() {
    const {bars_of: of, gpu_time_kept: kept} = this.run.gantt, shown = this.job.length;
    let held = 0;
    for (let i = 0; i < shown; ++i) held += this.length[i] * this.count[i] * this.height[i];
    const words = [`${number(of)} bars`];
    if (shown < of) words[0] = `the ${number(shown)} largest of ${number(of)} bars, with ${percent(kept)} of their GPU time`;
    if (held < 0.99 * this.run.held) {
      words.push(`${percent(held / this.run.held)} of the used GPU time: earlier attempts of tasks are not recorded`);
    }
    return element('p.note', words.join(', '));
  }

  controls() {
    const by = element('select', ...['queue', 'user', 'job'].map(name => element('option', name)));
    by.setAttribute('aria-label', 'Colour by');
    by.addEventListener('change', () => {
      this.by = by.value;
      this.recolour();
    });
    const find = element('input');
    find.type = 'search';
    find.placeholder = 'Find a job (Enter)';
    find.setAttribute('aria-label', 'Find a job by its name');
    find.addEventListener('keydown', event => {
      if (event.key === 'Enter') find.classList.toggle('bad', !this.find(find.value));
    });
    find.addEventListener('input', () => {
      find.classList.remove('bad');
      if (find.value === '') this.find('');
    });
    return element('span.right', element('label', 'Colour by ', by), find);
  }

  // Shows and marks the job of this name. Returns false if it has no bar.
  find(name) {
    this.marked = this.jobs.name.indexOf(name);
    const bars = [];
    for (let i = 0; i < this.job.length; ++i) if (this.job[i] === this.marked) bars.push(i);
    if (bars.length === 0) {
      this.redraw();
      return name === '';
    }
    const starts = bars.map(i => this.start[i]), ends = bars.map(i => this.start[i] + this.length[i]);
    const [from, to] = [Math.min(...starts), Math.max(...ends)];
    const tops = bars.map(i => this.row[i]), bottoms = bars.map(i => this.row[i] + this.count[i]);
    this.look(Math.min(...tops) - 8, Math.max(...bottoms) + 8);
    this.view.set(from - (to - from), to + (to - from));
    return true;
  }

  look(from, to) {
    const span = Math.min(Math.max(to - from, Math.min(4, this.rows)), this.rows);
    this.from = Math.min(Math.max(from, 0), this.rows - span);
    this.to = this.from + span;
    this.redraw();
  }

  follow() { this.redraw(); }

  // Draws at most once per frame.
  redraw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.draw();
    });
  }

  recolour() {
    const words = this.run.words, names = [...Array(COLOURS)].map((none, i) => 's' + i).concat('rest');
    this.colours = names.map(colour);
    this.channels = this.colours.map(text => text.match(/[\d.]+/g).slice(0, 3).map(Number));
    const place = name => names.indexOf(name);
    this.colourOf = Uint8Array.from(this.jobs.name, (name, j) => {
      if (this.by !== 'job') return place(this.palettes[this.by].get(words[this.jobs[this.by][j]]) || 'rest');
      return (j * 2654435761 >>> 16) % COLOURS;
    });
    this.paint = Object.fromEntries(['surface', 'idle', 'ink', 'faint'].map(name => [name, colour(name)]));
    this.legend.replaceChildren();
    if (this.by !== 'job') {
      const shown = [...this.palettes[this.by]].filter(([, name]) => name !== 'rest');
      for (const [name, kind] of shown) this.legend.append(element('span.item', swatch(kind, 'block'), name || '(none)'));
      const more = this.palettes[this.by].size - shown.length;
      if (more > 0) this.legend.append(element('span.item', swatch('rest', 'block'), `${more} more`));
    }
    this.redraw();
  }

  draw() {
    const {canvas, context, view} = this;
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (width <= GUTTER || this.rows === 0) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const area = this.area = {left: GUTTER, width: width - GUTTER, height: height - AXIS};
    area.perSecond = area.width / (view.to - view.from);
    area.perRow = area.height / (this.to - this.from);
    context.fillStyle = this.paint.idle;
    context.fillRect(area.left, 0, area.width, area.height);
    context.save();
    context.beginPath();
    context.rect(area.left, 0, area.width, area.height);
    context.clip();
    const seen = area.perRow < LEAST_ROW ? null : this.inView(MOST_DRAWN);
    this.oneByOne = seen !== null;
    if (seen !== null) {
      this.drawBars(seen, area);
    } else {
      this.drawMeans(area);
    }
    if (this.marked >= 0) this.drawMarks(area);
    context.restore();
    this.drawNodes(area);
    this.drawTimes(area, height);
  }

  // The bars in the visible time and rows; null if there are more than `most`.
  inView(most) {
    const found = [], {view} = this;
    for (let i = 0; i < this.job.length; ++i) {
      if (this.start[i] > view.to || this.start[i] + this.length[i] < view.from) continue;
      if (this.row[i] >= this.to || this.row[i] + this.count[i] <= this.from) continue;
      if (found.push(i) > most) return null;
    }
    return found;
  }

  // x, y, width and height in px.
  box(i, area) {
    return [area.left + (this.start[i] - this.view.from) * area.perSecond,
            (this.row[i] + this.offset[i] - this.from) * area.perRow,
            this.length[i] * area.perSecond, (this.count[i] - 1 + this.height[i]) * area.perRow];
  }

  drawBars(bars, area) {
    const {context} = this;
    const gap = area.perRow >= 6 ? 1 : 0;
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (const i of bars) {
      const [x, y, width, height] = this.box(i, area);
      context.fillStyle = this.colours[this.colourOf[this.job[i]]];
      context.fillRect(x, y, Math.max(width - (width > 3 ? gap : 0), 0.75), Math.max(height - gap, 0.75));
    }
    for (const i of bars) {
      const [x, y, width, height] = this.box(i, area);
      const left = Math.max(x, area.left), room = Math.min(x + width, area.left + area.width) - left - 8;
      const name = this.jobs.name[this.job[i]];
      if (height < 13 || room < 16 || context.measureText(name).width > room) continue;
      const [r, g, b] = this.channels[this.colourOf[this.job[i]]];
      context.fillStyle = 0.299 * r + 0.587 * g + 0.114 * b > 140 ? '#111' : '#fff';
      context.fillText(name, left + 4, y + height / 2);
    }
  }

  // Coverage of each cell, and its colours weighed by that: each bar adds where it begins and
  // takes away where it ends, in both cells it may lie across; sums from left to right follow.
  drawMeans(area) {
    const {view} = this;
    const width = Math.round(area.width), shown = this.to - this.from;
    const height = Math.max(1, Math.min(Math.round(area.height), Math.round(shown)));
    const stride = (width + 2) * 4;
    if (!this.cells || this.cells.length !== height * stride) this.cells = new Float32Array(height * stride);
    const cells = this.cells.fill(0);
    const perSecond = width / (view.to - view.from), perRow = height / shown;
    const edge = (base, x, weight, channel) => {
      const cell = Math.floor(x), part = x - cell;
      for (let c = 0; c < 4; ++c) {
        const amount = weight * (c < 3 ? channel[c] : 1);
        cells[base + cell * 4 + c] += amount * (1 - part);
        cells[base + cell * 4 + 4 + c] += amount * part;
      }
    };
    for (let i = 0; i < this.job.length; ++i) {
      const begin = (this.start[i] - view.from) * perSecond, end = begin + this.length[i] * perSecond;
      if (begin >= width || end <= 0) continue;
      const top = Math.max((this.row[i] - this.from) * perRow, 0);
      const bottom = Math.min((this.row[i] + this.count[i] - this.from) * perRow, height);
      const x0 = Math.max(begin, 0), x1 = Math.min(end, width), channel = this.channels[this.colourOf[this.job[i]]];
      for (let line = Math.floor(top); line < bottom; ++line) {
        const weight = (Math.min(bottom, line + 1) - Math.max(top, line)) * this.height[i];
        edge(line * stride, x0, weight, channel);
        edge(line * stride, x1, -weight, channel);
      }
    }
    const image = new ImageData(width, height);
    for (let line = 0; line < height; ++line) {
      let r = 0, g = 0, b = 0, held = 0;
      for (let x = 0; x < width; ++x) {
        const at = line * stride + x * 4, to = (line * width + x) * 4;
        r += cells[at], g += cells[at + 1], b += cells[at + 2], held += cells[at + 3];
        if (held < 1e-4) continue;
        image.data[to] = r / held, image.data[to + 1] = g / held, image.data[to + 2] = b / held;
        image.data[to + 3] = Math.min(held, 1) * 255;
      }
    }
    if (!this.picture) this.picture = document.createElement('canvas');
    this.picture.width = width;
    this.picture.height = height;
    this.picture.getContext('2d').putImageData(image, 0, 0);
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(this.picture, area.left, 0, area.width, area.height);
  }

  drawMarks(area) {
    const {context} = this;
    context.strokeStyle = this.paint.ink;
    context.lineWidth = 2;
    for (let i = 0; i < this.job.length; ++i) {
      if (this.job[i] !== this.marked) continue;
      const [x, y, width, height] = this.box(i, area);
      context.strokeRect(x, y, Math.max(width, 2), Math.max(height, 2));
    }
  }

  drawNodes(area) {
    const {context} = this;
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    let below = -Infinity;
    for (const node of this.nodes) {
      const top = (node.first - this.from) * area.perRow, bottom = top + node.gpus * area.perRow;
      if (bottom <= 0 || top >= area.height) continue;
      const middle = (Math.max(top, 0) + Math.min(bottom, area.height)) / 2;
      if (bottom - top >= 8 && bottom < area.height) {
        context.fillStyle = this.paint.surface;
        context.fillRect(0, Math.round(bottom) - 1, area.left + area.width, 1);
      }
      if (middle - below < 14 || middle < 7 || middle > area.height - 6) continue;
      below = middle;
      context.fillStyle = this.paint.faint;
      context.fillText(shortened(context, node.name, GUTTER - 14), GUTTER - 8, middle);
    }
    context.textAlign = 'left';
  }

  drawTimes(area, height) {
    const {context} = this;
    context.fillStyle = this.paint.faint;
    context.textAlign = 'center';
    for (const tick of timeTicks(this.view.from, this.view.to, area.width)) {
      const x = area.left + (tick.v - this.view.from) * area.perSecond;
      context.fillRect(Math.round(x), area.height, 1, 4);
      const half = context.measureText(tick.label).width / 2;
      context.fillText(tick.label, Math.min(Math.max(x, half), area.left + area.width - half), height - 8);
    }
    context.textAlign = 'left';
  }
}
