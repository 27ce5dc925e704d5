// others.mjs: 1,000 workflows of 10 steps on another system that keeps its steps in PostgreSQL: how long it takes to begin
// them, and to perform them, in one process, 100 at the same time.
//
// Usage: node others.mjs openworkflow|absurd|dbos URL [CONCURRENCY], in a folder where npm has installed openworkflow,
// postgres, absurd-sdk, @dbos-inc/dbos-sdk and pg; for absurd, the database has its sql/absurd.sql. The same for skillrt:
//   yes '{}' | head -n 1000 | skillrt submit URL bench/skills/ten.lua --each -; time skillrt worker URL --once --concurrency 100
const [, , system, url, given] = process.argv;
const concurrency = Number(given ?? 100);
const COUNT = 1000, STEPS = 10, AT_ONCE = 50, MOST_MS = 240000;

// Begins all, so many at the same time; their handles.
async function beginAll(begin) {
  const handles = [];
  while (handles.length < COUNT) handles.push(...await Promise.all(Array.from({ length: AT_ONCE }, begin)));
  return handles;
}

// Waits until a query counts as many as there are.
async function untilDone(query) {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  const end = Date.now() + MOST_MS;
  await client.connect();
  while (Number((await client.query(query)).rows[0].count) < COUNT) {
    if (Date.now() > end) throw new Error("not all were performed in time");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const systems = {
  async openworkflow(times) {
    const { OpenWorkflow } = await import("openworkflow");
    const { BackendPostgres } = await import("openworkflow/postgres");
    const system = new OpenWorkflow({ backend: await BackendPostgres.connect(url) });
    const workflow = system.defineWorkflow({ name: "steps" }, async ({ step }) => {
      let n = 0;
      for (let i = 0; i < STEPS; i++) n = await step.run({ name: "step" + i }, async () => n + 1);
      return n;
    });
    times.push(Date.now());
    await beginAll(() => workflow.run({}));
    times.push(Date.now());
    await system.newWorker({ concurrency }).start();
    await untilDone("select count(*) from openworkflow.workflow_runs where status in ('completed', 'succeeded')");
  },

  async absurd(times) {
    const { Absurd } = await import("absurd-sdk");
    const system = new Absurd({ db: url, queueName: "default" });
    await system.createQueue("default");
    system.registerTask({ name: "steps" }, async (_, ctx) => {
      let n = 0;
      for (let i = 0; i < STEPS; i++) n = await ctx.step("step" + i, async () => n + 1);
      return n;
    });
    times.push(Date.now());
    await beginAll(() => system.spawn("steps", {}));
    times.push(Date.now());
    await system.startWorker({ concurrency, batchSize: concurrency, pollInterval: 0.02 });
    await untilDone("select count(*) from absurd.t_default where state = 'completed'");
  },

  // Begun directly, which is faster than by the queue that DBOS polls.
  async dbos(times) {
    const { DBOS } = await import("@dbos-inc/dbos-sdk");
    DBOS.setConfig({ name: "steps", systemDatabaseUrl: url, logLevel: "error", systemDatabasePoolSize: 20 });
    const workflow = DBOS.registerWorkflow(async () => {
      let n = 0;
      for (let i = 0; i < STEPS; i++) n = await DBOS.runStep(async () => n + 1, { name: "step" + i });
      return n;
    }, { name: "steps" });
    await DBOS.launch();
    times.push(Date.now(), Date.now());
    let begun = 0;
    await Promise.all(Array.from({ length: concurrency }, async () => {
      while (begun++ < COUNT) await (await DBOS.startWorkflow(workflow)()).getResult();
    }));
  },
};

const times = [];
await systems[system](times);
const performed = Date.now() - times[1];
console.log(`${system}: ${times[1] - times[0]} ms to begin ${COUNT} workflows, ${performed} ms to perform them: ` +
  `${Math.round(COUNT * STEPS * 1000 / performed)} steps a second`);
process.exit(0);
