"""A person looks at rules in a local page, and what she decides becomes a vetted ruleset.

    ruleset, data, model ──Workbench──▶ what each rule does ──Session──▶ page (web)
    clicks ──▶ journal (append-only) ──replay──▶ State ──outcomes──▶ vetted ruleset, pairs

`running` is a sitting from beginning to end. `journal` keeps clicks, `decisions` replays them;
`review` is what a reviewer sees and does, `web` the page; `merging` brings several reviewers
together, `outputs` is what leaves, and `journal_oracle` what audits and searches take from a
journal. Nothing is imported here: the web framework is an extra.
"""
