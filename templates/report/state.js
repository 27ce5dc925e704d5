// state.js: the state over time, and what people were asked; it starts the page where this holds its data.

// RFC 7386: null takes away, objects are merged, all else replaces.
function merge(target, patch) {
  if (patch === null || typeof patch !== "object" || Array.isArray(patch)) { return patch; }
  const out = target !== null && typeof target === "object" && !Array.isArray(target) ? Object.assign({}, target) : {};
  for (const key of Object.keys(patch)) {
    if (patch[key] === null) { delete out[key]; } else {
      Object.defineProperty(out, key, { value: merge(Object.hasOwn(out, key) ? out[key] : undefined, patch[key]),
        enumerable: true, configurable: true, writable: true });
    }
  }
  return out;
}

(function state_over_time() {
  const home = document.getElementById("state"), range = home.querySelector("input");
  const count = home.querySelector(".count"), body = home.querySelector(".body");
  let over = [], numbers = new Map(), open = new Set(), whole = {}, keys = new Set();
  function take(is_other) {
    const was_last = is_other || Number(range.value) === over.length;
    home.hidden = false;
    if (is_other) { open = new Set(); }
    over = steps.filter((step) => step.number && step.status !== "open").sort((a, b) => a.at + a.ms - b.at - b.ms);
    numbers = new Map();
    keys = new Set(Object.keys(data.first));
    over.forEach((step, i) => {
      for (const key of Object.keys(step.set || {})) {
        keys.add(key);
        const value = step.set[key];
        if (typeof value === "number") { (numbers.get(key) || numbers.set(key, []).get(key)).push([i + 1, value]); }
      }
    });
    range.max = over.length;
    if (was_last) { range.value = over.length; }
    range.disabled = over.length === 0;
    draw();
  }
  function spark(points) {
    if (!points || points.length < 3) { return null; }
    const values = points.map((p) => p[1]), low = Math.min(...values), high = Math.max(...values);
    const every = Math.ceil(points.length / 200);
    const d = points.filter((_, i) => i % every === 0).map((p, i) => (i ? "L" : "M") + (p[0] / over.length * 118 + 1).toFixed(1)
      + " " + (high === low ? 9 : 17 - (p[1] - low) / (high - low) * 16).toFixed(1)).join("");
    return svg("svg", { class: "spark", width: 120, height: 18, "aria-hidden": "true" }, svg("path", { d: d }));
  }
  function draw() {
    const n = Number(range.value), last = n === over.length;
    whole = data.first;
    for (let i = 0; i < n; i++) { if (over[i].set) { whole = merge(whole, over[i].set); } }
    if (last) { whole = data.state; }
    count.textContent = last ? "at the end" : n === 0 ? "before the first step"
      : "after step " + over[n - 1].number + " (" + shown(over[n - 1].id) + "), " + n + " of " + over.length;
    const changed = n > 0 && over[n - 1].set || {};
    const row = (key) => {
      const value = whole[key];
      const made = lazy(el("summary", {}, spark(numbers.get(key)), short(key, 60), Object.hasOwn(changed, key) &&
        el("span", { class: "changed" }, "changed"), el("span", { class: "short" }, short(JSON.stringify(value) || "", 64))),
      () => [el("pre", {}, pretty(value))]);
      made.addEventListener("toggle", () => { if (made.open) { open.add(key); } else { open.delete(key); } });
      made.open = open.has(key);
      return made;
    };
    const names = Object.keys(whole).sort(), its = names.filter((key) => keys.has(key));
    const own = names.filter((key) => !keys.has(key));
    body.replaceChildren(...its.map(row));
    if (own.length) {
      const made = lazy(el("summary", { class: "hint" }, "What the runtime keeps beside it: " + own.length + " entries"),
        () => own.map(row));
      made.addEventListener("toggle", () => { if (made.open) { open.add(made.id); } else { open.delete(made.id); } });
      made.id = "own";
      made.open = open.has("own") || !its.length;
      body.append(made);
    }
  }
  range.addEventListener("input", draw);
  parts.push(take);
})();

const inside = document.getElementById("data"); // not there: the data is fetched, and open questions are answered elsewhere

function show_talk() {
  const asked = (data.questions || []).filter((one) => inside || one.answer !== undefined);
  section("questions", asked.length > 0);
  if (asked.length) {
    document.querySelector("#questions .body").replaceChildren(...asked.map((one) => el("div", { class: "talk" },
      el("div", { class: "text" }, (one.header ? one.header + ": " : "") + (one.question || "")),
      one.answer !== undefined ? el("div", { class: "answer" }, (one.unanswered ? "nobody answered, taken is " : "") + one.answer)
        : el("div", { class: "answer none" }, "open"))));
  }
  const errors = data.errors || [];
  section("errors", errors.length > 0);
  if (errors.length) {
    const home = document.querySelector("#errors .body"), MOST = 50;
    home.replaceChildren();
    const groups = []; // the same failure again and again is told once
    for (const one of errors.slice().reverse()) {
      const who = one.action || one.phase || "run", last = groups[groups.length - 1];
      if (last && last.who === who && last.message === one.message) { last.count++; } else {
        groups.push({ who: who, message: one.message, count: 1 });
      }
    }
    home.append(...groups.slice(0, MOST).map((one) => el("div", { class: "talk" }, el("strong", {}, one.who),
      one.count > 1 && el("span", { class: "count" }, "  " + one.count + " times"),
      el("div", { class: "text bad" }, one.message || ""))));
    if (groups.length > MOST) { home.append(el("p", { class: "hint" }, "and " + (groups.length - MOST) + " before these")); }
  }
}

// What each agent used, by phase, and the sums of these.
function show_agents() {
  const phases = new Map(), total = { name: "All", count: 0, output: 0, dollars: 0 };
  for (const step of steps) {
    for (const call of (step.calls || []).filter((one) => one.label)) {
      const name = call.phase || "Without a phase";
      const phase = phases.get(name) || { name: name, count: 0, output: 0, dollars: 0, agents: new Map() };
      phases.set(name, phase);
      const key = step.number + " " + call.c.replace(/[^.]*$/, "") + " " + call.label; // an agent may be asked several times
      const agent = phase.agents.get(key) || { name: call.label, model: call.model, output: 0, dollars: 0, ms: 0 };
      const is_new = !phase.agents.has(key);
      phase.agents.set(key, agent);
      agent.ok = call.ok;
      agent.ms += call.ms;
      for (const sum of [agent, phase, total]) {
        sum.output += (call.used || {}).output_tokens || 0;
        sum.dollars += (call.used || {}).dollars || 0;
        if (is_new && sum !== agent) { sum.count++; }
      }
    }
  }
  section("agents", total.count > 0);
  const words = (sum) => [sum.count && sum.count + (sum.count === 1 ? " agent" : " agents"),
    sum.output > 0 && sum.output.toLocaleString("en") + " output tokens", sum.dollars > 0 && "$" + sum.dollars.toFixed(4),
    sum.ms && took(sum.ms)].filter(Boolean).join(", ");
  const rows = [...phases.values()].map((phase) => lazy(el("summary", {}, el("span", { class: "took" }, words(phase)),
    short(phase.name, 60)), () => [...phase.agents.values()].map((agent) => el("div", { class: "agent" },
    el("span", { class: "took" }, words(agent)), short(agent.name, 60) + (agent.model ? "  " + short(agent.model, 40) : ""),
    agent.ok === false && el("span", { class: "bad" }, " failed"), agent.ok === undefined && " is open"))));
  document.querySelector("#agents .body").replaceChildren(...rows,
    ...(phases.size > 1 ? [el("p", { class: "hint" }, "All: " + words(total))] : []));
}

parts.push(show_talk, show_agents);
if (inside) { show(JSON.parse(inside.textContent)); }
if (location.hash === "#all") { // for paper: what is folded is opened
  for (const one of document.querySelectorAll("details")) { one.open = true; }
}
