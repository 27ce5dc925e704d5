"use strict";
// base.js: what the parts of the page share: the data, texts made safe to look at, elements, times.
// Every text comes to the page by textContent; nothing of the data is ever read as HTML.
let data, steps, clockwork, places;
let buttons_of = null; // of the page that acts: the buttons of a step
const HIDDEN = new RegExp("[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f"
  + "\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]", "g");

// A text as it may be shown: what turns or hides the text around it stands there as its number.
function shown(text) {
  return String(text).replace(HIDDEN, (c) => "\\u{" + c.codePointAt(0).toString(16).toUpperCase() + "}");
}
function short(text, most) {
  const line = shown(text).replace(/\s+/g, " ");
  return line.length > most ? line.slice(0, most - 1) + "…" : line;
}
function el(name, given, ...inside) {
  const made = document.createElement(name);
  for (const key in given) {
    if (key === "on") {
      for (const event in given.on) { made.addEventListener(event, given.on[event]); }
    } else { made.setAttribute(key, given[key]); }
  }
  for (const one of inside) {
    if (one !== null && one !== undefined && one !== false) {
      made.append(one instanceof Node ? one : document.createTextNode(shown(one)));
    }
  }
  return made;
}
function svg(name, given, ...inside) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in given) { made.setAttribute(key, given[key]); }
  made.append(...inside);
  return made;
}
function section(id, is_there) {
  const found = document.getElementById(id);
  found.hidden = is_there === false;
  return found;
}
function took(ms) {
  if (ms < 1000) { return Math.round(ms) + " ms"; }
  if (ms < 60000) { return (ms / 1000).toFixed(ms < 10000 ? 1 : 0) + " s"; }
  if (ms < 3600000) { return Math.floor(ms / 60000) + " min " + Math.round(ms % 60000 / 1000) + " s"; }
  return Math.floor(ms / 3600000) + " h " + Math.round(ms % 3600000 / 60000) + " min";
}
function clock(ms) { return new Date(ms).toISOString().slice(11, 23); }
function pretty(value) { return typeof value === "string" ? value : JSON.stringify(value, null, 2); }
function used(of) {
  if (!of) { return null; }
  const words = [];
  if (of.tokens) { words.push(of.tokens.toLocaleString("en") + " tokens"); }
  if (of.dollars) { words.push("$" + of.dollars.toFixed(of.dollars < 1 ? 4 : 2)); }
  return words.join(", ") || null;
}
function color(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); }
const COLORS = { completed: "good", partial: "warn", failed: "bad", open: "open", skipped: "off" };
let choose = function () {}; // set by list.js: shows the step of that place in the list

// Open time: what lies between two sessions of the run takes no more room than a mark.
function clockwork_of(data) {
  const sessions = data.sessions.map((one) => ({ from: one.from, to: Math.max(one.from, one.to || data.ended) }));
  if (!sessions.length) { sessions.push({ from: data.at, to: Math.max(data.at, data.ended || 0) }); }
  let open = 0;
  for (const one of sessions) { open += one.to - one.from; }
  const gap = Math.max(1, open * 0.012);
  let at = 0;
  for (const one of sessions) {
    one.at = at;
    at += one.to - one.from + gap;
  }
  return {
    sessions: sessions,
    gap: gap,
    length: Math.max(1, at - gap),
    of: function (ms) {
      let found = sessions[0];
      for (const one of sessions) { if (one.from <= ms) { found = one; } }
      return found.at + Math.min(Math.max(0, ms - found.from), found.to - found.from);
    },
  };
}

// Draws, and what was opened is open again, and what had the focus has it, though its part of the page was made anew.
// Where that is gone, what now has its place in that part does, or the view's heading.
function keeping(draw) {
  const parts_of = (one) => [...one.querySelectorAll("details")];
  const opened = [...document.querySelectorAll("section[id]")].map((one) => [one, parts_of(one).map((part) => part.open)]);
  const had = document.activeElement, home = had && had !== document.body && had.closest("[id]");
  const all = () => [...home.querySelectorAll("a, button, summary, input, textarea, [tabindex='0']")]
    .filter((one) => one.getClientRects().length);
  const named = (one) => one.tagName + (one.dataset.status || one.getAttribute("href") || one.textContent);
  const at = home ? all().indexOf(had) : -1, name = home && named(had);
  draw();
  for (const [one, were] of opened) { parts_of(one).forEach((part, n) => { part.open = part.open || Boolean(were[n]); }); }
  if (at >= 0 && !had.getClientRects().length) {
    const now = all(), same = now.filter((one) => named(one) === name);
    const next = same.find((one) => one === now[at]) || same[0] || now[Math.min(at, now.length - 1)];
    (next || [...document.querySelectorAll("h1")].find((one) => one.getClientRects().length)).focus({ preventScroll: true });
  }
}

// Draws a run; drawn again with what has come, the same run keeps what was chosen, opened and typed.
const parts = []; // of the page, each a function of whether it is another run than before
function show(given) {
  const is_other = !data || data.run !== given.run;
  data = given;
  steps = data.steps;
  clockwork = clockwork_of(data);
  places = new Map(steps.map((step, i) => [step.number, i]));
  const draw = () => { for (const part of parts) { part(is_other); } };
  if (is_other) { draw(); } else { keeping(draw); }
}
