r"""Warnings about the notation of other tools, which is read as plain words here.

In: a rule or set without errors. Out: warnings. `.*`, `x+`, `'film'`, `// note`, `\1`, `noun` and
the like are valid literals, so the parser takes them, but their author most likely meant something
else. So did the author of a rule that replaces ``n't`` and leaves the ``ca`` of *can't*. Always
holds: quoted text is never taken for such notation, so whoever means the word quotes it. Costs a
few pattern matches a literal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import get_args

from sears_dsl.errors import Diagnostic, Span
from sears_dsl.language import rule as syntax
from sears_dsl.language.check import CALLED_OTHERWISE, pattern_error
from sears_dsl.language.printer import print_test
from sears_dsl.language.tagsets import MOVED
from sears_dsl.language.words import Problem, as_text, code, quote


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Names of tags that are no English words; `part`, `to`, `in`, `aux`, `cc` may be meant as words.
_LOWER_TAGS = _words(
    """noun verb adj adv adp det pron propn cconj sconj conj intj punct nn nns nnp nnps vb vbd vbg
    vbn vbp vbz jj jjr jjs prp prp$ wp wp$ wdt wrb rbr rbs pdt dt"""
)
_ESCAPE = re.compile(r"\\[bBdDsSwW0-9]")
_STARTS = re.compile(r"(?:\^|<s>)(?=[^\W_])")
_ENDS = re.compile(r"(?<=[^\W_])(?:\$|</s>)$")
_REPEATED = re.compile(r"([^\W\d_]{2,}|_)([+*])")
_ANYTHING = re.compile(r"[^\W_]*\.[*+][^\W_]*|\*[^\W\d_]{2,}")
# Marks that quote in other notations, and what may close each.
_CLOSING = {"“": "”“", "„": "“”", "«": "»", "»": "«", "‘": "’", "'": "'’"}
_DOUBLE = "“”„«»"
_CLITICS = _words("s re m ll ve d t em til tis twas cause bout n all")
_PATTERN = re.compile(r"/.+/i?")
_NUMBERED = re.compile(r"\\([0-9])")
_PERCENT = re.compile(r"%([1-9])")
_NAMED = re.compile(r"\\([A-Za-z]\w*)")
_MARKS = re.compile(r"[.,;:?!]+")
_CALLED = re.compile(r"([^\W\d_]+)\.([A-Za-z]+)")
_NOT = ("n't", "n’t", "N'T")
_AUXILIARIES = ("AUX", "MD", "VERB")
_NOMINAL = _words("NOUN PROPN ADJ NUM X NN NNS NNP NNPS JJ CD")
_SUFFIXES = {"ed": "VBD", "ing": "VBG", "s": "NNS", "es": "NNS", "er": "JJR", "est": "JJS"}


def notation_warnings(rule: syntax.Rule, tagset: syntax.TagsetOption) -> Iterator[Diagnostic]:
    """W607 to W616 and W624 of one rule, which is read under the tagset."""
    for elements in (rule.left, rule.antecedent, rule.right):
        yield from _sequence(elements, rule.span, tagset)
    yield from _carets(rule)
    yield from _consequent(rule)
    yield from _halves(rule)


def _halves(rule: syntax.Rule) -> Iterator[Diagnostic]:
    """W624: ``n't`` is replaced, but the word before it, such as ``ca`` in *can't*, may stay."""
    targets = {piece.target for piece in rule.consequent if isinstance(piece, syntax.Reference)}
    tags = {piece.tag for piece in rule.consequent if isinstance(piece, syntax.TagCopy)}
    texts = [piece.text for piece in rule.consequent if isinstance(piece, syntax.Text)]
    is_written = any(text.endswith(_NOT) for text in texts)
    before, stays = rule.left[-1].body if rule.left else None, True
    for place, element in enumerate(rule.antecedent, start=1):
        body = element.body
        copied = not targets.isdisjoint((0, place, element.name)) or _is_one(body, tags)
        goes = _is_one(body, _NOT) and not (copied or is_written)
        if goes and stays and (before is None or _is_one(before, _AUXILIARIES)):
            message = "replacing `n't` leaves the `ca` of can't, `wo` of won't and `sha` of shan't"
            advice = (
                "write `can't -> can not`, `won't -> will not`, `shan't -> shall not`\n"
                "and exclude them elsewhere: `n't -> not / !/ai|ca|wo|sha/i __`"
            )
            yield Diagnostic("W624", message, element.span or rule.span, advice)
        before, stays = body, copied


def _is_one(body: object, words: Collection[str]) -> bool:
    """Whether an element can be one of these words, or is tested for one of these tags."""
    match body:
        case syntax.Group(alternatives):
            return any(_is_one(each[-1].body, words) for each in alternatives)
        case syntax.Conjunction(tests):
            return all(_is_one(each, words) for each in tests)
        case syntax.Literal(name) | syntax.Tag(name) | syntax.AttributeTest(_, name, False):
            return name in words
    return isinstance(body, syntax.Wildcard) and "AUX" in words


def set_notation_warnings(
    definition: syntax.SetDefinition, tagset: syntax.TagsetOption
) -> Iterator[Diagnostic]:
    """The same for the members of a set."""
    for member in definition.members:
        yield from _test(member, definition.span, tagset)


def _placed(problems: Iterable[Problem], span: Span | None) -> Iterator[Diagnostic]:
    return (Diagnostic(number, message, span, hint) for number, message, hint in problems)


def _sequence(
    elements: Sequence[syntax.Element], span: Span | None, tagset: syntax.TagsetOption
) -> Iterator[Diagnostic]:
    for place, element in enumerate(elements):
        where = element.span or span
        body = element.body
        before = elements[place - 1].body if place else None
        after = elements[place + 1].body if place + 1 < len(elements) else None
        if isinstance(body, syntax.Group):
            for alternative in body.alternatives:
                yield from _sequence(alternative, span, tagset)
        else:
            if isinstance(body, syntax.Literal):
                yield from _placed(_among(body, before, after), where)
            yield from _test(body, where, tagset)
    yield from _quotation_marks([(e.body, e.span) for e in elements], span)


def _among(literal: syntax.Literal, before: object, after: object) -> Iterator[Problem]:
    """Problems of words that look like notation because of what stands beside them."""
    text = literal.text
    between = before is not None and after is not None
    word_after = after is not None and not isinstance(after, syntax.Anchor) and _is_word(after)
    if literal.quoted:
        return
    if text == "!" and before is None and word_after:
        operand = print_test(after) if isinstance(after, syntax.Literal | syntax.Tag) else "NOUN"
        number, message = "W614", "`!` followed by a space is an exclamation mark"
        advice = f"to negate, put it right before its operand: {code('!' + operand)}"
    elif text in {"...", "…"} and between:
        number, message = "W607", f"`{text}` matches its dots, not what lies between"
        advice = "for up to eight tokens of any kind, write `_{0,8}`"
    elif text == "*" and between:
        number, message = "W607", "`*` is matched literally, not as any token"
        advice = "for any token, write `_`; for several, `_{0,8}`"
    elif text == "|" and between:
        number = "W612"
        message = "`|` between spaces is a literal, so this matches three tokens"
        advice = "put alternatives in parentheses: `(a|b)`"
    elif text == "&" and between and _may_be_joined(before, after):
        number = "W608"
        message = "`&` outside brackets is a literal, so this matches three tokens"
        advice = (
            "for several tests on one token, write `[lemma=be & tag=VBZ]`; a pattern cannot be one "
            "of them"
        )
    elif (
        text == "="
        and after is not None
        and isinstance(before, syntax.Literal)
        and (before.text in get_args(syntax.AttributeName))
    ):
        number = "W608"
        message = "`=` between spaces is a literal, so this matches three tokens"
        value = print_test(after) if isinstance(after, syntax.Literal | syntax.Tag) else "be"
        advice = f"remove the spaces: {code(f'{before.text}={value}')}"
    else:
        return
    yield number, message, f"{advice}\n{as_text(text)}"


def _may_be_joined(before: object, after: object) -> bool:
    """Whether two elements are tests that somebody may mean for one token."""
    tests = (syntax.AttributeTest, syntax.Conjunction, syntax.Regex)
    mixed = isinstance(before, tests) or isinstance(after, tests)
    # Texts have "nouns & adjectives", but hardly a noun & a verb.
    tags = {each.name for each in (before, after) if isinstance(each, syntax.Tag)}
    two_tags = len(tags) == 2 and not tags <= _NOMINAL
    return (
        (mixed and type(before) is not type(after))
        or two_tags
        or isinstance(before, syntax.AttributeTest)
    )


def _carets(rule: syntax.Rule) -> Iterator[Diagnostic]:
    """`^` at the start of the left context or of the antecedent, and then also `$` at its end.

    A dollar without a caret is a token of prices.
    """
    for elements in (rule.left, rule.antecedent):
        bodies = [element.body for element in elements]
        alone = elements is rule.left and len(bodies) == 1
        if not bodies or bodies[0] != syntax.Literal("^") or not (alone or len(bodies) > 1):
            continue
        last = bodies[-1] if bodies[-1] == syntax.Literal("$") else None
        if not alone and not any(map(_is_word, bodies)):
            continue
        for sign, anchor in (("^", "<s>"), ("$", "</s>"))[: 1 if last is None else 2]:
            place = elements[0 if sign == "^" else -1].span or rule.span
            side = "start" if sign == "^" else "end"
            message = f"`{sign}` is matched literally, not as the {side} of the unit"
            advice = f"for the {side} of the unit, write `{anchor}`\n{as_text(sign)}"
            yield Diagnostic("W607", message, place, advice)


def _is_word(body: object) -> bool:
    return not isinstance(body, syntax.Literal) or any(map(str.isalnum, body.text))


def _test(
    test: syntax.Body, span: Span | None, tagset: syntax.TagsetOption
) -> Iterator[Diagnostic]:
    if isinstance(test, syntax.Literal):
        yield from _decomposed(test.text, "literal", span)
        if not test.quoted:
            yield from _placed(_word(test.text, tagset), span)
    elif isinstance(test, syntax.Regex):
        yield from _decomposed(test.pattern, "pattern", span)
    elif isinstance(test, syntax.AttributeTest):
        yield from _value(test, span)
    elif isinstance(test, syntax.Conjunction):
        for part in test.tests:
            yield from _value(part, span)
    elif isinstance(test, syntax.Negation):
        if isinstance(test.operand, syntax.Group):
            for alternative in test.operand.alternatives:
                yield from _sequence(alternative, span, tagset)
        elif not isinstance(test.operand, syntax.SetReference):
            yield from _test(test.operand, span, tagset)


def _value(test: syntax.AttributeTest, span: Span | None) -> Iterator[Diagnostic]:
    yield from _decomposed(test.value, "value", span)
    if test.attribute in {"text", "lower", "lemma"} and _PATTERN.fullmatch(test.value):
        message = f"{test.attribute}={test.value} compares literally, not as a pattern"
        advice = (
            "a pattern is an element of its own, which cannot be joined with other tests: "
            f"{_pattern(test.value.removesuffix('i').strip('/'))}"
        )
        yield Diagnostic("W608", message, span, advice)


def _word(text: str, tagset: syntax.TagsetOption) -> Iterator[Problem]:
    """A bare literal that is a word of another notation."""
    repeated = _REPEATED.fullmatch(text)
    start, end = _STARTS.match(text), _ENDS.search(text)
    if start or end:
        bare = syntax.Literal(text[start.end() if start else 0 : end.start() if end else None])
        anchored = f"{'<s> ' * bool(start)}{print_test(bare)}{' </s>' * bool(end)}"
        message = f"`{text}` is matched literally, including its anchor"
        advice = f"for the start of the unit write `<s>`, for its end `</s>`: {code(anchored)}"
    elif repeated:
        least = "1" if repeated[2] == "+" else "0"
        written = code(f"{repeated[1]}{{{least},8}}")
        message = f"`{text}` is matched literally, including its `{repeated[2]}`"
        advice = f"to repeat an element at most eight times, write {written}"
    elif _ANYTHING.fullmatch(text) or _ESCAPE.search(text):
        message = f"`{text}` is matched literally, not as a regular expression"
        advice = _as_pattern(text)
    else:
        if text.lower() in _LOWER_TAGS:
            tag = MOVED[tagset].get(text.upper(), text.upper())
            yield _small_tag(text, tag, quote(text) + "i")
        return
    yield "W607", message, f"{advice}\n{as_text(text)}"


def _small_tag(text: str, tag: str, quoted: str) -> Problem:
    advice = f"for the tag, use capitals: {code(tag)}\nfor the word, quote it: {code(quoted)}"
    return "W609", f"`{text}` is a word here, not the tag `{tag}`", advice


def _as_pattern(text: str) -> str:
    if text in {".*", ".+"}:
        return "for up to eight tokens of any kind, write `_{0,8}`"
    pattern = _pattern(f".{text}" if text[0] == "*" else text)
    return f"put a pattern between slashes; it matches one token: {pattern}"


def _pattern(text: str) -> str:
    """A regular expression as an element; an example if it is not a valid one."""
    fitting = text and pattern_error(text) is None
    return code(print_test(syntax.Regex(text if fitting else "un.*")))


def _quotation_marks(
    words: Sequence[tuple[object, Span | None]], span: Span | None
) -> Iterator[Diagnostic]:
    """`'film'` and `“the film”`: marks glued to words, which quote elsewhere and are text here.

    Marks that stand alone are tokens of a text. A single mark counts only if another one closes it.
    """
    bare = [
        (body.text, place or span)
        for body, place in words
        if isinstance(body, syntax.Literal | syntax.Text) and not body.quoted
    ]
    opened: int | None = None
    for number, (text, _) in enumerate(bare):
        if _opens(text):
            opened = number
        first = bare[opened][0] if opened is not None else text
        closes = len(text) > 1 and text[-1] in _CLOSING.get(first[0], _DOUBLE)
        if opened is not None and not closes and (first[0] in "'‘" or number + 1 < len(bare)):
            continue
        if (opened is None and not (closes and text[-1] in _DOUBLE)) or len(text) < 2:
            continue
        start = number if opened is None else opened
        whole = " ".join(each for each, _ in bare[start : number + 1])
        inner = whole[first[0] in _CLOSING : len(whole) - closes]
        if any(map(str.isalnum, inner)):
            marked = " ".join(code(quote(each)) for each, _ in bare[start : number + 1])
            message = f"the quotation marks of `{whole}` are taken literally"
            advice = (
                f"to quote, use straight double marks: {code(quote(inner))}\n"
                f"to keep these marks, write {marked}"
            )
            yield Diagnostic("W610", message, bare[start][1], advice)
        opened = None


def _opens(text: str) -> bool:
    if len(text) < 2 or text[0] not in _CLOSING or not text[1].isalnum():
        return False
    return text[0] in _DOUBLE or (len(text) > 3 and text[1:].lower() not in _CLITICS)


def _decomposed(text: str, what: str, span: Span | None) -> Iterator[Diagnostic]:
    normal = unicodedata.normalize("NFC", text)
    if normal != text:
        yield Diagnostic(
            "W615",
            f"this {what} has decomposed characters and never matches the usual `{normal}`",
            span,
            "characters are compared one by one; write the composed form: "
            + (_pattern(normal) if what == "pattern" else code(quote(normal))),
        )


def _consequent(rule: syntax.Rule) -> Iterator[Diagnostic]:
    names = {element.name for element in rule.elements if element.name}
    targets = {getattr(piece, "target", None) for piece in rule.consequent}
    previous: object = None
    for place, piece in enumerate(rule.consequent):
        if isinstance(piece, syntax.Text):
            span = piece.span or rule.span
            yield from _decomposed(piece.text, "text", span)
            if not piece.quoted:
                yield from _placed(_text(piece, previous, place, rule, names), span)
                if piece.text in names - targets:
                    yield Diagnostic(
                        "W613",
                        f"`{piece.text}` is written as a word, not as what the element "
                        f"`{piece.text}:` matched",
                        span,
                        f"to copy what it matched, write {code('$' + piece.text)}\n"
                        f"{as_text(piece.text)}",
                    )
        previous = piece
    yield from _quotation_marks([(piece, piece.span) for piece in rule.consequent], rule.span)


def _text(
    piece: syntax.Text, previous: object, place: int, rule: syntax.Rule, names: set[str]
) -> Iterator[Problem]:
    text = piece.text
    copied, name = _NUMBERED.search(text) or _PERCENT.fullmatch(text), _NAMED.fullmatch(text)
    called = _CALLED.fullmatch(text)
    behind = previous if piece.glued and isinstance(previous, syntax.Reference) else None
    number, message = "W613", f"`{text}` is written literally"
    as_it_is = as_text(text)
    if text.startswith(("//", "/*", "*/")):
        number, message = "W611", f"`{text}` is written into the text"
        advice = "a comment begins with a hash after a space: `# comment`"
    elif text == "|":
        number, message = "W612", "`|` is written into the text: a consequent has no choices"
        advice = "write a rule for each choice"
    elif copied or name:
        written = "$" + (name[1] if name and name[1] in names else copied[1] if copied else "1")
        written = code(written if written != "$0" or rule.antecedent else "$1")
        advice = (
            f"to copy all that an element matched, write {written}; a part of a word cannot be "
            "copied"
        )
    elif behind and text[0].isalpha() and text not in {"n't", "n’t"}:
        target, inflection = f"${behind.target}", _SUFFIXES.get(text, "VBD")
        message = f"`{target}` is all that was matched, and `{text}` is appended to it"
        advice = f"to inflect it, write {code(f'{target}.{inflection}')}"
        as_it_is = f"to append the text, quote it: {code(target + quote(text))}"
    elif called and called[2].lower() == "as":
        message += ": `.as` needs the word whose form it takes"
        form = code(f"{called[1]}.as($1)")
        advice = f"to give {code(called[1])} the form of an element, write {form}"
    elif called and called[2] in {*syntax.FUNCTIONS, *CALLED_OTHERWISE}:
        message += ": only references have functions"
        function = code(f"$1.{CALLED_OTHERWISE.get(called[2], called[2])}")
        advice = (
            f"to change what an element matched, write {function}; to give a word its form, write "
            + code(f"{called[1]}.as($1)")
        )
    elif text == "()" and behind:
        message = "`()` is written into the text: a function has no parentheses"
        advice = "write it as in `$1.upper`"
    elif text == "(" and behind and behind.functions:
        message = "`(` is written into the text: an amount has no spaces"
        advice = "write it as in `$1.swap(2)`"
    elif text[0] == "." and text[1:].partition(".")[0] in syntax.FUNCTIONS and previous is not None:
        message += ": only references have functions" if piece.glued else ", since it stands apart"
        advice = (
            f"put a function right after its reference: {code('$1' + text)}; a text and "
            "`word.as($1)` take none"
        )
    elif (
        text[0] == "?"
        and piece.glued
        and isinstance(previous, syntax.TagCopy)
        and any(e.body == syntax.Tag(previous.tag) and e.minimum == 0 for e in rule.antecedent)
    ):
        message = f"`?` is written after `{previous.tag}`: a consequent has no quantifiers"
        advice = f"an optional element that is absent is copied as nothing: {code(previous.tag)}"
        as_it_is = f"to mean the text itself, quote it: {code(previous.tag + quote(text))}"
    elif text.lower() in _LOWER_TAGS and any(
        element.body == syntax.Tag(text.upper()) for element in rule.antecedent
    ):
        yield _small_tag(text, text.upper(), quote(text))
        return
    elif place and not piece.glued and _MARKS.fullmatch(text) and not _spaced(text, place, rule):
        number, message = "W616", f"`{text}` is written with a space before it"
        advice = f"for no space, glue it: `word{text}`, `$1{text}`"
        as_it_is = f"to keep the space, quote it: {code(quote(text))}"
    else:
        return
    yield number, message, f"{advice}\n{as_it_is}"


def _spaced(text: str, place: int, rule: syntax.Rule) -> bool:
    """Whether the space before a mark is meant: a test has it, or the antecedent has the mark.

    It is also meant if the only mark ends the consequent, as in tokenized text and in the paper.
    """
    others = (p for n, p in enumerate(rule.consequent) if n != place and isinstance(p, syntax.Text))
    if place + 1 == len(rule.consequent) and not any(_MARKS.fullmatch(p.text) for p in others):
        return True
    if any(isinstance(e.body, syntax.Literal) and e.body.text == text for e in rule.antecedent):
        return True
    return any(f" {text}" in (test.expected or "") for test in rule.metadata.tests)
