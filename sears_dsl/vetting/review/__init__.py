"""What a reviewer sees and does: rules, pairs, sentences, and the facts about them.

`workbench` computes what rules do to rows and the model, and offers sentences to pick from.
`rule_session` serves one reviewer and chooses the next rule. `explanation` puts the rule into
words, and `trials` tries rules that she types and narrows rules by her marks. `template_session`
serves one reviewer of templates. `sessions` has the base of both kinds of sessions.
"""
