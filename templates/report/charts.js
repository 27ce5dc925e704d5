// charts.js: what happened when, and by which way: bars over time, drawn on a canvas; actions as nodes.

// The lowest lane in which nothing lies at that time, in the order they began.
function lanes(bars) {
  const ends = [];
  for (const bar of bars) {
    let lane = ends.findIndex((end) => end <= bar.from);
    if (lane < 0) { lane = ends.length; }
    ends[lane] = bar.to;
    bar.lane = lane;
  }
  return ends.length;
}

function place_of(move) { return places.has(move.step) ? places.get(move.step) : -1; }

// The states that a machine was in, one behind the other.
function bars_of_states() {
  const moves = data.moves || [];
  return moves.map((move, i) => {
    const to = i + 1 < moves.length ? moves[i + 1].at : data.ended;
    return { from: clockwork.of(move.at), to: clockwork.of(to), label: move.to, status: "state", lane: 0,
      step: place_of(move), ms: to - move.at };
  });
}

function bars_of_run() {
  const of_steps = [], of_calls = [];
  steps.forEach((step, i) => {
    const bar = (one, label, status) => ({ from: clockwork.of(one.at), to: clockwork.of(one.at + one.ms),
      label: label, status: status, step: i, ms: one.ms });
    of_steps.push(bar(step, step.id, step.status));
    for (const call of step.calls || []) {
      if (!call.pure && call.kind !== "once") {
        of_calls.push(bar(call, call.to || call.kind, call.ok === undefined ? "open" : call.ok ? "call" : "failed"));
      }
    }
  });
  of_calls.sort((a, b) => a.from - b.from);
  return { states: bars_of_states(), steps: of_steps, calls: of_calls };
}

// The step that is chosen stands out.
let mark = function () {};

(function timeline() {
  const home = document.getElementById("timeline"), canvas = home.querySelector("canvas");
  const tip = el("div", { class: "tip", hidden: "" }), MOST = 14, TALL = { states: 22, steps: 22, calls: 15 };
  let all = null, top = {}, height = 0, drawn = [], chosen = -1;
  document.body.append(tip);

  function take(is_other) {
    home.hidden = !steps.length;
    all = bars_of_run();
    const counts = { steps: lanes(all.steps), calls: lanes(all.calls) };
    const first = 4 + (all.states.length ? TALL.states + 4 : 0);
    const rows = { steps: Math.min(counts.steps, MOST), calls: Math.min(counts.calls, MOST) };
    top = { states: 4, steps: first, calls: first + rows.steps * TALL.steps + (rows.calls ? 8 : 0) };
    height = top.calls + rows.calls * TALL.calls + 26;
    canvas.style.height = height + "px";
    if (is_other) { chosen = -1; }
    draw();
  }
  function draw() {
    if (!all || home.hidden) { return; }
    const width = canvas.clientWidth, scale = window.devicePixelRatio || 1, pen = canvas.getContext("2d");
    canvas.width = width * scale;
    canvas.height = height * scale;
    pen.scale(scale, scale);
    pen.clearRect(0, 0, width, height);
    const x = (at) => at / clockwork.length * (width - 2) + 1;
    const tints = {};
    for (const name in COLORS) { tints[name] = color(COLORS[name]); }
    tints.call = color("accent");
    tints.state = color("off");
    const ink = color("sheet"), soft = color("soft"), text = color("text");
    pen.fillStyle = color("tint");
    clockwork.sessions.forEach((one, i) => {
      if (i > 0) { pen.fillRect(x(one.at - clockwork.gap), 0, Math.max(2, x(clockwork.gap)), height - 22); }
    });
    drawn = [];
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    for (const kind of ["states", "steps", "calls"]) {
      for (const bar of all[kind]) {
        if (bar.lane >= MOST) { continue; }
        const left = x(bar.from), wide = Math.max(1.5, x(bar.to) - left), y = top[kind] + bar.lane * TALL[kind];
        pen.fillStyle = tints[bar.status] || tints.call;
        pen.globalAlpha = (kind === "calls" ? 0.8 : 1) * (chosen < 0 || chosen === bar.step ? 1 : 0.45);
        pen.fillRect(left, y, wide > 3 ? wide - 1 : wide, TALL[kind] - 3);
        pen.globalAlpha = 1;
        drawn.push({ left: left, right: left + Math.max(wide, 4), top: y, bottom: y + TALL[kind], bar: bar });
        if (wide > 34) {
          pen.fillStyle = chosen < 0 || chosen === bar.step ? ink : text;
          const room = Math.floor((wide - 8) / 6.6);
          pen.fillText(short(bar.label, Math.max(2, room)), left + 5, y + (TALL[kind] - 3) / 2 + 0.5, wide - 8);
        }
      }
    }
    pen.fillStyle = soft;
    const many = Math.max(2, Math.min(7, Math.floor(width / 110)));
    for (let i = 0; i <= many; i++) {
      pen.textAlign = i === 0 ? "left" : i === many ? "right" : "center";
      pen.fillText(took(clockwork.length * i / many), x(clockwork.length * i / many), height - 9);
    }
    pen.textAlign = "left";
  }

  function at(event) {
    const box = canvas.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
    for (let i = drawn.length - 1; i >= 0; i--) {
      const one = drawn[i];
      if (px >= one.left - 1 && px <= one.right + 1 && py >= one.top && py <= one.bottom) { return one.bar; }
    }
    return null;
  }
  canvas.addEventListener("mousemove", (event) => {
    const bar = at(event);
    tip.hidden = !bar;
    if (bar) {
      tip.textContent = short(bar.label, 120) + ", " + took(bar.ms);
      const left = Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 8);
      tip.style.transform = "translate(" + left + "px," + (event.clientY + 14) + "px)";
    }
  });
  canvas.addEventListener("mouseleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (event) => {
    const bar = at(event);
    if (bar && bar.step >= 0) { choose(bar.step); }
  });
  window.addEventListener("resize", draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  mark = function (i) {
    chosen = i;
    draw();
  };
  parts.push(take);
})();

// Nodes and edges of the way that the run took: the states of a machine, else its own actions and phases, not those of
// skills that it ran.
function way() {
  const nodes = new Map(), edges = new Map();
  let last = null;
  const ends = { completed: "completed", failed: "failed", aborted: "failed" };
  const visits = data.moves ? data.moves.map((move, i) => ({ id: move.to, number: 1, first: Math.max(0, place_of(move)),
    status: i + 1 < data.moves.length ? "" : ends[data.status] || "open" })) : steps;
  visits.forEach((step, i) => {
    if (step.sub || step.status === "skipped" && !step.number) { return; }
    let node = nodes.get(step.id);
    if (!node) {
      node = { id: step.id, order: nodes.size, count: 0, rank: 0, first: step.first === undefined ? i : step.first };
      nodes.set(step.id, node);
    }
    node.count++;
    node.status = step.status;
    if (last) {
      const key = last.order + " " + node.order, edge = edges.get(key) || { from: last, to: node, count: 0 };
      edge.count++;
      edges.set(key, edge);
    }
    last = node;
  });
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

function draw_path() {
  const graph = way(), MOST = 80, shown_before = document.querySelector("#path .body svg");
  if (shown_before) { shown_before.remove(); }
  section("path", graph.nodes.length >= 2);
  if (graph.nodes.length < 2) { return; }
  const nodes = graph.nodes.slice(0, MOST), edges = graph.edges.filter((e) => e.from.order < MOST && e.to.order < MOST);
  const home = section("path");
  for (const edge of edges) { // edges come in the order of their first use: ranks grow along them
    if (edge.to.order > edge.from.order) { edge.to.rank = Math.max(edge.to.rank, edge.from.rank + 1); }
  }
  const columns = [];
  for (const node of nodes) {
    node.label = short(node.id, 24);
    node.width = Math.max(64, node.label.length * 7.4 + 26);
    (columns[node.rank] = columns[node.rank] || []).push(node);
  }
  const back = edges.filter((e) => e.to.order <= e.from.order), ahead = edges.filter((e) => e.to.rank > e.from.rank + 1);
  const above = 30 + Math.min(4, ahead.length) * 14, tallest = Math.max(...columns.map((c) => c ? c.length : 0));
  const bottom = above + tallest * 62 - 22, height = bottom + 26 + Math.min(4, back.length) * 12;
  let left = 6;
  for (const column of columns) {
    const wide = Math.max(...column.map((n) => n.width));
    column.forEach((node, i) => {
      node.x = left + (wide - node.width) / 2;
      node.y = above + i * 62 + (tallest - column.length) * 31;
    });
    left += wide + 52;
  }
  const width = left - 40;
  const picture = svg("svg", { width: width, height: height, viewBox: "0 0 " + width + " " + height, role: "img" },
    svg("title", {}), svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4,
      markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse",
      orient: "auto-start-reverse" }, svg("path", { d: "M0 0L8 4L0 8z" }))));
  picture.firstChild.textContent = "The way through the actions, with how often each edge was taken";
  const busiest = Math.max(...edges.map((e) => e.count));
  let backs = 0, aheads = 0;
  for (const edge of edges) {
    const a = edge.from, b = edge.to, thick = 1 + 2 * Math.log(edge.count) / Math.max(1, Math.log(busiest));
    const x1 = a.x + a.width, y1 = a.y + 20, x2 = b.x - 2, y2 = b.y + 20;
    let d, at;
    if (b.order > a.order && b.rank === a.rank + 1) {
      d = "M" + x1 + " " + y1 + "C" + (x1 + 26) + " " + y1 + " " + (x2 - 26) + " " + y2 + " " + x2 + " " + y2;
      at = [(x1 + x2) / 2, (y1 + y2) / 2 - 7];
    } else if (b.order > a.order) {
      const y = above - 14 - (aheads++ % 4) * 14, ax = a.x + a.width * 0.7, bx = b.x + b.width * 0.3;
      d = "M" + ax + " " + a.y + "C" + ax + " " + y + " " + bx + " " + y + " " + bx + " " + (b.y - 2);
      at = [(ax + bx) / 2, y + (a.y - y) / 4 - 6];
    } else if (a === b) {
      d = "M" + (a.x + 12) + " " + a.y + "C" + (a.x + 6) + " " + (a.y - 22) + " " + (a.x + 42) + " " + (a.y - 22) + " "
        + (a.x + 36) + " " + (a.y - 2);
      at = [a.x + 24, a.y - 18];
    } else {
      const y = bottom + 16 + (backs++ % 4) * 14, ax = a.x + a.width * 0.35, bx = b.x + b.width * 0.65;
      d = "M" + ax + " " + (a.y + 40) + "C" + ax + " " + y + " " + bx + " " + y + " " + bx + " " + (b.y + 42);
      at = [(ax + bx) / 2, a.y + 40 + (y - a.y - 40) * 0.75 + 12];
    }
    picture.append(svg("path", { d: d, "stroke-width": thick.toFixed(1), "marker-end": "url(#tip)" }));
    if (edge.count > 1) {
      const label = svg("text", { x: at[0], y: at[1], "text-anchor": "middle", class: "small" });
      label.textContent = edge.count + "×";
      picture.append(label);
    }
  }
  for (const node of nodes) {
    const label = svg("text", { x: node.x + node.width / 2, y: node.y + (node.count > 1 ? 17 : 25),
      "text-anchor": "middle" });
    label.textContent = node.label;
    const group = svg("g", { class: "at" }, svg("rect", { x: node.x, y: node.y, width: node.width, height: 40, rx: 9,
      class: "node " + node.status }), label);
    if (node.count > 1) {
      const times = svg("text", { x: node.x + node.width / 2, y: node.y + 32, "text-anchor": "middle", class: "small" });
      times.textContent = node.count + " times";
      group.append(times);
    }
    group.addEventListener("click", () => choose(node.first));
    picture.append(group);
  }
  home.querySelector(".body").append(picture);
}
parts.push(draw_path);
