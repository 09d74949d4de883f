"""The store on OpenSearch and Elasticsearch."""
