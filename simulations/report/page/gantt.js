// Gantt: the drawing of GPU use by job, with zoom, search and tooltips by mouse and keyboard.

class Gantt extends GanttDrawing {
  listen() {
    const {canvas, view} = this;
    canvas.addEventListener('wheel', event => this.wheel(event), {passive: false});
    canvas.addEventListener('dblclick', () => {
      this.look(0, this.rows);
      view.reset();
    });
    canvas.addEventListener('pointerdown', event => {
      this.drag = {x: event.clientX, y: event.clientY, view: [view.from, view.to], rows: [this.from, this.to]};
      canvas.setPointerCapture(event.pointerId);
      canvas.classList.add('dragged');
    });
    canvas.addEventListener('pointerup', () => {
      this.drag = null;
      canvas.classList.remove('dragged');
    });
    canvas.addEventListener('pointermove', event => this.move(event));
    canvas.addEventListener('pointerleave', () => tooltip.hide());
    canvas.addEventListener('keydown', event => this.key(event));
  }

  // Zoomed out as far as it goes the page scrolls.
  wheel(event) {
    if (!this.area) return;
    const turn = event.deltaY || event.deltaX;  // with Shift some browsers give it as deltaX
    const factor = Math.exp(Math.max(-60, Math.min(60, turn)) / 150);
    const x = (event.offsetX - this.area.left) / this.area.width, y = event.offsetY / this.area.height;
    if (event.shiftKey ? turn > 0 && this.to - this.from >= this.rows : turn > 0 && this.view.whole()) return;
    event.preventDefault();
    tooltip.hide();
    if (event.shiftKey) {
      this.zoomRows(factor, Math.min(Math.max(y, 0), 1));
    } else {
      this.zoomTime(factor, Math.min(Math.max(x, 0), 1));
    }
  }

  zoomTime(factor, at) {
    const {from, to} = this.view, still = from + (to - from) * at;
    this.view.set(still - (still - from) * factor, still + (to - still) * factor);
  }

  zoomRows(factor, at) {
    const {from, to} = this, still = from + (to - from) * at;
    this.look(still - (still - from) * factor, still + (to - still) * factor);
  }

  move(event) {
    if (!this.area) return;
    if (this.drag) {
      const {x, y, view: [from, to], rows: [top, bottom]} = this.drag;
      const time = (x - event.clientX) / this.area.perSecond, rows = (y - event.clientY) / this.area.perRow;
      this.look(top + rows, bottom + rows);
      this.view.set(from + time, to + time);
      tooltip.hide();
      return;
    }
    const bar = this.barAt(event.offsetX, event.offsetY);
    if (bar < 0) return tooltip.hide();
    tooltip.show(event, this.words(bar));
  }

  barAt(x, y) {
    const time = this.view.from + (x - this.area.left) / this.area.perSecond;
    const row = this.from + y / this.area.perRow, second = 1 / this.area.perSecond;
    if (x < this.area.left || y > this.area.height) return -1;
    let nearest = -1, distance = second;
    for (let i = 0; i < this.job.length; ++i) {
      const top = this.row[i] + this.offset[i];
      if (row < top || row >= top + this.count[i] - 1 + this.height[i]) continue;
      const away = Math.max(this.start[i] - time, time - this.start[i] - this.length[i], 0);
      if (away < distance) [nearest, distance] = [i, away];
    }
    return nearest;
  }

  // What is known of a bar, a line each.
  words(i) {
    const j = this.job[i], {jobs, run} = this;
    const node = this.nodes.findLast(candidate => candidate.first <= this.row[i]);
    const device = this.row[i] - node.first, last = device + this.count[i] - 1;
    const part = this.height[i] < 1 ? `, ${percent(this.height[i])} of it` : '';
    const user = run.words[jobs.user[j]], end = this.start[i] + this.length[i];
    const lines = [
      (user ? user + ', ' : '') +
          `queue ${run.words[jobs.queue[j]]}, ${number(jobs.gpus[j])} GPUs, ${run.words[jobs.state[j]]}`,
      `${node.name}, GPU ${device}${last > device ? '\u2013' + last : ''}${part}`,
      `from ${duration(this.start[i])} to ${duration(end)}: ${duration(this.length[i])}`,
      `submitted at ${duration(jobs.submit_s[j])}, waited ${duration(jobs.waited_s[j])}` +
          (jobs.evictions[j] > 0 ? `, evicted ${jobs.evictions[j]} times` : ''),
    ];
    if (jobs.reason[j]) lines.push(jobs.reason[j]);
    return [jobs.name[j], ...lines];
  }

  key(event) {
    const {from, to} = this.view, time = (to - from) / 8, rows = (this.to - this.from) / 8;
    const does = {
      ArrowLeft: () => this.view.set(from - time, to - time),
      ArrowRight: () => this.view.set(from + time, to + time),
      ArrowUp: () => this.look(this.from - rows, this.to - rows),
      ArrowDown: () => this.look(this.from + rows, this.to + rows),
      '+': () => this.zoomTime(0.8, 0.5),
      '-': () => this.zoomTime(1.25, 0.5),
      0: () => { this.look(0, this.rows); this.view.reset(); },
    }[event.key];
    if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    does();
  }
}

function shortened(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let length = text.length;
  while (length > 1 && context.measureText('\u2026' + text.slice(-length)).width > room) --length;
  return '\u2026' + text.slice(-length);
}

const tooltip = {
  host: null,
  show(event, [title, ...lines]) {
    if (!this.host) {
      this.host = element('div');
      this.host.id = 'tooltip';
      document.body.append(this.host);
    }
    this.host.replaceChildren(element('b', title), ...lines.map(line => element('div', line)));
    this.host.hidden = false;
    const {width, height} = this.host.getBoundingClientRect();
    const left = event.clientX + 14 + width > innerWidth ? event.clientX - 14 - width : event.clientX + 14;
    const top = event.clientY + 14 + height > innerHeight ? event.clientY - 14 - height : event.clientY + 14;
    this.host.style.left = Math.max(left, 4) + 'px';
    this.host.style.top = Math.max(top, 4) + 'px';
  },
  hide() { if (this.host) this.host.hidden = true; },
};
