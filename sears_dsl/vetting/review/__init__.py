"""What a reviewer sees and does: rules, pairs, sentences, and the facts about them.

`workbench` has what rules do to rows and model, and offers sentences. `session` is one reviewer and
chooses the next rule; `explanation` shows it, `trials` reads and tries what she types, and narrows
a rule by her marks. `template_session` is one reviewer of templates; `deciding` is what both
kinds of sessions share.
"""
