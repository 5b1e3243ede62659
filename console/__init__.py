"""The InferAct console: detectors raise alerts, people decide, feedback goes back to the agent.

`cli`, `server` and `web` parse, draw and answer; `gate` and `studies` are who asks; `trials`, `detection`, `review` and
`runs` are services that take a database session; `actors`, `environments`, `analysis`, `llm` and `trajectory` are
shelves, which know neither the database nor the browser.
"""
