"""What a search found: rules with their numbers, and the files that leave."""
