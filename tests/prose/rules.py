"""The rules of the prose check: words to avoid in prose, terms to avoid in names, and limits of length."""

import re

MOST_WORDS = 25  # of a sentence in Markdown
MOST_COLUMNS = 120  # of a line of Markdown

# A pronoun for people is right after a noun for people: "users who submit jobs".
_PERSON = (r"(?:users?|operators?|teams?|people|persons?|readers?|administrators?|authors?|contributors?|developers?"
           r"|engineers?|someone|everyone|anyone|researchers?|maintainers?|owners?|strangers?|newcomers?)")
_AFTER_PERSON = re.compile(_PERSON + r"\b\W*(?:\w+\W+){0,2}$", re.IGNORECASE)

# Pattern and what is expected instead. Matched case-insensitively on whole words of prose.
WORDS = [
    (r"who(?!\s+cares)|whom", "the noun of the thing, or \"that\""),
    (r"who(?:m|so)?ever", "the noun of the thing, or \"any job that\""),
    (r"nobody|somebody|anybody|everybody", "the noun of the thing: \"no job\", \"another pod\""),
    (r"those (?:who|whom|that|which|whose)", "the noun of the thing: \"jobs that\""),
    (r"(?<!the )(?<!all )(?<!and )(?<!like )(?<!than )others", "the noun of the thing: \"other jobs\""),
    (r"anew", "\"again\""),
    (r"told", "\"reported\", \"notified\", \"shown\""),
    (r"(?:let|lets|letting) (?:in|it in|them in)", "\"admitted\""),
    (r"(?:come|comes|came|coming) again", "\"return\", \"is created again\", \"is requeued\""),
    (r"(?:take|takes|taken|took|taking) back", "\"reclaim\""),
    (r"berths?|agendas?|promis(?:e|es|ed)", "\"reservation\", \"backfill plan\", \"guarantee\""),
    (r"set(?:s|ting)? aside", "\"reserved\""),
    (r"(?:held room|room (?:is |was |that is )?(?:held|kept))", "\"reserved room\", \"reservation\""),
    (r"tickets?", "\"slot\""),
    (r"tolls?|relief", "\"eviction cost\", \"victim selection\""),
    (r"waking|wakings", "\"wake-up\", \"requeue\""),
    (r"cutters?", "\"partitioner\", \"limiter\""),
    (r"(?:is|are|be|was|were) expected to run|expected run", "\"run-time estimate\""),
    (r"(?:is|are) believed", "\"is trusted\""),
    (r"for ever", "\"forever\""),
    (r"of late", "\"recently\""),
    (r"manieth", "\"sequence number\""),
    (r"lest|whence|thence|thereof|whereof|hitherto|hither|thither|ere|thereupon", "a modern word"),
]

# Parts of names: of identifiers, YAML keys, metrics. CamelCase and snake_case are split, and a name matches when
# its parts contain these parts in a row.
TERMS = {
    "berth": "reservation", "berths": "reservations",
    "promise": "reservation", "promises": "reservations", "promised": "reserved",
    "agenda": "backfill plan", "toll": "eviction cost", "tolls": "eviction costs",
    "relief": "victim selection", "relieve": "victim selection", "unrelieved": "victim selection",
    "ticket": "slot", "tickets": "slots", "cutter": "partitioner, limiter", "cutters": "partitioners, limiters",
    "waking": "wake-up", "growth": "capacity event",
    "let in": "admitted", "held room": "reserved room", "set aside": "reserved", "room kept": "reserved room",
    "expected run": "estimated runtime", "expect run": "estimated runtime",
    "who": "the noun", "whom": "the noun", "whoever": "the noun", "nobody": "the noun", "somebody": "the noun",
    "anybody": "the noun", "everybody": "the noun", "told": "reported", "untold": "unreported", "anew": "again",
}  # fmt: skip

_WORDS = [(re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE), expected) for pattern, expected in WORDS]
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_-]+[A-Za-z0-9]+)*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Names of other people's: the standard library's, a browser's. And the benchmark of how costs grow, with its results.
_FOREIGN = re.compile(r"\bstd::\w+|\bPromise\b|\bcutoff\b|\btests/bench/growth\b|\bdocs/growth\.json\b|\bpictures\.sh growth\b")
_SUSPECT = re.compile("|".join(sorted({term.split()[-1] for term in TERMS}, key=len, reverse=True)), re.IGNORECASE)


def prose_findings(text):
    """Yields (offset, what was found, what is expected) of a piece of prose."""
    for pattern, expected in _WORDS:
        for match in pattern.finditer(text):
            if match[0].lower() in ("who", "whom") and _AFTER_PERSON.search(text[max(0, match.start() - 60):match.start()]):
                continue
            yield match.start(), match[0], expected


def name_findings(text):
    """Yields (offset, name, what is expected) of the names in a piece of code."""
    if not _SUSPECT.search(text):
        return
    text = _FOREIGN.sub(lambda match: " " * len(match[0]), text)
    for match in _NAME.finditer(text):
        parts = [part.lower() for part in _PART.findall(match[0])]
        for count in (1, 2):
            for first in range(len(parts) - count + 1):
                term = " ".join(parts[first:first + count])
                if term in TERMS:
                    yield match.start(), match[0], f"a name with \"{TERMS[term]}\" for \"{term}\""


_END = re.compile(r"[.!?][\"')\]*_]*(?=\s+[\"'(\[*_`A-Z0-9]|\s*$)")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|cf|etc|[A-Z]|al|No|Fig|Sect?|approx)\.$")
_WORD = re.compile(r"[\w`][\w`'’./:%+-]*")


def sentences(text):
    """Yields (offset, number of words, sentence)."""
    begin = 0
    for match in [*_END.finditer(text), None]:
        end = match.end() if match else len(text)
        if match and _ABBREVIATION.search(text[begin:match.start() + 1]):
            continue
        sentence = text[begin:end]
        if sentence.strip():
            lead = len(sentence) - len(sentence.lstrip())
            yield begin + lead, len(_WORD.findall(sentence)), sentence.strip()
        begin = end
