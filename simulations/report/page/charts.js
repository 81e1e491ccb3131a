// Line charts, drawn by dygraphs. This page draws legends and values itself, so that names stay text.

// The visible time span. All charts over time share it.
class View {
  constructor(end) {
    this.end = end;
    this.from = 0;
    this.to = end;
    this.listeners = [];
  }
  whole() { return this.from <= 0 && this.to >= this.end; }
  set(from, to, source = null) {
    const least = Math.max(this.end / 1e6, 0.01);
    const span = Math.min(Math.max(to - from, least), this.end);
    this.from = Math.min(Math.max(from, 0), this.end - span);
    this.to = this.from + span;
    for (const listener of this.listeners) if (listener !== source) listener.follow(this);
  }
  reset() { this.set(0, this.end); }
}

const DASHES = {dashed: [6, 4], dotted: [2, 3]};

// A dashed line of steps. dygraphs restarts its dash pattern at each step, so short steps look solid.
function dashed(pattern) {
  return ({drawingContext: context, points, color, strokeWidth}) => {
    context.save();
    context.setLineDash(pattern);
    context.strokeStyle = color;
    context.lineWidth = strokeWidth;
    context.beginPath();
    let last = null;
    for (const point of points) {
      if (point.yval === null || Number.isNaN(point.canvasy)) continue;
      if (last) context.lineTo(point.canvasx, last.canvasy);
      context.lineTo(point.canvasx, point.canvasy);
      last = point;
    }
    context.stroke();
    context.restore();
  };
}

// series: [{name, colour, look: undefined|'dashed'|'dotted', fill, width}]
// rows: [x, value of the first series, ...], null if a series has no value.
// settings: {title, height, view (null: x is not time) or range (of x), max (of y), ticks, xText, yText}
class Chart {
  constructor(host, series, rows, settings) {
    this.series = series;
    this.rows = rows;
    this.settings = settings;
    this.legend = element('div.legend');
    this.plot = element('div.plot');
    this.plot.style.height = settings.height + 'px';
    host.append(element('h3', settings.title), this.legend, this.plot);
    this.values = series.map(one => {
      const value = element('span.value');
      this.legend.append(element('span.item', swatch(one.colour, one.look), one.name, value));
      return value;
    });
    this.at = element('span.at');
    this.legend.append(this.at);
    this.draw();
    if (settings.view) settings.view.listeners.push(this);
  }

  draw() {
    const {settings, series} = this;
    const ids = series.map((one, i) => 's' + i);
    const options = {};
    series.forEach((one, i) => {
      options[ids[i]] = {fillGraph: !!one.fill, strokeWidth: one.width || 1.6};
      if (one.look) options[ids[i]].plotter = dashed(DASHES[one.look]);
    });
    if (this.graph) this.graph.destroy();
    this.graph = new Dygraph(this.plot, this.rows, {
      labels: ['x', ...ids],
      series: options,
      colors: series.map(one => colour(one.colour)),
      fillAlpha: 0.16,
      stepPlot: true,
      connectSeparatedPoints: true,
      legend: 'never',
      showLabelsOnHighlight: false,
      highlightCircleSize: 3,
      animatedZooms: false,
      valueRange: [0, settings.max],
      axisLineColor: colour('axis'),
      gridLineColor: colour('grid'),
      gridLineWidth: 1,
      rightGap: 16,
      dateWindow: settings.view ? [settings.view.from, settings.view.to] : settings.range,
      axes: {
        x: {ticker: (from, to, pixels) => settings.ticks(from, to, pixels), drawGrid: false, axisLabelWidth: 84},
        y: {axisLabelFormatter: value => settings.yText(value), axisLabelWidth: 46, pixelsPerLabel: 32},
      },
      highlightCallback: (event, x, points) => {
        points.forEach(point => {
          this.values[ids.indexOf(point.name)].textContent = settings.yText(point.yval);
        });
        this.at.textContent = settings.xText(x);
      },
      unhighlightCallback: () => {
        this.values.forEach(value => { value.textContent = ''; });
        this.at.textContent = '';
      },
      zoomCallback: (from, to) => {
        if (!settings.view) return;
        if (this.graph.isZoomed('x')) {
          settings.view.set(from, to, this);
        } else {
          settings.view.reset();
        }
      },
    });
  }

  follow(view) {
    this.graph.updateOptions({dateWindow: [view.from, view.to], valueRange: [0, this.settings.max]});
  }
}

// The steps of several runs in one list: columns[run] is the list of columns of that run. The last
// values of a run hold until the end of its last step.
function stepRows(runs, columns) {
  const width = columns.reduce((sum, list) => sum + list.length, 0);
  const rows = new Map();
  const rowAt = x => {
    if (!rows.has(x)) rows.set(x, [x, ...Array(width).fill(null)]);
    return rows.get(x);
  };
  let place = 1;
  runs.forEach((run, r) => {
    const {time_s: times, span_s: spans} = run.steps;
    for (const column of columns[r]) {
      times.forEach((time, i) => { rowAt(time)[place] = column[i]; });
      const last = times.length - 1;
      if (last >= 0) rowAt(times[last] + spans[last])[place] = column[last];
      ++place;
    }
  });
  return [...rows.values()].sort((a, b) => a[0] - b[0]);
}

// Distributions on a logarithmic axis. Values below `least` are drawn at `least`.
function distributionRows(distributions, least) {
  const rows = new Map();
  distributions.forEach((distribution, d) => {
    const put = (x, part) => {
      if (!rows.has(x)) rows.set(x, [x, ...Array(distributions.length).fill(null)]);
      rows.get(x)[d + 1] = part;
    };
    distribution.value.forEach((value, i) => put(Math.log10(Math.max(value, least)), distribution.part[i]));
  });
  return [...rows.values()].sort((a, b) => a[0] - b[0]);
}

const WAIT_TICKS = [1, 10, 60, 600, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 300 * DAY];

function logTicks(values, text) {
  return (from, to, pixels) => {
    let last = -Infinity;
    return values.map(value => ({v: Math.log10(value), label: text(value)}))
        .filter(tick => {
          const fits = tick.v >= from - 1e-9 && tick.v <= to + 1e-9 && (tick.v - last) / (to - from) * pixels >= 44;
          if (fits) last = tick.v;
          return fits;
        });
  };
}
