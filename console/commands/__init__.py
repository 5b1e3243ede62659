"""One file per noun of the command line; `console.cli` puts them together."""
