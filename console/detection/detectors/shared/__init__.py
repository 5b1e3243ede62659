"""What the detectors that ask models share: query cache, prompt views, reply parsing and verdicts, model clients."""
