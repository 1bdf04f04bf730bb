"""What is wrong in a sentence for sure, by closed classes of words and inflection tables."""
