"""Takes the prose and the names out of a file. A piece is a Piece: its text, and where each part of it stands."""

import bisect
import io
import re
import tokenize


class Piece:
    """Text of one comment, string, paragraph or the like that may cover several lines of the file."""

    def __init__(self, kind, parts):
        self.kind = kind  # "doc", "table", "comment", "string" or "name"
        self.begins, self.lines, text = [], [], []
        length = 0
        for line, part in parts:
            self.begins.append(length)
            self.lines.append(line)
            text.append(part)
            length += len(part) + 1
        self.text = " ".join(text)

    def line(self, offset):
        return self.lines[bisect.bisect_right(self.begins, offset) - 1]


def _numbered(first, text, clean=str.strip):
    return [(first + i, clean(line)) for i, line in enumerate(text.splitlines() or [""])]


# --- Markdown

_FENCE = re.compile(r"^\s*(```|~~~)")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_CODE = re.compile(r"(`+)(.+?)\1")
_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_HTML = re.compile(r"<!--.*?-->|</?[a-zA-Z][^>]*>|<https?://[^>]*>|https?://\S+")


def _plain(line):
    line = _CODE.sub(lambda match: "`" + "x" * max(1, len(match[2].split()) and 1) + "`", line)
    return _HTML.sub(" ", _LINK.sub(r"\1", _IMAGE.sub(r"\1", line))).strip()


def markdown(text):
    pieces, paragraph, fenced = [], [], False

    def close():
        if paragraph:
            pieces.append(Piece("doc", paragraph))
            paragraph.clear()

    for number, line in enumerate(text.splitlines(), start=1):
        if _FENCE.match(line):
            fenced = not fenced
            close()
            continue
        code = re.sub(r"(?:^|\s)#\s.*", "", line) if fenced else " ".join(match[2] for match in _CODE.finditer(line))
        if code:
            pieces.append(Piece("name", [(number, code)]))
        if fenced:
            comment = re.search(r"(?:^|\s)#\s+(.*)", line)
            if comment:
                pieces.append(Piece("comment", [(number, comment[1])]))
            continue
        stripped = line.strip().lstrip("> ")
        if not stripped:
            close()
        elif stripped.startswith("|"):
            close()
            for cell in _plain(stripped).strip("|").split("|"):
                pieces.append(Piece("table", [(number, cell.strip())]))
        elif stripped.startswith("#"):
            close()
            pieces.append(Piece("doc", [(number, _plain(stripped.lstrip("# ")))]))
        else:
            if _ITEM.match(line):
                close()
            paragraph.append((number, _plain(_ITEM.sub("", stripped))))
    close()
    return pieces


# --- C++, Go, JavaScript, protobuf: one scanner

_TOKENS = {
    "cc": r'(?P<raw>R"(?P<mark>[^\s()\\]{0,16})\((?P<inner>.*?)\)(?P=mark)")|(?P<string>"(?:\\.|[^"\\\n])*")'
          r"|(?P<char>(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+')",
    "go": r'(?P<raw>`(?P<inner>[^`]*)`)|(?P<string>"(?:\\.|[^"\\\n])*")' r"|(?P<char>'(?:\\.|[^'\\\n])+')",
    "js": r'(?P<raw>`(?P<inner>[^`]*)`)|(?P<string>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')' r"|(?P<char>(?!))",
}  # fmt: skip
_SCANNERS = {name: re.compile(r"(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|" + tokens, re.DOTALL)
             for name, tokens in _TOKENS.items()}
_ESCAPE = re.compile(r"\\(?:[nrt]|x[0-9a-f]{2}|.)")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\b.*$|^[ \t]*import[ \t]+"[^"]*"$', re.MULTILINE)


def c_like(text, language):
    text = _INCLUDE.sub(lambda match: "", text)
    pieces, comment, string, code = [], [], [], []
    ended, line_at, counted = 0, 1, 0

    def close(kind, parts):
        if parts:
            pieces.append(Piece(kind, parts))
            parts.clear()

    for match in _SCANNERS[language].finditer(text):
        between = text[ended:match.start()]
        if between.strip():
            close("comment", comment)
            close("string", string)
            code += _numbered(line_at, between)
        line_at += text.count("\n", counted, match.start())
        counted = match.start()
        if match["line"]:
            # A comment after code stands for itself; a comment that continues the line above joins it.
            if comment and (line_at != comment[-1][0] + 1 or between.strip() or not match["line"].strip("/ ")):
                close("comment", comment)
            comment.append((line_at, match["line"].strip("/! ")))
        elif match["block"]:
            close("comment", comment)
            pieces.append(Piece("comment", _numbered(line_at, match["block"], lambda line: line.strip(" */"))))
        elif match["raw"]:
            close("comment", comment)
            pieces.append(Piece("string", _numbered(line_at, match["inner"])))
        elif match["string"]:
            close("comment", comment)
            string.append((line_at, _ESCAPE.sub(" ", match["string"][1:-1])))
        ended = match.end()
        line_at += text.count("\n", counted, ended)
        counted = ended
    close("comment", comment)
    close("string", string)
    code += _numbered(line_at, text[ended:])
    pieces += [Piece("name", [part]) for part in code if part[1]]
    return pieces


# --- Python, shell, YAML, CMake

def python(text):
    pieces, comment, string = [], [], []

    def close(kind, parts):
        if parts:
            pieces.append(Piece(kind, parts))
            parts.clear()

    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError) as problem:
        raise ValueError(f"is no Python: {problem}") from None
    for token in tokens:
        if token.type == tokenize.COMMENT:
            if comment and comment[-1][0] + 1 != token.start[0]:
                close("comment", comment)
            comment.append((token.start[0], token.string.strip("#! ")))
        elif token.type == tokenize.STRING:
            inner = re.sub(r"^\w*(\"\"\"|'''|\"|')(.*)\1$", r"\2", token.string, flags=re.DOTALL)
            string += _numbered(token.start[0], _ESCAPE.sub(" ", inner))
        elif token.type not in (tokenize.NL, tokenize.COMMENT):
            close("comment", comment)
            close("string", string)
            if token.type == tokenize.NAME:
                pieces.append(Piece("name", [(token.start[0], token.string)]))
    close("comment", comment)
    close("string", string)
    return pieces


_HASH = re.compile(r"(?:^|(?<=\s))#(.*)$")
_SHELL_STRING = re.compile(r'"((?:\\.|[^"\\])*)"|\'([^\']*)\'')
_YAML_PROSE = re.compile(r"(?:^|[\s{,-])(?:name|why|summary|description|message|title): +(?P<value>[^{}\[\]]*\s[^{}\[\]]*)$")

_YAML_KEY = re.compile(r"""(?:^|[\s{,'"-])([A-Za-z][\w./-]*)['"]?:(?=\s|$)""")


def hashed(text, language):
    """Files with # comments: "sh", "yaml" or "cmake"."""
    pieces, comment = [], []
    for number, line in enumerate(text.splitlines(), start=1):
        match = _HASH.search(line)
        code = line[:match.start()] if match else line
        # A mark within quotes begins no comment.
        if match and (code.count('"') % 2 or code.count("'") % 2):
            match, code = None, line
        if comment and (not match or code.strip()):
            pieces.append(Piece("comment", comment))
            comment = []
        if match:
            comment.append((number, match[1].strip("#! ")))
        if language == "sh":
            for string in _SHELL_STRING.finditer(code):
                inner = string[1] or string[2] or ""
                if " " in inner:
                    pieces.append(Piece("string", [(number, re.sub(r"\$\{?\w+\}?", "x", inner))]))
        elif language == "yaml":
            value = _YAML_PROSE.search(code)
            if value:
                pieces.append(Piece("string", [(number, value["value"])]))
            pieces += [Piece("name", [(number, key)]) for key in _YAML_KEY.findall(code)]
    if comment:
        pieces.append(Piece("comment", comment))
    return pieces


_LANGUAGES = {
    ".md": markdown,
    **{ending: lambda text: c_like(text, "cc") for ending in (".cc", ".h", ".proto")},
    ".go": lambda text: c_like(text, "go"),
    ".js": lambda text: c_like(text, "js"),
    ".py": python,
    ".sh": lambda text: hashed(text, "sh"),
    ".yaml": lambda text: hashed(text, "yaml"),
    ".yml": lambda text: hashed(text, "yaml"),
    ".cmake": lambda text: hashed(text, "cmake"),
}


def language_of(path, first_line):
    """The reader of the file's language, or None for a file that has no prose of ours."""
    if path.suffix in _LANGUAGES:
        return _LANGUAGES[path.suffix]
    if path.name == "CMakeLists.txt":
        return _LANGUAGES[".cmake"]
    if path.name in ("missed", "same_differences"):  # lists of reasons
        reason = re.compile(r"^[^#:]*: ")  # after the name of a claim or a file
        return lambda text: [Piece("comment", [(at, reason.sub("", line))]) for at, line in _numbered(1, text)]
    if first_line.startswith("#!"):
        return python if "python" in first_line else _LANGUAGES[".sh"]
    return None
