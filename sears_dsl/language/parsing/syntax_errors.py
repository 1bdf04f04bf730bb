"""What went wrong in a line that the grammar refuses, and how to mend it.

Always holds: every refusal gets an explanation, which is the first that fits, from the most
particular to the most general. What is between backquotes in a line of help can be typed as it
stands: a suggestion made of the user's words is given only if the parser accepts it.
"""

from __future__ import annotations

import re

from sears_dsl.language.parsing.builder import Finding, Reads, no_amount
from sears_dsl.language.rule import FUNCTIONS, KEYS, NOISE_KINDS, OPTION_VALUES
from sears_dsl.language.words import QUOTED, as_text, code, nearest, quote

_KEYWORD_FORMS = {
    "sear": "sear 1",
    "ruleset": "ruleset NAME 1.0.0",
    "import": 'import "file.sear" as NAME',
    "option": "option case = exact",
    "set": "set NAME = a | b",
    "rule": "rule ID: antecedent -> consequent",
}
_ARROW = re.compile(r"(?<![^ \t])->(?=[ \t]|$)")
_OTHER_ARROW = re.compile(r"[-—–=~]+>|[→⇒⟶⟹↦]|>>|:=|(?<=[ \t])(?:[-—–=~]+[ \t]+)?>(?=[ \t])")
_BACKWARD_ARROW = re.compile(r"<[-—–]+(?=[ \t])|[←⇐⟵⟸]")
_BOTH_WAYS = re.compile(r"<[-=—–~]+>|[↔⇔⟷⟺]")
_CALL = re.compile(r"([A-Za-z_]+)\(")
_NOISE_BEFORE = re.compile(rf"\.({'|'.join(NOISE_KINDS)})([ \t]*)$")
_SPACED_NAME = re.compile(r"set[ \t]+(\w+(?:[ \t]+\w+)+)[ \t]+=[ \t]+")
_PARENTHESIS = re.compile(r"\([^()]*\)?")


def explain(
    line: str, position: int, expected: frozenset[str], start: str, reads: Reads
) -> Finding:
    """The explanation for a refusal at ``position``; ``start`` is statement or metadata."""
    bare = _blank_quoted(line)
    if '"' in bare:
        advice = r'end it with "; inside the string, a quotation mark is \"'
        if start != "metadata":
            # Outside of metadata a mark can stand alone, as a literal in quotes of its own.
            advice = r'end it with "; to match a quotation mark, write `"\""`'
        place = bare.index('"'), len(line)
        return Finding("E104", "this quoted string does not end on its line", place, advice)
    if start == "metadata":
        return _metadata(line, bare, position)
    return (
        _keyword(line, bare, position, reads)
        or _arrow(line, bare, position, reads)
        or _function_call(line, bare, position)
        or _foreign_notation(line, position, reads, arrow=_arrow_place(bare))
        or _local(line, bare, position, reads)
        or _structure(line, bare, position, expected, reads)
        or _fallback(line, position)
    )


def _blank_quoted(line: str) -> str:
    """The line with quoted text and its comment blanked out, of the same length."""
    bare = QUOTED.sub(lambda match: "x" * len(match[0]), line)
    comment = re.search(r"(?:^|(?<=[ \t]))#", bare)
    if comment:
        bare = bare[: comment.start()] + " " * (len(bare) - comment.start())
    return bare


def _advice_to_write(text: str, reads: Reads, otherwise: str) -> str:
    """``write `text` `` if the parser accepts the text, else the other advice."""
    return f"write {code(text)}" if reads(text) else otherwise


def _keyword(line: str, bare: str, position: int, reads: Reads) -> Finding | None:
    """A statement with a keyword that is incomplete, or that stands in the wrong place."""
    first = re.match(r"[A-Za-z]+", line)
    word = first[0] if first else ""
    rule_like = _ARROW.search(bare) is not None
    if word == "template" and not rule_like:
        mended = re.sub(r"^template\s+(\S+)\s+:\s*", r"template \1: ", line.rstrip())
        mended = re.sub(r"'(.*)'$", r'"\1"', mended)
        example = 'write `template fine: "This movie is fun."`, with nothing after the text'
        advice = example if mended == line else _advice_to_write(mended, reads, example)
        return Finding("E122", "a template must be quoted text", (0, 8), advice)
    if word == "label" and not rule_like:
        advice = "write `  label: NAME` under the template, indented by two spaces"
        return Finding("E322", "`label` belongs under a template", (0, 5), advice)
    form = _KEYWORD_FORMS.get(word)
    if form is None:
        return None
    if word == "rule":
        other = any(each.search(bare) for each in (_OTHER_ARROW, _BACKWARD_ARROW, _BOTH_WAYS))
        if not rule_like and other and re.match(r"rule[ \t]+[^\s:]+:[ \t]", bare):
            return None
        if re.match(r"rule[ \t]+[^\s:]*[ \t]+:|rule[ \t]+[^\s:]+:\S|rule:", bare) or not rule_like:
            advice = f"write `{form}`: no space before the colon, one after it"
            return Finding("E111", "this `rule` line is incomplete", (0, max(position, 4)), advice)
        return None
    if rule_like and not re.match(r"set[ \t]+[^\s=]+[ \t]*=", bare):
        return None
    advice = _completed(line, reads) or f"write it as in `{form}`"
    advice += f"\nin a rule, quote the word: {code(quote(word))}"
    place = 0, max(position, len(word))
    return Finding("E111", f"this `{word}` statement is incomplete or malformed", place, advice)


def _completed(line: str, reads: Reads) -> str:
    """Advice with the sign or the quotes that a header statement most likely lacks."""
    parts = line.split(maxsplit=2)
    if len(parts) < 3:
        return ""
    word, name, rest = parts[0], parts[1].rstrip(":="), parts[2].lstrip(":= ")
    candidates = []
    if word == "import":
        file, _, alias = f"{parts[1]} {parts[2]}".partition(" as ")
        candidates.append(f"import {quote(file.strip())} as {alias.strip()}")
    elif word == "option" and rest in (OPTION_VALUES | {"language": ("en",)}).get(name, ()):
        candidates.append(f"option {name} = {rest}")
    elif spaced := _SPACED_NAME.match(line):
        candidates.append(f"set {'_'.join(spaced[1].split())} = {line[spaced.end() :]}")
    elif word == "set":
        listed = re.split(r"[|,]", rest.strip("{}[]() "))
        members = [each.strip() for each in listed if each.strip()]
        if len(members) == 1:
            members = members[0].split()
        # A member of several words is text, as in the slots of a template.
        quoted = (
            quote(each) if len(each.split()) > 1 and '"' not in each else each for each in members
        )
        candidates += [f"set {name} = {rest}", f"set {name} = {' | '.join(members)}",
                       f"set {name} = {' | '.join(quoted)}"]  # fmt: skip
    fitting = next(filter(reads, candidates), None)
    return f"write {code(fitting)}" if fitting else ""


def _arrow(line: str, bare: str, position: int, reads: Reads) -> Finding | None:
    """No arrow, an arrow that is not one, or nothing on one of its sides."""
    arrows = [match.start() for match in _ARROW.finditer(bare)]
    if not arrows:
        both, backward = _BOTH_WAYS.search(bare), _BACKWARD_ARROW.search(bare)
        if both:
            return _turned(line[: len(bare.rstrip())], both, reads, both_ways=True)
        other = _OTHER_ARROW.search(bare)
        if backward and not other:
            return _turned(line[: len(bare.rstrip())], backward, reads, both_ways=False)
        if other:
            apart = other[0] == "->"
            wrong = "needs a space on both sides" if apart else "is not the arrow of a rule"
            mended = f"{line[: other.start()].rstrip()} -> {line[other.end() :].lstrip()}"
            advice = "the arrow is -> with a space on both sides: `movie -> film`"
            advice = _advice_to_write(mended, reads, advice)
            return Finding("E103", f"`{other[0]}` {wrong}", other.span(), advice)
        return None
    empty = not bare[: arrows[0]].strip()
    if empty or re.fullmatch(r"rule[ \t]+[^\s:]*:[ \t]*", bare[: arrows[0]]):
        place = 0 if empty else arrows[0]
        advice = "to insert text, write `<> -> text / left __ right`"
        return Finding("E110", "there is nothing before the arrow", (place, place + 2), advice)
    if not bare[arrows[0] + 2 :].strip():
        deletion = f"{line[: arrows[0]].rstrip()} -> <>"
        advice = _advice_to_write(deletion, reads, "to delete text, write `really -> <>`")
        behind = line[arrows[0] + 2 :].split()
        if behind and len(behind[0]) > 1:
            advice = f"a hash begins a comment; {as_text(behind[0])}\n{advice}"
        return Finding(
            "E110", "there is nothing after the arrow", (arrows[0], arrows[0] + 2), advice
        )
    if position > arrows[0] and re.match(r"[ \t]*->", bare[position:]):
        return Finding("E103", "a rule has only one arrow", (position, len(line)), as_text("->"))
    return None


def _turned(line: str, arrow: re.Match[str], reads: Reads, *, both_ways: bool) -> Finding:
    """An arrow that points to the left, or to both sides; the line has no comment."""
    left, right = line[: arrow.start()].rstrip(), line[arrow.end() :].strip()
    head = re.match(r"rule[ \t]+[^\s:]*:[ \t]*", left)
    left = left[head.end() :] if head else left
    right, slash, context = right.partition(" / ")
    beside = f" / {context}" if slash else ""
    rules = [f"{right} -> {left}{beside}"]
    if both_ways:
        rules.insert(0, f"{left} -> {right}{beside}")
    written = " and ".join(map(code, rules)) if all(map(reads, rules)) else "`movie -> film`"
    advice = f"a rule goes one way, from left to right: write {written}"
    return Finding("E103", f"`{arrow[0]}` is not the arrow of a rule", arrow.span(), advice)


def _function_call(line: str, bare: str, position: int) -> Finding | None:
    """A function in front of what it changes, as other languages write it."""
    start, end = _word_around(bare, position)
    call = _CALL.match(bare[start:end])
    if call is None or position <= _arrow_place(bare) or "__" in bare:
        return None
    name = call[1]
    argument = re.fullmatch(r"\w+\((\$\w+)(?:,(\S+))?\)", line[start:end])
    if name not in FUNCTIONS:
        close = nearest(name, FUNCTIONS)
        advice = f"a function follows what it changes, as in `$1.upper`; {close}"
    else:
        target = argument[1] if argument else "$1"
        amount = f"({argument[2]})" if argument and argument[2] else ""
        advice = f"a function follows what it changes: {code(f'{target}.{name}{amount}')}"
    return Finding("E123", f"`{name}(…)` is not a function call", (start, end), advice)


def _word_around(line: str, position: int) -> tuple[int, int]:
    """The start and the end of the word that holds a position or begins there."""
    start = max(line.rfind(" ", 0, position), line.rfind("\t", 0, position)) + 1
    return start, start + len(re.split(r"[ \t]", line[start:], maxsplit=1)[0])


def _arrow_place(bare: str) -> int:
    """Where the arrow is; the end of the line if there is none."""
    arrow = _ARROW.search(bare)
    return len(bare) if arrow is None else arrow.start()


def _local(line: str, bare: str, position: int, reads: Reads) -> Finding | None:
    """What is wrong, as told by the character that stopped the parser."""
    rest = bare[position:]
    right = position > _arrow_place(bare)
    here = position, position + 1
    character = rest[:1]
    word_start, word_end = _word_around(bare, position)
    word = bare[word_start:word_end]
    in_context = re.search(r"[ \t]/[ \t]", bare[:position]) is not None
    empty = re.search(r"(?<![^ \t])<>(?=[ \t]|$)", bare)
    if empty and empty.end() <= position and not in_context:
        advice = "it means nothing at all and must be alone on its side: `really -> <>`"
        return Finding("E110", "`<>` has something beside it", empty.span(), advice)
    if rest.lstrip().startswith("__") and not in_context:
        place = bare.index("__", position)
        advice = "it marks the replaced span in a context: `movie -> film / left __ right`"
        return Finding("E109", "`__` is only allowed in a context", (place, place + 2), advice)
    if ".as(" in word:
        advice = "write `film.as($1)`, with the number or name of an element"
        return Finding("E116", f"`{word}` is not an inflection", (word_start, word_end), advice)
    if character == "|" and not right and not _unclosed(bare, position):
        advice = (
            f"put alternatives in parentheses{_choice(word, reads)}\n"
            'to match a bar, quote it: `"|"`'
        )
        return Finding("E106", "alternatives need parentheses", here, advice)
    if right and character and character in "?{" and "__" not in bare[:position]:
        advice = f"a consequent is written exactly once; {as_text(word)}"
        return Finding("E107", "a quantifier is not allowed in the consequent", here, advice)
    if character == "{":
        end = position + max(rest.find("}") + 1, 1)
        advice = _bounds(line, position, end)
        message = f"`{line[position:end]}` is not a quantifier"
        return Finding("E107", message, (position, end), advice)
    if character == "?" and (position == 0 or bare[position - 1] in " \t(|!:"):
        advice = f"put it right after what is optional: `DET?`\n{as_text('?')}"
        return Finding("E107", "this `?` does not follow an element", here, advice)
    if character == "$":
        advice = f"references belong after the arrow; {as_text(word)}"
        message = "a reference is not allowed in the antecedent"
        return Finding("E119", message, (position, word_end), advice)
    if right and (finding := _unreadable_amount(line, position)):
        return finding
    if right and character and character in "()[]{}|":
        message = f"`{character}` is not allowed in the consequent, which has no patterns"
        return Finding("E105", message, here, as_text(_enclosed(line, word_start, word_end)))
    return None


def _choice(word: str, reads: Reads) -> str:
    group = f"({word})"
    plain = re.fullmatch(r"[A-Za-z]+(\|[A-Za-z]+)+", word)
    return f": {code(group)}" if plain and reads(f"{group} x -> y") else ""


def _bounds(line: str, position: int, end: int) -> str:
    """Advice with the quantifier that the text in braces most likely means."""
    numbers = re.fullmatch(r"\{\s*(\d?)\s*(,?)\s*(\d?)\s*\}", line[position:end])
    marks = re.search(r"(?<!\S)[!#-/:-@\[-`|~]+$", line[:position])
    quantifier = "{1,3}"
    if numbers and (numbers[1] or numbers[3]):
        low, high = numbers[1] or "0", numbers[3] or ("8" if numbers[2] else numbers[1])
        quantifier = f"{{{low},{high}}}"
    if marks:
        return f"quote punctuation before a quantifier: {code(quote(marks[0]) + quantifier)}"
    return f"give both bounds without spaces, right after the element: {code('NOUN' + quantifier)}"


def _enclosed(line: str, start: int, end: int) -> str:
    """The word, or all that its parenthesis encloses."""
    if line[start] == "(" and ")" not in line[start:end] and ")" in line[end:]:
        return line[start : line.index(")", end) + 1]
    return line[start:end]


def _structure(
    line: str, bare: str, position: int, expected: frozenset[str], reads: Reads
) -> Finding | None:
    """What is still open, as told by the terminals that the grammar would have accepted."""
    opened = _unclosed(bare, position)
    rest = bare[position:].strip()
    here, to_the_end = (position, position + 1), (position, len(line))
    context = re.search(r"[ \t]/(?:[ \t]|$)", bare)
    if "_CLOSE_BRACKET" in expected or "COMPARISON" in expected or "ATTRIBUTE_NAME" in expected:
        place = max(bare.rfind("[", 0, position + 1), 0), len(line)
        advice = (
            "write it as in `[lemma=be & tag!=VBZ]`, with text, lower, lemma, pos or tag; "
            "for a choice, write `(a|b)`"
        )
        return Finding("E116", "this test in brackets is incomplete", place, advice)
    if "ATTRIBUTE_VALUE" in expected:
        advice = 'write it as in `lemma=be`; quote a value that has punctuation: `text="?"`'
        return Finding("E116", "this test of an attribute has no value", to_the_end, advice)
    if opened and ({"_BAR", "_CLOSE"} <= expected or "GROUP_PUNCTUATION" in expected):
        if rest[:1] in {"|", ")"}:
            advice = "remove the bar; to make the group optional, write `(a|b)?`"
            return Finding("E106", "one alternative is empty", here, advice)
        place = opened[-1], opened[-1] + 1
        advice = 'close it, as in `(a b|c)`; to match a parenthesis, quote it: `"("`'
        return Finding("E106", "this group is not closed", place, advice)
    if rest[:1] == ")":
        advice = f"a group opens right before its first element: `(a b|c)`; {as_text(')')}"
        return Finding("E106", "this `)` closes nothing", here, advice)
    if context and position > context.start():
        place = context.start() + 1, len(line)
        advice = "write it as in `movie -> film / left __ right`, with the mark exactly once"
        return Finding("E109", "this context is incomplete or malformed", place, advice)
    if "_ARROW" in expected and not rest:
        advice = _NO_ARROW + _comment_note(line)
        if bare.rstrip().endswith(".sear"):
            advice += "\nto read a rule file in Python, use sears.load"
        return Finding("E102", "this rule has no arrow", (0, len(line)), advice)
    if "_WS" in expected and rest:
        return _glued(line, bare, position, reads)
    return None


_NO_ARROW = "a rule has the form `antecedent -> consequent`"


def _comment_note(line: str) -> str:
    if line.startswith(("//", "--", ";", "%", "/*")):
        return "\na comment begins with a hash: `# comment`"
    return ""


def _unclosed(bare: str, end: int) -> list[int]:
    """Positions of the parentheses before ``end`` that open a group and are not closed there."""
    opened: list[int] = []
    for place, character in enumerate(bare[:end]):
        if character == "(" and bare[place + 1 : place + 2].strip():
            opened.append(place)
        elif character == ")" and opened:
            opened.pop()
    return opened


def _glued(line: str, bare: str, position: int, reads: Reads) -> Finding:
    word = bare[position:].split(maxsplit=1)[0]
    whole = line[_word_around(line, position)[0] :].split(maxsplit=1)[0]
    advice = _repetition(bare, position) or _as_pattern(whole, reads) or _as_address(whole, reads)
    advice = advice or "put a space between two elements; only 's and quoted text may be glued"
    place = position, position + len(word)
    return Finding("E117", f"`{word}` is glued to what precedes it", place, advice)


def _as_pattern(word: str, reads: Reads) -> str:
    """Advice for a word that is a regular expression, such as ``colou?r``."""
    if not re.fullmatch(r"[\w?*+.()|\[\]-]+", word) or not reads(f"/{word}/ x -> y"):
        return ""
    return (
        f"for a pattern, use slashes: {code(f'/{word}/')}\n"
        "for two elements, put a space between them"
    )


_ADDRESS = re.compile(r"\w+://|www\.|[^\s?]+\?\w+=")


def _as_address(word: str, reads: Reads) -> str:
    """Advice for an address such as ``https://x.com/a?b=1``, which is one word to its author."""
    return as_text(word) if _ADDRESS.match(word) and reads(f"{quote(word)} x -> y") else ""


def _repetition(bare: str, position: int) -> str:
    if bare[position] not in "+*":
        return ""
    least = "1" if bare[position] == "+" else "0"
    return f"to repeat an element at most eight times, use braces: `(a|b){{{least},8}}`"


_VALUES_OF_KEYS = {
    "expect": "expect: same",
    "label": "label: positive",
    "rate": "rate: 25%",
    "seed": "seed: 7",
    "severity": "severity: high",
    "tags": "tags: vqa wh",
    "author": 'author: "A. Name"',
    "why": 'why: "a reason"',
}


def _metadata(line: str, bare: str, position: int) -> Finding:
    first = re.match(r"[A-Za-z_-]+", line)
    word = first[0] if first else ""
    whole = 0, len(line)
    if word == "test":
        advice = 'write `test "in" => "out"` or `test "in" => none`'
        return Finding("E112", "this test is incomplete", whole, advice)
    if _ARROW.search(bare):
        advice = "statements start at the margin; metadata is indented under its rule"
        return Finding("E113", "this rule is indented", whole, advice)
    if word in KEYS:
        advice = f"write {code(_VALUES_OF_KEYS[word])}"
        place = 0, max(position, len(word))
        return Finding("E112", f"`{word}` has no value", place, advice)
    advice = f'metadata has the form `why: "a reason"`; {nearest(word, KEYS)}'
    return Finding("E112", "this indented line is not metadata", (0, max(position, 1)), advice)


def _fallback(line: str, position: int) -> Finding:
    rest = line[position:].split()
    if not rest:
        return Finding("E101", "the line ends too early", (len(line), len(line) + 1), _NO_ARROW)
    word, place = rest[0][:40], (position, position + len(rest[0]))
    advice = as_text(word) + _comment_note(line)
    return Finding("E101", f"`{word}` is not allowed here", place, advice)


_VALUES = re.compile(r"\[\s*(\w+)\s*(!?)=\s*([^\s\]&|]+(?:\|[^\s\]&|]+)+)\s*\]")
_WORD = r"[^\s\[\]{}()|,=&]+"
# Glued to an element, braces are a quantifier.
_ALTERNATIVES = re.compile(rf"(?:(?<!\S)\{{|[\[(])\s*({_WORD}(?:\s*[|,]\s*{_WORD})+)\s*[\]}})]")
_INLINE_FLAG = re.compile(r"\(\?([A-Za-z]+)\)([^\s()]*)")
_INNER_GROUP = re.compile(r"\(\?(?::|P?<(\w+)>)([^()?]+)\)")
_CHARACTERS = re.compile(r"(?<!\S)\[\^?\w*-[\w-]*\][*+?]?(?!\S)")
_LOOK_AROUND = re.compile(r"\(\?<?[=!][^\s()]*\)")
_SPACY = re.compile(r'\{\s*"(\w+)"\s*:\s*"([^"]*)"\s*\}')
_SPACY_NAMES = {"ORTH": "text", "TEXT": "text", "LOWER": "lower", "LEMMA": "lemma", "POS": "pos",
                "TAG": "tag"}  # fmt: skip


def _foreign_notation(line: str, position: int, reads: Reads, *, arrow: int) -> Finding | None:
    """What stopped the parser at ``position``, if it is notation of another tool.

    ``arrow`` is where the consequent begins.
    """
    right = position > arrow
    for pattern, explained in (
        (_VALUES, _list_of_values),
        (_INLINE_FLAG, _inline_flag),
        (_INNER_GROUP, _inner_group),
        (_CHARACTERS, _characters),
        (_SPACY, _spacy_test),
    ):
        match = _around(pattern, line, position)
        if match and not right:
            message, written, note = explained(match)
            if reads(f"{written} x -> y"):
                return Finding("E116", message, match.span(), f"write {code(written)}{note}")
    match = _around(_LOOK_AROUND, line, position)
    if match:
        advice = "to test what stands beside, use a context: `movie -> film / !the __`"
        return Finding("E116", "rules have no look-around", match.span(), advice)
    match = _around(_ALTERNATIVES, line, position)
    if match is None:
        return None
    words = re.split(r"\s*[|,]\s*", match[1])
    if right:
        rules = [f"{line[: match.start()]}{word}{line[match.end() :]}" for word in words]
        if all(map(reads, rules)):
            message = "alternatives are not allowed in the consequent"
            advice = f"write a rule for each: {' and '.join(map(code, rules))}"
            return Finding("E105", message, match.span(), advice)
        return None
    group = f"({'|'.join(words)})"
    if match[0][0] == "(" or not reads(f"{group} x -> y"):
        return None
    message = "alternatives need parentheses"
    return Finding("E116", message, match.span(), f"write {code(group)}")


def _around(pattern: re.Pattern[str], line: str, position: int) -> re.Match[str] | None:
    """The match that contains the position."""
    matches = pattern.finditer(line)
    return next((match for match in matches if match.start() <= position <= match.end()), None)


def _list_of_values(match: re.Match[str]) -> tuple[str, str, str]:
    values = match[3].split("|")
    tests = values if match[1] in {"pos", "tag"} else [f"{match[1]}={value}" for value in values]
    mark = "!" if match[2] else ""
    return "one test cannot list several values", f"{mark}({'|'.join(tests)})", ""


def _inline_flag(match: re.Match[str]) -> tuple[str, str, str]:
    word = match[2] if re.fullmatch(r"[A-Za-z]+", match[2]) else "movie"
    note = f"; a bare lower-case literal ignores case, too: {code(word.lower())}"
    return "rules have no flags of regular expressions", f"/{word}/i", note


def _inner_group(match: re.Match[str]) -> tuple[str, str, str]:
    name = f"{match[1]}:" if match[1] else ""
    return "this is a group of a regular expression", f"{name}({match[2]})", ""


def _characters(match: re.Match[str]) -> tuple[str, str, str]:
    return "this is a character class of a regular expression", f"/{match[0]}/", ""


def _spacy_test(match: re.Match[str]) -> tuple[str, str, str]:
    name = _SPACY_NAMES.get(match[1].upper(), "lemma")
    value = match[2] if re.fullmatch(r"\w+", match[2]) else quote(match[2])
    return "this is a test of another matcher", f"{name}={value}", ""


def _unreadable_amount(line: str, position: int) -> Finding | None:
    """What is wrong if the grammar stops at the parenthesis of an amount, as in ``(2 %)``."""
    function = _NOISE_BEFORE.search(line[:position])
    amount = _PARENTHESIS.match(line, position)
    if function is None or amount is None:
        return None
    apart = " with a space before it" if function[2] else ""
    return no_amount(f"`{amount[0]}`{apart}", function[1], amount.span(), shown="$1.*")
