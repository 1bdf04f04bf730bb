"""Translation networks: their files, beam search, and pairs of them through a pivot language.

In: sentences. `model_files` finds files and checks hashes, `bergamot` and `marian` read them
(`weight_file`) into a `network`; `pivots` pairs networks there and back; `long_texts` are cut. Out:
hypotheses by `beam_search`, probabilities of given rewrites (`forced_scoring`), for `meaning` and
`paraphrasing`.
"""
