"""Orders candidates by all that is known of them: evidence, feedback, and the score that they sum to."""
