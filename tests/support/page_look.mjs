// page_look.mjs: looks at the page of `skillrt serve` in a headless browser: node page_look.mjs WHERE ADDRESS RUN ...
// WHERE has node_modules with puppeteer-core and axe-core; ADDRESS is the server's, with its token behind "#". Prints
// JSON: what axe and the console said of each view in light, dark and on a phone, which views are wider than the window,
// and, of the first view, when it was painted first (ms); of a run drawn with all its steps, the longest time between
// two frames while it is scrolled. At the end the run "fail", where it is one of these, is retried and taken back by its buttons, and told.acts has
// how it was then.
import { createRequire } from "node:module";

const [where, address, ...runs] = process.argv.slice(2);
const require = createRequire(where + "/x.js");
const puppeteer = require("puppeteer-core");
const axe = require("axe-core").source;
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--user-data-dir=" + process.env.PROFILE] });
const told = { violations: [], console: [], wide: [], frames: {}, views: 0, acts: [] };
const rest = (ms) => new Promise((done) => setTimeout(done, ms));

async function look(page, name) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const one of found.violations) {
    told.violations.push(`${name}: ${one.id}: ${one.nodes.slice(0, 3).map((node) => node.target.join(" ")).join(", ")}`);
  }
  if (await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth)) { told.wide.push(name); }
  told.views++;
}

// The page scrolled from its top to its end, one step a frame.
const scrolled = () => new Promise((done) => {
  const frames = [];
  let before = performance.now(), at = 0;
  (function step() {
    const now = performance.now();
    frames.push(now - before);
    before = now;
    at += 120;
    window.scrollTo(0, at);
    if (at < Math.min(document.documentElement.scrollHeight, 12000)) { requestAnimationFrame(step); } else { done(frames.slice(1)); }
  })();
});

try {
  for (const [name, width, scheme] of [["light", 1280, "light"], ["dark", 1280, "dark"], ["phone", 420, "light"], ["4k", 3840, "dark"]]) {
    const page = await browser.newPage();
    page.on("console", (said) => { if (said.type() === "error") { told.console.push(`${name}: ${said.text()}`); } });
    page.on("pageerror", (error) => told.console.push(`${name}: ${error.message}`));
    await page.setViewport({ width, height: 900 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.goto(address);
    await page.waitForSelector("#runs table");
    told.first_paint ??= await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
    await rest(300);
    await look(page, name + " list");
    if (process.env.SHOTS) { await page.screenshot({ path: `${process.env.SHOTS}/list-${name}.png`, fullPage: true }); }
    for (const run of runs) {
      const view = `${name} ${run}`;
      await page.evaluate((hash) => { location.hash = hash; }, "run=" + run);
      await page.waitForFunction(() => !document.querySelector("#run").hidden && document.querySelector("#run .cards").children.length > 0,
        { timeout: 60000 });
      await rest(300);
      await look(page, view);
      const times = (await page.evaluate(scrolled)).sort((a, b) => a - b);
      told.frames[view] = { count: times.length, middle: times[times.length >> 1], longest: times[times.length - 1] };
      if (process.env.SHOTS) { await page.screenshot({ path: `${process.env.SHOTS}/${run}-${name}.png`, fullPage: true }); }
    }
    await page.close();
  }
  if (!runs.includes("fail")) {
    console.log(JSON.stringify(told));
    await browser.close();
    process.exit();
  }
  const page = await browser.newPage();
  await page.goto(address);
  await page.waitForSelector("#runs table");
  await page.evaluate(() => { location.hash = "run=fail"; });
  const press = async (text) => {
    await page.waitForFunction((words) => [...document.querySelectorAll("#run button")]
      .some((one) => one.textContent.startsWith(words) && !one.disabled), { timeout: 20000 }, text);
    await page.evaluate((words) => [...document.querySelectorAll("#run button")]
      .find((one) => one.textContent.startsWith(words) && !one.disabled).click(), text);
  };
  const standing = () => page.evaluate(() => `${document.querySelector("#run .who .badge").textContent}, ${(steps || [])
    .filter((one) => one.status === "failed").length} failed of ${(steps || []).length}${document.querySelector("#said").textContent}`);
  const until = async (wanted) => {
    for (let i = 0; i < 400 && await standing() !== wanted; i++) { await rest(50); }
    told.acts.push(await standing());
  };
  await until("failed, 1 failed of 3");
  await press("Retry this step");
  await until("failed, 2 failed of 4");
  await press("Go back to before this step");
  await press("Go back? Effects");
  await until("paused, 2 failed of 4");
  await press("Resume");
  await until("failed, 2 failed of 4"); // its limit of errors is reached
  // the same without a mouse: from the top by Tab to the list of steps, down to the last, on to its button
  const tab_to = async (test, text) => {
    for (let i = 0; i < 80 && !await page.evaluate(test, text); i++) { await page.keyboard.press("Tab"); }
  };
  await page.evaluate(() => document.activeElement.blur());
  await tab_to(() => document.activeElement.getAttribute("role") === "listbox");
  for (let i = 0; i < 4; i++) { await page.keyboard.press("ArrowDown"); }
  await tab_to((words) => document.activeElement.textContent === words, "Retry this step");
  await page.keyboard.press("Enter");
  await until("failed, 3 failed of 5");
  if (process.env.SHOTS) { await page.screenshot({ path: `${process.env.SHOTS}/acts.png`, fullPage: true }); }
  console.log(JSON.stringify(told));
} finally {
  await browser.close();
}
