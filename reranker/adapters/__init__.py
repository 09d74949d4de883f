"""The re-ranker as a component of other people's frameworks: one module each, imported only when it is asked for.

    from reranker.adapters.langchain import SinkrankCompressor
    from reranker.adapters.llamaindex import SinkrankPostprocessor
    from reranker.adapters.pyterrier import SinkrankTransformer

Each needs its framework: `pip install "sinkrank[langchain]"`, and so on. The class names are the frameworks' own words.
"""
