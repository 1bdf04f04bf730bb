"""Whether readers would accept a rewrite.

A rewrite differs from its original in a few words. ``changes`` says which; ``surface`` compares
these words without any model: ``english`` has closed lists and the forms of words, ``exchanges``
says what one word for another is, ``faults`` what the rewrite has broken in their form; ``grammar``
says how English the words around them look; ``encoder`` compares what they mean in their contexts;
``judge`` makes one number of all this, the share of readers that would accept the rewrite.
"""
