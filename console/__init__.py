"""The InferAct console: detectors raise alerts, people decide, feedback goes back to the agent.

`cli`, `server` and `web` parse, draw and answer; `gate` and `studies` are the sources of requests; `trials`,
`detection`, `review` and `runs` are services that take a database session; `actors`, `environments`, `analysis`, `llm`
and `trajectory` are shelves, which use neither the database nor the browser.
"""
