"""The InferAct console: detectors raise alerts, people decide, feedback goes back to the agent.

Doors (`cli`, `worker`, `pages`) call services (`runs`, `review`, `trajectories`), services call the shelves
(`detectors`, `importers`, `environments`, `actors`, `metrics`, `charts`, `exports`) and `storage`; a shelf knows
neither the database nor the browser.
"""
