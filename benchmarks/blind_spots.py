"""Which kinds of changes of meaning a score does not see.

Method: for each kind some sentences were written here, and changed so that they say something else.
The paper's score through the carried pivot, the scorer of whole sentences and the judge score each
pair; the table (in docs/limits.md) counts pairs that reach the shipped τ.
Bias: a handful of sentences for each kind, chosen with the pivot language (Portuguese) in mind
where it has one way to say two English things. They show that a kind can pass, not how often.

    python -m benchmarks.blind_spots
"""

from __future__ import annotations

import numpy as np

from benchmarks.record import Row, read_options, write_record
from sears_dsl.meaning.scorers import load_scorer

PAIRS = {
    "degree": [
        ("This is very much a step back .", "This is too much a step back ."),
        ("The plot is very complicated .", "The plot is too complicated ."),
        (
            "While the cast is fine and most of the music is new , it is very loud at times .",
            "While the cast is fine and most of the music is new , it is too loud at times .",
        ),
        ("It was a very long film .", "It was a rather long film ."),
        ("It is much better than the book .", "It is a little better than the book ."),
        ("She is extremely tired .", "She is quite tired ."),
    ],
    "negation of a positive sentence": [
        ("The food was good .", "The food was not good ."),
        ("I like this film .", "I do not like this film ."),
        ("He is here .", "He is not here ."),
        ("The service is fast .", "The service isn't fast ."),
        (
            "While the cast is fine and most of the music is new , you will laugh at times .",
            "While the cast is fine and most of the music is new , you will not laugh at times .",
        ),
        ("They were on time .", "They were never on time ."),
    ],
    "negation of a negative sentence": [
        ("It is not bad .", "It is bad ."),
        ("I would not say that nothing works .", "I would not say that anything works ."),
        ("I did not see nothing .", "I did not see anything ."),
        (
            "While the cast is fine and most of the music is new , it never gets worse at times .",
            "While the cast is fine and most of the music is new , it gets worse at times .",
        ),
        ("I have never been disappointed .", "I have been disappointed ."),
        ("There is no reason not to see it .", "There is no reason to see it ."),
    ],
    "tense": [
        ("The film is long .", "The film was long ."),
        ("She sings well .", "She sang well ."),
        ("I have seen it twice .", "I saw it twice ."),
        ("They will come back .", "They would come back ."),
        ("He put it on the table every day .", "He puts it on the table every day ."),
        (
            "While the cast is fine and most of the music is new , the camera shakes at times .",
            "While the cast is fine and most of the music is new , the camera shook at times .",
        ),
    ],
    "number": [
        ("The waiter was rude .", "The waiters were rude ."),
        ("I lost my key .", "I lost my keys ."),
        ("You are a fool .", "You are fools ."),
        ("The actor plays well .", "The actors play well ."),
        (
            "While the cast is fine and most of the music is new , the actor shouts at times .",
            "While the cast is fine and most of the music is new , the actors shout at times .",
        ),
        ("This is a good movie .", "These are good movies ."),
    ],
    "quantity": [
        ("Some rooms were clean .", "All rooms were clean ."),
        ("I waited for two hours .", "I waited for three hours ."),
        ("Most people liked it .", "Many people liked it ."),
        ("A few dishes were cold .", "Few dishes were cold ."),
        (
            "While the cast is fine and most of the music is new , some of us laughed at times .",
            "While the cast is fine and most of the music is new , all of us laughed at times .",
        ),
        ("It costs 15 dollars .", "It costs 50 dollars ."),
    ],
    "certainty": [
        ("It may rain .", "It will rain ."),
        ("You must see it .", "You can see it ."),
        ("He could win .", "He might win ."),
        ("She is probably right .", "She is certainly right ."),
        ("I think it works .", "I know it works ."),
        (
            "While the cast is fine and most of the music is new , you may get bored at times .",
            "While the cast is fine and most of the music is new , you will get bored at times .",
        ),
    ],
    "person": [
        ("He liked the room .", "She liked the room ."),
        ("It was late .", "He was late ."),
        ("His dog is old .", "Her dog is old ."),
        ("You are right .", "They are right ."),
        (
            "While the cast is fine and most of the music is new , he gets bored at times .",
            "While the cast is fine and most of the music is new , she gets bored at times .",
        ),
        ("Your answer is wrong .", "His answer is wrong ."),
    ],
    "a word that the pivot does not tell apart": [
        ("I heard the story .", "I heard the history ."),
        ("He stayed for dinner .", "He was for dinner ."),
        ("The camera is old .", "The chamber is old ."),
        ("He hopes that you come .", "He waits that you come ."),
        ("My finger hurts .", "My toe hurts ."),
        ("The watch is broken .", "The clock is broken ."),
    ],
}


def main() -> None:
    """Score all pairs and print a table."""
    scorers = {
        "paper's score": load_scorer("pivot"),
        "meaning": load_scorer("meaning"),
        "judge": load_scorer("judge"),
    }
    rows, lines = [], []
    for kind, pairs in PAIRS.items():
        scores = {name: scorer.scores(pairs) for name, scorer in scorers.items()}
        passes = {name: scores[name] >= scorer.tau for name, scorer in scorers.items()}
        # Of the pairs that most scorers let pass, the one that the judge likes best.
        passing = np.sum(list(passes.values()), axis=0)
        shown = int(np.lexsort((-scores["judge"], -passing))[0])
        counts = {name: int(passes[name].sum()) for name in scorers}
        of_shown = {f"S, {name}": float(f"{scores[name][shown]:.2g}") for name in scorers}
        rows.append(
            Row(kind, {"pairs": len(pairs), **counts, "example": " -> ".join(pairs[shown]),
                       **of_shown})
        )  # fmt: skip
        old, new = pairs[shown]
        cells = [kind, *map(str, counts.values()), f"{old[:-2]} → {new[:-2]}"]
        cells += [f"{value:.2g}" for value in of_shown.values()]
        lines.append(f"| {' | '.join(cells)} |")
    write_record("blind_spots", rows)
    print("\n".join(["", *lines]))


if __name__ == "__main__":
    read_options(__doc__)
    main()
