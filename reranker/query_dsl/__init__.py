"""What a search says in the engines' words: queries, the two query syntaxes, field types, `_source`, `filter_path`."""
