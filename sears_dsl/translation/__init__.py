"""Translation networks: their files, beam search, and pairs of them through a pivot language.

`model_files` finds the files of models and checks their hashes. `bergamot` (through `weight_file`)
and `marian` read them into a `network`; `alphabet` spells what it has no characters for. `pivots`
pairs networks there and back. `long_texts` cuts what is too long for them. For `meaning` and
`paraphrasing`, `beam_search` finds translations, and `forced_scoring` computes probabilities of
given rewrites. `gguf_file` reads the files of language models, for the `judge`.
"""
