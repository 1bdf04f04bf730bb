"""A person looks at rules in a local page, and what she decides becomes a vetted ruleset.

    ruleset, data, model ──Workbench──▶ what each rule does ──Session──▶ page (server, pages/)
    clicks ──▶ journal (append-only) ──replay──▶ State ──outcomes──▶ vetted ruleset, pairs

Modules, in reading order: `journal`, `decisions` (what is kept), `workbench`, `typing_rules`,
`trials`, `proposals`, `explanation`, `marking`, `order`, `picking` (what is shown), `entries`,
`session` (one reviewer), `security`, `server`, `serving` (the page), `agreement`, `merging`,
`vetted`, `outputs` (what leaves).
Nothing is imported here: the web framework is an extra.
"""
