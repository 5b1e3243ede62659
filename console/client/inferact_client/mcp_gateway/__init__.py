"""The command `inferact-mcp`: a gateway in front of MCP servers that runs a tool only if the console approves.

The agent connects to the gateway instead of the servers, so that it holds neither their addresses nor their secrets.
"""
