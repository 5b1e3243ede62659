"""The InferAct console: detectors raise alerts, people decide, and feedback goes back to the agent.

`cli`, `server` and `web` parse, draw and answer; `gate` and `studies` are the sources of requests. `trials`,
`detection`, `review` and `runs` are services with a database session as their first argument. `actors`, `environments`,
`analysis`, `llm` and `trajectory` use neither the database nor the browser.
"""
