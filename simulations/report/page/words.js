// Formatting of numbers and times, and creation of elements. Names are always inserted as text, never
// as HTML.

const DAY = 86400, HOUR = 3600, MINUTE = 60;
const NONE = '\u2013';

// "4.2 s", "12m 30s", "3h 5m", "2d 6h": at most two units.
function duration(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return NONE;
  if (seconds < 0) return '\u2212' + duration(-seconds);
  if (seconds < MINUTE) return number(seconds) + ' s';
  const s = Math.round(seconds);
  const units = [[Math.floor(s / DAY), 'd'], [Math.floor(s / HOUR) % 24, 'h'],
                 [Math.floor(s / MINUTE) % 60, 'm'], [s % 60, 's']];
  const first = units.findIndex(([count]) => count > 0);
  return units.slice(first, first + 2).filter(([count]) => count > 0)
      .map(([count, unit]) => count + unit).join(' ');
}

// A point in time, as precise as the step between ticks needs: "2d 6h", "2d 06:30".
function moment(seconds, step) {
  if (seconds === 0) return '0';
  const s = Math.round(seconds * 1000) / 1000;
  const days = Math.floor(s / DAY), hours = Math.floor(s / HOUR) % 24;
  const minutes = Math.floor(s / MINUTE) % 60;
  const two = value => String(value).padStart(2, '0');
  const words = days > 0 ? [days + 'd'] : [];
  if (step >= HOUR) {
    if (hours > 0) words.push(hours + 'h');
  } else if (step >= MINUTE) {
    words.push(two(hours) + ':' + two(minutes));
  } else {
    const rest = s % 60;
    const digits = step >= 1 ? 0 : step >= 0.1 ? 1 : 3;
    const text = digits === 0 ? two(Math.floor(rest)) : rest.toFixed(digits).padStart(digits + 3, '0');
    words.push(two(hours) + ':' + two(minutes) + ':' + text);
  }
  return words.join(' ') || '0';
}

const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800,
               HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 5 * DAY, 10 * DAY, 20 * DAY, 50 * DAY,
               100 * DAY, 200 * DAY, 500 * DAY, 1000 * DAY, 2000 * DAY, 5000 * DAY, 10000 * DAY];

// Ticks with round labels, far enough from each other for these.
function timeTicks(from, to, pixels) {
  const least = (to - from) * 92 / Math.max(pixels, 92);
  const step = STEPS.find(candidate => candidate >= least) || STEPS[STEPS.length - 1];
  const ticks = [];
  for (let i = Math.ceil(from / step); i * step <= to; ++i) {
    ticks.push({v: i * step, label: moment(i * step, step)});
  }
  return ticks;
}

// With about three digits, and a comma for thousands.
function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  const size = Math.abs(value);
  const digits = Number.isInteger(value) || size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return value.toLocaleString('en', {maximumFractionDigits: digits}).replace('-', '\u2212');
}

function percent(part) {
  if (part === null || Number.isNaN(part)) return NONE;
  return (100 * part).toFixed(part > 0 && part < 0.1 ? 1 : 0) + ' %';
}

// The last component of a path.
const baseName = path => path.replace(/\/+$/, '').split('/').pop() || path;

// element('p.note', 'text', child...): strings become text.
function element(kind, ...children) {
  const [tag, ...classes] = kind.split('.');
  const made = document.createElement(tag);
  if (classes.length > 0) made.className = classes.join(' ');
  made.append(...children.filter(child => child !== null));
  return made;
}

// The value of a colour of the style sheet in the current scheme.
function colour(name) {
  const probe = element('i');
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

function swatch(name, look) {
  const made = element('span.swatch' + (look ? '.' + look : ''));
  if (look === 'block') made.style.background = `var(--${name})`;
  made.style.borderTopColor = `var(--${name})`;
  return made;
}
