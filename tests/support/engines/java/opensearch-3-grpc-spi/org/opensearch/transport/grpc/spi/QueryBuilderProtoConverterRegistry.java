package org.opensearch.transport.grpc.spi;

/** Named by {@link QueryBuilderProtoConverter}; nothing here calls it. */
public interface QueryBuilderProtoConverterRegistry {}
