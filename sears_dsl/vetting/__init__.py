"""A reviewer judges rules on a local page, and these decisions become a vetted ruleset.

    ruleset, data, model ──Workbench──▶ what each rule does ──Session──▶ page (web)
    clicks ──▶ journal (append-only) ──replay──▶ State ──outcomes──▶ vetted ruleset, pairs

`running` runs a sitting from beginning to end. `journal` keeps clicks and `decisions` replays them.
`review` is what a reviewer sees and does, and `web` is the page. `merging` combines the decisions
of several reviewers, `outputs` writes the results, and `journal_oracle` reads journals for audits
and searches. Nothing is imported here, because the web framework is an extra.
"""
