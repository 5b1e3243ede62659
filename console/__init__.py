"""The InferAct console: detectors raise alerts, people decide, and feedback goes back to the agent.

`cli`, `server` and `web` are the user interfaces; `gate` and `studies` are the sources of requests. `trials`,
`detection`, `review` and `runs` are services, whose functions take a database session first. `actors`, `environments`,
`analysis`, `llm` and `trajectory` use neither the database nor the browser.
"""
