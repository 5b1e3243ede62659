"""The lexicon that instructions are read by: function words, colours, units, months, figures."""


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_FUNCTION_WORDS = _listed(
    """
    a about above after again all also although am among an and another any anything are as at be because been
    before being between both but by can cannot could did do does doing done down during each either else ever
    every find for from further get give given got had has have having he help her here hers him himself his how
    i if i'd i'll i'm in into is it item it's its itself i've just know let let's like look looking may me might
    more most much must my myself need needs now of off on once one ones only or other others ought our ours out
    over own people person please product put said same seem shall she should show some someone something such
    suppose than that that's the their them then there there's these they they're thing things this those
    through to too under until up upon us use used very want wanted wants was way we well went were what what's
    when where whether which while who whom whose why will wish with within would you you'd you'll your you're
    yours yourself hi hello thanks thank yes able buy buying purchase shop make made sure really get prefer
    preferably try interested searching pick choose select come comes im ive dont doesnt thats
    """
)
_COLOURS = _listed(
    """
    amber aqua beige black blonde blue bronze brown burgundy champagne charcoal coral cream crimson cyan gold
    golden gray green grey indigo ivory khaki lavender lilac magenta maroon mint multicolor navy olive orange
    peach pink plum purple red rose ruby silver tan teal turquoise violet white yellow
    """
)
_MATERIALS = _listed(
    """
    acrylic aluminum aluminium bamboo brass canvas cashmere ceramic chrome copper cotton denim faux fleece foam
    glass iron lace latex leather linen marble metal microfiber mesh nylon oak paper pine plastic polyester
    rayon rubber satin silicone silk spandex stainless steel stone suede titanium velvet vinyl walnut wood
    wooden wool
    """
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS)
ATTRIBUTES = frozenset(_COLOURS + _MATERIALS)
MONTHS = _listed("january february march april may june july august september october november december")
COUNTS = _listed("zero one two three four five six seven eight nine ten eleven twelve")
UNITS = {
    "inch": r"(?:inch(?:es)?|in\b\.?|”|″|\"|'')",
    "foot": r"(?:feet|foot|ft\b\.?|'|’|′)",
    "ounce": r"(?:fl(?:uid|\.)?\s?)?(?:ounces?|oz\b\.?)",
    "pound": r"(?:pounds?|lbs?\b\.?)",
    "gram": r"(?:grams?|g\b)",
    "kilogram": r"(?:kilograms?|kilos?|kg\b)",
    "centimeter": r"(?:centimet(?:er|re)s?|cm\b)",
    "millimeter": r"(?:millimet(?:er|re)s?|mm\b)",
    "meter": r"(?:met(?:er|re)s?|m\b)",
    "yard": r"(?:yards?|yds?\b)",
    "milliliter": r"(?:millilit(?:er|re)s?|ml\b)",
    "liter": r"(?:lit(?:er|re)s?|l\b)",
    "gallon": r"(?:gallons?|gal\b)",
    "gigabyte": r"(?:gigabytes?|gb\b)",
    "terabyte": r"(?:terabytes?|tb\b)",
    "watt": r"(?:watts?|w\b)",
    "volt": r"(?:volts?|v\b)",
}

PACKS = r"(?:packs?|pieces?|pcs|counts?|sets?|pairs?|bottles?|boxes|box|bags?)"

FIGURE = r"\d{1,3}(?:,\d{3}){1,3}(?:\.\d+)?|\d{1,12}(?:\.\d{1,6})?"
MONEY = rf"(?:[$€£]\s?(?:{FIGURE})|(?:{FIGURE})\s?(?:dollars?\b|usd\b|bucks?\b|euros?\b|pounds sterling\b|[€£]))"
AT_MOST = (
    r"(?:(?:lower|less|cheaper|smaller|fewer|no more|not more|no higher) than|under|below|at most|up to"
    r"|max(?:imum)?(?: of)?|within|not exceed(?:ing)?|<=?)"
)
AT_LEAST = r"(?:(?:higher|more|greater) than|over|above|at least|no less than|min(?:imum)?(?: of)?|>=?)"
UNIT = "(?:" + "|".join(UNITS.values()) + ")"
COUNT_WORD = "(?:" + "|".join(COUNTS[1:]) + ")"
MONTH = "(?:" + "|".join(f"{m[:3]}(?:{m[3:]})?" if m[3:] else m for m in MONTHS) + r")\b\.?"
