"""An export format that says how many rows there are."""


def write(columns, pages, stream):
    """Writes the number of rows; returns it."""
    rows = sum(len(page) for page in pages)
    stream.write(f"seam: {rows} row(s) of {len(columns)} columns\n".encode())
    return rows


ENTRY = write
