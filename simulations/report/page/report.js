// The page, filled in from the figures: {runs: [run] or [run, run], changes}. The first of two runs
// is A, in the first colour, the second B.

const byId = id => document.getElementById(id);
const {runs, changes} = JSON.parse(byId('figures').textContent);
const two = runs.length === 2;
const view = new View(Math.max(...runs.map(run => run.end_s), 1e-3));
const LETTERS = two ? ['A', 'B'] : [''];
const CARRIED = ['s0', 's1'];  // by run
const charts = [], gantts = [];

runs.forEach(run => {
  run.held = run.steps.span_s.reduce((sum, span, i) => sum + span * run.steps.used[i], 0);
  run.there = run.steps.span_s.reduce((sum, span, i) => sum + span * run.steps.gpus[i], 0);
  run.broken = run.steps.span_s.reduce((sum, span, i) => sum + span * run.steps.fragmented[i], 0);
});

// "A" in the colour of its run; nothing where there is one run.
const mark = r => two ? element('span', swatch(CARRIED[r], 'block'), ' ', element('b', LETTERS[r])) : null;
const heading = (r, text) => two ? element('h3', mark(r), ' ', text) : element('h3', text);

function fillHead() {
  const name = run => run.name || baseName(run.folder);
  const title = two && name(runs[0]) !== name(runs[1]) ? runs.map(name).join(' and ') : name(runs[0]);
  byId('title').textContent = title;
  document.title = title + ' \u2013 Tephra report';
  runs.forEach((run, r) => {
    const states = Object.entries(run.jobs_by_state)
        .filter(([state, count]) => count > 0 && state !== 'arrived' && state !== 'started')
        .map(([state, count]) => `${number(count)} ${state}`);
    const words = [run.folder, `${duration(run.end_s)} simulated`, states.join(', ') || 'no jobs'];
    if (run.interrupted) words.push('interrupted');
    byId('about').append(element('div.run', mark(r), element('span', words.join(' \u00b7 '))));
  });
}

// better: -1 if less is better, 1 if more is better, 0 if neither.
function fillTiles() {
  const tile = (label, get, text, better, note) => {
    const values = runs.map(get);
    const host = element('div.tile', element('div.label', label));
    if (!two) {
      host.append(element('div.value', text(values[0])), element('div.note', note ? note(runs[0]) : ''));
    } else {
      const shown = values.map((value, r) => element('span', swatch(CARRIED[r], 'block'), ' ', text(value)));
      host.append(element('div.values', ...shown), difference(values, text, better));
    }
    byId('tiles').append(host);
  };
  const all = key => run => run.all[key];
  const of = (key, what) => run => run.all[key].jobs > 0 ? run.all[key][what] : null;
  tile('Jobs', all('jobs'), number, 0, run => `${number(run.all.finished)} finished`);
  tile('GPUs used', run => run.there > 0 ? run.held / run.there : null, percent, 1,
       run => `mean of ${number(run.there / run.end_s)} GPUs`);
  tile('GPUs fragmented', run => run.there > 0 ? run.broken / run.there : null, percent, -1,
       () => 'idle, but not usable by the typical pods');
  tile('Mean wait', of('wait_s', 'mean'), duration, -1, run => `median ${duration(of('wait_s', 'p50')(run))}`);
  tile('95th percentile of wait', of('wait_s', 'p95'), duration, -1,
       run => `maximum ${duration(of('wait_s', 'most')(run))}`);
  tile('Mean completion time', of('jct_s', 'mean'), duration, -1,
       run => `median ${duration(of('jct_s', 'p50')(run))}`);
  tile('Bounded slowdown', of('bounded_slowdown', 'mean'), number, -1,
       run => `mean; median ${number(of('bounded_slowdown', 'p50')(run))}`);
  tile('Evictions', all('evictions'), number, -1, run => `${number(run.all.failures)} failures, ${number(run.all.restarts)} restarts`);
  tile('GPU hours', all('gpu_hours'), number, 0, () => 'used by jobs');
  tile('GPU hours lost', all('lost_gpu_hours'), number, -1,
       run => (run.all.gpu_hours > 0 ? `${percent(run.all.lost_gpu_hours / run.all.gpu_hours)} of all; ` : '') +
           'work that was done and not saved');
  tile('Fairness of queues', run => run.fairness.jain_queues, number, 1, () => "Jain's index; 1 is perfectly fair");
  tile('Fairness of users', run => run.fairness.jain_users, number, 1, () => "Jain's index of their mean slowdowns");
}

function difference([a, b], text, better) {
  if (typeof a !== 'number' || typeof b !== 'number') return element('div.note', '');
  if (a === b) return element('div.note', 'no difference');
  const good = better === 0 ? '' : (b - a) * better > 0 ? '.good' : '.bad';
  const part = a !== 0 ? ` (${b > a ? '+' : '\u2212'}${number(Math.abs(100 * (b - a) / a))} %)` : '';
  const sign = b > a ? '+' : '\u2212', size = Math.abs(b - a);
  const words = text === percent ? `${number(100 * size)} points` : text(size) + part;
  return element('div.note' + good, sign + words);
}

// A little more than the largest value, for a line is not to touch the top.
const ceiling = lists => Math.max(1e-3, ...lists.map(list => list.reduce((most, value) => Math.max(most, value || 0), 0))) * 1.04;
const overTime =
    settings => ({view, ticks: timeTicks, xText: x => duration(x), yText: number, height: 200, ...settings});

function fillOverTime() {
  const lines = runs.flatMap((run, r) => [
    {name: `${LETTERS[r]} used`.trim(), colour: CARRIED[r], fill: !two, width: 1.8},
    {name: `${LETTERS[r]} fragmented`.trim(), colour: two ? CARRIED[r] : 's7', look: two ? 'dashed' : undefined},
    {name: `${LETTERS[r]} capacity`.trim(), colour: 'faint', look: r === 0 ? undefined : 'dotted', width: 1},
  ]);
  const columns = runs.map(({steps}) => [steps.used, steps.fragmented, steps.gpus]);
  charts.push(new Chart(byId('gpus-chart'), lines, stepRows(runs, columns),
                        overTime({title: 'GPUs', height: 240, max: ceiling(columns.flat())})));
  const jobs = runs.flatMap((run, r) => [
    {name: `${LETTERS[r]} running`.trim(), colour: CARRIED[r], fill: !two},
    {name: `${LETTERS[r]} pending`.trim(), colour: two ? CARRIED[r] : 's1', look: two ? 'dashed' : undefined},
  ]);
  const counts = runs.map(({steps}) => [steps.running, steps.pending]);
  charts.push(new Chart(byId('jobs-chart'), jobs, stepRows(runs, counts),
                        overTime({title: 'Jobs', height: 170, max: ceiling(counts.flat())})));
}

function fillQueues() {
  const names = [...new Set(runs.flatMap(run => run.queues.list.map(queue => queue.name)))];
  const none = run => Array(run.steps.time_s.length).fill(0);
  const left = runs[0].queues.of - runs[0].queues.list.length;
  byId('queues-note').textContent = 'GPUs used by each queue (with its child queues), its fair share of the cluster, and what it deserves. ' +
      (left > 0 ? `The charts show the ${runs[0].queues.list.length} queues with the highest use, of ${runs[0].queues.of}.` : '');
  byId('queues').hidden = names.length === 0;
  for (const name of names) {
    const host = element('div');
    byId('queue-charts').append(host);
    const found = runs.map(run => run.queues.list.find(queue => queue.name === name) ||
        {used: none(run), share: none(run), deserved: none(run)});
    const columns = found.map(queue => two ? [queue.used, queue.share] : [queue.used, queue.share, queue.deserved]);
    const lines = two ? runs.flatMap((run, r) => [
      {name: `${LETTERS[r]} used`, colour: CARRIED[r]},
      {name: `${LETTERS[r]} fair share`, colour: CARRIED[r], look: 'dashed'},
    ]) : [
      {name: 'used', colour: 's0', fill: true},
      {name: 'fair share', colour: 's1'},
      {name: 'deserved', colour: 'soft', look: 'dashed'},
    ];
    charts.push(new Chart(host, lines, stepRows(runs, columns),
                          overTime({title: name, max: ceiling(columns.flat())})));
  }
}

function fillDistributions() {
  const draw = (key, title, least, ticks, text) => {
    const host = element('div');
    byId('distribution-charts').append(host);
    const lists = runs.map(run => run[key]);
    if (lists.every(list => list.of === 0)) {
      host.append(element('h3', title), element('p.note', 'No job started or finished.'));
      return;
    }
    const most = Math.max(...lists.map(list => list.value[list.value.length - 1] || least), least * 10);
    const lines = runs.map((run, r) => ({name: two ? LETTERS[r] : 'jobs', colour: CARRIED[r], fill: !two, width: 2}));
    charts.push(new Chart(host, lines, distributionRows(lists, least), {
      title, height: 240, view: null, max: 1.02, ticks: logTicks(ticks, text),
      yText: percent, xText: x => 'at most ' + text(10 ** x), range: [Math.log10(least), Math.log10(most)],
    }));
  };
  draw('waits', 'Wait', 1, WAIT_TICKS, value => value <= 1 ? '\u2264 1 s' : duration(value));
  draw('slowdowns', 'Bounded slowdown', 1, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10000, 100000], number);
}

function fillSums() {
  const host = byId('sum-tables');
  const named = key => [...new Set(runs.flatMap(run => run[key].list.map(entry => entry.name)))].map(
      name => ({name, sums: runs.map(run => (run[key].list.find(entry => entry.name === name) || {}).sums || {})}));
  const each = (title, get, text = number) => runs.map(
      (run, r) => numberColumn(two ? `${LETTERS[r]} ${title}` : title[0].toUpperCase() + title.slice(1), row => get(row.sums[r]) ?? null, text));
  const note = key => {
    const {of, list} = runs[0][key];
    return list.length < of ? `the ${list.length} of ${number(of)} with the most GPU hours` : null;
  };
  const name = title => ({title, get: row => row.name, text: value => value || '(none)', kind: 'name'});
  const some = (sums, key, what) => sums[key] && sums[key].jobs > 0 ? sums[key][what] : null;
  new Table(host, [
    name('Queue'), ...each('jobs', sums => sums.jobs), ...each('GPU hours', sums => sums.gpu_hours),
    ...each('mean wait', sums => some(sums, 'wait_s', 'mean'), duration),
    ...(two ? [] : each('p95 wait', sums => some(sums, 'wait_s', 'p95'), duration)),
    ...each('slowdown', sums => some(sums, 'bounded_slowdown', 'mean')), ...each('evictions', sums => sums.evictions),
    ...(two ? [] : each('GPU hours lost', sums => sums.lost_gpu_hours)),
  ], named('by_queue'), {note: note('by_queue')});
  new Table(host, [
    name('User'), ...each('jobs', sums => sums.jobs), ...each('finished', sums => sums.finished),
    ...each('GPU hours', sums => sums.gpu_hours),
    ...each('mean wait', sums => sums.mean_wait_s, duration),
    ...each('slowdown', sums => sums.mean_bounded_slowdown || null),
  ], named('by_user'), {note: note('by_user')});
}

// The mean over a stretch of time of what columns hold step by step.
function meanOver(steps, column, from, to) {
  let sum = 0, span = 0;
  for (let i = 0; i < steps.time_s.length && steps.time_s[i] < to; ++i) {
    const part = Math.min(to, steps.time_s[i] + steps.span_s[i]) - Math.max(from, steps.time_s[i]);
    if (part > 0) sum += part * column[i], span += part;
  }
  return span > 0 ? sum / span : null;
}

// The state of the cluster while the job waited: GPU use, fragmentation, and the use and share of its queue.
function meanwhile(run, queue, from, to) {
  const steps = run.steps, there = meanOver(steps, steps.gpus, from, to);
  if (there === null || there === 0) return '';
  const words = [`${percent(meanOver(steps, steps.used, from, to) / there)} of GPUs used`];
  const broken = meanOver(steps, steps.fragmented, from, to) / there;
  if (broken >= 0.01) words.push(`${percent(broken)} fragmented`);
  const its = run.queues.list.find(candidate => candidate.name === queue);
  if (its) {
    const [held, share] = [meanOver(steps, its.used, from, to), meanOver(steps, its.share, from, to)];
    words.push(`its queue used ${number(held)} GPUs of a fair share of ${number(share)}`);
  }
  return words.join('; ');
}

function fillWaited() {
  byId('waited-note').textContent = 'The wait lasts from submission to the first start, or to the end of the run. For a pending job, the reason is the ' +
      'engine\u2019s last verdict. For a job that started, it is the state of the cluster during the wait.';
  runs.forEach((run, r) => {
    const {of, columns, rows} = run.waited;
    const jobs = rows.map(row => Object.fromEntries(columns.map((column, c) => [column, row[c]])));
    for (const job of jobs) {
      for (const key of ['user', 'queue', 'state']) job[key] = run.words[job[key]];
      job.meanwhile = meanwhile(run, job.queue, job.submit_s, job.submit_s + job.waited_s);
    }
    const get = key => job => job[key];
    new Table(byId('waited-tables'), [
      {title: 'Job', get: get('job'), kind: 'name'},
      numberColumn('Waited', get('waited_s'), duration),
      numberColumn('GPUs', get('gpus')),
      {title: 'Queue', get: get('queue'), kind: 'name'},
      {title: 'User', get: get('user'), kind: 'name'},
      {title: 'State', get: get('state')},
      numberColumn('Submitted', get('submit_s'), duration),
      numberColumn('Slowdown', get('bounded_slowdown')),
      numberColumn('Evictions', get('evictions')),
      {title: 'Reason', get: job => job.reason || job.meanwhile, kind: 'long'},
    ], jobs, {
      title: two ? heading(r, '') : null, sort: 1,
      note: of > rows.length ? `the ${number(rows.length)} of ${number(of)} jobs that waited` : `${number(of)} jobs waited`,
      filter: job => [job.job, job.queue, job.user, job.state, job.reason].join('\n'),
    });
  });
}

function fillChanges() {
  if (!two) return;
  byId('changes').hidden = false;
  const {both, shorter, longer, only_a: onlyA, only_b: onlyB, columns, rows} = changes;
  byId('changes-note').textContent = `${number(both)} jobs are in both runs. In B, ${number(shorter)} of them waited less, ${number(longer)} waited longer ` +
      `and ${number(both - shorter - longer)} waited the same. Jobs only in A: ${number(onlyA)}; only in B: ${number(onlyB)}.`;
  const at = key => row => row[columns.indexOf(key)];
  const signed = value => value > 0 ? '+' + duration(value) : duration(value);
  new Table(byId('changes-table'), [
    {title: 'Job', get: at('job'), kind: 'name'},
    {...numberColumn('Change of wait', at('change_s'), signed), look: value => value < 0 ? 'good' : 'bad'},
    numberColumn('A waited', at('waited_a_s'), duration), numberColumn('B waited', at('waited_b_s'), duration),
    numberColumn('A slowdown', at('slowdown_a')), numberColumn('B slowdown', at('slowdown_b')),
    numberColumn('GPUs', at('gpus')), {title: 'Queue', get: at('queue'), kind: 'name'},
    {title: 'User', get: at('user'), kind: 'name'},
  ], rows, {filter: row => [at('job')(row), at('queue')(row), at('user')(row)].join('\n')});
}

// The same colour for a name in both runs: those with the most GPU hours first.
function palette(key) {
  const names = [...new Set(runs.flatMap(run => run[key].list.map(entry => entry.name)))];
  return new Map(names.map((name, i) => [name, i < COLOURS ? 's' + i : 'rest']));
}

function fillGantts() {
  const palettes = {queue: palette('by_queue'), user: palette('by_user')};
  runs.forEach((run, r) => {
    if (!run.gantt || run.gantt.nodes.length === 0) {
      const why = run.gantt ? ' The cluster has no GPUs.' : ' The run has no tasks.csv (outputs.tasks is false).';
      byId('gantts').append(element('p.note', mark(r), why));
      return;
    }
    gantts.push(new Gantt(byId('gantts'), run, view, two ? heading(r, '') : null, palettes));
  });
}

function switchScheme() {
  const order = ['auto', 'light', 'dark'], root = document.documentElement;
  const apply = scheme => {
    root.dataset.scheme = scheme;
    byId('scheme').textContent = scheme[0].toUpperCase() + scheme.slice(1);
    charts.forEach(chart => chart.draw());
    gantts.forEach(gantt => gantt.recolour());
  };
  byId('scheme').addEventListener('click', () => apply(order[(order.indexOf(root.dataset.scheme || 'auto') + 1) % 3]));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => apply(root.dataset.scheme || 'auto'));
}

fillHead();
fillTiles();
fillOverTime();
fillQueues();
fillDistributions();
fillSums();
fillChanges();
fillWaited();
fillGantts();
switchScheme();
byId('reset').addEventListener('click', () => view.reset());
view.listeners.push({follow: () => { byId('reset').hidden = view.whole(); }});
