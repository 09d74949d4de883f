"""How Sinkrank grows: a collection of real documents, and what it costs to index and search 10^4 to 10^6 of them."""
