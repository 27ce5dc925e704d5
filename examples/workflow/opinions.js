export const meta = {
  name: 'opinions',
  description: 'three reviewers look at a question side by side, a judge decides',
  phases: [{ title: 'Opinions' }, { title: 'Verdict' }],
}

const question = args?.question ?? 'Is it wise to write to disk before one speaks?'
const verdict = {
  type: 'object',
  properties: { verdict: { type: 'string' }, reason: { type: 'string' } },
  required: ['verdict', 'reason'],
}

phase('Opinions')
const opinions = await parallel(['careful', 'quick', 'old'].map((who) => () =>
  agent(`As a ${who} engineer: ${question}`, { label: who, phase: 'Opinions' })))

if (args?.ask) {
  const go = await ask({ header: 'Judge', question: 'Let the judge decide?', options: [
    { id: 'yes', label: 'Yes' }, { id: 'no', label: 'No, the opinions are enough' }], default: 'yes' })
  if (go === 'no') return { opinions }
}

phase('Verdict')
return agent(`As a judge, weigh these: ${JSON.stringify(opinions)}`, { label: 'judge', phase: 'Verdict', schema: verdict })
