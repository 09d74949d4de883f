"""Studies behind figures of the documentation, and the collections of titles."""
