// list.js: the steps, of which only those in sight are there; and one of them in all that is known of it.
const ROW = 36;

function call_detail(call) {
  const parts = [];
  const add = (name, text) => {
    if (text !== undefined && text !== "") { parts.push(el("h3", {}, name), el("pre", {}, pretty(text))); }
  };
  const fill = () => {
    for (const one of call.attempts || []) {
      parts.push(el("p", { class: "bad text" }, clock(one.at) + "  " + (one.class || "failed") + ": " + (one.message || "")));
    }
    if (call.message) { parts.push(el("p", { class: "bad text" }, call.message)); }
    add("Question", call.question);
    add("Prompt", call.prompt);
    add("Reply", call.reply);
    add("Answer", call.value);
    add("Also said", call.said);
    if (!parts.length) { parts.push(el("p", { class: "hint" }, "Nothing of it is kept.")); }
    return parts;
  };
  const state = call.ok === undefined ? " is open" : call.ok ? "" : " failed";
  const facts = [took(call.ms), used(call.used)].filter(Boolean).join(", ");
  return lazy(el("summary", {}, el("span", { class: "took" }, facts), short(call.to || call.kind, 80),
    state && el("span", { class: call.ok === false ? "bad" : "changed" }, state)), fill);
}

// Filled when it is first opened.
function lazy(summary, fill) {
  const made = el("details", {}, summary);
  made.addEventListener("toggle", () => {
    if (made.open && made.childNodes.length === 1) { made.append(...fill()); }
  });
  return made;
}

const paged = { step: null, count: 0 }; // how many of a step's calls are shown, also when it is drawn again

function detail(step) {
  const out = [el("h3", { class: "name" }, (step.number ? step.number + "  " : "") + step.id)];
  const facts = [step.status, "began " + clock(step.at), took(step.ms), used(step.used),
    step.sub && "in sub-run " + step.sub, step.file && "wrote " + step.file];
  out.push(el("div", { class: "facts" }, ...facts.filter(Boolean).map((one) => el("span", {}, one))));
  const buttons = buttons_of ? buttons_of(step) : [];
  if (buttons.length) { out.push(el("div", { class: "acts" }, ...buttons)); }
  if (step.reason) { out.push(el("p", { class: "text" }, "Chosen because: " + step.reason)); }
  if (step.summary) { out.push(el("p", { class: "text" }, step.summary)); }
  if (step.why) { out.push(el("p", { class: "text" }, step.why)); }
  for (const one of step.attempts || []) {
    out.push(el("p", { class: "bad text" }, (one.class || "failed") + ": " + (one.message || "")));
  }
  const calls = (step.calls || []).filter((call) => !call.pure);
  if (calls.length) {
    out.push(el("h3", {}, calls.length === 1 ? "1 call" : calls.length + " calls"));
    const home = el("div", {}), PAGE = 50;
    if (paged.step !== step.number) { Object.assign(paged, { step: step.number, count: PAGE }); }
    const more = el("button", { type: "button", on: { click: () => {
      paged.count += PAGE;
      page(paged.count - PAGE);
    } } }, "more calls");
    const page = (from) => {
      home.append(...calls.slice(from, paged.count).map(call_detail));
      more.hidden = paged.count >= calls.length;
    };
    page(0);
    out.push(home, more);
  }
  if (step.set) { out.push(el("h3", {}, "Changed in the state"), el("pre", {}, pretty(step.set))); }
  if (step.out !== undefined) { out.push(el("h3", {}, "Output"), el("pre", {}, step.out)); }
  if (step.notes) {
    out.push(el("h3", {}, "Said"), el("pre", {}, step.notes.map((n) => clock(n.at) + "  " + n.text).join("\n")));
  }
  return out;
}

(function list_of_steps() {
  const home = document.getElementById("steps"), list = home.querySelector(".list"), space = home.querySelector(".space");
  const search = home.querySelector("input"), chips = home.querySelector(".chips"), count = home.querySelector(".count");
  const pane = home.querySelector(".detail");
  let seen = [], chosen = -1, only = null, asked = 0, number = null, shown_text = "";
  const rows = new Map();

  function draw() {
    asked = 0;
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 6);
    const last = Math.min(seen.length, first + Math.ceil(list.clientHeight / ROW) + 12);
    for (const [at, row] of rows) {
      if (at < first || at >= last || row.of !== seen[at]) {
        row.made.remove();
        rows.delete(at);
      }
    }
    for (let at = first; at < last; at++) {
      const i = seen[at], step = steps[i];
      let row = rows.get(at);
      if (!row) {
        row = { of: i, made: el("div", { class: "row", role: "option", id: "step-" + i },
          el("span", { class: "dot " + step.status, title: step.status }), el("span", { class: "no" }, step.number || "–"),
          el("span", { class: "name" }, short(step.id, 60), step.attempts && el("small", {}, "  " +
            step.attempts.length + (step.attempts.length === 1 ? " failure" : " failures"))),
          el("span", { class: "took" }, took(step.ms))) };
        row.made.style.transform = "translateY(" + at * ROW + "px)";
        row.made.addEventListener("click", () => select(i));
        space.append(row.made);
        rows.set(at, row);
      }
      row.made.setAttribute("aria-selected", String(i === chosen));
    }
  }
  function look() {
    if (!asked) { asked = requestAnimationFrame(draw); }
  }
  function filter(stays) {
    const words = search.value.trim().toLowerCase();
    seen = [];
    steps.forEach((step, i) => {
      const text = step.id + " " + (step.summary || "") + " " + (step.why || "");
      if ((!only || step.status === only) && (!words || text.toLowerCase().includes(words) || String(step.number) === words)) {
        seen.push(i);
      }
    });
    for (const [, row] of rows) { row.made.remove(); }
    rows.clear();
    space.style.height = seen.length * ROW + "px";
    count.textContent = seen.length === steps.length ? steps.length.toLocaleString("en") +
      (steps.length === 1 ? " step" : " steps")
      : seen.length.toLocaleString("en") + " of " + steps.length.toLocaleString("en");
    list.style.height = Math.min(window.innerWidth > 760 ? 520 : 340, seen.length * ROW + 2) + "px";
    if (stays !== true) { list.scrollTop = 0; }
    draw();
  }
  const text_of = (i) => JSON.stringify(steps[i]) + (buttons_of ? buttons_of.state : "");
  function select(i, quietly) {
    chosen = i;
    number = steps[i].number;
    shown_text = text_of(i);
    list.setAttribute("aria-activedescendant", "step-" + i);
    pane.replaceChildren(...detail(steps[i]));
    if (!quietly) { mark(i); }
    draw();
  }
  // The chosen step has changed.
  function refresh(i) {
    if (text_of(i) === shown_text) {
      chosen = i;
      return;
    }
    const at = pane.scrollTop;
    select(i, true);
    pane.scrollTop = at;
  }
  choose = function (i) {
    if (seen.indexOf(i) < 0) {
      only = null;
      search.value = "";
      chips.querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", "false"));
      filter();
    }
    const at = seen.indexOf(i) * ROW;
    if (at < list.scrollTop || at > list.scrollTop + list.clientHeight - ROW) { list.scrollTop = at - list.clientHeight / 3; }
    select(i);
    home.scrollIntoView({ block: "nearest", behavior: "smooth" });
  };
  function draw_chips() {
    chips.replaceChildren();
    for (const status in COLORS) {
      const many = steps.filter((step) => step.status === status).length;
      if (!many || many === steps.length) { continue; }
      const chip = el("button", { type: "button", "aria-pressed": String(only === status), "data-status": status },
        status + " " + many.toLocaleString("en"));
      chip.addEventListener("click", () => {
        only = only === status ? null : status;
        for (const one of chips.children) { one.setAttribute("aria-pressed", String(one === chip && only === status)); }
        filter();
      });
      chips.append(chip);
    }
  }
  home.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", () => filter());
  list.addEventListener("scroll", look);
  window.addEventListener("resize", look);
  list.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12 }[event.key];
    if (by && seen.length) {
      event.preventDefault();
      const at = Math.min(seen.length - 1, Math.max(0, seen.indexOf(chosen) + by));
      choose(seen[at]);
    }
  });
  parts.push(function (is_other) {
    home.hidden = !steps.length;
    if (home.hidden) { return; }
    if (is_other) {
      only = null;
      search.value = "";
    }
    draw_chips();
    if (!chips.children.length) { only = null; }
    filter(!is_other);
    const same = is_other ? -1 : steps.findIndex((step, i) => number ? step.number === number : i === chosen);
    if (same >= 0) {
      refresh(same);
      draw();
      return;
    }
    const failed = steps.findIndex((step) => step.status === "failed" || step.status === "open");
    select(failed < 0 ? 0 : failed, true);
    if (failed > 0) { list.scrollTop = Math.max(0, failed * ROW - 160); }
  });
})();
