package org.opensearch.transport.grpc.spi;

/** What the kNN plugin of OpenSearch 3 links against; the module that holds the real one is not published. */
public interface QueryBuilderProtoConverter {
    default void setRegistry(QueryBuilderProtoConverterRegistry registry) {}
}
