"""What a reviewer sees and does: rules, pairs, sentences, and the facts about them."""
