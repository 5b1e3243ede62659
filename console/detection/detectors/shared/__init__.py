"""Shared parts of detectors that use models: query cache, prompt views, reply parsing and verdicts, model clients."""
