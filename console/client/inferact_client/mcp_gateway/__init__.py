"""The command `inferact-mcp`: a gateway in front of MCP servers that runs a tool only with an approval of the console.

The agent connects to the gateway instead of the servers, so that it holds neither their addresses nor their secrets.
"""
