// viewers.mjs: looks at a run as so many pages of `skillrt serve` do: node viewers.mjs SOCKET RUN COUNT. Each follows the
// records, and asks for the run and its data at most once a second when some came. Prints "open" once all follow, and
// ends when all have seen the run completed, with how many requests that took.
import { request } from "node:http";

const [socketPath, run, count] = process.argv.slice(2);
let following = 0, asked = 0, left = Number(count);

function get(path) {
  asked++;
  return new Promise((done, fail) => {
    request({ socketPath, path }, (reply) => {
      const parts = [];
      reply.on("data", (part) => parts.push(part));
      reply.on("end", () => done(JSON.parse(Buffer.concat(parts))));
    }).on("error", fail).end();
  });
}

function look() {
  let drawn = -1, due = false, busy = false, again = false;
  const events = request({ socketPath, path: `/runs/${run}/events` }, (reply) => {
    if (++following === Number(count)) { console.log("open"); }
    reply.on("data", soon);
  }).on("error", () => {});
  async function refresh() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    again = false;
    const status = await get(`/runs/${run}`);
    if (status.records !== drawn) { drawn = (await get(`/runs/${run}/data`)) && status.records; }
    busy = false;
    if (status.status === "completed") {
      events.destroy();
      if (--left === 0) { console.log(asked); }
    } else if (again) {
      soon();
    }
  }
  function soon() {
    if (due) { return; }
    due = true;
    setTimeout(() => {
      due = false;
      refresh();
    }, 1000);
  }
  events.end();
}

for (let i = 0; i < left; i++) { look(); }
