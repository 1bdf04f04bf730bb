"""Rules that write *n't* in full are told to leave alone what has no such form.

*It isn't late* → *It is not late* reads well, and so do nine of ten rewrites of ``n't -> not``,
which is enough to pass. *Isn't it late?* → *Is not it late?* is not English, nor is *Why do not
people come?*: a full *not* stands behind the subject. So something stands before the auxiliary that
can be a subject, and no pronoun behind it. Nor are *ai not*, *ca not*, *wo not*: the words that
these come from change too. Always holds: the rule acts at no place where it did not before.
"""

from __future__ import annotations

from dataclasses import replace

from sears_dsl.language.rule import Element, Group, Literal, Negation, Regex, Rule, Tag, Text

_NOT_CONTRACTED = ("n't", "n’t")
_NOT_IN_FULL = ("not", "cannot")


def _none_of(*tests: Tag | Literal | Regex) -> Element:
    return Element(Negation(Group(tuple((Element(test),) for test in tests))))


# Personal pronouns and *there* stand there in questions alone; a noun also in *it isn't food*.
_NO_PRONOUN = _none_of(Tag("PRP"), Literal("there"))

# Before the auxiliary of a question stands a question word, *oh*, the mark that ends what was
# before, or nothing at all. *Who* is nearly always the subject itself, *what* and *whom* are not; a
# regex finds them in a file whose words are as they are written, too.
# Orders (*don't go*) are given up with them: a shipped rule knows these by their verb.
_SUBJECT = _none_of(Tag("PUNCT"), Tag("WRB"), Tag("UH"), Regex("what|whom", ignore_case=True))

# What is left of *ain't*, *can't*, *won't*, *shan't* is not a word by itself.
_WHOLE_WORD = Element(Negation(Regex("ai|ca|wo|sha", ignore_case=True)))

# What stands before the span, the auxiliary last.
_BEFORE = (_SUBJECT, _WHOLE_WORD)


def outside_questions(rule: Rule) -> Rule:
    r"""An English rule that writes *n't* in full, where that can be; another one as it is.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> from sears_dsl.language.printer import print_rule
        >>> [print_rule(outside_questions(each)) for each in parse("n't -> not\na -> b").rules]
        ["n't -> not / !(PUNCT|WRB|UH|/what|whom/i) !/ai|ca|wo|sha/i __ !(PRP|there)", 'a -> b']
    """
    if rule.right or not rule.antecedent or not rule.consequent:
        return rule
    last, written = rule.antecedent[-1].body, rule.consequent[-1]
    if (
        isinstance(last, Literal)
        and last.text.lower() in _NOT_CONTRACTED
        and isinstance(written, Text)
        and written.text.lower() in _NOT_IN_FULL
    ):
        # The rule may name the auxiliary, and what is before it, by itself.
        named = len(rule.left) + len(rule.antecedent) - 1
        before = _BEFORE[: max(0, len(_BEFORE) - named)]
        return replace(rule, left=(*before, *rule.left), right=(_NO_PRONOUN,))
    return rule
