"""The audit chain in a case file, and changes of it."""

import json
import re

_CHAIN = re.compile(r'(<script type="application/json" id="chain">)(.*?)(</script>)', re.DOTALL)


def read_chain(path):
    """The page's chain as JSON."""
    return _CHAIN.search(path.read_text("utf-8"))[2]


def change_chain(path, change):
    """Writes the page again with a changed copy of its chain; returns what the change returned."""
    copy = json.loads(read_chain(path))
    told = change(copy)
    written = json.dumps(copy).replace("<", "\\u003c")
    path.write_text(_CHAIN.sub(lambda found: found[1] + written + found[3], path.read_text("utf-8")), "utf-8")
    return told
