// live.js: the page of `skillrt serve`: the list of runs, the questions that are open, and one run, which is drawn by
// the same scripts as its report, and drawn again at most once a second while its records come.

const KEY = "skillrt-token", LIST_MS = 4000, EVENT_MS = 1000, MOST_ASKED = 20;
const $ = (selector) => document.querySelector(selector);
const KINDS = { completed: "good", failed: "error", aborted: "error", paused: "warning", interrupted: "warning" };
let view = 0; // counts what was opened: an answer for an earlier one is dropped
let stop_following = null;

// The token comes behind the "#" of the address, which no server sees, and does not stay there.
function take_token() {
  const given = /(?:^#|&)token=([^&]+)/.exec(location.hash);
  if (given) {
    sessionStorage.setItem(KEY, decodeURIComponent(given[1]));
    const rest = location.hash.slice(1).split("&").filter((part) => part && !part.startsWith("token="));
    history.replaceState(null, "", location.pathname + (rest.length ? "#" + rest.join("&") : ""));
  }
}

function headers_of(more) {
  const token = sessionStorage.getItem(KEY);
  return Object.assign(token ? { Authorization: "Bearer " + token } : {}, more);
}

function linked(text, kind) {
  $("#link").textContent = text;
  $("#link").className = "badge " + (kind || "");
}

// Asks; `form`: of a reply that is no JSON ("blob").
async function ask(path, body, form) {
  const key = body && (crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2) + Date.now());
  const reply = await fetch(path, body ? { method: "POST", body: JSON.stringify(body),
    headers: headers_of({ "Content-Type": "application/json", "Idempotency-Key": key }) } : { headers: headers_of() });
  if (reply.status === 401) {
    open_door();
    throw new Error("the token is missing, or is not this server's");
  }
  const value = await reply[reply.ok && form || "json"]();
  if (!reply.ok) { throw new Error(value.error ? value.error.message : "HTTP " + reply.status); }
  return value;
}

function open_door() {
  view++;
  for (const id of ["overview", "run"]) { document.getElementById(id).hidden = true; }
  $("#door").hidden = false;
  linked("locked", "warning");
}

// As skillrt list says it (status.ago of report/status.lua).
function ago(text) {
  const passed = Math.floor(Math.max(0, Date.now() - Date.parse(text)) / 1000);
  const [unit, name] = passed < 120 ? [1, "s"] : passed < 7200 ? [60, "min"] : passed < 172800 ? [3600, "h"]
    : [86400, "days"];
  return isNaN(passed) ? "" : Math.floor(passed / unit) + " " + name + " ago";
}
function address(run) { return "/runs/" + encodeURIComponent(run); }
function link_to(run) { return el("a", { href: "#run=" + encodeURIComponent(run) }, run); }
function badge(status) { return el("span", { class: "badge " + (KINDS[status] || "") }, status || "unreadable"); }

// ---- a question, and its answer ----


function question_of(run, one, again) {
  const question = one.question, text = [question.header, question.question].filter(Boolean).join(": ");
  const said = el("p", { class: "bad text", role: "alert", hidden: "" });
  const form = el("form", {});
  const answer = async (value) => {
    if (form.classList.contains("busy")) { return; }
    form.classList.add("busy"); // a button that is disabled would lose the focus
    said.hidden = true;
    try {
      await ask(address(run) + "/answer", { question: one.q, value: value });
    } catch (error) {
      said.textContent = error.message;
      said.hidden = false;
    }
    form.classList.remove("busy");
    again();
  };
  const options = Array.isArray(question.options) ? question.options : [];
  if (options.length && question.multiple) {
    for (const option of options) {
      form.append(el("label", {}, el("input", { type: "checkbox", value: String(option.id) }), option.label || option.id));
    }
    form.append(el("button", { type: "submit" }, "Answer"));
  } else if (options.length) {
    for (const option of options) {
      form.append(el("button", { type: "button", title: shown(option.description || ""),
        on: { click: () => answer(String(option.id)) } }, option.label || option.id));
    }
  } else {
    const words = el("textarea", { rows: 2, "aria-label": "Answer" });
    words.value = typeof question.edit === "string" ? question.edit : "";
    form.append(words, el("button", { type: "submit" }, "Answer"));
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const words = form.querySelector("textarea");
    answer(words ? words.value : [...form.querySelectorAll("input:checked")].map((box) => box.value).join(","));
  });
  return el("div", { class: "talk" }, el("div", { class: "from" }, link_to(run), one.due ? ", until " + one.due : ""),
    el("div", { class: "text" }, text), question.detail && el("pre", {}, question.detail), form, said);
}

// Shows questions in a section: those that are there stay as they are.
function show_questions(home, list, again) {
  const wanted = list.map(([run, one]) => [run + " " + one.q, run, one]);
  const keys = new Set(wanted.map((one) => one[0])), body = home.querySelector(".body");
  home.hidden = !wanted.length;
  for (const child of [...body.children]) { if (!keys.has(child.dataset.key)) { child.remove(); } }
  const there = new Set([...body.children].map((child) => child.dataset.key));
  for (const [key, run, one] of wanted) {
    if (!there.has(key)) {
      const made = question_of(run, one, again);
      made.dataset.key = key;
      body.append(made);
    }
  }
}

// ---- the list ----

let only_status = "", listed = [], list_timer = 0;

function draw_list() {
  const words = $("#runs input").value.trim().toLowerCase(), chips = $("#runs .chips"), counts = {};
  for (const one of listed) { counts[one.status] = (counts[one.status] || 0) + 1; }
  chips.replaceChildren(...Object.keys(counts).sort().map((status) => el("button", { type: "button",
    "data-status": status, "aria-pressed": String(only_status === status), on: { click: () => {
      only_status = only_status === status ? "" : status;
      keeping(draw_list);
    } } }, status + " " + counts[status])));
  const seen = listed.filter((one) => (!only_status || one.status === only_status)
    && (!words || (one.run + " " + (one.skill || "")).toLowerCase().includes(words)));
  const MOST = 500;
  $("#runs .count").textContent = seen.length === listed.length ? listed.length + " runs" : seen.length + " of " + listed.length;
  $("#runs .body").replaceChildren(listed.length ? el("table", { class: "runs" }, el("thead", {}, el("tr", {},
    el("th", {}, "Run"), el("th", {}, "Status"), el("th", {}, "Reason"), el("th", { class: "num" }, "Steps"),
    el("th", { class: "num" }, "Active"))), el("tbody", {}, ...seen.slice(0, MOST).map((one) => el("tr", {},
    el("td", {}, link_to(one.run), el("small", {}, one.skill || "")), el("td", {}, badge(one.status)),
    el("td", {}, one.problem || (one.status === "completed" ? "" : one.reason) || ""),
    el("td", { class: "num" }, one.steps === undefined ? "" : one.steps),
    el("td", { class: "num" }, ago(one.updated_at)))))) : el("p", { class: "hint" }, "This folder holds no runs."));
}

async function refresh_list(mine) {
  clearTimeout(list_timer);
  const began = Date.now();
  try {
    const found = await ask("/runs?limit=1000");
    const waiting = found.runs.filter((one) => one.questions && one.status === "paused").slice(0, MOST_ASKED);
    const looks = await Promise.all(waiting.map((one) => ask(address(one.run)).catch(() => ({}))));
    if (mine !== view) { return; }
    listed = found.runs;
    linked("live", "good");
    keeping(() => {
      draw_list();
      show_questions($("#inbox"), looks.flatMap((run) => (run.questions || []).map((one) => [run.run, one])),
        () => refresh_list(mine));
    });
    if (left) {
      arrive(document.querySelector('#runs a[href="' + CSS.escape(link_to(left).getAttribute("href")) + '"]') || $("#runs h1"));
      left = "";
    }
  } catch (error) {
    if (mine !== view) { return; }
    linked("not connected", "error");
  }
  list_timer = setTimeout(() => refresh_list(mine), Math.max(LIST_MS, 10 * (Date.now() - began))); // many runs cost time
}

// ---- one run ----

function say(text) {
  $("#said").textContent = text || "";
  $("#said").hidden = !text;
}

// A link cannot carry the token: what is asked with it is kept as a file here.
function receipt_button(run) {
  return el("button", { type: "button", on: { click: async () => {
    say("");
    try {
      const file = URL.createObjectURL(await ask(address(run) + "/receipt", undefined, "blob"));
      el("a", { href: file, download: run + ".receipt" }).click();
      setTimeout(() => URL.revokeObjectURL(file), 10000);
    } catch (error) { say(error.message); }
  } } }, "Receipt");
}

// A button that acts; with `sure` it asks by its words first, and acts when it is pressed again.
function act_button(run, name, path, body, again, sure) {
  return el("button", { type: "button", on: { click: async (event) => {
    const made = event.target;
    if (sure && made.textContent !== sure) {
      made.textContent = sure;
      return;
    }
    if (made.classList.contains("busy")) { return; }
    made.classList.add("busy");
    say("");
    try { await ask(address(run) + "/" + path, body); } catch (error) { say(error.message); }
    made.classList.remove("busy");
    made.textContent = name;
    again();
  } } }, name);
}

function act_buttons(run, status, again) {
  const can = [], add = (name, path) => can.push(act_button(run, name, path, {}, again));
  if (status.held_by) { add("Stop", "stop"); }
  if (!status.held_by && (status.status === "paused" || status.status === "interrupted")) { add("Resume", "resume"); }
  if (!status.held_by && status.status !== "completed" && status.errors > 0) { add("Retry the failed step", "retry"); }
  can.push(receipt_button(run));
  return can;
}

function state_of(status) { return [status.held_by ? 1 : 0, status.status, status.errors].join(" "); }

// What can be done with one step of a run that no process advances.
function step_buttons(run, status, again) {
  const buttons = function (step) {
    const can = [];
    if (status.held_by || step.sub) { return can; }
    if (step.status === "failed" && status.status !== "completed") {
      can.push(act_button(run, "Retry this step", "retry", { step: step.id }, again));
    }
    if (step.place > 0) {
      can.push(act_button(run, "Go back to before this step", "rollback", { to: step.place }, again,
        "Go back? Effects outside the run are not undone"));
    }
    return can;
  };
  buttons.state = state_of(status);
  return buttons;
}

// What is open of a run that a process advances has taken time since its last record.
function grow(given) {
  const now = Math.max(Date.now(), given.ended || 0), waited = now - (given.ended || now);
  given.ended = now;
  given.active += waited;
  for (const step of given.steps.filter((one) => one.status === "open")) {
    step.ms += waited;
    for (const call of (step.calls || []).filter((one) => one.ok === undefined)) { call.ms += waited; }
  }
  given.cards[0].value = took(given.active);
}

function draw_run(run, status, again) {
  const home = $("#run"), word = status.status, notice = home.querySelector(".notice");
  document.title = (status.skill || run) + ": " + word;
  home.querySelector("h1").textContent = shown(status.skill || run);
  const made = badge(word);
  home.querySelector(".who .badge").replaceWith(made);
  home.querySelector(".reason").textContent = word === "completed" || status.held_by ? "" : shown(status.reason || "");
  home.querySelector(".meta").textContent = shown([data.mode, "run " + run, "began " + (status.started_at || "")].join(" · "));
  const state = state_of(status);
  if (home.dataset.state !== run + state) {
    home.dataset.state = run + state;
    home.querySelector(".acts").replaceChildren(...act_buttons(run, status, again));
  }
  home.querySelector(".cards").replaceChildren(...(data.cards || []).map((one) => el("div", { class: "card " + (one.kind || "") },
    el("dt", {}, one.name), el("dd", {}, one.value), one.more && el("dd", { class: "more" }, one.more))));
  const is_shown = (data.errors || []).some((one) => one.message && (status.message || "").endsWith(one.message));
  notice.hidden = word === "completed" || is_shown || Boolean(status.held_by || status.questions) || !status.message;
  notice.className = "notice " + (KINDS[word] || "");
  notice.querySelector("p").textContent = shown(status.message || "");
  show_questions($("#ask"), (status.questions || []).map((one) => [run, one]), again);
}

// The records of a run, from where it was read: calls `came` for each; follows again when the connection ends.
function follow(run, came) {
  const given = new AbortController();
  let last = 0, closed = false;
  (async function read() {
    while (!closed) {
      try {
        const reply = await fetch(address(run) + "/events", { signal: given.signal,
          headers: headers_of({ "Last-Event-ID": String(last) }) });
        if (!reply.ok) { throw new Error(String(reply.status)); }
        linked("live", "good");
        const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
        let text = "";
        for (;;) {
          const part = await reader.read();
          if (part.done) { break; }
          text += part.value;
          const end = text.lastIndexOf("\n\n");
          if (end < 0) { continue; }
          for (const block of text.slice(0, end).split("\n\n")) {
            const id = /^id: (\d+)$/m.exec(block);
            if (id) {
              last = Number(id[1]);
              came();
            }
          }
          text = text.slice(end + 2);
        }
      } catch (error) {
        if (closed) { return; }
        linked("not connected", "error");
      }
      await new Promise((done) => setTimeout(done, 1000));
    }
  })();
  return function () {
    closed = true;
    given.abort();
  };
}

function open_run(run, mine) {
  let arrives = was_here, busy = false, again = false, due = 0, drawn = -1, slow = 0, given = null, state = "";
  async function refresh() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    again = false;
    try {
      const status = await ask(address(run));
      const is_new = drawn !== status.records;
      if (is_new) { given = await ask(address(run) + "/data"); }
      if (mine !== view) { return; }
      $("#run").hidden = false;
      if (status.held_by) { grow(given); }
      buttons_of = step_buttons(run, status, refresh);
      if (is_new || state !== buttons_of.state) {
        show(given);
        drawn = status.records;
        state = buttons_of.state;
      }
      keeping(() => draw_run(run, status, refresh));
      if (arrives) { arrive($("#run h1")); }
      arrives = false;
    } catch (error) {
      if (mine === view) {
        $("#run").hidden = false;
        say(error.message);
      }
    }
    busy = false;
    clearTimeout(slow);
    if (mine === view) { slow = setTimeout(soon, 5000); } // that a process is gone stands in no record
    if (again) { soon(); }
  }
  function soon() {
    if (mine === view && !due) {
      due = setTimeout(() => {
        due = 0;
        refresh();
      }, EVENT_MS);
    }
  }
  refresh();
  stop_following = follow(run, soon);
}

// ---- where we are ----

// The run that is shown, and the one that was, to whose row the focus goes; and what had the focus then.
let here = "", left = "", was_here = false, held = null;

// The focus goes to a view that has come, unless it was moved meanwhile.
function arrive(to) {
  if (document.activeElement === held || document.activeElement === document.body) { to.focus(); }
}

function go() {
  const run = /(?:^#|&)run=([^&]+)/.exec(location.hash);
  const mine = ++view;
  left = run ? "" : here;
  here = run ? decodeURIComponent(run[1]) : "";
  held = document.activeElement;
  if (stop_following) { stop_following(); }
  stop_following = null;
  clearTimeout(list_timer);
  $("#door").hidden = true;
  $("#overview").hidden = Boolean(run);
  $("#run").hidden = true;
  $("#said").hidden = true;
  if (run) {
    open_run(here, mine);
  } else {
    document.title = "skillrt: runs";
    refresh_list(mine);
  }
  was_here = true;
}

$("#door form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEY, $("#door input").value.trim());
  go();
});
$("#runs form").addEventListener("submit", (event) => event.preventDefault());
$("#runs input").addEventListener("input", draw_list);
window.addEventListener("hashchange", () => {
  take_token();
  go();
});
take_token();
go();
