// page_keys.mjs: uses the page of `skillrt serve` by its keyboard alone: node page_keys.mjs WHERE ADDRESS DOWNLOADS
// As page_look.mjs. The folder has the runs ask (waits), fail (failed) and tick (is running). Prints JSON: a line for each
// thing that was tried, how it was then; and problems: what had the focus and did not show it, came in the wrong order, or
// lost it.
import { createRequire } from "node:module";
import { existsSync } from "node:fs";

const [where, address, downloads] = process.argv.slice(2);
const puppeteer = createRequire(where + "/x.js")("puppeteer-core");
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--user-data-dir=" + process.env.PROFILE] });
const told = { tried: {}, problems: [] };
const rest = (ms) => new Promise((done) => setTimeout(done, ms));

try {
  const page = await browser.newPage();
  await page.setViewport({ width: Number(process.env.WIDTH) || 1280, height: 900 });
  const session = await page.createCDPSession();
  await session.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: downloads });
  page.on("pageerror", (error) => told.problems.push(error.message));
  await page.goto(address);
  await page.waitForSelector("#runs table");

  // What has the focus: its words, where it is, and whether it shows that.
  const focus = () => page.evaluate(() => {
    const one = document.activeElement, style = getComputedStyle(one), at = one.getBoundingClientRect();
    return { name: one === document.body ? "" : (one.getAttribute("aria-label") || one.textContent || one.getAttribute("href")).trim(),
      tag: one.localName, value: one.value, top: at.top + scrollY, left: at.left, height: at.height,
      shows: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 };
  });
  const press = async (key, times = 1) => { for (let i = 0; i < times; i++) { await page.keyboard.press(key); } };
  const kept = async (what, name) => {
    const now = await focus();
    if (!now.name || name !== undefined && now.name !== name) { told.problems.push(`${what}: the focus is at "${now.name}" (${now.tag})`); }
    if (now.name && !now.shows) { told.problems.push(`${what}: "${now.name}" does not show that it has the focus`); }
    return now;
  };
  // On by Tab, until a name is reached.
  const tab_to = async (name, key = "Tab") => {
    for (let i = 0; i < 120; i++) {
      if (key === "Tab") { await press("Tab"); } else { await page.keyboard.down("Shift"); await press("Tab"); await page.keyboard.up("Shift"); }
      if ((await focus()).name === name) { return kept("at " + name, name); }
    }
    told.problems.push(`"${name}" is not reached by ${key}`);
  };
  const shot = async (name) => {
    if (process.env.SHOTS) { await page.screenshot({ path: `${process.env.SHOTS}/keys-${name}.png` }); }
  };
  const standing = () => page.evaluate(() => document.querySelector("#run .who .badge").textContent);
  const until = async (what, test, ...words) => {
    await page.waitForFunction(test, { timeout: 20000, polling: 50 }, ...words).catch(() => told.problems.push(what + " never came"));
    await rest(200);
  };
  const until_status = (status) => until(status, (word) => !document.querySelector("#run").hidden
    && document.querySelector("#run .who .badge").textContent === word, status);
  const until_open = async (status) => {
    await until_status(status);
    await until("the focus in a run", () => document.activeElement === document.querySelector("#run h1"));
  };

  // the order of the list's view: as one reads
  const order = [];
  for (let i = 0; i < 60; i++) {
    await press("Tab");
    const one = await focus();
    if (!one.name || order.some((other) => other.name === one.name && other.top === one.top)) { break; }
    if (!one.shows) { told.problems.push(`"${one.name}" does not show that it has the focus`); }
    const last = order[order.length - 1];
    if (last && one.top + one.height <= last.top) { told.problems.push(`"${one.name}" comes behind "${last.name}"`); }
    order.push(one);
  }
  told.tried.order = order.map((one) => one.name);

  // filters the list, which is read again meanwhile
  await page.evaluate(() => document.activeElement.blur());
  await tab_to("Find a run");
  await page.keyboard.type("as");
  await rest(5000);
  await page.keyboard.type("k");
  told.tried.filtered = [(await kept("while the list is read again", "Find a run")).value,
    await page.evaluate(() => document.querySelectorAll("#runs tbody tr").length)];
  await tab_to("ask");
  await rest(5000);
  await kept("at a row, while the list is read again", "ask");
  await shot("list");

  // opens the run that waits, and answers its question
  await press("Enter");
  await until_open("paused");
  await kept("a run is opened");
  await tab_to("wait");
  await shot("question");
  await press("Enter");
  await until_status("completed");
  await kept("a question is answered");
  told.tried.answered = await standing();

  // back to the list: at the row that was left, and the list still filtered
  await tab_to("skillrt", "Shift");
  await press("Enter");
  await until("the row of ask", () => document.activeElement.textContent === "ask" && document.activeElement.closest("#runs"));
  await kept("back in the list", "ask");
  await tab_to("Find a run", "Shift");
  await press("Backspace", 3);
  await page.keyboard.type("fail");

  // retries the run that failed
  await tab_to("fail");
  await press("Enter");
  await until_open("failed");
  await tab_to("Retry the failed step");
  await shot("failed");
  await press("Enter");
  await until("the second failure", () => (steps || []).filter((one) => one.status === "failed").length === 2
    && document.querySelector("#run .who .badge").textContent === "failed");
  await kept("a step is retried");
  told.tried.retried = await standing();
  await tab_to("Receipt", (await focus()).name === "Receipt" ? "Shift" : "Tab");
  await press("Enter");
  for (let i = 0; i < 100 && !existsSync(downloads + "/fail.receipt"); i++) { await rest(50); }
  told.tried.receipt = existsSync(downloads + "/fail.receipt");

  // a run whose records come: what is open in it keeps the focus
  await tab_to("skillrt", "Shift");
  await press("Enter");
  await until("the row of fail", () => document.activeElement.textContent === "fail" && document.activeElement.closest("#runs"));
  await tab_to("Find a run", "Shift");
  await press("Backspace", 4);
  await page.keyboard.type("tick");
  await tab_to("tick");
  await press("Enter");
  await until_open("running");
  await tab_to("12 agentsWithout a phase");
  await press("Enter");
  for (let i = 0, one = {}; i < 120 && !(one.tag === "summary" && one.name.includes("sleep")); i++) {
    await press("Tab");
    one = await focus();
  }
  await press("Enter");
  const at = await kept("a call"), calls = () => page.evaluate(() => steps[steps.length - 1].calls.length), seen = await calls();
  await rest(3500);
  const now = await kept("a call, while records come");
  told.tried.followed = [now.tag, now.name === at.name, await calls() > seen, await page.evaluate(() => document.activeElement.parentNode.open),
    await page.evaluate(() => document.querySelector("#agents details").open)];
  await shot("tick");
  await tab_to("Stop", "Shift");
  await press("Enter");
  await until_status("paused");
  await kept("a run is stopped");
  told.tried.stopped = await standing();
  console.log(JSON.stringify(told));
} finally {
  await browser.close();
}
