"""Rules that write *n't* in full are told to leave alone what has no such form.

*It isn't late* → *It is not late* reads well, and so do nine of ten rewrites of ``n't -> not``,
which is enough to pass. *Isn't it late?* → *Is not it late?* is not English: a full *not* stands
behind the pronoun. Nor are *ai not*, *ca not*, *wo not*: the words that these come from change too.
Always holds: the rule acts at no place where it did not before.
"""

from __future__ import annotations

from dataclasses import replace

from sears_dsl.language.rule import Element, Group, Literal, Negation, Regex, Rule, Tag, Text

_NOT_CONTRACTED = ("n't", "n’t")
_NOT_IN_FULL = ("not", "cannot")
# Personal pronouns and *there* stand there in questions alone; a noun also in *it isn't food*.
_NO_PRONOUN = Element(Negation(Group(((Element(Tag("PRP")),), (Element(Literal("there")),)))))

# What is left of *ain't*, *can't*, *won't*, *shan't* is not a word by itself.
_WHOLE_WORD = Element(Negation(Regex("ai|ca|wo|sha", ignore_case=True)))


def outside_questions(rule: Rule) -> Rule:
    r"""An English rule that writes *n't* in full, where that can be; another one as it is.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> from sears_dsl.language.printer import print_rule
        >>> [print_rule(outside_questions(each)) for each in parse("n't -> not\na -> b").rules]
        ["n't -> not / !/ai|ca|wo|sha/i __ !(PRP|there)", 'a -> b']
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
        alone = len(rule.antecedent) == 1 and not rule.left
        return replace(rule, left=(_WHOLE_WORD,) if alone else rule.left, right=(_NO_PRONOUN,))
    return rule
