// SPDX-License-Identifier: BSD-3-Clause
//
// Draws the report from its data (html.c writes it). Without libraries: the page works from a file.
//
//   rank[i]      [wall, computing, moving, waiting, messages, bytes, node, finished], or null
//   functions, sites, collectives    sums, the heaviest first
//   classes[i]   [messages, bytes] of sizes with i bits
//   matrix[i]    to, messages, bytes, library's messages, library's bytes; to, ... flat, by sender
//   timeline[i]  a thread: bins (digits of 0 to 63: in MPI, waiting, site) and its longest calls,
//                flat: begin and duration in 100 ns, percent waiting, site
'use strict';
(() => {
const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const VALUE = new Uint8Array(128);
for (let i = 0; i < 64; i++) VALUE[DIGITS.charCodeAt(i)] = i;
const OTHER_SITE = 63;

// -- numbers ------------------------------------------------------------------------------------

function digits3(number) {
  return number < 9.995 ? number.toFixed(2) : number < 99.95 ? number.toFixed(1) : number.toFixed(0);
}
function scaled(number, units, step) {
  let unit = 0;
  while (unit + 1 < units.length && number >= 0.9995 * step) { number /= step; unit++; }
  return digits3(number) + units[unit];
}
const seconds = s => s === 0 ? '0 s' : scaled(s * 1e9, [' ns', ' \u00b5s', ' ms', ' s'], 1000);
const bytes = b => b < 1000 ? b.toFixed(0) + ' B' : scaled(b, [' B', ' kB', ' MB', ' GB', ' TB', ' PB'], 1000);
const count = n => n < 1e5 ? String(n) : scaled(n, ['', ' k', ' M', ' G', ' T'], 1000);
const percent = (part, whole) => whole > 0 ? (100 * part / whole).toFixed(part >= 0.0995 * whole ? 0 : 1) + ' %' : '\u2013';
const sum = list => list.reduce((a, b) => a + b, 0);
const ranksPresent = data.rank.map((r, i) => r ? i : -1).filter(i => i >= 0);

// -- the page -----------------------------------------------------------------------------------

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'style') node.style.cssText = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}
function rgb(name) {
  const hex = colour(name).slice(1);
  return [0, 2, 4].map(i => parseInt(hex.slice(i, i + 2), 16));
}

// Buttons of which one is pressed. Calls `choose` with its index.
function choice(id, names, choose) {
  const buttons = names.map((name, i) => {
    const button = element('button', {type: 'button', 'aria-pressed': String(i === 0)}, name);
    button.onclick = () => {
      buttons.forEach((b, k) => b.setAttribute('aria-pressed', String(k === i)));
      choose(i);
    };
    return button;
  });
  $(id).append(...buttons);
}

const tip = $('tip');
function showTip(event, text) {
  if (!text) { tip.hidden = true; return; }
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const x = Math.min(event.clientX + 14, innerWidth - box.width - 8);
  const y = event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18;
  tip.style.left = Math.max(4, x) + 'px';
  tip.style.top = Math.max(4, y) + 'px';
}
function tipOf(canvas, find) {
  canvas.addEventListener('pointermove', event => {
    const box = canvas.getBoundingClientRect();
    showTip(event, find(event.clientX - box.left, event.clientY - box.top));
  });
  canvas.addEventListener('pointerleave', () => showTip(null, ''));
}

// Sets the size of a canvas in pixels of the screen; returns its context in pixels of the page.
function prepare(canvas, height) {
  const ratio = Math.max(1, devicePixelRatio || 1), width = canvas.clientWidth;
  canvas.style.height = height + 'px';
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext('2d');
  context.setTransform(canvas.width / width, 0, 0, canvas.height / height, 0, 0);
  context.font = '12px system-ui, "Noto Sans", "DejaVu Sans", sans-serif';
  context.clearRect(0, 0, width, height);
  return context;
}

// The step 1, 2 or 5 times a power of ten of which about `most` fit.
function roundStep(range, most) {
  const raw = range / Math.max(1, most), power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find(f => f * power >= raw * 0.999) || 10);
}

const drawers = [];
function redraw() { drawers.forEach(draw => draw()); }

// -- summary ------------------------------------------------------------------------------------

function base(path) { return path.slice(path.lastIndexOf('/') + 1) || path; }

function drawHead() {
  const name = base(data.program);
  document.title = name + ': where the time went';
  $('program').textContent = name;
  const machine = data.nodes > 1 ? data.nodes + ' nodes' : data.host;
  $('about').textContent = `${data.size} rank${data.size === 1 ? '' : 's'} on ${machine}, ` +
    `${seconds(data.wall)} from MPI_Init to MPI_Finalize, begun ${new Date(data.begun * 1000).toLocaleString('sv')}`;
  $('headline').textContent = data.findings[0] || '';
  $('findings').append(...data.findings.slice(1).map(text => element('li', {}, text)));
  const parts = [data.total - data.mpi, data.mpi - data.wait, data.wait];
  const names = ['compute', 'move', 'wait'];
  const texts = ['computing, outside of MPI', 'in MPI: moving', 'in MPI: waiting'];
  parts.forEach((part, i) => {
    $('whole').append(element('span', {style: `width:${100 * part / (data.total || 1)}%;background:var(--${names[i]})`}));
    $('legend').append(element('span', {}, element('i', {style: `background:var(--${names[i]})`}),
      `${texts[i]}: ${percent(part, data.total)}`));
  });
  $('whole').setAttribute('aria-label', texts.map((t, i) => `${t} ${percent(parts[i], data.total)}`).join(', '));
  $('footer').textContent = 'Data of a place are the messages that it has sent, and what ranks have given to, or got from, its ' +
    'collectives. All calls, messages and bytes are counted. The time of calls that take less than ' +
    'some microseconds is that of a sample of them; long calls and long waits are all measured.';
}

// -- ranks --------------------------------------------------------------------------------------

const ROWS_UP_TO = 32;  // ranks that are rows; more of them are columns
let rankOrder = ranksPresent.slice();
const rankView = {};

function rankText(i) {
  const r = data.rank[i];
  const top = data.functions.map(f => [f.ranks[i], f.name]).filter(f => f[0] > 0).sort((a, b) => b[0] - a[0]).slice(0, 4);
  return `rank ${i}${r[7] ? '' : ' (without MPI_Finalize)'}\n` +
    `computing ${seconds(r[1])} (${percent(r[1], r[0])})\nmoving ${seconds(r[2])} (${percent(r[2], r[0])})\n` +
    `waiting ${seconds(r[3])} (${percent(r[3], r[0])})\n` +
    `sent ${count(r[4])} messages, ${bytes(r[5])}` +
    (top.length ? '\n' + top.map(f => `${f[1]} ${seconds(f[0])}`).join('\n') : '');
}

function stack(context, r, place) {
  let at = 0;
  ['compute', 'move', 'wait'].forEach((name, i) => {
    context.fillStyle = colour(name);
    place(at, r[1 + i]);
    at += r[1 + i];
  });
}

function drawRankRows(canvas, longest) {
  const row = Math.max(17, Math.min(30, 420 / rankOrder.length)), left = 70, right = 70;
  const height = row * rankOrder.length + 24;
  const context = prepare(canvas, height), width = canvas.clientWidth - left - right;
  Object.assign(rankView, {rows: true, row, left, width});
  context.textBaseline = 'middle';
  rankOrder.forEach((i, k) => {
    const r = data.rank[i], y = k * row, middle = y + row / 2;
    context.fillStyle = i === data.awaited ? colour('mark') : colour('text');
    context.textAlign = 'right';
    context.fillText((r[7] ? '' : '* ') + 'rank ' + i, left - 10, middle);
    stack(context, r, (at, part) =>
      context.fillRect(left + at / longest * width, y + 2, Math.max(0, part / longest * width), row - 4));
    context.fillStyle = colour('soft');
    context.textAlign = 'left';
    context.fillText(percent(r[2] + r[3], r[0]), left + (r[1] + r[2] + r[3]) / longest * width + 8, middle);
  });
  context.fillStyle = colour('soft');
  context.textAlign = 'right';
  context.fillText('in MPI', left + width + right, height - 10);
}

function drawRankColumns(canvas, longest) {
  const left = 64, bottom = 24, top = 8, height = 260;
  const context = prepare(canvas, height), width = canvas.clientWidth - left - 8;
  const plot = height - bottom - top, column = width / rankOrder.length;
  Object.assign(rankView, {rows: false, left, width, column});
  const step = roundStep(longest, 5);
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  for (let t = 0; t <= longest * 1.0001; t += step) {
    const y = top + plot * (1 - t / longest);
    context.fillStyle = colour('line');
    context.fillRect(left, y, width, 1);
    context.fillStyle = colour('soft');
    context.fillText(seconds(t), left - 8, y);
  }
  const gap = column >= 5 ? 1 : 0;
  rankOrder.forEach((i, k) => stack(context, data.rank[i], (at, part) => {
    const h = part / longest * plot;
    context.fillRect(left + k * column, top + plot - at / longest * plot - h, column - gap + (gap ? 0 : 0.4), h);
  }));
  context.textBaseline = 'top';
  context.textAlign = 'center';
  const awaited = rankOrder.indexOf(data.awaited);
  const isInOrder = rankOrder.every((i, k) => k === 0 || rankOrder[k - 1] < i);
  const every = isInOrder ? Math.max(1, roundStep(rankOrder.length, width / 60)) : Infinity;
  context.fillStyle = colour('soft');
  rankOrder.forEach((i, k) => {
    if (i % every === 0 && Math.abs(k - awaited) * column > (awaited >= 0 ? 44 : -1)) context.fillText(String(i), left + (k + 0.5) * column, height - bottom + 8);
  });
  if (awaited >= 0) {
    const x = left + (awaited + 0.5) * column;
    context.fillStyle = colour('mark');
    context.fillText('rank ' + data.awaited, Math.min(left + width - 24, Math.max(left + 24, x)), height - bottom + 8);
    context.fillRect(x - 0.75, height - bottom + 1, 1.5, 5);
  }
}

function drawRanks() {
  const longest = Math.max(1e-12, ...ranksPresent.map(i => data.rank[i][0]));
  (rankOrder.length <= ROWS_UP_TO ? drawRankRows : drawRankColumns)($('ranks'), longest);
}

function setUpRanks() {
  choice('rank-order', ['by rank', 'by computing', 'by waiting'], which => {
    rankOrder = ranksPresent.slice();
    if (which > 0) rankOrder.sort((a, b) => data.rank[b][which === 1 ? 1 : 3] - data.rank[a][which === 1 ? 1 : 3]);
    drawRanks();
  });
  $('rank-note').textContent = `The busiest rank computes ${(100 * data.imbalance).toFixed(1)} % longer than the mean.`;
  tipOf($('ranks'), (x, y) => {
    const k = Math.floor(rankView.rows ? y / rankView.row : (x - rankView.left) / rankView.column);
    return k >= 0 && k < rankOrder.length ? rankText(rankOrder[k]) : '';
  });
  drawers.push(drawRanks);
}

// -- time line ----------------------------------------------------------------------------------

const lines = data.timeline.map(thread => {
  const decode = text => Uint8Array.from(text, digit => VALUE[digit.charCodeAt(0)]);
  const line = {...thread, mpi: decode(thread.mpi), waits: decode(thread.waits), site: decode(thread.site)};
  line.sumMpi = new Float32Array(line.mpi.length + 1);
  line.sumWaits = new Float32Array(line.mpi.length + 1);
  for (let i = 0; i < line.mpi.length; i++) {
    line.sumMpi[i + 1] = line.sumMpi[i] + Math.min(1, line.mpi[i] / 63);
    line.sumWaits[i + 1] = line.sumWaits[i] + Math.min(1, line.waits[i] / 63);
  }
  return line;
});
const time = {from: 0, to: data.wall || 1e-6, first: 0, last: lines.length, byCall: false};
const timeFrame = {};

// A part of a bin is taken as such a part of what is in it.
function meanOf(sums, from, to) {
  const at = x => {
    const i = Math.max(0, Math.min(sums.length - 1, Math.floor(x)));
    const next = Math.min(sums.length - 1, i + 1);
    return sums[i] + (sums[next] - sums[i]) * Math.min(1, Math.max(0, x - i));
  };
  return to > from ? Math.min(1, (at(to) - at(from)) / (to - from)) : 0;
}

const functionNames = [...new Set(data.sites.map(site => site.function))];
const HUES = [212, 28, 140, 330, 265, 52, 185, 0, 95, 300];
function hslToRgb(h, s, l) {
  const a = s * Math.min(l, 1 - l);
  return [0, 8, 4].map(n => {
    const k = (n + h / 30) % 12;
    return Math.round(255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  });
}
const isDark = () => sum(rgb('page')) < 380;
function callColour(site) {
  const index = site < data.sites.length ? functionNames.indexOf(data.sites[site].function) : -1;
  return index < 0 || index >= HUES.length ? rgb('soft') : hslToRgb(HUES[index], 0.62, isDark() ? 0.62 : 0.48);
}

function paintBins(context, frame) {
  const canvas = $('timeline'), ratio = canvas.width / canvas.clientWidth;
  const w = Math.max(1, Math.round(frame.width * ratio)), h = Math.max(1, Math.round(frame.height * ratio));
  const image = context.createImageData(w, h), pixels = image.data;
  const none = rgb('none'), compute = rgb('compute'), move = rgb('move'), wait = rgb('wait');
  const calls = Array.from({length: 64}, (_, i) => callColour(i));
  const visible = time.last - time.first, span = time.to - time.from, rowPixels = h / visible;
  for (let k = 0; k < visible; k++) {
    const line = lines[time.first + k];
    const y0 = Math.floor(k * rowPixels), y1 = Math.floor((k + 1) * rowPixels);
    if (y1 === y0) continue;
    const end = rowPixels > 4 * ratio ? y1 - Math.round(ratio) : y1;
    for (let x = 0; x < w; x++) {
      const t0 = time.from + x / w * span, t1 = t0 + span / w;
      let c = none;
      if (t1 > line.begin && t0 < line.end) {
        const b0 = (t0 - line.from) / line.width, b1 = (t1 - line.from) / line.width;
        const m = meanOf(line.sumMpi, b0, b1), v = Math.min(m, meanOf(line.sumWaits, b0, b1));
        const one = time.byCall ? calls[line.site[Math.floor((b0 + b1) / 2)] ?? OTHER_SITE] : move;
        const two = time.byCall ? one : wait;
        c = [0, 1, 2].map(i => compute[i] * (1 - m) + one[i] * (m - v) + two[i] * v);
      }
      for (let y = y0; y < end; y++) {
        const p = 4 * (y * w + x);
        pixels[p] = c[0]; pixels[p + 1] = c[1]; pixels[p + 2] = c[2]; pixels[p + 3] = 255;
      }
    }
  }
  context.putImageData(image, Math.round(frame.left * ratio), Math.round(frame.top * ratio));
}

// The longest calls are known exactly.
function paintCalls(context, frame) {
  const span = time.to - time.from, row = frame.height / (time.last - time.first);
  const x = t => frame.left + (t - time.from) / span * frame.width;
  const move = colour('move'), wait = colour('wait'), compute = colour('compute');
  context.save();
  context.beginPath();
  context.rect(frame.left, frame.top, frame.width, frame.height);
  context.clip();
  for (let k = time.first; k < time.last; k++) {
    const calls = lines[k].calls, y = frame.top + (k - time.first) * row, h = Math.max(0.6, row - (row > 4 ? 1 : 0));
    for (let i = 0; i < calls.length; i += 4) {
      const t0 = calls[i] * 1e-7, t1 = t0 + calls[i + 1] * 1e-7;
      const x0 = x(t0), x1 = x(t1);
      if (x1 < frame.left || x0 > frame.left + frame.width || x1 - x0 < 1.5) continue;
      const part = calls[i + 2] / 100;
      context.fillStyle = time.byCall ? `rgb(${callColour(calls[i + 3])})` : move;
      context.fillRect(x0, y, x1 - x0, h);
      if (!time.byCall) {
        context.fillStyle = wait;
        context.fillRect(x0, y + h * (1 - part), x1 - x0, h * part);
      }
      if (x1 - x0 > 4) {
        context.fillStyle = compute;
        context.fillRect(x0, y, 0.7, h);
      }
      const site = data.sites[calls[i + 3]];
      if (site && row >= 15 && x1 - x0 > 7 * site.function.length + 8) {
        context.fillStyle = isDark() ? '#10151a' : '#fff';
        context.textAlign = 'left';
        context.textBaseline = 'middle';
        context.fillText(site.function, Math.max(x0, frame.left) + 5, y + h / 2);
      }
    }
  }
  context.restore();
}

function paintTimeAxis(context, frame) {
  const span = time.to - time.from, step = roundStep(span, frame.width / 110);
  const unit = span >= 2 ? [1, 's'] : span >= 2e-3 ? [1e3, 'ms'] : [1e6, '\u00b5s'];
  const places = Math.max(0, -Math.floor(Math.log10(step * unit[0]) + 1e-9));
  context.textAlign = 'center';
  context.textBaseline = 'top';
  for (let i = Math.ceil(time.from / step - 1e-9); i * step <= time.to * (1 + 1e-12); i++) {
    const x = frame.left + (i * step - time.from) / span * frame.width;
    context.fillStyle = colour('line');
    context.fillRect(x, frame.top + frame.height, 1, 5);
    context.fillStyle = colour('soft');
    if (x < frame.left + frame.width - 18)
      context.fillText(`${(i * step * unit[0]).toFixed(places)} ${unit[1]}`, Math.max(x, frame.left + 14), frame.top + frame.height + 7);
  }
}

function lineName(line) {
  return `${line.rank}` + (line.thread > 0 ? `.${line.thread}` : '');
}

function paintTimeRows(context, frame) {
  const visible = time.last - time.first, row = frame.height / visible;
  const every = Math.max(1, roundStep(visible, frame.height / 15));
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (let k = time.first; k < time.last; k++) {
    if (row < 13 && (k % every !== 0)) continue;
    context.fillStyle = lines[k].rank === data.awaited ? colour('mark') : colour('soft');
    context.fillText((row >= 13 && lines[k].thread === 0 && visible <= 16 ? 'rank ' : '') + lineName(lines[k]),
      frame.left - 8, frame.top + (k - time.first + 0.5) * row);
  }
}

function drawTimeline() {
  if (lines.length === 0) return;
  const canvas = $('timeline');
  const height = Math.max(60, Math.min(520, lines.length * (lines.length <= 16 ? 28 : lines.length <= 80 ? 8 : 1)));
  const frame = Object.assign(timeFrame, {left: 64, top: 4, height: Math.max(height, lines.length > 80 ? 512 : 0)});
  const context = prepare(canvas, frame.height + 30);
  frame.width = canvas.clientWidth - frame.left - 6;
  paintBins(context, frame);
  paintCalls(context, frame);
  paintTimeAxis(context, frame);
  paintTimeRows(context, frame);
}

function timeAt(x) { return time.from + (x - timeFrame.left) / timeFrame.width * (time.to - time.from); }
function lineAt(y) {
  return Math.floor(time.first + (y - timeFrame.top) / timeFrame.height * (time.last - time.first));
}

function setTime(from, to) {
  const whole = data.wall || 1e-6, least = 1e-7;
  const span = Math.min(whole, Math.max(least, to - from));
  from = Math.min(Math.max(0, from), whole - span);
  time.from = from;
  time.to = from + span;
  requestDraw();
}
function setLines(first, last) {
  const span = Math.max(1, Math.min(lines.length, Math.round(last - first)));
  time.first = Math.round(Math.min(Math.max(0, first), lines.length - span));
  time.last = time.first + span;
  requestDraw();
}
let drawRequested = false;
function requestDraw() {
  if (drawRequested) return;
  drawRequested = true;
  requestAnimationFrame(() => { drawRequested = false; drawTimeline(); });
}
function zoomTime(factor, x) {
  const at = x === undefined ? (time.from + time.to) / 2 : timeAt(x);
  setTime(at - (at - time.from) * factor, at + (time.to - at) * factor);
}
function zoomLines(factor, y) {
  const at = y === undefined ? (time.first + time.last) / 2 : time.first + (y - timeFrame.top) / timeFrame.height * (time.last - time.first);
  setLines(at - (at - time.first) * factor, at + (time.last - at) * factor);
}
function showAll() { setTime(0, data.wall); setLines(0, lines.length); }
function pan(part, rows) {
  const shift = part * (time.to - time.from);
  setTime(time.from + shift, time.to + shift);
  if (rows) setLines(time.first + rows, time.last + rows);
}

function timeText(x, y) {
  const line = lines[lineAt(y)];
  if (!line || x < timeFrame.left || y > timeFrame.top + timeFrame.height) return '';
  const t = timeAt(x);
  let found = null;
  for (let i = 0; i < line.calls.length; i += 4) {
    const t0 = line.calls[i] * 1e-7, t1 = t0 + line.calls[i + 1] * 1e-7;
    if (t >= t0 && t < t1) found = i;
  }
  const head = `rank ${line.rank}${line.thread > 0 ? ', thread ' + line.thread : ''}, at ${seconds(t)}\n`;
  const name = index => data.sites[index] ? `${data.sites[index].function}\n${data.sites[index].place}` : 'MPI';
  if (found !== null)
    return head + `${name(line.calls[found + 3])}\n${seconds(line.calls[found + 1] * 1e-7)}, ${line.calls[found + 2]} % waiting`;
  if (t < line.begin || t > line.end) return head + 'not between MPI_Init and MPI_Finalize';
  const bin = Math.floor((t - line.from) / line.width);
  const mpi = line.mpi[bin] || 0, waits = line.waits[bin] || 0;
  return head + `in these ${seconds(line.width)}: ${Math.min(100, Math.round(mpi / 63 * 100))} % in MPI, ` +
    `${Math.min(100, Math.round(waits / 63 * 100))} % waiting` + (mpi > 0 ? `\nmost: ${name(line.site[bin])}` : '');
}

function setUpPointers(canvas) {
  const pointers = new Map();
  let pinch = 0;
  const distance = () => { const [a, b] = [...pointers.values()]; return Math.hypot(a.x - b.x, a.y - b.y); };
  canvas.addEventListener('pointerdown', event => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, {x: event.offsetX, y: event.offsetY});
    canvas.classList.add('dragging');
    if (pointers.size === 2) pinch = distance();
  });
  canvas.addEventListener('pointermove', event => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    pointers.set(event.pointerId, {x: event.offsetX, y: event.offsetY});
    if (pointers.size === 2) {
      const now = distance(), [a, b] = [...pointers.values()];
      zoomTime(pinch / Math.max(1, now), (a.x + b.x) / 2);
      pinch = now;
    } else {
      const row = timeFrame.height / (time.last - time.first);
      before.rest = (before.rest || 0) + event.offsetY - before.y;
      const rows = Math.trunc(before.rest / row);
      pointers.get(event.pointerId).rest = before.rest - rows * row;
      pan((before.x - event.offsetX) / timeFrame.width, -rows);
    }
  });
  for (const name of ['pointerup', 'pointercancel'])
    canvas.addEventListener(name, event => { pointers.delete(event.pointerId); canvas.classList.remove('dragging'); });
}

function setUpTimeline() {
  const canvas = $('timeline');
  choice('time-colour', ['waiting and moving', 'by call'], which => { time.byCall = which === 1; drawCallLegend(); drawTimeline(); });
  $('zoom-in').onclick = () => zoomTime(0.5);
  $('zoom-out').onclick = () => zoomTime(2);
  $('zoom-all').onclick = showAll;
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    const amount = event.deltaY || event.deltaX;
    if (event.shiftKey) zoomLines(amount > 0 ? 1.3 : 1 / 1.3, event.offsetY);
    else zoomTime(amount > 0 ? 1.25 : 0.8, event.offsetX);
  }, {passive: false});
  canvas.addEventListener('dblclick', event => zoomTime(0.25, event.offsetX));
  const keys = {
    '+': () => zoomTime(0.5), '=': () => zoomTime(0.5), '-': () => zoomTime(2), '0': showAll, Home: showAll,
    ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
    ArrowUp: event => event.shiftKey ? zoomLines(0.5) : pan(0, -Math.ceil((time.last - time.first) / 8)),
    ArrowDown: event => event.shiftKey ? zoomLines(2) : pan(0, Math.ceil((time.last - time.first) / 8)),
  };
  canvas.addEventListener('keydown', event => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key](event);
  });
  setUpPointers(canvas);
  tipOf(canvas, timeText);
  drawers.push(drawCallLegend, drawTimeline);
}

function drawCallLegend() {
  const shown = time.byCall ? functionNames.slice(0, HUES.length) : [];
  $('call-legend').replaceChildren(...shown.map(name => element('span', {},
    element('i', {style: `background:rgb(${callColour(data.sites.findIndex(s => s.function === name))})`}), name)));
}

// -- tables -------------------------------------------------------------------------------------

function meter(item, most) {
  const part = value => `width:${100 * value / (most || 1)}%`;
  return element('div', {class: 'meter', title: `moving ${seconds(item.time - item.wait)}, waiting ${seconds(item.wait)}`},
    element('span', {style: part(item.time - item.wait) + ';background:var(--move)'}),
    element('span', {style: part(item.wait) + ';background:var(--wait)'}));
}

// columns: [title, class, function of an item: text or a node]
function fillTable(id, items, columns) {
  const head = element('tr', {}, ...columns.map(c => element('th', {class: c[1], scope: 'col'}, c[0])));
  $(id).replaceChildren(element('thead', {}, head), element('tbody', {}, ...items.map((item, i) =>
    element('tr', {}, ...columns.map(c => element('td', {class: c[1]}, c[2](item, i)))))));
}

const commonColumns = [
  ['calls', '', item => count(item.calls)],
  ['time', '', item => seconds(item.time)],
  ['mean', '', item => seconds(item.time / (item.calls || 1))],
  ['of MPI', '', item => percent(item.time, data.mpi)],
  ['waiting', '', item => percent(item.wait, item.time)],
];
const FIRST_SITES = 10;
let sitesShown = FIRST_SITES;

function drawSites() {
  const most = Math.max(...data.sites.map(s => s.time), 0);
  fillTable('sites', data.sites.slice(0, sitesShown), [
    ['', 'rank', (item, i) => String(i + 1)],
    ['call', 'word', item => item.function],
    ['place', 'place', item => item.place],
    ...commonColumns,
    ['longest', '', item => seconds(item.longest)],
    ['data', '', item => bytes(item.bytes)],
    ['ranks', '', item => String(item.count)],
    ['', 'bar', item => meter(item, most)],
  ]);
  const rest = data.sites.length - FIRST_SITES;
  $('more-sites').hidden = rest <= 0;
  $('more-sites').textContent = sitesShown > FIRST_SITES ? 'the ten heaviest only' : `${rest} more`;
}

// How much longer the slowest rank is in a function than the mean.
function spread(item) {
  const times = ranksPresent.map(i => item.ranks[i]);
  const most = Math.max(...times), mean = sum(times) / times.length;
  return mean > 0 && times.length > 1 ? `${(most / mean).toFixed(1)}\u00d7 (rank ${ranksPresent[times.indexOf(most)]})` : '\u2013';
}

function drawTables() {
  drawSites();
  const most = Math.max(...data.functions.map(f => f.time), 0);
  fillTable('functions', data.functions, [
    ['call', 'word', item => item.name], ...commonColumns,
    ['data', '', item => bytes(item.bytes)],
    ['longest rank / mean', '', spread],
    ['', 'bar', item => meter(item, most)],
  ]);
  const longest = Math.max(...data.collectives.map(c => c.time), 0);
  $('collective-part').hidden = data.collectives.length === 0;
  fillTable('collectives', data.collectives, [
    ['call', 'word', item => item.function], ['component', 'word', item => item.component],
    ['algorithm', 'word', item => item.algorithm || '\u2013'], ...commonColumns,
    ['data', '', item => bytes(item.bytes)],
    ['data / call', '', item => bytes(item.bytes / (item.calls || 1))],
    ['', 'bar', item => meter(item, longest)],
  ]);
}

// -- matrix -------------------------------------------------------------------------------------

const matrix = {bytes: false, whose: 0, cell: null};
const cells = new Map();  // sender * (size + 1) + receiver: where its numbers are
data.matrix.forEach((row, from) => {
  for (let i = 0; i < row.length; i += 5) cells.set(from * (data.size + 1) + row[i], [row, i]);
});

// whose: 0 the program's, 1 the library's, 2 both
function trafficOf(row, i, inBytes) {
  const own = row[i + (inBytes ? 2 : 1)], library = row[i + (inBytes ? 4 : 3)];
  return matrix.whose === 0 ? own : matrix.whose === 1 ? library : own + library;
}

// Sums of squares of ranks, as many as there is room for.
function gatherCells(blocks) {
  const sums = new Float64Array(blocks * blocks), block = data.size / blocks;
  data.matrix.forEach((row, from) => {
    for (let i = 0; i < row.length; i += 5) {
      if (row[i] < data.size)
        sums[Math.floor(from / block) * blocks + Math.floor(row[i] / block)] += trafficOf(row, i, matrix.bytes);
    }
  });
  return sums;
}

function cellColour(value, least, most) {
  const cold = rgb('cold'), warm = rgb('warm'), middle = rgb('move');
  const at = most > least ? 0.18 + 0.82 * Math.log(value / least) / Math.log(most / least) : 0.75;
  const mix = (a, b, p) => a.map((v, i) => Math.round(v + (b[i] - v) * p));
  return at < 0.6 ? mix(cold, middle, at / 0.6) : mix(middle, warm, (at - 0.6) / 0.4);
}

const matrixFrame = {};
function drawMatrix() {
  const canvas = $('matrix'), left = 46, top = 20, bottom = 40;
  const side = Math.max(120, Math.min(canvas.clientWidth - left - 6, 560));
  const context = prepare(canvas, side + top + bottom);
  const blocks = Math.min(data.size, Math.floor(side)), cell = side / blocks;
  const sums = gatherCells(blocks), filled = sums.filter(v => v > 0);
  let least = Infinity, most = 0;
  for (const v of filled) { least = Math.min(least, v); most = Math.max(most, v); }
  Object.assign(matrixFrame, {left, top, side});
  context.fillStyle = colour('cold');
  context.fillRect(left, top, side, side);
  const gap = cell >= 6 ? 1 : 0;
  for (let from = 0; from < blocks; from++) {
    for (let to = 0; to < blocks; to++) {
      const value = sums[from * blocks + to];
      if (value === 0) continue;
      context.fillStyle = `rgb(${cellColour(value, least, most)})`;
      context.fillRect(left + to * cell, top + from * cell, cell - gap + (gap ? 0 : 0.3), cell - gap + (gap ? 0 : 0.3));
    }
  }
  paintMatrixAxes(context, left, top, side);
  paintMatrixScale(context, left, top + side + 24, side, least, most);
  if (matrix.cell) {
    const size = side / data.size;
    context.strokeStyle = colour('mark');
    context.lineWidth = 2;
    context.strokeRect(left + matrix.cell[1] * size - 1, top + matrix.cell[0] * size - 1, Math.max(4, size + 1), Math.max(4, size + 1));
  }
}

function paintMatrixAxes(context, left, top, side) {
  const every = Math.max(1, roundStep(data.size, side / 34)), cell = side / data.size;
  context.fillStyle = colour('soft');
  for (let i = 0; i < data.size; i += every) {
    const at = (i + 0.5) * cell;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    context.fillText(String(i), left - 6, top + at);
    context.textAlign = 'center';
    context.textBaseline = 'bottom';
    context.fillText(String(i), left + at, top - 4);
  }
}

function paintMatrixScale(context, left, y, side, least, most) {
  if (most === 0) return;
  const format = matrix.bytes ? bytes : count, width = side * 0.4, x = left + side / 2 - width / 2;
  for (let i = 0; i < width; i++) {
    context.fillStyle = `rgb(${cellColour(least * (most / least) ** (i / width), least, most)})`;
    context.fillRect(x + i, y - 6, 1.3, 10);
  }
  context.fillStyle = colour('soft');
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  context.fillText(format(Math.round(least)), x - 8, y);
  context.textAlign = 'left';
  context.fillText(most > least ? format(Math.round(most)) : '', x + width + 8, y);
}

function cellText(from, to) {
  const found = cells.get(from * (data.size + 1) + to);
  const head = `rank ${from} \u2192 rank ${to}`;
  if (!found) return head + ': nothing';
  const [row, i] = found;
  return head + `: ${count(row[i + 1])} message${row[i + 1] === 1 ? '' : 's'}, ${bytes(row[i + 2])}` +
    (row[i + 3] > 0 ? `; the library: ${count(row[i + 3])}, ${bytes(row[i + 4])}` : '');
}

function cellAt(x, y) {
  const to = Math.floor((x - matrixFrame.left) / matrixFrame.side * data.size);
  const from = Math.floor((y - matrixFrame.top) / matrixFrame.side * data.size);
  return from >= 0 && to >= 0 && from < data.size && to < data.size ? [from, to] : null;
}

function selectCell(cell) {
  matrix.cell = cell;
  noteMatrix();
  drawMatrix();
}

function noteMatrix() {
  let messages = 0, volume = 0;
  data.matrix.forEach(row => {
    for (let i = 0; i < row.length; i += 5) { messages += trafficOf(row, i, false); volume += trafficOf(row, i, true); }
  });
  $('matrix-note').textContent = matrix.cell ? cellText(...matrix.cell)
    : `Rows send, columns receive. ${count(messages)} messages, ${bytes(volume)} in all; hover, or click and use the arrow keys.`;
}

function setUpMatrix() {
  const canvas = $('matrix');
  choice('matrix-what', ['messages', 'bytes'], which => { matrix.bytes = which === 1; drawMatrix(); });
  choice('matrix-whose', ['program', 'library', 'both'], which => { matrix.whose = which; noteMatrix(); drawMatrix(); });
  tipOf(canvas, (x, y) => { const cell = cellAt(x, y); return cell ? cellText(...cell) : ''; });
  canvas.addEventListener('click', event => selectCell(cellAt(event.offsetX, event.offsetY)));
  const moves = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
  canvas.addEventListener('keydown', event => {
    const move = moves[event.key];
    if (!move && event.key !== 'Escape') return;
    event.preventDefault();
    const inside = value => Math.min(data.size - 1, Math.max(0, value)), cell = matrix.cell || [0, 0];
    selectCell(move ? (matrix.cell ? [inside(cell[0] + move[0]), inside(cell[1] + move[1])] : cell) : null);
  });
  noteMatrix();
  drawers.push(drawMatrix);
}

// -- sizes --------------------------------------------------------------------------------------

function className(i) {
  return i === 0 ? '0' : i < 11 ? String(2 ** (i - 1)) : i < 21 ? 2 ** (i - 11) + 'K' : i < 31 ? 2 ** (i - 21) + 'M' : 2 ** (i - 31) + 'G';
}

function drawSizes(which) {
  const used = data.classes.map((c, i) => c[0] > 0 ? i : -1).filter(i => i >= 0);
  const svgNode = (tag, attributes, text) => {
    const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  if (used.length === 0) {
    $('sizes').replaceChildren(element('p', {class: 'note'}, 'The program has sent no messages from rank to rank.'));
    return;
  }
  const first = Math.max(0, used[0] - 1), last = Math.min(data.classes.length - 1, used[used.length - 1] + 1);
  const slots = Math.max(6, last - first + 1), width = 520, height = 300, left = 58, bottom = 40, top = 14;
  const most = Math.max(...data.classes.map(c => c[which])) || 1, plot = height - top - bottom;
  const svg = svgNode('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'Sizes of messages'});
  const step = roundStep(most, 4), slot = (width - left - 6) / slots, format = which === 1 ? bytes : count;
  for (let v = 0; v <= most * 1.0001; v += step) {
    const y = top + plot * (1 - v / most);
    svg.append(svgNode('line', {x1: left, x2: width, y1: y, y2: y}),
      svgNode('text', {x: left - 6, y: y + 4, 'text-anchor': 'end'}, format(v)));
  }
  const every = slot < 30 ? 2 : 1;
  for (let i = first; i <= last; i++) {
    const value = data.classes[i][which], h = value > 0 ? Math.max(1.5, value / most * plot) : 0;
    const x = left + (i - first) * slot;
    const bar = svgNode('rect', {x: x + 1, y: top + plot - h, width: slot - 2, height: h, rx: 1.5});
    const upper = i === 0 ? '0 B' : `${bytes(2 ** (i - 1))} to ${bytes(2 ** i - 1)}`;
    bar.append(svgNode('title', {}, `${upper}: ${count(data.classes[i][0])} messages, ${bytes(data.classes[i][1])}`));
    svg.append(bar);
    if ((i - first) % every === 0)
      svg.append(svgNode('text', {x: x + slot / 2, y: height - bottom + 15, 'text-anchor': 'middle'}, className(i)));
  }
  svg.append(svgNode('text', {x: left + (width - left) / 2, y: height - 5, 'text-anchor': 'middle'}, 'bytes of a message, from'));
  $('sizes').replaceChildren(svg);
}

function setUpSizes() {
  const messages = sum(data.classes.map(c => c[0])), volume = sum(data.classes.map(c => c[1]));
  choice('size-what', ['messages', 'bytes'], drawSizes);
  $('size-note').textContent = messages > 0
    ? `${count(messages)} messages of the program, ${bytes(volume / messages)} on average.` : '';
  drawSizes(0);
}

// -- theme --------------------------------------------------------------------------------------

const THEMES = ['system', 'light', 'dark'];
function setTheme(theme) {
  if (theme === 'system') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.setAttribute('data-theme', theme);
  $('theme').textContent = theme === 'system' ? 'theme: system' : 'theme: ' + theme;
}

function setUpTheme() {
  let theme = 'system';
  setTheme(theme);
  $('theme').onclick = () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    setTheme(theme);
    redraw();
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
}

// -- begin --------------------------------------------------------------------------------------

setUpTheme();
drawHead();
setUpRanks();
setUpTimeline();
drawTables();
setUpMatrix();
setUpSizes();
$('more-sites').onclick = () => { sitesShown = sitesShown > FIRST_SITES ? FIRST_SITES : data.sites.length; drawSites(); };
redraw();
new ResizeObserver(redraw).observe(document.querySelector('main'));
})();
