// workflow.d.ts: what a workflow script of skillrt finds around it (docs/write/workflows.md). An editor reads it after
//
//   /// <reference path="/usr/local/share/skillrt/workflow.d.ts" />
//
// in front of the script, or from a jsconfig.json next to it: { "include": ["*.js", ".../workflow.d.ts"] }.
// tests/run/workflow_types_spec.lua compares it with the realm of scripts, and checks examples by TypeScript.

/** A JSON Schema. */
type SkillrtSchema = { [keyword: string]: unknown }

/** What a script's `export const meta = { ... }` has; it must be a plain literal. */
interface SkillrtMeta {
  name: string
  description: string
  phases?: { title: string; [more: string]: unknown }[]
  [more: string]: unknown
}

/** Options of `agent`. */
interface SkillrtAgentOptions {
  /** its name in the log */
  label?: string
  /** the heading above it in the log */
  phase?: string
  /** a JSON Schema of an object: the answer is a value that fits it */
  schema?: SkillrtSchema
  /** a model's name, or haiku, sonnet or opus */
  model?: string
  effort?: string
  /** which agent: a name, or a file of .claude/agents */
  agent?: string
  /** the same; also general-purpose, Explore or Plan */
  agentType?: string
  /** names of the tools that it may use */
  tools?: string[]
  /** seconds for the whole call */
  timeout?: number
  /** a git worktree of its own */
  isolation?: 'worktree'
}

/** A question to a person. */
interface SkillrtQuestion {
  question: string
  /** short, for lists */
  header?: string
  options?: (string | { id: string; label?: string; description?: string })[]
  [more: string]: unknown
}

/** An agent's answer as a value that fits the schema; null if the agent failed or was skipped. */
declare function agent<T = any>(prompt: string, options: SkillrtAgentOptions & { schema: SkillrtSchema }): Promise<T | null>
/** An agent's answer as text; null if the agent failed or was skipped. */
declare function agent(prompt: string, options?: SkillrtAgentOptions): Promise<string | null>

/** Calls all functions at once; null for one that throws. */
declare function parallel<T>(thunks: readonly (() => T | Promise<T>)[]): Promise<(T | null)[]>

/** Each item passes through the stages at its own pace; null for one that throws. */
declare function pipeline<I, A>(items: readonly I[],
  one: (previous: I, item: I, index: number) => A | Promise<A>): Promise<(A | null)[]>
declare function pipeline<I, A, B>(items: readonly I[],
  one: (previous: I, item: I, index: number) => A | Promise<A>,
  two: (previous: A, item: I, index: number) => B | Promise<B>): Promise<(B | null)[]>
declare function pipeline<I>(items: readonly I[],
  ...stages: ((previous: any, item: I, index: number) => any)[]): Promise<any[]>

/** A heading in the log. */
declare function phase(title: string): void
/** A line in the log. */
declare function log(...texts: unknown[]): void
/** Asks a person; the run pauses, and needs no process until the answer. */
declare function ask(question: string | SkillrtQuestion): Promise<any>
/** Runs another script inline: by name, by path. */
declare function workflow(script: string | { scriptPath: string }, args?: unknown): Promise<any>

/** The JSON after `--`, else the words there, else the input of --set. */
declare const args: any
/** Output tokens; the limit is --limit usage.output_tokens=N. */
declare const budget: {
  /** null: no limit */
  readonly total: number | null
  spent(): number
  /** Infinity without a limit */
  remaining(): number
}
