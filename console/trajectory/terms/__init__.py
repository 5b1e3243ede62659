"""Terms, what an instruction requires - limits, sizes, names, ids, dates, attributes - and where a text speaks of them.

`terms` reads an instruction once, from left to right; `occurrences` finds one term in any text, loosely: case,
punctuation, plurals and the usual ways to write a price, a size or a date make no difference. Both are linear.
"""

from console.trajectory.terms.extract import Term, TermKind, terms
from console.trajectory.terms.lexicon import COUNTS, FUNCTION_WORDS
from console.trajectory.terms.match import lowered, mentions, occurrences, vocabulary, words
