export const meta = { name: 'bench', description: 'agents side by side' }

return (await parallel([...Array(args.agents).keys()].map((i) => () => agent(`say ${i}`, { schema: { type: 'object' } })))).length
